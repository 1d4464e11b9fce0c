"""The case of a difference: what was concluded and said before, and a person's sign-off (X2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
from replay_ui.views.deciding import decide, deciding, outcome, who

if TYPE_CHECKING:
    from collections.abc import Mapping

    from projections.views.cases import CaseRow
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


def signing(view: View, row: CaseRow | None) -> None:
    """What was said about the difference so far, and the sign-off where the viewer may give it."""
    outcome("case-said")
    if row is None:
        sheet((Note(text=view.words("cases.not_kept"), detail=view.words("cases.not_kept_do")),), key="case")
        return
    sheet(history(view, row), key="case")
    actions = view.actions
    if actions is None or not view.may("approve") or row.standing != "waits":
        return
    people = [name for name in deciding(view, actions) if name not in row.responsible]
    with st.form("sign-off", border=True):
        person, note = who(view, people)
        signed = st.form_submit_button(view.words("cases.sign"), type="primary", disabled=not people)
    if signed and person:
        decide(
            view,
            "signed",
            lambda: actions.sign_off(view.tenant, row.break_id, digest=row.digest, person=person, note=note),
        )


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
