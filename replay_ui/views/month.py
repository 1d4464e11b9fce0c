"""Month end: the settlement file against the record, difference by difference (B16, X2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import streamlit as st

from domain.errors import ProofreelError
from replay_ui.components.blocks import (
    Block,
    Column,
    Lines,
    Note,
    Row,
    Span,
    Tile,
    Tiles,
    cell,
    chip,
    money,
    row,
    table,
    text,
    when,
)
from replay_ui.components.sheet import sheet
from replay_ui.views import lines
from replay_ui.views.case import keeping, signing
from replay_ui.views.common import MONTH, View, choice, paged
from replay_ui.views.deciding import outcome
from replay_ui.views.difference import detail

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from projections.views.reconciliation import Break, Reconciliation
    from replay_ui.data import Import

ALL: Final = ""
SHOW: Final = ("differences", "lines")


def page(view: View) -> None:
    """Show the month of the file that ``?file=`` names (the position of its import), else of the newest."""
    words, imports = view.words, view.desk.imports(view.tenant)
    if not imports:
        sheet((Note(text=words("month.none"), detail=words("month.none_do")),), key="month")
        return
    known = {item.position: item for item in imports}
    picked = choice(
        words("month.file"),
        "file",
        tuple(known),
        show=lambda position: name_of(known[position]),
        default=imports[0].position,
    )
    try:
        with st.spinner(words("month.working")):
            answer = view.desk.month(view.tenant, picked)
    except ProofreelError as error:
        sheet((Note(text=words("month.failed"), detail=str(error), tone="failed"),), key="month")
        return
    if answer is None:
        return
    result = answer.value
    asked = st.query_params.get("break")
    found = next((item for item in result.breaks if item.id == asked), None)
    if found is not None:
        view.opens("difference", found.id)
        case = next((item for item in view.desk.cases(view.tenant) if item.break_id == found.id), None)
        sheet((*view.as_of(answer), *detail(view, known[picked], found)), key="difference")
        outcome("case-said")
        if case is None:
            keeping(view, result, found.id)
        else:
            signing(view, case)
        return
    if asked:
        sheet((Note(text=words("month.no_break"), tone="stopped"),), key="month-missing")
    sheet((*view.as_of(answer), *totals(view, result), *warnings(view, result)), key="month-totals")
    differences(view, known[picked], result)


def name_of(item: Import) -> str:
    """A file in a list to choose from."""
    return f"{item.month} · {item.file_name} · {when(item.at_us)}"


def totals(view: View, result: Reconciliation) -> tuple[Block, ...]:
    """Sums by currency: file = record + differences; differences = explained + residual."""
    words = view.words
    blocks: list[Block] = []
    for total in result.totals:
        currency = total.currency
        blocks.append(
            Tiles(
                items=(
                    Tile(label=words("month.in_file"), value=money(total.file_minor, currency)),
                    Tile(label=words("month.in_record"), value=money(total.expected_minor, currency)),
                    Tile(
                        label=words("month.difference"),
                        value=money(total.breaks_minor, currency, signed=True),
                        tone="failed" if result.breaks else "ok",
                        detail=words("month.counts", agree=len(result.matched), differ=len(result.breaks)),
                    ),
                    Tile(
                        label=words("month.explained"),
                        value=money(total.attributed_minor, currency, signed=True),
                    ),
                    Tile(
                        label=words("month.residual"),
                        value=money(total.residual_minor, currency, signed=True),
                        tone="stopped" if total.residual_minor else "none",
                        detail=words("month.residual_is"),
                    ),
                )
            )
        )
    return tuple(blocks)


def warnings(view: View, result: Reconciliation) -> Iterable[Block]:
    """What limits every conclusion of the month."""
    words = view.words
    if result.chain_verified:
        state = chip(words("month.chain_whole"), "ok", tip=words("month.chain_whole_is"))
        counts = result.file_counts
        read = words(
            "month.rows",
            read=counts.read,
            accepted=counts.accepted,
            refused=counts.refused,
            other=counts.other,
        )
        yield Lines(
            items=(
                (state, text(read, "quiet"), text(result.file_sha256[:16], "mono", tip=result.file_sha256)),
            )
        )
    else:
        yield Note(text=words("month.chain_broken"), detail=words("month.chain_broken_do"), tone="failed")
    for finding in result.file_findings:
        yield Note(text=words("month.file_finding"), detail=words.said(finding.what), tone="stopped")


def differences(view: View, item: Import, result: Reconciliation) -> None:
    """Filters and table of the differences."""
    words = view.words
    first, left, right, _ = st.columns((2, 2, 2, 2))
    with first:
        show = choice(words("month.show"), "show", SHOW, show=lambda code: words(f"month.{code}"))
    if show == "lines":
        sheet(lines.listed(view, item, result), key="month")
        return
    if not result.breaks:
        sheet((Note(text=words("month.agrees"), detail=words("month.agrees_is"), tone="ok"),), key="month")
        return
    kinds = (ALL, *sorted({found.kind for found in result.breaks}))
    sures = (ALL, "proven", "supported", "undecidable")
    with left:
        kind = choice(
            words("kind"), "kind", kinds, show=lambda code: words.of("break", code) if code else words("all")
        )
    with right:
        sure = choice(
            words("sure.label"),
            "sure",
            sures,
            show=lambda code: words.of("sure", code) if code else words("all"),
        )
    shown = [
        found
        for found in result.breaks
        if kind in {ALL, found.kind}
        and (not sure or any(finding.verdict == sure for finding in found.findings))
    ]
    sheet(listed(view, item, shown), key="month")


def listed(view: View, item: Import, breaks: Sequence[Break]) -> tuple[Block, ...]:
    """The differences as a table."""
    words = view.words
    if not breaks:
        return (Note(text=words("none_left"), detail=words("none_left_do")),)
    part, pager = paged(view, MONTH, breaks)
    columns = (
        words("bill"),
        words("kind"),
        Column(label=words("amount"), align="end"),
        words("cause.label"),
        words("responsible"),
        Column(label=words("why"), grow=True),
    )
    made = table(columns, [break_row(view, item, found) for found in part], label=words("month.title"))
    return (made, Lines(items=(pager,))) if pager else (made,)


def break_row(view: View, item: Import, found: Break) -> Row:
    """One difference with its causes."""
    words = view.words
    place: dict[str, str | int | None] = {"file": item.position, "break": found.id}
    path = view.path(MONTH, **place)
    causes = [
        (text(words.of("cause", finding.cause), tip=finding.cause), view.cause_verdict(finding.verdict))
        for finding in found.findings
    ]
    return row(
        text(found.bill, "strong", href=path),
        text(words.of("break", found.kind), tip=found.kind),
        text(money(found.amount_minor, found.currency, signed=True), "number"),
        cell(*causes),
        cell(*(responsible(view, finding.responsible, finding.party) for finding in found.findings)),
        cell(*(text(words.said(finding.summary), "quiet") for finding in found.findings)),
        href=path,
    )


def responsible(view: View, principals: Sequence[str], party: str) -> Span:
    """Principals of ours, else the side of the business."""
    if principals:
        return text(", ".join(principals), "mono")
    return text(view.words.of("party", party), "quiet", tip=party)
