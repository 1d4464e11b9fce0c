"""How the log grows under the desk, and answers that are kept until it does.

Rules enforced here:

- An answer says for which end of the evidence it is true. When evidence was added, a quick answer is made anew at
  once; a slow one is shown as it was, with its end, while a new one is made in the background. So a page doesn't get
  slower as the record gets longer, and never passes an older answer off as the newest.
- What readers of the desk opened is on record too, in streams of their own (``access:``). It changes no answer of the
  desk, so a look at one page doesn't make every other page be computed again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from domain.errors import ProofreelError
from domain.ids import ACCESS

if TYPE_CHECKING:
    from domain.ids import TenantId
    from projections.reading import RecordReader

V = TypeVar("V")
_log = logging.getLogger(__name__)

KEPT: Final = 32
"""Answers kept in memory."""
SLOW_S: Final = 1.0
"""Seconds from which an answer counts as slow."""
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


class Answer(NamedTuple, Generic[V]):
    """An answer and how far it sees."""

    value: V
    end: int
    """Position of the last event that it takes in."""
    newest: bool
    """Whether that is the end of the evidence; else a newer answer is being made."""


class _Kept(NamedTuple):
    end: int
    value: Any
    took_s: float


class Answers:
    """The latest answers. Safe to share between threads.

    Args:
        clock: seconds that never run backwards; for tests.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._under_way: dict[Hashable, threading.Thread] = {}

    def get(self, key: Hashable, end: int, make: Callable[[], V]) -> Answer[V]:
        """The answer for ``end``; of a slow one the latest that there is, while ``make`` runs in the background."""
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                if known.end == end:
                    return Answer(known.value, end, newest=True)
                if known.took_s >= SLOW_S:
                    self._renew(key, end, make)
                    return Answer(known.value, known.end, newest=False)
        return Answer(self._make(key, end, make), end, newest=True)

    def wait(self) -> None:
        """Wait for the answers that are being made."""
        for thread in list(self._under_way.values()):
            thread.join()

    def _make(self, key: Hashable, end: int, make: Callable[[], V]) -> V:
        start = self._clock()
        made = make()
        with self._lock:
            self._kept[key] = _Kept(end, made, self._clock() - start)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made

    def _renew(self, key: Hashable, end: int, make: Callable[[], V]) -> None:
        if key in self._under_way:
            return

        def work() -> None:
            try:
                self._make(key, end, make)
            except ProofreelError as error:  # shown when it is asked for in the foreground
                _log.warning("an answer could not be made again: %s", error)
                with self._lock:
                    self._kept.pop(key, None)
            finally:
                with self._lock:
                    self._under_way.pop(key, None)

        thread = threading.Thread(target=work, name="desk-answer", daemon=True)
        self._under_way[key] = thread
        thread.start()
