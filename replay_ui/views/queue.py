"""Queue: requests for approval and tasks that wait for a person, with their time limits (B10, B15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import streamlit as st

from replay_ui.components.blocks import (
    Block,
    Column,
    Fact,
    Facts,
    Heading,
    Line,
    Lines,
    Note,
    Row,
    Span,
    Thumb,
    Thumbs,
    cell,
    chip,
    countdown,
    money,
    row,
    span_of_time,
    table,
    text,
    when,
)
from replay_ui.components.sheet import sheet
from replay_ui.operator_actions import RESOLUTIONS
from replay_ui.player import run_urls
from replay_ui.views import redacting
from replay_ui.views.common import CHAIN, QUEUE, SEVERITY_TONES, View, choice, paged
from replay_ui.views.deciding import decide, deciding, outcome, who

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from domain.values import Intent
    from projections.views.approvals import Pending
    from projections.views.takeover_queue import Aged
    from replay_ui.operator_actions import OperatorActions

SHOW: Final = ("open", "all")


def page(view: View) -> None:
    """Show what waits; ``?task=`` opens one, to act on where acting is possible."""
    words = view.words
    asked = view.desk.approvals(view.tenant, now_us=view.now_us)
    left, _ = st.columns((2, 6))
    with left:
        show = choice(words("queue.show"), "show", SHOW, show=lambda code: words(f"queue.{code}"))
    waiting = view.desk.queue(view.tenant, now_us=view.now_us, closed=show == "all")
    outcome("queue-said")
    task = st.query_params.get("task", "")
    request = next((item for item in asked if item.task_id == task), None)
    taken = next((item for item in waiting if item.task_id == task and item.item.closed_at_us is None), None)
    if request is not None:
        approve(view, request)
    elif taken is not None:
        take_over(view, taken)
    requests = redacting.waiting(view)
    redaction = next((one for one in requests if one.redaction == st.query_params.get("redaction")), None)
    if redaction is not None:
        redacting.answering(view, redaction)
    sheet(
        (*approvals(view, asked), *redacting.listed(view, requests), *takeovers(view, waiting)), key="queue"
    )
    if view.actions is None and (view.may("approve") or view.may("take_over")):
        sheet((Note(text=words("queue.read_only"), detail=words("queue.read_only_do")),), key="queue-note")


def due(view: View, left_us: int) -> Line:
    """Time that is left, or by how much it is late; it counts down on the page."""
    words = view.words
    return (
        countdown(
            left_us,
            words("queue.left", time="{time}"),
            words("queue.late_by", time="{time}"),
            units=words.units(),
        ),
    )


def subject(view: View, intent: Intent | None, task: str) -> Row:
    """First cells of a row: bill, what is wanted, amount."""
    if intent is None:
        return row(text(task[:8], "mono", tip=task), text("–"), text("–"))
    wanted = cell(
        text(view.words.of("action", intent.action), tip=intent.action), text(intent.counterparty, "quiet")
    )
    open_ = view.path(QUEUE, task=task)
    return row(
        cell(
            text(intent.bill_id, "strong", href=open_),
            text(view.words("chain.open"), href=view.path(CHAIN, bill=intent.bill_id)),
        ),
        wanted,
        text(money(intent.amount_minor, intent.currency), "number"),
    )


def approvals(view: View, asked: Sequence[Pending]) -> tuple[Block, ...]:
    """Requests that wait for another person's word."""
    words = view.words
    head = Heading(text=words("queue.approvals"), beside=(text(words("queue.approvals_is"), "quiet"),))
    if not asked:
        return (head, Note(text=words("queue.no_approvals")))
    columns = (
        words("bill"),
        words("wanted"),
        Column(label=words("amount"), align="end"),
        Column(label=words("why"), grow=True),
        words("queue.asked_by"),
        words("queue.due"),
    )
    rows = []
    part, pager = paged(view, QUEUE, asked)
    for item in part:
        first = subject(view, item.intent, item.task_id)
        rows.append(
            row(
                *first.cells,
                cell(text(words.said(item.request.reason)), text(item.request.rule, "mono")),
                text(item.request.requested_by, "mono"),
                cell(
                    due(view, item.left_us),
                    text(when(item.request.expires_at_us), "quiet"),
                ),
                href=view.path(QUEUE, task=item.task_id),
                chosen=st.query_params.get("task") == item.task_id,
            )
        )
    made = (head, table(columns, rows, label=words("queue.approvals")))
    return (*made, Lines(items=(pager,))) if pager else made


def takeovers(view: View, waiting: Sequence[Aged]) -> tuple[Block, ...]:
    """Tasks that wait for a person, late ones first."""
    words = view.words
    head = Heading(text=words("queue.takeovers"), beside=(text(words("queue.takeovers_is"), "quiet"),))
    if not waiting:
        return (head, Note(text=words("queue.no_takeovers"), tone="ok"))
    columns = (
        words("bill"),
        words("wanted"),
        Column(label=words("amount"), align="end"),
        words("severity.label"),
        Column(label=words("why"), grow=True),
        words("queue.owner"),
        words("queue.age"),
        words("queue.due"),
    )
    part, pager = paged(view, QUEUE, waiting)
    made = (head, table(columns, [takeover_row(view, item) for item in part], label=words("queue.takeovers")))
    return (*made, Lines(items=(pager,))) if pager else made


def takeover_row(view: View, item: Aged) -> Row:
    """One task that waits, or waited."""
    words, asked = view.words, item.item
    first = subject(view, item.intent, item.task_id)
    if asked.closed_at_us is None:
        limit = cell(due(view, item.left_us), text(when(asked.due_at_us), "quiet"))
    else:
        done = (
            words.of("resolution", asked.resolution) if asked.resolution else words.of("status", asked.status)
        )
        limit = cell((chip(done, "ok"),), text(asked.note, "quiet"))
    return row(
        *first.cells,
        cell((chip(words.of("severity", asked.severity), SEVERITY_TONES.get(asked.severity, "none")),)),
        cell((view.verdict(asked.verdict),), text(words.said(asked.reason), "quiet")),
        text(asked.owner, "mono") if asked.owner else text(words("queue.nobody"), "quiet"),
        text(span_of_time(item.age_us, words.units()), "number"),
        limit,
        href=view.path(QUEUE, task=item.task_id),
        chosen=asked.closed_at_us is None and st.query_params.get("task") == item.task_id,
    )


def screen(view: View, run: str, sha256: str | None, position: int) -> tuple[Block, ...]:
    """The screen that is decided on."""
    if not run or not sha256:
        return ()
    thumb = Thumb(
        src=f"{run_urls(view.tenant, run).frames}/{sha256}",
        href=view.frame_path(run, position, sha256),
        caption=view.words("queue.screen"),
    )
    return (Thumbs(items=(thumb,)),)


def asked_for(view: View, intent: Intent | None, *more: tuple[str, Span]) -> Facts:
    """What the business wants, and what else the person decides on."""
    words = view.words
    facts: list[tuple[str, Span]] = []
    if intent is not None:
        facts = [
            (words("wanted"), text(words.of("action", intent.action), "strong", tip=intent.action)),
            (words("amount"), text(money(intent.amount_minor, intent.currency), "strong")),
            (words("counterparty"), text(intent.counterparty)),
        ]
    return Facts(items=tuple(Fact(label=label, line=(span,)) for label, span in (*facts, *more)))


def approve(view: View, item: Pending) -> None:
    """What would be approved, and the answer."""
    words, intent = view.words, item.intent
    bill = intent.bill_id if intent else item.task_id
    head = Heading(
        text=words("queue.approve_title", bill=bill),
        beside=(text(item.request.digest[:16], "mono", tip=words("digest")),),
    )
    bound = asked_for(
        view,
        intent,
        (words("queue.reason"), text(f"{words.said(item.request.reason)} ({item.request.rule})")),
        (words("queue.asked_by"), text(item.request.requested_by, "mono")),
        (words("queue.expires"), text(when(item.request.expires_at_us), "number")),
    )
    sheet(
        (head, bound, *screen(view, item.run_id, item.request.frame, item.request.position)), key="queue-item"
    )
    actions = view.actions
    if actions is None or not view.may("approve"):
        return
    people = [name for name in deciding(view, actions) if name not in item.may_not_approve]
    with st.form("answer", border=True):
        person, note = who(view, people)
        left, right, _ = st.columns((1, 1, 4))
        granted = left.form_submit_button(
            words("queue.grant"), type="primary", disabled=item.expired or not people
        )
        denied = right.form_submit_button(words("queue.deny"), disabled=not people)
    if person and (granted or denied):
        decide(
            view,
            "task",
            lambda: actions.answer(
                view.tenant,
                item.task_id,
                approval=item.request.approval_id,
                verdict="grant" if granted else "deny",
                person=person,
                note=note,
            ),
        )


def take_over(view: View, item: Aged) -> None:
    """What waits for a person, and what the person can say."""
    words, intent = view.words, item.intent
    bill = intent.bill_id if intent else item.task_id
    head = Heading(text=words("queue.take_title", bill=bill), beside=(view.verdict(item.item.verdict),))
    bound = asked_for(
        view,
        intent,
        (words("queue.reason"), text(words.said(item.item.reason))),
        (words("queue.owner"), text(item.item.owner or words("queue.nobody"))),
        (words("queue.due"), text(when(item.item.due_at_us), "number")),
    )
    sheet((head, bound, *screen(view, item.run_id, item.last_frame, item.item.position)), key="queue-item")
    actions = view.actions
    if actions is None or not view.may("take_over"):
        return
    with st.form("takeover", border=True):
        person, note = who(view, deciding(view, actions))
        resolution = st.selectbox(
            words("queue.resolution"), RESOLUTIONS, format_func=lambda code: words.of("resolution", code)
        )
        left, right, _ = st.columns((1, 1, 4))
        take = left.form_submit_button(words("queue.take"), disabled=not person)
        close = right.form_submit_button(words("queue.close"), type="primary", disabled=not person)
    if close and not note:
        sheet((Note(text=words("queue.note_needed"), tone="stopped"),), key="queue-refused")
    elif person and (take or close):
        decide(view, "task", resolving(view, actions, item, person, note, None if take else str(resolution)))


def resolving(
    view: View, actions: OperatorActions, item: Aged, person: str, note: str, resolution: str | None
) -> Callable[[], None]:
    """The decision as a call."""
    chosen = next((code for code in RESOLUTIONS if code == resolution), None)
    if chosen is None:
        return lambda: actions.take(view.tenant, item.task_id, person=person)
    return lambda: actions.resolve(view.tenant, item.task_id, resolution=chosen, person=person, note=note)
