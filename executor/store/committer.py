"""Between callers and a writer: threads share commits, a lost acknowledgement is no error, failures are named.

Rules: whoever comes while a commit is under way waits in a queue and is committed together with the others in it;
one request's refusal is not another's; a request whose very events are stored already succeeds (``repeated``); a
connection that broke is tried once more, which is safe for the same reason.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from sqlalchemy.exc import DBAPIError

from domain.errors import ProofreelError, WorldError
from executor.store.engine import driver_errors, explain, is_disconnect
from executor.store.requests import Placed, Refusal, Refused, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_SHARED: Final = 256
"""Requests in one commit at most."""
MAX_SHARED_BYTES: Final = 16 << 20
"""Bytes of bodies in one commit at most."""


class Writer(Protocol):
    """One database's append side."""

    @property
    def tenants_apart(self) -> bool:
        """True if requests of different tenants must not share a transaction."""
        ...

    def write(self, requests: Sequence[Request]) -> list[Placed]:
        """Append all requests in one transaction, or raise and store nothing."""
        ...

    def hint(self, tenant: str) -> None:
        """Tell readers that there is something new."""
        ...

    def reset(self) -> None:
        """Drop connections."""
        ...


class _Ticket:
    """A request that waits, and what became of it."""

    __slots__ = ("error", "leads", "placed", "request", "signal")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.placed: Placed | None = None
        self.error: BaseException | None = None
        self.leads = False
        self.signal = threading.Lock()
        self.signal.acquire()


class _Queue:
    """Requests that share commits."""

    __slots__ = ("busy", "lock", "waiting")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: deque[_Ticket] = deque()
        self.busy = False


class Committer:
    """Submits requests to a writer; ``settled`` looks up whether a refused request is stored already."""

    def __init__(self, writer: Writer, settled: Callable[[Request], Placed | None]) -> None:
        self._writer = writer
        self._settled = settled
        self._queues: dict[str, _Queue] = {}

    def submit(self, request: Request, *, idempotent: bool = True) -> Placed:
        """Place of the request's events once they are durable.

        Raises ``VersionConflict``, ``ClaimTaken`` or another ``CommandRefused``, and ``WorldError`` when the
        database fails. Without ``idempotent`` a repetition is refused like any other conflict.
        """
        key = request.tenant if self._writer.tenants_apart else ""
        queue = self._queues.get(key) or self._queues.setdefault(key, _Queue())
        with queue.lock:
            alone = not queue.busy
            queue.busy = True
            if not alone:
                ticket = _Ticket(request)
                queue.waiting.append(ticket)
        try:
            return self._alone(queue, request) if alone else self._together(queue, ticket)
        except Refused as refused:
            return self._settle(request, refused.refusal, idempotent=idempotent)

    def _alone(self, queue: _Queue, request: Request) -> Placed:
        """Commit a request that found nobody else at work; who came meanwhile leads next."""
        try:
            return self._write([request])[0]
        finally:
            self._hand_on(queue)

    def _together(self, queue: _Queue, ticket: _Ticket) -> Placed:
        """Wait to be committed with the others, or to lead them."""
        ticket.signal.acquire()
        if ticket.leads:
            self._lead(queue, ticket)
        if ticket.error is not None:
            raise ticket.error
        if ticket.placed is None:
            message = "a request was neither stored nor refused"
            raise AssertionError(message)
        return ticket.placed

    def _hand_on(self, queue: _Queue) -> None:
        with queue.lock:
            if queue.waiting:
                successor = queue.waiting[0]
                successor.leads = True
                successor.signal.release()
            else:
                queue.busy = False

    def _lead(self, queue: _Queue, own: _Ticket) -> None:
        """Commit what waits, this thread's request first in it, then hand the lead on."""
        batch: list[_Ticket] = []
        with queue.lock:
            size = 0
            while queue.waiting and len(batch) < MAX_SHARED and size < MAX_SHARED_BYTES:
                ticket = queue.waiting.popleft()
                size += sum(len(entry.body) for entry in ticket.request.entries)
                batch.append(ticket)
        try:
            self._commit(batch)
        except BaseException as error:
            stopped = WorldError("the commit was interrupted", remedy="append again; a repetition is safe")
            for ticket in batch:
                if ticket.placed is None and ticket.error is None:
                    ticket.error = error if isinstance(error, Exception) else stopped
            if not isinstance(error, Exception):
                raise
        finally:
            self._hand_on(queue)
            for ticket in batch:
                if ticket is not own:
                    ticket.signal.release()

    def _commit(self, batch: list[_Ticket]) -> None:
        if len(batch) > 1:
            try:
                placed = self._write([ticket.request for ticket in batch])
            except (Refused, ProofreelError):
                pass  # somebody's request is at fault; each gets its own answer below
            else:
                for ticket, place in zip(batch, placed, strict=True):
                    ticket.placed = place
                return
        for ticket in batch:
            try:
                ticket.placed = self._write([ticket.request])[0]
            except (Refused, ProofreelError) as error:
                ticket.error = error

    def _write(self, requests: list[Request]) -> list[Placed]:
        try:
            return self._writer.write(requests)
        except sqlite3.ProgrammingError:
            raise  # a defect of ours, not of the world
        except driver_errors() as error:
            if not is_disconnect(error):
                raise explain(error) from error
        except DBAPIError as error:
            raise explain(error) from error
        self._writer.reset()
        try:
            return self._writer.write(requests)
        except driver_errors() as error:
            raise explain(error) from error

    def _settle(self, request: Request, refusal: Refusal, *, idempotent: bool) -> Placed:
        if idempotent and refusal.rule in {"version", "event_id"}:
            placed = self._settled(request)
            if placed is not None:
                return placed
        raise refusal.error() from None

    def close(self) -> None:
        """Drop the writer's connections."""
        self._writer.reset()

    def hint(self, tenant: str) -> None:
        """Tell readers that a tenant's log has grown; never fails."""
        try:
            self._writer.hint(tenant)
        except driver_errors():
            return
