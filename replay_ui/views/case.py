"""The case of a difference: what was concluded and said before, and a person's sign-off (X2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import streamlit as st

from replay_ui.components.blocks import (
    Block,
    Chain,
    Heading,
    Item,
    Note,
    Span,
    chip,
    money,
    text,
    when,
)
from replay_ui.components.sheet import sheet
from replay_ui.views.common import View
from replay_ui.views.deciding import decide, deciding, who

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from projections.views.cases import CaseRow
    from projections.views.reconciliation import Reconciliation
    from replay_ui.components.blocks import Tone

_TONES: Final[Mapping[str, Tone]] = {
    "opened": "unknown",
    "waits": "stopped",
    "signed_off": "ok",
    "gone": "none",
}
_ENTRIES: Final[Mapping[str, Tone]] = {"case.signed_off": "ok", "case.reopened": "stopped"}


def standing(view: View, row: CaseRow) -> Span:
    """Chip of where a case stands."""
    return chip(view.words.of("case", row.standing), _TONES[row.standing], tip=row.standing)


def keeping(view: View, result: Reconciliation, break_id: str) -> None:
    """A difference that is no case yet, and the button that makes it one where the viewer may note on cases."""
    words, actions = view.words, view.actions
    sheet((Note(text=words("cases.not_kept"), detail=words("cases.not_kept_do")),), key="case")
    if actions is None or not view.may("note"):
        return
    people = deciding(view, actions)
    with st.form("keep", border=True):
        person = st.selectbox(words("queue.as"), people, help=words("cases.keep_as"), key="keep-as")
        pressed = st.form_submit_button(words("cases.keep"), type="primary", disabled=not people)
    if pressed and person:
        decide(
            view,
            "kept",
            lambda: actions.keep_case(view.tenant, result, break_id, person=person),
            said=words("cases.kept"),
        )


def signing(view: View, row: CaseRow) -> None:
    """What was said about the difference so far, and the sign-off where the viewer may give it."""
    sheet(history(view, row), key="case")
    actions = view.actions
    if actions is None:
        return
    people = deciding(view, actions)
    if view.may("approve") and row.standing == "waits":
        able = [name for name in people if name not in row.responsible]
        said = ask(view, "sign-off", "cases.sign", able, strong=True)
        if said is not None:
            digest = row.digest
            decide(
                view,
                "signed",
                lambda: actions.sign_off(
                    view.tenant, row.break_id, digest=digest, person=said.person, note=said.note
                ),
            )
    if view.may("approve") and row.standing == "signed_off":
        reopened = ask(view, "reopen", "cases.reopen", people)
        if reopened is not None:
            decide(
                view,
                "reopened",
                lambda: actions.reopen_case(
                    view.tenant, row.break_id, person=reopened.person, reason=reopened.note
                ),
            )
    if view.may("note"):
        noted = ask(view, "note", "cases.note", people)
        if noted is not None:
            decide(
                view,
                "noted",
                lambda: actions.note_case(view.tenant, row.break_id, person=noted.person, text=noted.note),
            )


class Said(NamedTuple):
    """Who said something, and what."""

    person: str
    note: str


def ask(view: View, key: str, label: str, people: Sequence[str], *, strong: bool = False) -> Said | None:
    """A form of its own for one thing that can be said; None while nobody said it."""
    with st.form(key, border=True):
        person, note = who(view, people, key=key)
        pressed = st.form_submit_button(
            view.words(label), type="primary" if strong else "secondary", disabled=not people
        )
    return Said(person, note) if pressed and person else None


def history(view: View, row: CaseRow) -> tuple[Block, ...]:
    """The case's facts in order."""
    words = view.words
    items = tuple(
        Item(
            when=when(entry.at_us),
            tone=_ENTRIES.get(entry.name, "none"),
            title=(text(entry.name, "mono"), text(entry.by, "quiet"), view.stored("", entry.position)),
            text=words.said(entry.said),
        )
        for entry in row.entries
    )
    beside = (
        standing(view, row),
        text(money(row.amount_minor, row.currency, signed=True), "number"),
        text(row.digest[:16], "mono", tip=words("cases.digest")),
    )
    return (Heading(text=words("cases.case"), beside=beside), Chain(items=items))
