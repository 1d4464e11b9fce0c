"""Alerts: what some channel could not deliver, and another try by a person (G8, B15)."""

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
    chip,
    row,
    span_of_time,
    table,
    text,
    when,
)
from replay_ui.components.sheet import sheet
from replay_ui.views.common import ALERTS, CHAIN, SEVERITY_TONES, View, number, paged
from replay_ui.views.deciding import decide, deciding, outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from projections.views.dead_letters import Letter, LettersRow
    from replay_ui.components.blocks import Tone
    from replay_ui.operator_actions import OperatorActions


def page(view: View) -> None:
    """Show the dead letters; ``?letter=`` (the position of the newest try) opens one, to try again."""
    words = view.words
    found = view.desk.letters(view.tenant)
    outcome("alerts-said")
    asked = number("letter")
    chosen = next((pair for pair in found if pair[1].position == asked), None)
    if chosen is not None:
        one(view, *chosen)
    elif asked is not None:
        sheet((Note(text=words("alerts.gone"), tone="ok"),), key="alerts-gone")
    sheet(listed(view, found), key="alerts")


def listed(view: View, found: Sequence[tuple[LettersRow, Letter]]) -> tuple[Block, ...]:
    """Every dead letter, oldest first."""
    words = view.words
    if not found:
        return (Note(text=words("alerts.none"), detail=words("alerts.none_is"), tone="ok"),)
    columns = (
        words("alerts.what"),
        words("bill"),
        Column(label=words("why"), grow=True),
        words("alerts.failed"),
        Column(label=words("alerts.tries"), align="end"),
        words("queue.age"),
    )
    part, pager = paged(view, ALERTS, found)
    made = table(columns, [letter_row(view, *pair) for pair in part], label=words("alerts.title"))
    is_ = Lines(items=((text(words("alerts.is"), "quiet"),),))
    return (is_, made, Lines(items=(pager,))) if pager else (is_, made)


def letter_row(view: View, about: LettersRow, letter: Letter) -> Row:
    """One alert that some channel has not had."""
    words = view.words
    path = view.path(ALERTS, letter=letter.position)
    severity = chip(words.of("severity", letter.severity), SEVERITY_TONES.get(letter.severity, "none"))
    bill = about.intent.bill_id if about.intent else ""
    return row(
        cell((text(kind_of(view, letter), "strong", href=path, tip=letter.kind),), (severity,)),
        text(bill or "–", href=view.path(CHAIN, bill=bill) if bill else ""),
        text(words.said(letter.message)),
        cell(*((text(name, "mono"), text(word, "quiet")) for name, word in sorted(letter.failed.items()))),
        text(f"{letter.tries:,}", "number"),
        cell(
            text(span_of_time(view.now_us - letter.raised_at_us, view.words.units()), "number"),
            text(when(letter.raised_at_us), "quiet"),
        ),
        href=path,
        chosen=number("letter") == letter.position,
    )


def kind_of(view: View, letter: Letter) -> str:
    """What the alert is about: a takeover, else the verdict that raised it."""
    return (
        view.words("cases.takeover") if letter.kind == "takeover" else view.words.of("verdict", letter.kind)
    )


def one(view: View, about: LettersRow, letter: Letter) -> None:
    """One letter, and another try where the viewer may give it."""
    words = view.words
    bill = about.intent.bill_id if about.intent else ""
    links = (
        (text(words("chain.open_bill"), "button", href=view.event_path(bill, letter.position)),)
        if bill
        else ()
    )
    facts = (
        (words("why"), words.said(letter.message)),
        (
            words("alerts.failed"),
            "; ".join(f"{name}: {word}" for name, word in sorted(letter.failed.items())),
        ),
        (words("alerts.first"), when(letter.raised_at_us)),
        (words("alerts.tries"), f"{letter.tries:,}"),
    )
    sheet(
        (
            Heading(text=kind_of(view, letter), beside=(view.stored(about.run_id, letter.position), *links)),
            Facts(items=tuple(Fact(label=label, line=(text(value),)) for label, value in facts)),
        ),
        key="alerts-item",
    )
    actions = view.actions
    if not about.task_id:
        sheet((Note(text=words("alerts.no_task")),), key="alerts-note")
    elif actions is None:
        sheet((Note(text=words("queue.read_only"), detail=words("alerts.read_only_do")),), key="alerts-note")
    elif view.may("take_over"):
        again(view, actions, about, letter)


def again(view: View, actions: OperatorActions, about: LettersRow, letter: Letter) -> None:
    """The button that tries the channels again, and under whose name."""
    words = view.words
    with st.form("again", border=True):
        people = deciding(view, actions)
        left, _ = st.columns((2, 5))
        person = left.selectbox(words("queue.as"), people, help=words("alerts.as_is"))
        asked = st.form_submit_button(words("alerts.again"), type="primary", disabled=not people)
    if asked and person:

        def told() -> tuple[Tone, str]:
            with st.spinner(words("alerts.trying")):
                went = actions.tell_again(view.tenant, about.task_id, position=letter.position, person=person)
            return what_came(view, went)

        decide(view, "letter", told)


def what_came(view: View, went: Mapping[str, str]) -> tuple[Tone, str]:
    """How each channel took it."""
    failed = sorted(f"{name}: {word}" for name, word in went.items() if word != "ok")
    if failed:
        return "stopped", view.words("alerts.still", failed="; ".join(failed))
    return "ok", view.words("alerts.delivered")
