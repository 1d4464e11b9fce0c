"""``settlement_file_error``: the file itself is damaged, cut, or for another month.

Decisive: a refused row that names the bill; a line id that stands twice; the file's own count or total that the lines
don't reach by exactly this amount. Undecidable when the file doesn't add up and nothing says which line is at fault.
Counter-evidence: the record's own readback, which would decide without the file.
"""

from __future__ import annotations

from domain import events as e
from projections.settlement.amounts import AmountRefused, parse_amount
from projections.settlement.casefile import names_bill
from projections.settlement.causes import CounterEvidence, Finding
from projections.settlement.lines import RefusedRow
from projections.settlement.rules.base import (
    Question,
    astray,
    conclusive,
    event,
    file_of,
    line_of,
    looked,
    row_of,
)


def judge(question: Question) -> Finding | None:
    """See the module."""
    if question.missing and question.expected is not None:
        return _missing(question)
    if question.difference.kind == "duplicate_in_file":
        return _repeated(question)
    if question.difference.kind == "amount_mismatch":
        return _amount(question)
    return _too_many(question) if question.difference.kind == "extra_in_file" else None


def _missing(question: Question) -> Finding | None:
    item = question.expected
    if (
        item is None
        or item.basis in {"refuted", "open", "declared"}
        or any(astray(a) for _, a in question.writes())
    ):
        return None  # the record explains the gap without the file
    last = [conclusive(case, undoing=item.undoing) for case in item.tasks]
    if any(r is not None and isinstance(r.event, e.ReadbackMismatched) for r in last):
        return None
    named = [row for row in question.month.file.refused if names_bill(",".join(row.cells), item.bill_id)]
    same = [row for row in named if _holds(row, item.amount_minor, item.currency)]
    if same:
        return Finding(
            cause="settlement_file_error",
            verdict="supported",
            amount_minor=question.remaining,
            summary=f"The line is in the file and could not be read: {same[0].reason}.",
            party="settlement_issuer",
            decisive=tuple(row_of(row) for row in same),
            counter_evidence=(_readbacks(question),),
        )
    wrong = [
        f
        for f in question.month.file.findings
        if f.code in {"month_mismatch", "trailer_missing", "control_mismatch"}
        or (f.code == "count_mismatch" and f.declared > f.found)
        or (f.code == "total_mismatch" and f.currency == item.currency)
    ]
    if not wrong and not named:
        return None
    exact = [f for f in wrong if f.code == "total_mismatch" and f.declared - f.found == item.amount_minor]
    alone = len(question.month.missing) == 1
    return Finding(
        cause="settlement_file_error",
        verdict="supported" if exact and alone else "undecidable",
        amount_minor=question.remaining if exact and alone else 0,
        summary="The file lacks a line that its own total counts."
        if exact and alone
        else "The file does not add up, so a line that is not there may have been lost.",
        party="settlement_issuer" if exact and alone else "unknown",
        reason="" if exact and alone else "file_does_not_add_up",
        decisive=(*(file_of(f.what, f.line) for f in wrong), *(row_of(row) for row in named)),
        counter_evidence=(_readbacks(question),),
    )


def _holds(row: RefusedRow, amount_minor: int, currency: str) -> bool:
    """True if a cell of the row reads as the amount, whatever its sign."""
    for cell in row.cells:
        try:
            if abs(parse_amount(cell, currency)) == abs(amount_minor):
                return True
        except AmountRefused:
            continue
    return False


def _repeated(question: Question) -> Finding | None:
    line, twin = question.line, question.difference.twin
    if line is None or twin is None or not line.line_id or line.line_id != twin.line_id:
        return None
    if len(question.surplus_writes()) >= question.difference.ordinal:
        return None  # two writes went out: two lines are what they should leave, whatever their ids
    readback = next((r for case in question.tasks if (r := conclusive(case))), None)
    fact = readback.event if readback else None
    single = isinstance(fact, e.ReadbackConfirmed) and fact.found.ledger_lines == 1
    return Finding(
        cause="settlement_file_error",
        verdict=question.strength(*question.tasks, outside=single),
        amount_minor=question.remaining,
        summary=f"Line id {line.line_id} stands twice in the file.",
        party="settlement_issuer",
        decisive=(line_of(twin), line_of(line), *((event(readback),) if readback and single else ())),
        counter_evidence=(
            looked("a second write of the same effect", "all tasks of the bill"),
            looked(
                "a readback that shows two ledger lines",
                "readbacks of the bill",
                (event(readback),) if readback and isinstance(fact, e.ReadbackMismatched) else (),
            ),
        ),
    )


def _amount(question: Question) -> Finding | None:
    currency = question.difference.currency
    wrong = [f for f in question.month.file.findings if f.code == "total_mismatch" and f.currency == currency]
    if not wrong or question.line is None:
        return None
    exact = wrong[0].found - wrong[0].declared == question.difference.amount_minor
    return Finding(
        cause="settlement_file_error",
        verdict="supported" if exact else "undecidable",
        amount_minor=question.remaining if exact else 0,
        summary="The line's amount is off by exactly what the file's own total is off."
        if exact
        else "The file's total disagrees with its lines, so this amount can't be relied on.",
        party="settlement_issuer" if exact else "unknown",
        reason="" if exact else "file_does_not_add_up",
        decisive=(*(file_of(f.what, f.line) for f in wrong), line_of(question.line)),
        counter_evidence=(_readbacks(question),),
    )


def _too_many(question: Question) -> Finding | None:
    bill = question.difference.bill_id
    wrong = [
        f
        for f in question.month.file.findings
        if f.code == "month_mismatch" or (f.code == "count_mismatch" and f.found > f.declared)
    ]
    if not wrong or question.line is None or question.tasks or question.month.strays.get(bill):
        return None
    return Finding(
        cause="settlement_file_error",
        verdict="undecidable",
        amount_minor=0,
        summary="The file has more lines than it declares, so a line too many may be the file's own.",
        reason="file_does_not_add_up",
        decisive=(*(file_of(f.what, f.line) for f in wrong), line_of(question.line)),
        counter_evidence=(looked("any event that names the bill", "the whole record of the tenant"),),
    )


def _readbacks(question: Question) -> CounterEvidence:
    found = [r for case in question.tasks if (r := conclusive(case)) is not None]
    return looked(
        "an independent readback that decides without the file",
        "readbacks of the bill",
        [event(r) for r in found if isinstance(r.event, e.ReadbackMismatched)],
    )
