"""Following a tenant's log: polling decides, NOTIFY only shortens the wait.

Rules: what is delivered is read by position, so nothing that commits late is missed; a lost or late NOTIFY costs one
polling interval and nothing else; the library's own wait has no time-out, so it isn't used alone.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from eventsourcing.persistence import ApplicationRecorder, ListenNotifySubscription

from executor.store.engine import driver_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

POLL_S: Final = 0.05
"""Longest wait between two looks."""
_CHANNEL: Final = "proofreel"


class RecordSubscription(ListenNotifySubscription[ApplicationRecorder]):
    """Iterator over notifications, blocking after the last one."""

    def __init__(
        self,
        recorder: ApplicationRecorder,
        engine: Engine,
        *,
        gt: int | None = None,
        topics: Sequence[str] = (),
    ) -> None:
        self._ended = threading.Event()
        self._engine = engine
        super().__init__(recorder, gt, topics)
        self._waker = threading.Thread(target=self._wake, name="record-subscription", daemon=True)
        self._waker.start()

    def stop(self) -> None:
        """Stop the iteration; safe to call again."""
        self._ended.set()
        super().stop()

    def __exit__(self, *args: object, **kwargs: object) -> None:
        try:
            super().__exit__(*args, **kwargs)
        finally:
            self._waker.join()

    def _wake(self) -> None:
        while not self._ended.is_set():
            if self._engine.dialect.name == "postgresql":
                self._listen()
            self._ended.wait(POLL_S)
            self._has_been_notified.set()

    def _listen(self) -> None:
        """Wake at each NOTIFY, and at least every interval, until the session breaks or the end comes."""
        try:
            with self._engine.connect() as connection:
                connection.exec_driver_sql(f"LISTEN {_CHANNEL}")
                session = connection.connection.driver_connection
                while session is not None and not self._ended.is_set():
                    for _ in session.notifies(timeout=POLL_S, stop_after=1):
                        pass
                    self._has_been_notified.set()
                connection.exec_driver_sql("UNLISTEN *")
        except driver_errors():
            return  # polling goes on; the next round listens again
