"""Evidence chain: everything on record about one bill, in order (B12, D3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import streamlit as st

from replay_ui.components.blocks import (
    Block,
    Card,
    Chain,
    Fact,
    Facts,
    Heading,
    Item,
    Lines,
    Note,
    Span,
    Thumb,
    Thumbs,
    Tone,
    clock,
    money,
    text,
    when,
)
from replay_ui.components.sheet import sheet
from replay_ui.player import run_urls
from replay_ui.views.common import CHAIN, CHOICES, PAGE_ROWS, REPLAY, View, choice, number, paged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from domain.values import FrameRef
    from projections.views.evidence_chain import BillChain, ChainItem, WriteEvidence
    from projections.views.task_states import TaskRow

ALL: Final = ""
CATEGORIES: Final = (
    ALL,
    "task",
    "verdict",
    "attempt",
    "approval",
    "readback",
    "frame",
    "compensation",
    "takeover",
    "alert",
)
_TONES: Final[Mapping[str, Tone]] = {
    "action.blocked": "stopped",
    "action.failed": "failed",
    "action.outcome_unknown": "unknown",
    "approval.granted": "ok",
    "approval.denied": "stopped",
    "approval.lapsed": "stopped",
    "approval.requested": "stopped",
    "compensation.confirmed": "ok",
    "compensation.failed": "failed",
    "readback.confirmed": "ok",
    "readback.mismatched": "failed",
    "readback.inconclusive": "unknown",
    "takeover.requested": "stopped",
    "takeover.resolved": "ok",
    "task.claim_denied": "stopped",
    "task.declared_done": "unknown",
    "task.failed": "failed",
    "task.refused": "stopped",
    "task.reopened": "stopped",
    "task.succeeded": "ok",
    "alert.raised": "stopped",
}
_OUTCOMES: Final[Mapping[str, str]] = {"open": "attempted", "blocked": "blocked"}


def page(view: View) -> None:
    """Show the chain of the bill that ``?bill=`` names; ``?event=`` marks one event of it."""
    words, bills = view.words, view.desk.bills(view.tenant, CHOICES)
    if not bills:
        sheet((Note(text=words("chain.none"), detail=words("runs.none_do")),), key="chain")
        return
    asked = st.query_params.get("bill")
    if asked and asked not in bills and view.desk.tasks_of_bill(view.tenant, asked):
        bills = (asked, *bills)  # an older one
    if asked and asked not in bills:
        missing = Note(
            text=words("chain.no_bill", bill=asked), detail=words("chain.no_bill_do"), tone="stopped"
        )
        sheet((missing,), key="chain")
        return
    left, right, _ = st.columns((3, 2, 3))
    with left:
        bill = choice(words("bill"), "bill", bills, show=str, default=asked or bills[0])
    with right:
        category = choice(
            words("chain.show"),
            "show",
            CATEGORIES,
            show=lambda code: words.of("category", code) if code else words("all"),
        )
    found = view.desk.chain(view.tenant, bill)
    if found is not None:
        view.opens("bill", bill)
        tasks = view.desk.tasks_of_bill(view.tenant, bill)
        sheet((*about(view, found, tasks), *writes(view, found)), key="chain-about")
        sheet(events(view, found, category), key="chain")


def about(view: View, found: BillChain, tasks: Sequence[TaskRow]) -> tuple[Block, ...]:
    """Who, for whom, under which key."""
    words = view.words
    intent = next((task.intent for task in tasks if task.intent is not None), None)
    states: list[Span] = []
    for task in tasks:
        states += [view.status(task.status), text(task.task_id[:8], "mono", tip=task.task_id)]
    facts = [
        Fact(label=words("state"), line=tuple(states)),
        Fact(label=words("tenant"), line=(text(found.tenant),)),
        Fact(label=words("identities"), line=tuple(text(name, "mono") for name in found.principals)),
        Fact(label=words("runs.title"), line=tuple(run_link(view, run) for run in found.runs)),
        Fact(label=words("key"), line=tuple(text(key, "mono") for key in found.keys)),
    ]
    if intent is not None:
        facts[1:1] = [
            Fact(label=words("amount"), line=(text(money(intent.amount_minor, intent.currency), "strong"),)),
            Fact(label=words("counterparty"), line=(text(intent.counterparty),)),
            Fact(label=words("month.month"), line=(text(intent.month),)),
        ]
    return (Heading(text=found.bill_id), Facts(items=tuple(facts)))


def run_link(view: View, run: str) -> Span:
    """Link to the replay of a run."""
    return text(run[:8], "mono", href=view.path(REPLAY, run=run), tip=run)


def writes(view: View, found: BillChain) -> Iterable[Block]:
    """Each write restored as a whole."""
    if not found.writes:
        return
    yield Heading(text=view.words("chain.writes"), beside=(text(view.words("chain.writes_is"), "quiet"),))
    for write in found.writes:
        yield write_card(view, write)


def write_card(view: View, write: WriteEvidence) -> Card:
    """One attempt to change the business."""
    words = view.words
    none = (text("–", "quiet"),)
    title = (
        text(write.label or words("chain.a_write")),
        view.status(_OUTCOMES.get(write.outcome, write.outcome)),
        view.stored(write.run_id, write.position),
        *((text(words("chain.undoing"), "quiet"),) if write.undoing else ()),
    )
    approval = tuple(text(name, "mono") for name in write.approved_by) + tuple(
        view.stored(write.run_id, position) for position in write.approval_positions
    )
    readback = (
        (_readback_chip(view, write), *(view.stored(write.run_id, at) for at in write.readback_positions))
        if write.readback
        else (text(words("chain.not_read"), "quiet"),)
    )
    facts = [
        Fact(label=words("identity"), line=(text(write.principal, "mono"),)),
        Fact(label=words("rung.label"), line=(text(words.of("rung", write.rung)),)),
        Fact(label=words("verdict.label"), line=(view.verdict(write.verdict),) if write.verdict else none),
        Fact(label=words("readback"), line=readback),
        Fact(label=words("approval"), line=approval or (text(words("chain.no_approval"), "quiet"),)),
        Fact(label=words("way_back"), line=way_back(view, write)),
        Fact(label=words("key"), line=(text(write.key, "mono"),) if write.key else none),
        Fact(label=words("digest"), line=(text(write.digest[:16], "mono", tip=write.digest),)),
    ]
    if write.trace:
        href = f"{run_urls(view.tenant, write.run_id).traces}/{write.trace_position}.zip"
        opens = text(words("chain.trace_is", command="playwright show-trace"), "quiet")
        facts.append(
            Fact(
                label=words("chain.trace"),
                line=(text(write.trace[:16], "mono", href=href, tip=write.trace), opens),
            )
        )
    if write.toast:
        facts.append(Fact(label=words("chain.toast"), line=(text(f"“{write.toast}”"),)))
    pictures = (
        *screens(view, write, write.before, "before"),
        *screens(view, write, write.after, "after"),
    )
    blocks: tuple[Block, ...] = (Facts(items=tuple(facts)),)
    return Card(
        title=title,
        blocks=(*blocks, Thumbs(items=pictures)) if pictures else blocks,
        tone={"confirmed": "ok", "mismatched": "failed", "inconclusive": "unknown"}.get(
            write.readback, "stopped" if write.outcome == "blocked" else "none"
        ),  # type: ignore[arg-type]  # the values are tones
    )


def _readback_chip(view: View, write: WriteEvidence) -> Span:
    tones: Mapping[str, str] = {"confirmed": "confirmed", "mismatched": "refuted", "inconclusive": "unknown"}
    return view.status(tones[write.readback])


def way_back(view: View, write: WriteEvidence) -> tuple[Span, ...]:
    """How the effect is undone, what stays, and what came of undoing."""
    words = view.words
    made = [
        text(words.of("action", write.way_back)) if write.way_back else text(words("chain.no_way"), "quiet")
    ]
    if write.compensation:
        state = {"started": "compensating", "confirmed": "compensated", "failed": "compensation_failed"}
        made.append(view.status(state[write.compensation]))
    made += [text(words("chain.stays", what=effect), "quiet") for effect in write.residual_effects]
    return tuple(made)


def screens(view: View, write: WriteEvidence, frames: Sequence[FrameRef], moment: str) -> Iterable[Thumb]:
    """Screens before or after a write."""
    for frame in frames if write.run_id else ():
        yield Thumb(
            src=f"{run_urls(view.tenant, write.run_id).frames}/{frame.sha256}",
            href=view.frame_path(write.run_id, write.position, frame.sha256),
            caption=f"{view.words.of('moment', moment)} · {view.words.of('role', frame.role)}",
        )


def events(view: View, found: BillChain, category: str) -> tuple[Block, ...]:
    """The events in order of the log."""
    words, marked = view.words, number("event")
    items = found.items if not category else found.of(category)  # type: ignore[arg-type]  # one of the categories
    if not items:
        return (Note(text=words("none_left"), detail=words("none_left_do")),)
    verdicts = view.desk.verdicts(view.tenant, found)
    if marked is not None and len(items) > PAGE_ROWS and number("page") is None:
        index = next((index for index, item in enumerate(items) if item.position == marked), 0)
        st.query_params["page"] = str(index // PAGE_ROWS + 1)
    part, pager = paged(view, CHAIN, items)
    shown: list[Item] = []
    day = ""
    for item in part:
        made = entry(
            view, item, verdicts.get(item.position, ""), new_day=day != (day := when(item.at_us)[:10])
        )
        shown.append(msgspec.structs.replace(made, chosen=marked == item.position))
    head = Heading(
        text=words("chain.events"), beside=(text(words("chain.count", count=len(found.items)), "quiet"),)
    )
    listed = Chain(items=tuple(shown))
    return (head, listed, Lines(items=(pager,))) if pager else (head, listed)


def entry(view: View, item: ChainItem, verdict: str, *, new_day: bool) -> Item:
    """One event; the first of a day says the day."""
    words = view.words
    tone = _TONES.get(item.name, "none")
    if verdict:
        tone = "ok" if verdict == "pass" else "stopped" if tone == "none" else tone
    title = [text(words.of("category", item.category)), text(item.name, "mono")]
    if verdict:
        title.append(view.verdict(verdict))
    foot = [view.stored(item.run_id, item.position), text(item.principal, "mono")]
    if item.run_id:
        foot.append(text(words("frame.open"), href=view.frame_path(item.run_id, item.position)))
    foot.append(text(item.entry_hash[:16], "mono", tip=f"{words('entry_hash')} {item.entry_hash}"))
    return Item(
        when=f"{when(item.at_us)[:10]}\n{clock(item.at_us)}" if new_day else clock(item.at_us),
        tone=tone,
        title=tuple(title),
        text=view.words.said(item.sentence),
        foot=tuple(foot),
        thumbs=view.thumbs(item.run_id, item.position, item.frames),
    )
