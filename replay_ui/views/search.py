"""Search: what is on record under a bill, a task, a run, a person, a key or a hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replay_ui.components.blocks import (
    Block,
    Column,
    Heading,
    Note,
    Row,
    cell,
    moment,
    money,
    row,
    table,
    text,
)
from replay_ui.components.sheet import sheet
from replay_ui.search import MOST, Found, search
from replay_ui.views.common import CHAIN, REPLAY, View
from replay_ui.views.common import search as field
from replay_ui.views.runs import run_row

if TYPE_CHECKING:
    from projections.views.task_states import TaskRow
    from replay_ui.record import Place


def page(view: View) -> None:
    """Show what ``?q=`` names."""
    words = view.words
    asked = field(words("search.label"), "q", exact=True)
    if not asked:
        sheet((Note(text=words("search.how"), detail=words("search.how_do")),), key="search")
        return
    found = search(view.desk, view.tenant, asked)
    if found.nothing:
        sheet((Note(text=words("search.none"), detail=words("search.how_do"), tone="stopped"),), key="search")
        return
    sheet(results(view, found, asked), key="search")


def results(view: View, found: Found, asked: str) -> tuple[Block, ...]:
    """One table for each kind that something was found of."""
    words = view.words
    blocks: list[Block] = []
    if found.bills and found.bills != (asked,):
        line = tuple(text(bill, "strong", href=view.path(CHAIN, bill=bill)) for bill in found.bills)
        heads = (Column(label=words("bill"), grow=True),)
        blocks += [head(view, "search.bills", len(found.bills)), table(heads, [row(cell(line))])]
    if found.tasks:
        of_tasks = (
            words("bill"),
            Column(label=words("wanted"), grow=True),
            Column(label=words("amount"), align="end"),
            words("state"),
            words("identity"),
            words("key"),
            words("started"),
        )
        rows = [task_row(view, task) for task in found.tasks]
        blocks += [head(view, "tasks", len(rows)), table(of_tasks, rows, label=words("tasks"))]
    if found.runs:
        of_runs = (
            words("started"),
            Column(label=words("run"), grow=True),
            words("mode.label"),
            words("outcome"),
            words("verdicts"),
            Column(label=words("steps_ok"), align="end"),
            Column(label=words("frames"), align="end"),
        )
        rows = [run_row(view, run) for run in found.runs]
        blocks += [head(view, "runs.title", len(rows)), table(of_runs, rows, label=words("runs.title"))]
    if found.events:
        of_events = (
            words("time"),
            words("event"),
            Column(label=words("month.says"), grow=True),
            words("identity"),
        )
        rows = [event_row(view, place) for place in found.events]
        blocks += [
            head(view, "search.events", len(rows)),
            table(of_events, rows, label=words("search.events")),
        ]
    return tuple(blocks)


def head(view: View, key: str, count: int) -> Heading:
    """Heading of a kind; says when there may be more."""
    more = (text(view.words("search.first", count=MOST), "quiet"),) if count >= MOST else ()
    return Heading(text=view.words(key), beside=more)


def task_row(view: View, task: TaskRow) -> Row:
    """One task."""
    words, intent = view.words, task.intent
    path = view.path(CHAIN, bill=task.bill_id)
    return row(
        cell(text(task.bill_id, "strong", href=path), text(task.task_id[:8], "mono", tip=task.task_id)),
        cell(text(words.of("action", task.action)), text(intent.counterparty if intent else "", "quiet")),
        text(money(intent.amount_minor, intent.currency) if intent else "–", "number"),
        cell((view.status(task.status),)),
        text(task.principal, "mono"),
        text(task.effect_key or "–", "name"),
        moment(task.opened_at_us),
        href=path,
    )


def event_row(view: View, place: Place) -> Row:
    """One event."""
    path = view.event_path(place.bill_id, place.position) if place.bill_id else ""
    if not path and place.run_id:
        path = view.path(REPLAY, run=place.run_id, at=place.position)
    return row(
        moment(place.at_us),
        cell(text(place.name, "mono", href=path), (view.stored(place.run_id, place.position),)),
        text(view.words.said(place.sentence)),
        text(place.principal, "mono"),
        href=path,
    )
