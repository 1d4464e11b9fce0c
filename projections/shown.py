"""What readers are shown: events as stored, with names in place of texts that may no longer be shown (X7).

Rules: only texts that nothing is bound to are touched, so that ids, states and amounts stay what they are; the stored
row beside the event stays the stored one, for those who check it. What is in force is read again when a redaction or a
deletion was added.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from domain.codec import canonical, decode, read
from domain.envelope import Recorded, StoredRow
from domain.fields import may_be_withheld
from projections.withholding import KINDS, Withholding, load

if TYPE_CHECKING:
    from domain.ids import TenantId
    from projections.masking import Masks
    from projections.withholding import RawSource


class Shown:
    """What is in force, by tenant, over a source of stored events."""

    def __init__(self, source: RawSource, count: Callable[[TenantId], int]) -> None:
        self._source = source
        self._count = count
        self._known: dict[TenantId, tuple[int, Withholding]] = {}

    def withholding(self, tenant: TenantId) -> Withholding:
        """What is in force now."""
        count = self._count(tenant)
        known = self._known.get(tenant)
        if known is None or known[0] != count:
            known = (count, load(self._source, tenant) if count else Withholding())
            self._known[tenant] = known
        return known[1]

    def reading(self, tenant: TenantId) -> Callable[[StoredRow], Recorded]:
        """How rows of this tenant are read."""
        masks = self.withholding(tenant).masks
        return (lambda row: masked(row, masks)) if masks else read


def masked(row: StoredRow, masks: Masks) -> Recorded:
    """A stored row as it may be shown."""
    if row.stream.partition(":")[0] in KINDS or not masks.stand_in(row.body):
        return read(row)
    envelope, name, schema, event = decode(canonical(masked_body(row.body, masks)), where=row)
    return Recorded(row=row, envelope=envelope, name=name, schema=schema, event=event)


def masked_body(body: bytes, masks: Masks) -> dict[str, Any]:
    """An event's JSON with names in place of withheld texts."""
    raw: dict[str, Any] = json.loads(body)
    raw["data"] = _data("/data", raw["data"], masks)
    return raw


def _data(pointer: str, value: Any, masks: Masks) -> Any:  # noqa: ANN401 - JSON of any shape
    if isinstance(value, dict):
        return {name: _data(f"{pointer}/{name}", item, masks) for name, item in value.items()}
    if isinstance(value, list):
        return [_data(f"{pointer}/{number}", item, masks) for number, item in enumerate(value)]
    return masks.text(value) if may_be_withheld(pointer, value) else value
