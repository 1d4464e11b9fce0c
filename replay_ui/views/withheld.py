"""What is withheld, held and deleted, each with its basis and the people who answer for it (X7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from replay_ui.components.blocks import Block, Column, Heading, cell, chip, row, table, text, when
from replay_ui.privacy import Privacy, privacy_of
from replay_ui.views.common import PAGE_ROWS, View

if TYPE_CHECKING:
    from replay_ui.components.blocks import Tone

DIGITS: Final = 16
"""Of a hash in a table."""
_TONES: Final[dict[str, Tone]] = {"requested": "stopped", "approved": "ok", "denied": "none"}


def withheld(view: View) -> tuple[Block, ...]:
    """The three tables, those that hold something."""
    found = privacy_of(view.desk, view.tenant)
    return (*redactions(view, found), *holds(view, found), *deletions(view, found))


def redactions(view: View, found: Privacy) -> tuple[Block, ...]:
    """Requests, newest first, with what became of them."""
    words = view.words
    if not found.redactions:
        return ()
    rows = [
        row(
            cell((chip(words(f"withheld.{one.status}"), _TONES[one.status]),)),
            text(words(f"withheld.{one.kind}") if one.kind else "–"),
            text(f"{one.subject[:DIGITS]}…", "mono", tip=one.subject),
            text(one.parts, "mono"),
            text(one.basis),
            text(one.requested_by, "mono"),
            text(one.answered_by or "–", "mono"),
            text(when(one.answered_at_us or one.requested_at_us), "number"),
        )
        for one in found.redactions[:PAGE_ROWS]
    ]
    heads = (
        words("withheld.state"),
        words("withheld.kind"),
        words("withheld.subject"),
        words("withheld.parts"),
        Column(label=words("withheld.basis"), grow=True),
        words("withheld.asked"),
        words("withheld.answered"),
        words("withheld.when"),
    )
    title = words("withheld.redactions")
    return (Heading(text=title), table(heads, rows, label=title))


def holds(view: View, found: Privacy) -> tuple[Block, ...]:
    """Legal holds in force."""
    words = view.words
    if not found.holds:
        return ()
    rows = [
        row(
            text(words(f"withheld.{one.kind}") if one.kind else words("withheld.everything")),
            text(one.month or words("withheld.every_month")),
            text(one.basis),
            text(one.by, "mono"),
            text(one.hold_id, "mono"),
        )
        for one in found.holds
    ]
    heads = (
        words("withheld.kind"),
        words("withheld.month"),
        Column(label=words("withheld.basis"), grow=True),
        words("withheld.by"),
        words("withheld.hold"),
    )
    title = words("withheld.holds")
    return (Heading(text=title), table(heads, rows, label=title))


def deletions(view: View, found: Privacy) -> tuple[Block, ...]:
    """What was deleted by destroying its key."""
    words = view.words
    if not found.deletions:
        return ()
    rows = [
        row(
            text(when(one.at_us), "number"),
            text(one.unit, "mono"),
            text(f"{one.blobs:,}", "number"),
            text(one.basis),
            text(one.by, "mono"),
        )
        for one in found.deletions[:PAGE_ROWS]
    ]
    heads = (
        words("withheld.when"),
        words("withheld.unit"),
        Column(label=words("withheld.contents"), align="end"),
        Column(label=words("withheld.basis"), grow=True),
        words("withheld.by"),
    )
    title = words("withheld.deletions")
    return (Heading(text=title), table(heads, rows, label=title))
