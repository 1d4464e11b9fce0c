"""The lines of a month: what of the file agrees with the record, and what doesn't (B16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from replay_ui.components.blocks import (
    Block,
    Column,
    Lines,
    Note,
    Row,
    cell,
    chip,
    moment,
    money,
    row,
    table,
    text,
)
from replay_ui.views.common import CHAIN, MONTH, View, paging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.views.reconciliation import Break, ExpectedLine, FoundLine, MatchedLine, Reconciliation
    from replay_ui.data import Import


class Pair(NamedTuple):
    """A line of the file beside the one that the record leads one to expect; one of them may be missing."""

    found: FoundLine | None
    expected: ExpectedLine | None
    differs: Break | None


def listed(view: View, item: Import, result: Reconciliation) -> tuple[Block, ...]:
    """All lines, differences first, then those that agree in order of bill."""
    words = view.words
    total = len(result.breaks) + len(result.matched)
    if not total:
        return (Note(text=words("month.no_lines")),)
    start, pager = paging(view, MONTH, total)
    columns = (
        Column(label=words("month.row"), align="end"),
        words("bill"),
        words("kind_of_line"),
        Column(label=words("month.line_file"), align="end"),
        Column(label=words("month.line_record"), align="end"),
        Column(label=words("counterparty"), grow=True),
        words("time"),
        words("month.account"),
        words("state"),
    )
    rows = [line_row(view, item, pair) for pair in part(result, start)]
    made = table(columns, rows, label=words("month.lines"))
    return (made, Lines(items=(pager,))) if pager else (made,)


def part(result: Reconciliation, start: int, rows: int = 100) -> list[Pair]:
    """The pairs of one page."""
    breaks: Sequence[Break] = result.breaks[start : start + rows]
    pairs = [Pair(one.found, one.expected, one) for one in breaks]
    begin = max(start - len(result.breaks), 0)
    agreeing: Sequence[MatchedLine] = result.matched[begin : begin + rows - len(pairs)]
    return pairs + [Pair(one.found, one.expected, None) for one in agreeing]


def line_row(view: View, item: Import, pair: Pair) -> Row:
    """One pair; a difference leads to its causes, what agrees to the bill's chain."""
    words = view.words
    found, expected, differs = pair
    line = found or expected
    assert line is not None, "a pair has a line"  # noqa: S101 - invariant, stays on
    if differs is None:
        state, href = chip(words("month.agree"), "ok"), view.path(CHAIN, bill=line.bill)
    else:
        place: dict[str, str | int | None] = {"file": item.position, "break": differs.id}
        state, href = (
            chip(words.of("break", differs.kind), "failed", tip=differs.kind),
            view.path(MONTH, **place),
        )
    return row(
        text(f"{found.line:,}" if found else "–", "number"),
        text(line.bill, "strong", href=href),
        text(words.of("line", line.kind), tip=line.kind),
        text(money(found.amount_minor, found.currency) if found else "–", "number"),
        text(money(expected.amount_minor, expected.currency) if expected else "–", "number"),
        text(line.counterparty),
        moment(found.at_us if found else None),
        text(found.account if found and found.account else "–", "mono"),
        cell((state,)),
        href=href,
    )
