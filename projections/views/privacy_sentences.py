"""One plain sentence for each fact about withholding, holding and deleting."""

from __future__ import annotations

from typing import assert_never

from domain import events as e


def privacy_sentence(event: e.PrivacyEvent) -> str:
    """What the fact says, in one English sentence without a time."""
    match event:
        case e.CommitmentsRecorded():
            return (
                f"Part by part, {len(event.frames)} screens and {len(event.events)} events were committed to."
            )
        case e.RedactionRequested():
            return f"{event.requested_by} asked to withhold {_what(event)}: {event.basis}."
        case e.RedactionApproved():
            return f"{event.approver} approved exactly this redaction{_because(event.note)}."
        case e.RedactionDenied():
            return f"{event.approver} refused the redaction{_because(event.note)}."
        case e.HoldPlaced():
            return f"{event.by} placed hold {event.hold_id} on {_covered(event)}: {event.basis}."
        case e.HoldReleased():
            return f"{event.by} released hold {event.hold_id}: {event.basis}."
        case e.DeletionOrdered():
            return f"{event.by} ordered the key of {event.unit} destroyed ({event.blobs} contents): {event.basis}."
        case e.DataDeleted():
            return (
                f"The key of {event.unit} was destroyed by {event.by}, and {len(event.blobs)} contents with it: "
                f"{event.basis}."
            )
        case _:
            assert_never(event)


def _what(event: e.RedactionRequested) -> str:
    match event.kind:
        case "frame":
            return f"{len(event.regions)} rectangles of screen {event.subject[:12]}…"
        case "event":
            return f"{', '.join(event.fields)} of event {event.subject}"
        case "document":
            return f"document {event.subject[:12]}…"
        case _:
            assert_never(event.kind)


def _covered(event: e.HoldPlaced) -> str:
    return f"{event.kind or 'everything'} of {event.month or 'every month'}"


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""
