"""One fixed instance of every fact about withholding, holding and deleting; history, so nothing here is edited."""

from __future__ import annotations

from domain import events as e
from domain.ids import EventId, PrincipalId, Sha256
from domain.values import Box

_SHA = Sha256("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
_FRAME = Sha256("60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752")
_PERSON = PrincipalId("person:li.na")
_BOX = Box(x=600, y=10, width=80, height=24)
PRIVACY: tuple[e.Event, ...] = (
    e.CommitmentsRecorded(frames={_FRAME: _SHA}, events={"0199e0c5-0000-7000-8000-000000000001": _SHA}),
    e.RedactionRequested(
        kind="frame",
        subject=_FRAME,
        basis="GDPR Art. 17, request 2026-31",
        requested_by=_PERSON,
        regions=(_BOX,),
        fields=("/data/title", "/salt"),
        root=_SHA,
        committed_in=EventId("0199e0c5-0000-7000-8000-000000000002"),
        rendition=_SHA,
        opening=_SHA,
    ),
    e.RedactionApproved(digest=_SHA, approver=_PERSON, note="checked with the data protection officer"),
    e.RedactionDenied(digest=_SHA, approver=_PERSON, note="needed for the open claim"),
    e.HoldPlaced(hold_id="hold-1", kind="frame", month="2026-11", basis="claim 7 O 12/26", by=_PERSON),
    e.HoldReleased(hold_id="hold-1", basis="the claim was settled", by=_PERSON),
    e.DeletionOrdered(
        deletion_id="del-1",
        unit="frame/2026-11",
        key_id="9f86d081884c7d65",
        basis="retention of screens: 180 days",
        by=_PERSON,
        blobs=1,
    ),
    e.DataDeleted(
        deletion_id="del-1",
        unit="frame/2026-11",
        key_id="9f86d081884c7d65",
        basis="retention of screens: 180 days",
        by=_PERSON,
        part=1,
        parts=1,
        blobs=(_FRAME,),
    ),
)
