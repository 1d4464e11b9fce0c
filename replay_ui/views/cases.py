"""Cases: all that waits for somebody, the most urgent first: approvals, takeovers, differences of month ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import streamlit as st

from domain.errors import ProofreelError
from replay_ui.components.blocks import (
    Block,
    Cell,
    Column,
    Lines,
    Note,
    Row,
    Tile,
    Tiles,
    cell,
    chip,
    countdown,
    money,
    row,
    table,
    text,
    when,
)
from replay_ui.components.sheet import sheet
from replay_ui.views.case import standing
from replay_ui.views.common import CASES, CHAIN, MONTH, QUEUE, RUNS, View, choice, paged

if TYPE_CHECKING:
    from domain.values import Intent
    from projections.views.approvals import Pending
    from projections.views.cases import CaseRow
    from projections.views.reconciliation import Break
    from projections.views.takeover_queue import Aged
    from replay_ui.data import Import

ALL: Final = ""
KINDS: Final = (ALL, "approval", "takeover", "difference")
QUICK_EVENTS: Final = 20_000
"""Events up to which the inbox compares the newest month itself."""
_OPEN: Final = frozenset({"opened", "waits"})


def page(view: View) -> None:
    """Show what waits for somebody; ``?kind=`` narrows it."""
    words = view.words
    asked = view.desk.approvals(view.tenant, now_us=view.now_us)
    taken = view.desk.queue(view.tenant, now_us=view.now_us)
    kept = view.desk.cases(view.tenant)
    cases = [item for item in kept if item.standing in _OPEN]
    fresh = not_kept(view, kept)
    sheet((figures(view, asked, taken, len(cases) + len(fresh)),), key="cases-figures")
    if not view.desk.count_runs(view.tenant):
        sheet((Note(text=words("runs.none"), detail=words("runs.none_do")),), key="cases")
        return
    left, _ = st.columns((2, 6))
    with left:
        kind = choice(words("cases.kind"), "kind", KINDS, show=lambda code: words(f"cases.{code or 'all'}"))
    due = [
        *((item.left_us, approval_row(view, item)) for item in asked if kind in {ALL, "approval"}),
        *((item.left_us, takeover_row(view, item)) for item in taken if kind in {ALL, "takeover"}),
    ]
    rows = [made for _, made in sorted(due, key=lambda pair: pair[0])]
    if kind in {ALL, "difference"}:
        files = file_of(view)
        rows += [case_row(view, item, files) for item in cases]
        rows += [break_row(view, item, file) for item, file in fresh]
    sheet(listed(view, rows), key="cases")


def figures(view: View, asked: tuple[Pending, ...], taken: tuple[Aged, ...], differences: int) -> Tiles:
    """How much waits."""
    words = view.words
    late = sum(item.breached for item in taken) + sum(item.expired for item in asked)
    return Tiles(
        items=(
            Tile(label=words("queue.approvals"), value=f"{len(asked):,}", href=view.path(QUEUE)),
            Tile(label=words("queue.takeovers"), value=f"{len(taken):,}", href=view.path(QUEUE)),
            Tile(label=words("cases.differences"), value=f"{differences:,}", href=view.path(MONTH)),
            Tile(label=words("cases.late"), value=f"{late:,}", tone="failed" if late else "none"),
            Tile(
                label=words("runs.title"),
                value=f"{view.desk.count_runs(view.tenant):,}",
                href=view.path(RUNS),
            ),
        )
    )


def listed(view: View, rows: list[Row]) -> tuple[Block, ...]:
    """What waits as a table; an empty inbox says so."""
    words = view.words
    if not rows:
        return (Note(text=words("cases.none"), detail=words("cases.none_is"), tone="ok"),)
    part, pager = paged(view, CASES, rows)
    heads = (
        words("cases.kind"),
        words("bill"),
        words("wanted"),
        Column(label=words("amount"), align="end"),
        Column(label=words("why"), grow=True),
        words("responsible"),
        words("queue.due"),
    )
    made = table(heads, part, label=words("cases.title"))
    return (made, Lines(items=(pager,))) if pager else (made,)


def about(view: View, intent: Intent | None, task: str) -> tuple[Cell, Cell, Cell]:
    """Bill, what is wanted, amount."""
    if intent is None:
        return cell(text(task[:8], "mono", tip=task)), cell(text("–")), cell(text("–"))
    return (
        cell(text(intent.bill_id, "strong", href=view.path(CHAIN, bill=intent.bill_id))),
        cell(text(view.words.of("action", intent.action)), text(intent.counterparty, "quiet")),
        cell(text(money(intent.amount_minor, intent.currency), "number")),
    )


def due(view: View, left_us: int, at_us: int) -> Cell:
    """Time that is left, or by how much it is late; it counts down on the page."""
    words = view.words
    span = countdown(
        left_us,
        words("queue.left", time="{time}"),
        words("queue.late_by", time="{time}"),
        units=words.units(),
    )
    return cell((span,), text(when(at_us), "quiet"))


def approval_row(view: View, item: Pending) -> Row:
    """A request that waits for a person's word."""
    return row(
        text(view.words("cases.approval"), "strong"),
        *about(view, item.intent, item.task_id),
        cell(text(view.words.said(item.request.reason)), text(item.request.rule, "mono")),
        text(item.request.requested_by, "mono"),
        due(view, item.left_us, item.request.expires_at_us),
        href=view.path(QUEUE, task=item.task_id),
    )


def takeover_row(view: View, item: Aged) -> Row:
    """A task that waits for a person."""
    owner = item.item.owner
    return row(
        text(view.words("cases.takeover"), "strong"),
        *about(view, item.intent, item.task_id),
        cell((view.verdict(item.item.verdict),), text(view.words.said(item.item.reason), "quiet")),
        text(owner, "mono") if owner else text(view.words("queue.nobody"), "quiet"),
        due(view, item.left_us, item.item.due_at_us),
        href=view.path(QUEUE, task=item.task_id),
    )


def file_of(view: View) -> dict[str, int]:
    """Month → its newest import."""
    return {item.month: item.position for item in reversed(view.desk.imports(view.tenant))}


def not_kept(view: View, kept: tuple[CaseRow, ...]) -> list[tuple[Break, Import]]:
    """Differences of the newest file that are no cases yet.

    On a long record the comparison takes a while; there it is made by who opens the month end, not by the inbox.
    """
    newest = next(iter(view.desk.imports(view.tenant)), None)
    if newest is None or view.desk.end_of_evidence(view.tenant) > QUICK_EVENTS:
        return []
    try:
        result = view.desk.reconciliation(view.tenant, newest.position)
    except ProofreelError:
        return []  # the month end says what is wrong with the file
    known = {case.break_id for case in kept}
    return [(found, newest) for found in result.breaks if found.id not in known] if result else []


def break_row(view: View, found: Break, file: Import) -> Row:
    """A difference that is no case yet."""
    words = view.words
    names = tuple(
        span
        for finding in found.findings[:2]
        for span in (
            text(words.of("cause", finding.cause), tip=finding.cause),
            view.cause_verdict(finding.verdict),
        )
    )
    who = dict.fromkeys(name for finding in found.findings for name in finding.responsible)
    return row(
        cell(text(words("cases.difference"), "strong"), text(file.month, "quiet")),
        cell(text(found.bill, "strong", href=view.path(CHAIN, bill=found.bill))),
        text(words.of("break", found.kind), tip=found.kind),
        text(money(found.amount_minor, found.currency, signed=True), "number"),
        cell(names or (text("–", "quiet"),)),
        cell(*(text(name, "mono") for name in who)) if who else text("–", "quiet"),
        cell((chip(words("cases.not_a_case"), "none"),)),
        href=view.path(MONTH, file=file.position, **{"break": found.id}),
    )


def case_row(view: View, item: CaseRow, files: dict[str, int]) -> Row:
    """A difference of a month end that nobody signed off."""
    words, found = view.words, item.state.conclusion
    causes = found.causes if found else ()
    names = tuple(
        span
        for cause in causes[:2]
        for span in (text(words.of("cause", cause.cause), tip=cause.cause), view.cause_verdict(cause.verdict))
    )
    file = files.get(item.month)
    opens = view.path(CHAIN, bill=item.bill_id)
    if file is not None:
        opens = view.path(MONTH, file=file, **{"break": item.break_id})
    return row(
        cell(text(words("cases.difference"), "strong"), text(item.month, "quiet")),
        cell(text(item.bill_id, "strong", href=view.path(CHAIN, bill=item.bill_id))),
        text(words.of("break", item.kind), tip=item.kind),
        text(money(item.amount_minor, item.currency, signed=True), "number"),
        cell(names or (text("–", "quiet"),)),
        cell(*(text(name, "mono") for name in item.responsible)) if item.responsible else text("–", "quiet"),
        cell((standing(view, item),)),
        href=opens,
    )
