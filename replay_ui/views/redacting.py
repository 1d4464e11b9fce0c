"""Withholding parts of the evidence: asked for beside the frame, answered by another person in the queue (X7).

Rules enforced here:

- Nobody is offered the answer to their own request, and only who has the right by the configuration is offered at all;
  the record refuses both again.
- What is asked is bound to the screen or the event that the person saw, by its hash or id.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import streamlit as st

from domain.errors import ConfigError
from domain.fields import leaves_of, may_be_withheld
from domain.ids import EventId, Sha256
from domain.privacy import APPROVE_WITHIN_US
from domain.tiles import TILE
from domain.values import Box
from projections.shown import masked_body
from replay_ui.components.blocks import (
    Block,
    Column,
    Fact,
    Facts,
    Heading,
    Line,
    Lines,
    Note,
    Thumb,
    Thumbs,
    cell,
    countdown,
    row,
    table,
    text,
    when,
)
from replay_ui.components.sheet import sheet
from replay_ui.operator_actions import AskedRedaction
from replay_ui.player import run_urls
from replay_ui.privacy import privacy_of
from replay_ui.views.common import QUEUE, View, paged
from replay_ui.views.deciding import decide, deciding, who

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from domain.envelope import Recorded
    from projections.views.redactions import RedactionRow
    from replay_ui.operator_actions import OperatorActions
    from replay_ui.player import PlayerState

RIGHT, ANSWER = "redact", "approve:redaction"
"""Rights of the configuration: to ask, and to answer."""
DIGITS = 16
"""Of a hash or an id in a table."""
_LOOKED_AT = 50
"""Events looked at for the run in which a screen can be seen."""
_VALUE = 60
"""Characters shown of a field's text."""
_NUMBERS = 4
"""Of a rectangle."""


def asking(view: View, run: str, state: PlayerState) -> None:
    """The form beside the player: a part of the frame that is shown, or fields of its event."""
    actions, words = view.actions, view.words
    if actions is None or state.frame is None or not view.may("redact"):
        return
    people = deciding(view, actions, RIGHT)
    line = view.desk.timeline(view.tenant, run)
    if not people or line is None or state.frame >= len(line.entries):
        return
    entry = line.entries[state.frame]
    with st.expander(words("redact.title")):
        kind = st.radio(
            words("redact.what"),
            ("frame", "event"),
            format_func=lambda code: words(f"redact.{code}"),
            horizontal=True,
            key=f"redact-kind-{run}",
        )
        drawn = "" if state.region is None else ", ".join(map(str, state.region))
        region, fields = "", []
        if kind == "frame":
            region = st.text_input(
                words("redact.region"),
                value=drawn,
                help=words("redact.region_is"),
                key=f"redact-region-{entry.sha256}-{drawn}",
            )
        else:
            known = fields_of(view, entry.position)
            fields = st.multiselect(
                words("redact.fields"),
                list(known),
                format_func=lambda name: f"{name.removeprefix('/data/')}: {known[name][:_VALUE]}",
                key=f"redact-fields-{entry.position}",
            )
        basis = st.text_input(
            words("redact.basis"), placeholder="GDPR Art. 17", max_chars=500, key=f"redact-basis-{run}"
        )
        person = st.selectbox(words("queue.as"), people, help=words("redact.as_is"), key=f"redact-as-{run}")
        pressed = st.button(words("redact.ask"), key=f"redact-ask-{run}", type="primary")
    if pressed and person:

        def call() -> None:
            asked = wanted(view, entry.position, entry.sha256, region, fields, basis)
            actions.ask_redaction(view.tenant, asked, person=person)

        decide(view, "asked", call, said=words("redact.asked"))


def wanted(
    view: View, position: int, sha256: str, region: str, fields: Sequence[str], basis: str
) -> AskedRedaction:
    """What was entered: fields of the event where some were chosen, else a rectangle of the screen.

    Raises:
        ConfigError: nothing was marked or chosen, or no basis was given.
    """
    words = view.words
    if not basis.strip():
        raise ConfigError(words("redact.no_basis"), remedy=words("redact.no_basis_do"))
    recorded = view.desk.stored(view.tenant, position)
    if fields and recorded is not None:
        subject = recorded.envelope.event_id
        return AskedRedaction(kind="event", subject=subject, basis=basis.strip(), fields=tuple(fields))
    box = box_of(region)
    if box is None:
        raise ConfigError(words("redact.nothing"), remedy=words("redact.nothing_do"))
    return AskedRedaction(kind="frame", subject=sha256, basis=basis.strip(), regions=(box,))


def box_of(entered: str) -> Box | None:
    """``x, y, width, height`` as a rectangle, or None when it is none."""
    parts = [part.strip() for part in entered.split(",")]
    if len(parts) != _NUMBERS or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    x, y, width, height = (int(part[:9]) for part in parts)
    return Box(x=x, y=y, width=width, height=height) if width and height else None


def fields_of(view: View, position: int) -> Mapping[str, str]:
    """Fields of an event that may be withheld, by JSON pointer, with their texts as they are shown now."""
    recorded = view.desk.stored(view.tenant, position)
    if recorded is None:
        return {}
    masks = view.desk.reader.withholding(view.tenant).masks
    shown = leaves_of(masked_body(recorded.row.body, masks))
    stored = leaves_of(json.loads(recorded.row.body))
    return {name: str(shown.get(name, "")) for name, value in stored.items() if may_be_withheld(name, value)}


def waiting(view: View) -> list[RedactionRow]:
    """Requests that nobody answered yet, the oldest first."""
    found = privacy_of(view.desk, view.tenant).redactions
    return [one for one in reversed(found) if one.status == "requested"]


def left_us(view: View, asked: RedactionRow) -> int:
    """Time in which the request can still be approved, microseconds."""
    return asked.requested_at_us + APPROVE_WITHIN_US - view.now_us


def due(view: View, asked: RedactionRow) -> Line:
    """The time that is left; it counts down on the page."""
    words = view.words
    left = words("queue.left", time="{time}"), words("queue.late_by", time="{time}")
    return (countdown(left_us(view, asked), *left, units=words.units()),)


def listed(view: View, requests: Sequence[RedactionRow]) -> tuple[Block, ...]:
    """The requests as a table; nothing where there are none."""
    if not requests:
        return ()
    words = view.words
    heads = (
        words("withheld.kind"),
        words("withheld.subject"),
        words("withheld.parts"),
        Column(label=words("withheld.basis"), grow=True),
        words("queue.asked_by"),
        words("queue.due"),
    )
    part, pager = paged(view, QUEUE, requests)
    rows = [
        row(
            text(words(f"withheld.{one.kind}"), href=view.path(QUEUE, redaction=one.redaction)),
            text(f"{one.subject[:DIGITS]}…", "mono", tip=one.subject),
            text(one.parts, "mono"),
            text(one.basis),
            text(one.requested_by, "mono"),
            cell(due(view, one), text(when(one.requested_at_us + APPROVE_WITHIN_US), "quiet")),
            href=view.path(QUEUE, redaction=one.redaction),
            chosen=st.query_params.get("redaction") == one.redaction,
        )
        for one in part
    ]
    title = words("redact.requests")
    head = Heading(text=title, beside=(text(words("queue.approvals_is"), "quiet"),))
    made = (head, table(heads, rows, label=title))
    return (*made, Lines(items=(pager,))) if pager else made


def answering(view: View, asked: RedactionRow) -> None:
    """What would be withheld, and the answer."""
    words = view.words
    facts = (
        (words("withheld.subject"), text(asked.subject, "mono")),
        (words("withheld.parts"), text(asked.parts, "mono")),
        (words("withheld.basis"), text(asked.basis, "strong")),
        (words("queue.asked_by"), text(asked.requested_by, "mono")),
    )
    items = tuple(Fact(label=label, line=(span,)) for label, span in facts)
    head = Heading(text=words("redact.answer", what=words(f"withheld.{asked.kind}")))
    late = Fact(label=words("queue.due"), line=due(view, asked))
    sheet((head, Facts(items=(*items, late)), *seen(view, asked)), key="redaction-item")
    actions = view.actions
    if actions is not None and view.may("approve"):
        answer(view, actions, asked)


def answer(view: View, actions: OperatorActions, asked: RedactionRow) -> None:
    """The form; who asked is not offered."""
    words = view.words
    people = [name for name in deciding(view, actions, ANSWER) if name != asked.requested_by]
    if not people:
        sheet((Note(text=words("redact.nobody"), detail=words("redact.nobody_do")),), key="redaction-nobody")
        return
    with st.form("redaction", border=True):
        person, note = who(view, people, key="redaction")
        left, right, _ = st.columns((1, 1, 4))
        expired = left_us(view, asked) < 0
        allowed = left.form_submit_button(words("redact.allow"), type="primary", disabled=expired)
        denied = right.form_submit_button(words("queue.deny"))
    if person and (allowed or denied):
        decide(
            view,
            "redaction",
            lambda: actions.answer_redaction(
                view.tenant,
                asked.redaction,
                verdict="approve" if allowed else "deny",
                person=person,
                note=note,
            ),
        )


def seen(view: View, asked: RedactionRow) -> tuple[Block, ...]:
    """Where what would be withheld can be looked at, as it is shown now."""
    words = view.words
    if asked.kind == "event":
        found = view.desk.reader.find(view.tenant, EventId(asked.subject))
        if found is None:
            return ()
        link = view.stored(found.envelope.run_id or "", found.row.position)
        return (Lines(items=((text(found.name, "mono"), link),)),)
    shown = screen_of(view, Sha256(asked.subject))
    if shown is None:
        return ()
    run, position = shown.envelope.run_id or "", shown.row.position
    thumb = Thumb(
        src=f"{run_urls(view.tenant, run).frames}/{asked.subject}",
        href=view.frame_path(run, position, asked.subject),
        caption=words("redact.now"),
        marked=marks(asked, shown),
    )
    return (Thumbs(items=(thumb,)),)


def marks(asked: RedactionRow, shown: Recorded) -> tuple[tuple[int, int, int, int], ...]:
    """What would be withheld of a screen: its rectangles as far as their tiles reach, in per mille of its sides."""
    frame = next(one for one in shown.envelope.frames if one.sha256 == asked.subject)
    made = []
    for box in filter(None, map(box_of, asked.parts.split())):
        left, right = _tiles(box.x, box.width, frame.width)
        top, bottom = _tiles(box.y, box.height, frame.height)
        if left < right and top < bottom:
            made.append((left, top, right - left, bottom - top))
    return tuple(made)


def _tiles(start: int, length: int, whole: int) -> tuple[int, int]:
    """Where the tiles begin and end that a stretch touches, in per mille of the whole."""
    first = start // TILE * TILE
    last = min(-(-(start + length) // TILE) * TILE, whole)
    return round(1000 * first / whole), round(1000 * last / whole)


def screen_of(view: View, sha256: Sha256) -> Recorded | None:
    """An event of a run that shows this screen."""
    for position in view.desk.lookup.positions_of(view.tenant, sha256, _LOOKED_AT):
        found = view.desk.stored(view.tenant, position)
        if found is None or not found.envelope.run_id:
            continue
        if any(frame.sha256 == sha256 for frame in found.envelope.frames):
            return found
    return None
