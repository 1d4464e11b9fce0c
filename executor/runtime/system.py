"""The machine's clock and its randomness, behind the domain's ports.

Rules: event ids are UUIDv7 (RFC 9562 section 5.7), so that an index over them grows at its right end; within one
process they never run backwards, even when the clock does. Everything else is drawn from the operating system.
"""

from __future__ import annotations

import secrets
import threading
import time
import uuid

from domain.ids import EventId

_TICKS_PER_MS = 4096
"""The 12 bits after the milliseconds hold its fraction (RFC 9562 section 6.2, method 3)."""


class SystemClock:
    """Time of day of this machine."""

    def now_us(self) -> int:
        """Microseconds since 1970 (UTC)."""
        return time.time_ns() // 1000


class SystemIds:
    """Identifiers and randomness from the operating system; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_tick = 0

    def event_id(self) -> EventId:
        """A new UUIDv7, greater than every one that this object gave before."""
        now = time.time_ns() * _TICKS_PER_MS // 1_000_000
        with self._lock:
            tick = self._last_tick = max(now, self._last_tick + 1)
        milliseconds, fraction = divmod(tick, _TICKS_PER_MS)
        number = (milliseconds & (2**48 - 1)) << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62
        return EventId(str(uuid.UUID(int=number | secrets.randbits(62))))

    def uuid(self) -> str:
        """A new random UUID (version 4): the name of a stream must not be guessed from its time."""
        return str(uuid.uuid4())

    def salt(self) -> str:
        """32 random bytes in hex."""
        return secrets.token_hex(32)
