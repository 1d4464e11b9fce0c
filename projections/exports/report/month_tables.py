"""The month end in a report: totals, differences, and what caused them, as the desk shows them."""

from __future__ import annotations

from collections.abc import Sequence

from projections.exports.report.tables import Cell, Table, columns
from projections.views.reconciliation import Reconciliation

Months = Sequence[tuple[str, Reconciliation]]


def month_tables(months: Months) -> tuple[Table, ...]:
    """Tables about the months of some tenants; none when no tenant has a settlement file."""
    return (_totals(months), _breaks(months), _causes(months)) if months else ()


def _totals(months: Months) -> Table:
    rows = [
        (
            tenant,
            month.file_name,
            month.file_sha256,
            len(month.matched),
            len(month.breaks),
            total.currency,
            total.file_minor,
            total.expected_minor,
            total.breaks_minor,
            total.attributed_minor,
            total.residual_minor,
        )
        for tenant, month in months
        for total in month.totals
    ]
    amounts = ("file", "record", "difference", "attributed", "residual")
    return Table(
        name="totals",
        title="Settlement file against the record",
        about="File minus record is the difference; attributed and residual sum to it.",
        columns=columns(
            "tenant",
            "file_name",
            "file_sha256",
            "agreeing_lines:count",
            "differences:count",
            "currency",
            *(f"{name}_minor:minor:currency" for name in amounts),
        ),
        rows=tuple(rows),
    )


def _breaks(months: Months) -> Table:
    rows = [
        (
            tenant,
            found.id,
            found.bill,
            found.kind,
            found.amount_minor,
            found.currency,
            found.residual_minor,
            found.found.line if found.found else None,
            ", ".join(found.tasks),
        )
        for tenant, month in months
        for found in month.breaks
    ]
    return Table(
        name="breaks",
        title="Differences",
        about="Amounts are file minus record; the residual is what no finding explains.",
        columns=columns(
            "tenant",
            "difference",
            "bill",
            "kind",
            "amount_minor:minor:currency",
            "currency",
            "residual_minor:minor:currency",
            "line:count",
            "tasks",
        ),
        rows=tuple(rows),
    )


def _causes(months: Months) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for tenant, month in months:
        for found in month.breaks:
            for finding in found.findings:
                positions = {item.position for item in finding.decisive if item.position}
                rows.append(
                    (
                        tenant,
                        found.id,
                        found.bill,
                        finding.cause,
                        finding.verdict,
                        finding.reason,
                        finding.party,
                        ", ".join(finding.responsible),
                        finding.amount_minor,
                        found.currency,
                        finding.summary,
                        tuple(sorted(positions)),
                    )
                )
    return Table(
        name="causes",
        title="Causes of the differences",
        about="Proven needs a verified chain and a record from outside the executor; undecidable says why.",
        columns=columns(
            "tenant",
            "difference",
            "bill",
            "cause",
            "verdict",
            "reason",
            "caused_by",
            "responsible",
            "amount_minor:minor:currency",
            "currency",
            "summary",
            "events:positions",
        ),
        rows=tuple(rows),
    )
