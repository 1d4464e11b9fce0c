"""Opening evidence is itself on record.

Rules enforced here:

- It is recorded before anything is shown; what can't be recorded isn't shown.
- Only evidence that there is, and that the viewer may read, is an opening: a guessed id leaves no trace in a tenant's
  log.
- What one person looks at in one go is one opening: the screens of a run don't fill the log with one fact each. A
  bundle that is carried away is one each time.
- The desk writes nothing itself: whoever starts it hands in the recorder. Without access control nobody is
  identified, and nothing is recorded.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from domain.events.access import Opened
    from replay_ui.roles import Viewer

ONE_GO_S: Final = 1800.0
"""Seconds after which looking at the same again is another opening."""
_KEPT: Final = 50_000


class OpeningRecorder(Protocol):
    """Writes an opening down; durable when it returns."""

    def record(self, viewer: Viewer, tenant: str, kind: Opened, subject: str) -> None:
        """Record that ``viewer`` opens ``subject``.

        Raises:
            ProofreelError: it could not be recorded.
        """


class Openings:
    """What was opened lately, in front of the recorder; safe to share between threads.

    Args:
        recorder: where openings are recorded; None on a desk without access control.
        clock: seconds that never run backwards; for tests.
    """

    def __init__(
        self, recorder: OpeningRecorder | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._recorder = recorder
        self._clock = clock
        self._lately: OrderedDict[tuple[str, str, str, Opened, str], float] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, viewer: Viewer, tenant: str, kind: Opened, subject: str) -> None:
        """Put on record that ``viewer`` is about to see ``subject``.

        Raises:
            ProofreelError: it could not be recorded; don't show it.
        """
        if self._recorder is None:
            return
        key = (viewer.name, viewer.account, tenant, kind, subject)
        with self._lock:
            now = self._clock()
            last = self._lately.get(key)
            if kind != "bundle" and last is not None and now - last < ONE_GO_S:
                return
            self._recorder.record(viewer, tenant, kind, subject)
            self._lately[key] = now
            self._lately.move_to_end(key)
            while len(self._lately) > _KEPT:
                self._lately.popitem(last=False)
