"""Names for identifiers, so that one can't be passed for another.

Stream names are plain text (``task:<uuid>``, ``run:<uuid>``, ``settlement:<month>``, ``case:<break>``,
``access:<principal>``, ``targets:<metric>``, ``redaction:<uuid>``, ``deletion:<uuid>``, ``retention:units``,
``commitments:<run>``); the part before the colon is the kind. Event ids are UUIDv7 in
canonical text.
"""

from __future__ import annotations

from typing import NewType

TenantId = NewType("TenantId", str)
"""A customer of the desk; every log, claim and blob grant is per tenant."""
PrincipalId = NewType("PrincipalId", str)
"""Who acts: a service identity (``svc:acme-batch``) or a person (``person:li.na``)."""
RunId = NewType("RunId", str)
"""One recorded session of an executor, or one imported trace (UUID)."""
TaskId = NewType("TaskId", str)
"""Tenant + bill + intended business effect, as one process pursues it (UUID)."""
EventId = NewType("EventId", str)
"""UUIDv7 in canonical text; appends are idempotent by it."""
StreamId = NewType("StreamId", str)
"""``kind:name``; versions are counted per stream."""
EffectKey = NewType("EffectKey", str)
"""The idempotency key: what changes in the business, not who tries (see ``domain.idempotency``)."""
ActionId = NewType("ActionId", str)
"""One atomic proposed step (UUID)."""
Sha256 = NewType("Sha256", str)
"""Lower-case hexadecimal SHA-256 of bytes: the name of a frame or another blob."""

ACCESS = "access:"
"""Begins the names of streams about the record's readers; nothing in them is evidence of what was done."""


def task_stream(task_id: TaskId) -> StreamId:
    """Stream that holds everything about one task."""
    return StreamId(f"task:{task_id}")


def run_stream(run_id: RunId) -> StreamId:
    """Stream that holds what belongs to the run and to none of its tasks."""
    return StreamId(f"run:{run_id}")


def settlement_stream(month: str) -> StreamId:
    """Stream of the settlement imports of one month (``YYYY-MM``)."""
    return StreamId(f"settlement:{month}")


def targets_stream(metric: str) -> StreamId:
    """Stream of the targets that were accepted for one metric."""
    return StreamId(f"targets:{metric}")


def access_stream(principal: PrincipalId) -> StreamId:
    """Stream of what one reader opened."""
    return StreamId(f"{ACCESS}{principal}")


def case_stream(break_id: str) -> StreamId:
    """Stream of what was concluded about one difference of a month end."""
    return StreamId(f"case:{break_id}")


def redaction_stream(redaction: str) -> StreamId:
    """Stream of one redaction: its request and the answer."""
    return StreamId(f"redaction:{redaction}")


def deletion_stream(deletion: str) -> StreamId:
    """Stream that says which stored bytes went with one key."""
    return StreamId(f"deletion:{deletion}")


def commitments_stream(name: str) -> StreamId:
    """Stream of the commitments made for one run, or by hand."""
    return StreamId(f"commitments:{name}")


RETENTION = StreamId("retention:units")
"""Holds and orders of deletion; one stream, so that an order knows every hold."""
