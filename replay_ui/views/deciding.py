"""What pages share where a person decides: under which name, with which note, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import streamlit as st

from domain.errors import ProofreelError
from replay_ui.components.blocks import Note
from replay_ui.components.sheet import sheet
from replay_ui.views.common import View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from replay_ui.components.blocks import Tone
    from replay_ui.operator_actions import OperatorActions

_SAID: Final = "_decision_said"


def deciding(view: View, actions: OperatorActions, right: str = "") -> list[str]:
    """Under whose name the viewer may decide: their own; the single user of a machine says which person they are.

    ``right`` leaves out who doesn't have it by the configuration.
    """
    people = actions.people(view.tenant, right)
    return [name for name in people if view.viewer.roles is None or name == view.viewer.name]


def who(view: View, people: Sequence[str], *, key: str = "decision") -> tuple[str | None, str]:
    """Who decides, and their note; ``key`` tells forms of one page apart."""
    words = view.words
    left, right = st.columns((2, 5))
    person = left.selectbox(words("queue.as"), list(people), help=words("queue.as_is"), key=f"{key}-as")
    note = right.text_input(words("queue.note"), max_chars=500, key=f"{key}-note")
    return person, note.strip()


def decide(
    view: View, parameter: str, call: Callable[[], tuple[Tone, str] | None], *, said: str = ""
) -> None:
    """Carry a decision out; a refusal is shown where the decision was made.

    ``parameter`` names what was decided on in the address; it is taken out once the decision is on record. ``call``
    may say what came of it, with its tone; else ``said`` is, or that the decision is on record.
    """
    try:
        came = call()
    except ProofreelError as error:
        st.session_state[_SAID] = ("failed", view.words("queue.refused", why=str(error)))
    else:
        st.session_state[_SAID] = came or ("ok", said or view.words("queue.recorded"))
        st.query_params.pop(parameter, None)
    st.rerun()


def outcome(key: str) -> None:
    """What came of the last decision, once."""
    said = st.session_state.pop(_SAID, None)
    if said:
        sheet((Note(text=said[1], tone=said[0]),), key=key)
