"""Keys of business effects, and digests of business actions.

The published key (task + bill + action) gives two tasks for one bill two keys, and that is how the published double
processing happened. So the key is on the effect: tenant, bill, action, occurrence; the task is recorded beside it
(B5). A legitimate repetition names another occurrence.
"""

from __future__ import annotations

import hashlib
from urllib.parse import quote

import msgspec

from domain.codec import canonical
from domain.ids import EffectKey, Sha256, TaskId, TenantId
from domain.values import Intent


def effect_key(tenant: TenantId, intent: Intent) -> EffectKey:
    """``acme:CY202611-0007:mark_processed:1``; parts are percent-encoded, so a colon in a part can't forge one."""
    parts = (tenant, intent.bill_id, intent.action, intent.occurrence)
    return EffectKey(":".join(quote(part, safe="") for part in parts))


def compensation_key(tenant: TenantId, intent: Intent, undo: str, task_id: TaskId) -> EffectKey:
    """Key of the undoing of one task's effect: each task can be compensated once."""
    parts = (tenant, intent.bill_id, undo, f"compensates-{task_id}")
    return EffectKey(":".join(quote(part, safe="") for part in parts))


def action_digest(key: EffectKey, intent: Intent, *, kind: str, label: str) -> Sha256:
    """What an approval is bound to: key, bill, counterparty, amount, currency, month, kind and label.

    Pixels are not part of it: the screen may be looked at again after the approval, the business action may not
    differ.
    """
    content = {"intent": msgspec.to_builtins(intent), "key": key, "kind": kind, "label": label}
    return Sha256(hashlib.sha256(canonical(content)).hexdigest())
