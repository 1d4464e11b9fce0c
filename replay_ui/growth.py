"""How the log grows under the desk, and answers that are kept until it does.

Rules enforced here:

- An answer is true for one end of the log and thrown away when evidence was added.
- What readers of the desk opened is on record too, in streams of their own (``access:``). It changes no answer of the
  desk, so a look at one page doesn't make every other page be computed again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Final, TypeVar, cast

from domain.ids import ACCESS

if TYPE_CHECKING:
    from domain.ids import TenantId
    from projections.reading import RecordReader

V = TypeVar("V")

KEPT: Final = 32
"""Answers kept in memory."""
_STEP: Final = 500
"""Events that are looked through at once."""


def end_of_evidence(reader: RecordReader, tenant: TenantId, end: int, *, known: int = 0) -> int:
    """Position of the last event up to ``end`` that is no reader's; ``known`` when there is none after that one."""
    upper = end
    while upper > known:
        lower = max(upper - _STEP, known)
        rows = reader.rows(tenant, after=lower, limit=upper - lower)
        found = [row.position for row in rows if not row.stream.startswith(ACCESS)]
        if found:
            return found[-1]
        upper = lower
    return known


class Answers:
    """The latest answers, each with the end of the evidence that it is true for. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[int, object]] = OrderedDict()

    def get(self, key: Hashable, end: int, make: Callable[[], V]) -> V:
        """The answer that is kept for ``end``, else a new one."""
        with self._lock:
            known = self._kept.get(key)
            if known is not None and known[0] == end:
                self._kept.move_to_end(key)
                return cast("V", known[1])
        made = make()
        with self._lock:
            self._kept[key] = (end, made)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made
