"""The browser's traces of one task: begun with its page, and kept or dropped by how the task stands (B12).

Rules: what a page showed is kept before the task is sealed, because a sealed stream takes nothing more; a trace that
can't be had, or not without its secrets, costs the task nothing and is said in the log.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar, runtime_checkable

from domain import commands as c
from domain import events as e
from domain.errors import ConfigError, IntegrityError, ProofreelError, WorldError
from domain.ports import BlobStore
from domain.task_state import Status
from executor.runtime.kit import Hands, Kit
from executor.runtime.streams import TaskStream
from executor.traces.scrub import Scrubbed

LOG = logging.getLogger("proofreel.traces")

AnyHands = TypeVar("AnyHands", bound=Hands)
WELL: frozenset[Status] = frozenset(
    {"succeeded", "awaiting_approval", "declared_done", "compensated", "confirmed"}
)
"""Where a task stands when nothing has gone wrong."""


@runtime_checkable
class Traceable(Protocol):
    """Hands, or a page, whose steps can be traced."""

    def begin_trace(self) -> None:
        """Start recording; ``ConfigError`` when somebody else does already, ``WorldError`` when the page is gone."""
        ...

    def end_trace(self, *, keep: bool) -> Scrubbed | None:
        """Stop; with ``keep``, the trace without secrets. ``WorldError`` or ``IntegrityError`` when it can't be had."""
        ...


class TaskTraces(Generic[AnyHands]):
    """Gives out hands, and traces what they do for one task at a time."""

    def __init__(self, kit: Kit, hands: Callable[[], AnyHands], *, closes_early: bool = False) -> None:
        """``closes_early``: the page is closed before anybody knows how the task ends; its trace is kept."""
        self._kit = kit
        self._open = hands
        self._always = kit.trace == "always" or closes_early
        self._running: list[Traceable] = []

    def hands(self) -> AnyHands:
        """The hands, traced from now on."""
        hands = self._open()
        page: object = hands
        if self._kit.trace != "never" and isinstance(page, Traceable) and page not in self._running:
            try:
                page.begin_trace()
            except (WorldError, ConfigError) as error:
                not_kept(error)
            else:
                self._running.append(page)
        return hands

    @contextmanager
    def of(self, stream: TaskStream) -> Iterator[None]:
        """What the hands do inside belongs to this task."""
        try:
            yield
        except BaseException:
            with contextlib.suppress(ProofreelError):
                stream.load()
                self.settle(stream)
            raise
        self.settle(stream)

    def settle(self, stream: TaskStream) -> None:
        """Stop tracing, and keep the trace if the task stands so that somebody will want to see it."""
        running, self._running = self._running, []
        keep = not stream.state.sealed and (self._always or stream.state.status not in WELL)
        for traced in running:
            trace = end_quietly(traced, keep=keep)
            if trace is not None:
                stream.stage(c.Attach(attached(trace, self._kit.blobs)))
        if running:
            stream.flush()


def end_quietly(traced: Traceable, *, keep: bool) -> Scrubbed | None:
    """The trace, or None and a line in the log that says why there is none."""
    try:
        return traced.end_trace(keep=keep)
    except (WorldError, IntegrityError) as error:
        not_kept(error)
        return None


def not_kept(error: ProofreelError) -> None:
    """Say in the log why there is no trace."""
    LOG.warning("no trace was kept: %s", error)


def attached(trace: Scrubbed, blobs: BlobStore) -> e.TraceAttached:
    """The trace's bytes stored, and the fact that names them."""
    return e.TraceAttached(
        blob=blobs.put(trace.data, media_type="application/zip"),
        tool=trace.tool,
        octets=len(trace.data),
        calls=trace.calls,
        masked=trace.masked,
        left_out=trace.left_out,
    )
