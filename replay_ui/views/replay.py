"""Replay: one run frame by frame, and its tasks to jump to (D3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from replay_ui.components.blocks import (
    Block,
    Column,
    Fact,
    Facts,
    Heading,
    Lines,
    Note,
    Row,
    cell,
    money,
    row,
    table,
    text,
    when,
)
from replay_ui.components.sheet import sheet
from replay_ui.player import Beside, aligned_url, frame_to_query, player, run_urls
from replay_ui.player.manifest import CHUNK_SIZE
from replay_ui.views.common import (
    CHAIN,
    CHOICES,
    PAGE_ROWS,
    REPLAY,
    RUNS,
    View,
    choice,
    number,
    paging,
    reset,
)
from replay_ui.views.deciding import outcome
from replay_ui.views.redacting import asking
from replay_ui.views.runs import mode_chip, outcome_chips, verdict_chips

if TYPE_CHECKING:
    from projections.views.runs import RunRow
    from projections.views.task_states import TaskRow
    from projections.views.timeline import Timeline


def page(view: View) -> None:
    """Show the run that ``?run=`` names, else the newest; ``?frame=`` or ``?at=`` open a frame."""
    words, runs = view.words, view.desk.runs(view.tenant, limit=CHOICES)
    if not runs:
        sheet((Note(text=words("runs.none"), detail=words("runs.none_do")),), key="replay")
        return
    asked = st.query_params.get("run")
    run = next((item for item in runs if item.run_id == asked), None)
    if asked and run is None:
        older = view.desk.run(view.tenant, asked)
        if older is None:
            missing = Note(text=words("replay.no_run"), detail=words("replay.no_run_do"), tone="stopped")
            back = text(words("replay.all_runs"), "button", href=view.path(RUNS))
            sheet((missing, Lines(items=((back,),))), key="replay")
            return
        runs, run = (older, *runs), older
    names = {item.run_id: name_of(item) for item in runs}
    default = run.run_id if run else runs[0].run_id
    left, right = st.columns((3, 2))
    with left:
        picked = choice(words("run"), "run", tuple(names), show=names.__getitem__, default=default)
    with right:
        beside = other_run(view, picked, names)
    shown = next(item for item in runs if item.run_id == picked)
    view.opens("run", shown.run_id)
    line = view.desk.timeline(view.tenant, shown.run_id)
    open_at(view, shown)
    outcome("replay-said")
    if line is None or not line.entries:
        sheet(
            (Note(text=words("replay.no_frames"), detail=words("replay.no_frames_do")),), key="replay-empty"
        )
    elif beside is None:
        replayed(view, shown.run_id, len(line.entries))
    else:
        view.opens("run", beside)
        left, right = st.columns(2)
        with left:
            replayed(view, shown.run_id, len(line.entries), beside)
        with right:
            second(view, beside, shown.run_id)
    sheet((*about(view, shown), *tasks_of(view, shown, line)), key="replay-tasks")


def name_of(run: RunRow) -> str:
    """A run in a list to choose from."""
    return f"{run.goal or run.agent or run.run_id} · {when(run.started_at_us)} · {run.run_id[:8]}"


def other_run(view: View, run: str, names: dict[str, str]) -> str | None:
    """Run to be shown beside ``run``, by ``?with=``; None for none."""
    words, asked = view.words, st.query_params.get("with", "")
    others = [name for name in names if name != run]
    if asked and asked != run and asked not in others and view.desk.run(view.tenant, asked) is not None:
        others.insert(0, asked)
    picked = choice(
        words("replay.beside"),
        "with",
        ("", *others),
        show=lambda name: names.get(name, name) if name else words("replay.alone"),
    )
    return picked or None


def second(view: View, run: str, beside: str) -> None:
    """The run beside the one that the page is about."""
    line = view.desk.timeline(view.tenant, run)
    if line is None or not line.entries:
        note = Note(text=view.words("replay.no_frames"), detail=view.words("replay.no_frames_do"))
        sheet((note,), key="replay-second")
        return
    urls = run_urls(view.tenant, run)
    player(
        run_manifest_url=urls.manifest,
        frames_url=urls.frames,
        events_url=urls.events,
        n=len(line.entries),
        chunk=CHUNK_SIZE,
        link={"tenant": view.tenant, "run": run},
        labels=view.words.player(),
        language=view.words.language,
        beside=Beside(
            run_urls(view.tenant, beside).manifest, aligned_url(view.tenant, beside, run), ask=True
        ),
        key=f"player-{view.tenant}-{run}-second",
    )


def open_at(view: View, run: RunRow) -> None:
    """Turn ``?at=`` (an event's position) into the frame to open."""
    position = number("at")
    if position is None:
        return
    index = view.desk.frame_index(
        view.tenant, run.run_id, position=position, sha256=st.query_params.get("sha", "")
    )
    reset("at", "sha")
    if index is not None:
        st.query_params["frame"] = frame_to_query(index)


@st.fragment
def replayed(view: View, run: str, frames: int, beside: str | None = None) -> None:
    """The player, and what can be asked about its frame; a fragment, so that moving doesn't run the page again."""
    urls = run_urls(view.tenant, run)
    other = None
    if beside is not None:
        there = run_urls(view.tenant, beside).manifest
        other = Beside(there, aligned_url(view.tenant, beside, run), ask=False)
    asks = beside is None and view.actions is not None and view.may("redact")
    state = player(
        run_manifest_url=urls.manifest,
        frames_url=urls.frames,
        events_url=urls.events,
        n=frames,
        chunk=CHUNK_SIZE,
        query_param="frame",
        link={"tenant": view.tenant, "run": run},
        labels=view.words.player(),
        language=view.words.language,
        beside=other,
        regions=asks,
        key=f"player-{view.tenant}-{run}",
    )
    if asks:
        asking(view, run, state)


def about(view: View, run: RunRow) -> tuple[Block, ...]:
    """What is known of the run as a whole."""
    words = view.words
    facts = [
        Fact(label=words("outcome"), line=outcome_chips(view, run)),
        Fact(label=words("verdicts"), line=verdict_chips(view, run)),
        Fact(label=words("mode.label"), line=(mode_chip(view, run.mode), view.status(run.status))),
        Fact(label=words("identity"), line=(text(run.principal, "mono"),)),
        Fact(label=words("target"), line=(text(run.origin or "–"), text(run.browser, "quiet"))),
    ]
    blocks: list[Block] = [Facts(items=tuple(facts))]
    if run.stopped_by:
        blocks.append(Note(text=words("replay.stopped"), detail=words.said(run.stopped_by), tone="stopped"))
    return tuple(blocks)


def tasks_of(view: View, run: RunRow, line: Timeline | None) -> tuple[Block, ...]:
    """The tasks of the run; each leads to its first frame."""
    words, total = view.words, view.desk.lookup.count_tasks_of_run(view.tenant, run.run_id)
    if not total:
        return (Heading(text=words("tasks")), Note(text=words("replay.no_tasks")))
    first: dict[str, int] = {}
    for index, entry in enumerate(line.entries if line else ()):
        first.setdefault(entry.task_id, index)
    columns = (
        words("bill"),
        Column(label=words("wanted"), grow=True),
        Column(label=words("amount"), align="end"),
        words("state"),
        words("verdicts"),
        words("evidence"),
    )
    start, pager = paging(view, REPLAY, total)
    part = view.desk.tasks_of_run(view.tenant, run.run_id, offset=start, limit=PAGE_ROWS)
    rows = [task_row(view, run, task, first.get(task.task_id)) for task in part]
    beside = (text(words("replay.tasks_hint"), "quiet"),)
    made = (Heading(text=words("tasks"), beside=beside), table(columns, rows, label=words("tasks")))
    return (*made, Lines(items=(pager,))) if pager else made


def task_row(view: View, run: RunRow, task: TaskRow, frame: int | None) -> Row:
    """One task."""
    words, intent = view.words, task.intent
    jump = "" if frame is None else view.path(REPLAY, run=run.run_id, frame=frame_to_query(frame))
    wanted = cell(
        (text(words.of("action", task.action)), text(intent.counterparty if intent else "", "quiet")),
        (text(words.said(task.refusal), "quiet"),) if task.refusal else (),
    )
    verdicts = tuple(view.verdict(code, count=count) for code, count in task.verdicts.items())
    return row(
        text(task.bill_id, "strong", href=jump),
        wanted,
        text(money(intent.amount_minor, intent.currency) if intent else "–", "number"),
        cell((view.status(task.status),)),
        cell(verdicts or (text("–", "quiet"),)),
        text(words("chain.open"), href=view.path(CHAIN, bill=task.bill_id)),
        href=jump,
    )
