"""Runs: what was recorded, when, and what became of it (G6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import streamlit as st

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
    percent,
    row,
    table,
    text,
    when,
)
from replay_ui.components.sheet import sheet
from replay_ui.views.common import PAGE_ROWS, QUEUE, REPLAY, RUNS, View, choice, paging, search

if TYPE_CHECKING:
    from projections.views.runs import RunRow

ALL: Final = ""
MODES: Final = (ALL, "guarded", "record_only")
STATES: Final = (ALL, "running", "finished", "escalated")


def page(view: View) -> None:
    """Show the runs of the tenant."""
    words = view.words
    if not view.desk.count_runs(view.tenant):
        sheet((Note(text=words("runs.none"), detail=words("runs.none_do")),), key="runs")
        return
    sheet((figures(view),), key="runs-figures")
    left, middle, right = st.columns((2, 2, 4))
    with left:
        mode = choice(words("mode.label"), "mode", MODES, show=lambda code: label(view, "mode", code))
    with middle:
        state = choice(words("state"), "state", STATES, show=lambda code: label(view, "status", code))
    with right:
        wanted = search(words("runs.search"), "q")
    sheet(listed(view, mode, state, wanted), key="runs")


def label(view: View, vocabulary: str, code: str) -> str:
    """Word of a filter's option."""
    return view.words.of(vocabulary, code) if code else view.words("all")


def figures(view: View) -> Tiles:
    """The tenant at a glance."""
    words = view.words
    tasks = view.desk.tasks_by_status(view.tenant)
    waiting = view.desk.queue(view.tenant, now_us=view.now_us)
    asked = view.desk.approvals(view.tenant, now_us=view.now_us)
    late = sum(item.breached for item in waiting)
    stopped = view.desk.objections(view.tenant)
    done = tasks.get("succeeded", 0)
    return Tiles(
        items=(
            Tile(label=words("runs.title"), value=f"{view.desk.count_runs(view.tenant):,}"),
            Tile(label=words("tasks"), value=f"{sum(tasks.values()):,}"),
            Tile(label=words("runs.confirmed"), value=f"{done:,}", detail=words("runs.confirmed_by")),
            Tile(label=words("runs.stopped"), value=f"{stopped:,}", detail=words("runs.stopped_by")),
            Tile(
                label=words("runs.waiting"),
                value=f"{len(waiting) + len(asked):,}",
                detail=words("runs.late", count=late) if late else "",
                tone="failed" if late else "none",
                href=view.path(QUEUE),
            ),
        )
    )


def listed(view: View, mode: str, state: str, wanted: str) -> tuple[Block, ...]:
    """The runs as a table, or what to do when none is left."""
    words = view.words
    total = view.desk.count_runs(view.tenant, mode=mode, status=state, words=wanted)
    if not total:
        return (Note(text=words("none_left"), detail=words("none_left_do")),)
    start, pager = paging(view, RUNS, total)
    part = view.desk.runs(view.tenant, mode=mode, status=state, words=wanted, offset=start, limit=PAGE_ROWS)
    columns = (
        words("started"),
        Column(label=words("run"), grow=True),
        words("mode.label"),
        words("outcome"),
        words("verdicts"),
        Column(label=words("steps_ok"), align="end"),
        Column(label=words("frames"), align="end"),
    )
    made = table(columns, [run_row(view, run) for run in part], label=words("runs.title"))
    return (made, Lines(items=(pager,))) if pager else (made,)


def run_row(view: View, run: RunRow) -> Row:
    """One run."""
    path = view.path(REPLAY, run=run.run_id)
    rate = "–" if run.success_permille is None else percent(run.success_permille)
    day, _, time = when(run.started_at_us).partition(" ")
    return row(
        cell(text(day, "number"), text(time, "number")),
        cell(
            text(run.goal or run.run_id, "strong", href=path),
            (text(run.agent, "quiet"), text(run.run_id[:8], "mono", tip=run.run_id)),
        ),
        cell((mode_chip(view, run.mode), view.status(run.status))),
        cell(outcome_chips(view, run)),
        cell(verdict_chips(view, run)),
        cell(text(f"{run.steps_ok}/{run.steps}", "number"), text(rate, "number")),
        text(f"{run.frames:,}", "number"),
        href=path,
    )


def mode_chip(view: View, mode: str) -> Span:
    """How the run was recorded."""
    return Span(text=view.words.of("mode", mode or "guarded"), look="quiet", tip=mode)


def outcome_chips(view: View, run: RunRow) -> tuple[Span, ...]:
    """Tasks by what became of them."""
    return tuple(view.status(code, count=count) for code, count in run.outcomes.items()) or (
        text("–", "quiet"),
    )


def verdict_chips(view: View, run: RunRow) -> tuple[Span, ...]:
    """Steps by verdict, objections first."""
    order = sorted(run.verdicts.items(), key=lambda item: (item[0] == "pass", -item[1], item[0]))
    return tuple(view.verdict(code, count=count) for code, count in order) or (text("–", "quiet"),)
