"""Redactions and deletions in a record in memory, as the commands would record them; and wrong ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from domain import events as e
from domain.envelope import Recorded
from domain.fields import SALT
from domain.ids import PrincipalId, Sha256, commitments_stream, deletion_stream, redaction_stream
from domain.privacy import digest_of
from domain.values import Box
from executor.redaction import Parts, event_parts, event_root, frame_parts, frame_root
from tests.projections.exports.made import Made

KEY = b"a key that no record holds" * 2
ASKED, ALLOWED = PrincipalId("person:dpo"), PrincipalId("person:counsel")
BASIS = "GDPR Art. 17, request 2026-31"
REGION = Box(x=10, y=70, width=300, height=24)
"""Of ``Made.screen``: the words "Difference bills of November"."""


def commit(made: Made, name: str = "run-1") -> Recorded:
    """Commit to every screen and event so far."""
    names = {frame.sha256 for one in made.book.events for frame in one.envelope.frames}
    return made.book.add(
        e.CommitmentsRecorded(
            frames={name: Sha256(frame_root(made.blobs[name], name, KEY)) for name in sorted(names)},
            events={one.envelope.event_id: Sha256(event_root(one.row.body, KEY)) for one in made.book.events},
        ),
        stream=commitments_stream(name),
    )


def request_of(
    made: Made,
    kind: e.privacy.RedactionKind,
    subject: str,
    parts: Parts | None,
    *,
    regions: Sequence[Box] = (),
    fields: Sequence[str] = (),
    committed: Recorded | None = None,
    **changes: Any,  # noqa: ANN401 - any field of the fact
) -> e.RedactionRequested:
    """The request with its contents stored; ``changes`` makes a wrong one."""
    wanted: dict[str, Any] = {
        "kind": kind,
        "subject": subject,
        "basis": BASIS,
        "requested_by": ASKED,
        "regions": tuple(regions),
        "fields": tuple(sorted(fields)),
        "root": parts.root if parts else "",
        "committed_in": committed.envelope.event_id if committed else None,
        "rendition": made.keep(parts.rendition) if parts else None,
        "opening": made.keep(parts.opening) if parts else None,
    }
    return e.RedactionRequested(**(wanted | changes))


def record(
    made: Made, fact: e.RedactionRequested, *, name: str = "r1", approver: PrincipalId | None = ALLOWED
) -> None:
    """Put a request on record, and an approval of it unless there is no approver."""
    stream = redaction_stream(name)
    made.book.add(fact, stream=stream, principal=fact.requested_by)
    if approver is not None:
        made.book.add(
            e.RedactionApproved(digest=digest_of(fact), approver=approver), stream=stream, principal=approver
        )


def redact_frame(
    made: Made,
    sha256: str,
    *,
    regions: Sequence[Box] = (REGION,),
    committed: Recorded | None = None,
    name: str = "r1",
    approver: PrincipalId | None = ALLOWED,
    **changes: Any,  # noqa: ANN401 - any field of the fact
) -> None:
    """Withhold rectangles of a screen."""
    parts = frame_parts(made.blobs[sha256], sha256, regions, KEY)
    fact = request_of(made, "frame", sha256, parts, regions=regions, committed=committed, **changes)
    record(made, fact, name=name, approver=approver)


def redact_event(
    made: Made,
    told: Recorded,
    fields: Sequence[str],
    *,
    committed: Recorded | None = None,
    name: str = "r2",
    approver: PrincipalId | None = ALLOWED,
    **changes: Any,  # noqa: ANN401 - any field of the fact
) -> None:
    """Withhold fields of an event."""
    parts = event_parts(told.row.body, fields, KEY)
    fact = request_of(
        made,
        "event",
        told.envelope.event_id,
        parts,
        fields=[*fields, SALT],
        committed=committed,
        **changes,
    )
    record(made, fact, name=name, approver=approver)


def delete(made: Made, *names: str, deletion: str = "d1") -> None:
    """Take contents away as a destroyed key does."""
    for name in names:
        del made.blobs[name]
    made.book.add(
        e.DataDeleted(
            deletion_id=deletion,
            unit="frame/2026-11",
            key_id="k1",
            basis="retention of screens: 180 days",
            by=ASKED,
            part=1,
            parts=1,
            blobs=tuple(Sha256(name) for name in sorted(names)),
        ),
        stream=deletion_stream(deletion),
        principal=ASKED,
    )


def pointers(told: Recorded, value: str) -> list[str]:
    """Pointers of an event's data at which a text stands."""
    found: list[str] = []
    stack: list[tuple[str, Any]] = [("/data", json.loads(told.row.body)["data"])]
    while stack:
        pointer, item = stack.pop()
        if isinstance(item, dict):
            stack.extend((f"{pointer}/{key}", inner) for key, inner in item.items())
        elif isinstance(item, list):
            stack.extend((f"{pointer}/{number}", inner) for number, inner in enumerate(item))
        elif isinstance(item, str) and value in item:
            found.append(pointer)
    return sorted(found)
