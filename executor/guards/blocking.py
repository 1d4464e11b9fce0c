"""Asynchronous Playwright objects, used by synchronous code in a thread of its own.

The guards exist once, in synchronous code. Here they get stand-ins for an asynchronous page: a call that would be
awaited runs on the page's event loop while the guards' thread waits.

Rules: handlers run only while the guards' thread waits, as they do in synchronous Playwright, so that nothing changes
under its hands; they run on the event loop in the order of the events, and what they start there is not waited for;
only Playwright's public interface is used.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from playwright import sync_api

T = TypeVar("T")
ASYNC_MODULE = "playwright.async_api"
LISTENING = frozenset({"on", "once", "route", "route_web_socket", "remove_listener", "unroute"})


class Bridge:
    """Between one event loop and one thread of guards."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._home = threading.get_ident()
        self._baton = threading.Lock()
        """Held by whoever runs guard code: the thread, or a handler on the loop."""
        self._known: weakref.WeakValueDictionary[int, StandIn] = weakref.WeakValueDictionary()
        self._handlers: dict[tuple[Any, ...], Callable[..., None]] = {}
        self._started: set[asyncio.Future[Any]] = set()

    def run(self, work: Callable[[], T]) -> T:
        """Run guard code; called in its thread."""
        with self._baton:
            return work()

    def wrap(self, value: Any) -> Any:  # noqa: ANN401 - any value of Playwright's
        """Stand-ins for Playwright's objects, everything else as it is."""
        if isinstance(value, list):
            return [self.wrap(item) for item in value]
        if not type(value).__module__.startswith(ASYNC_MODULE) or isinstance(value, Exception):
            return value
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = StandIn(self, value)
        return known

    def perform(self, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - any value of Playwright's
        """A call's result, made on the loop; from a handler, which is there already, it is not waited for."""
        if threading.get_ident() == self._home:
            result = call()
            if not inspect.isawaitable(result):
                return self.wrap(result)
            task = asyncio.ensure_future(result)
            self._started.add(task)
            task.add_done_callback(self._done)
            return None
        waiting: Future[Any] = asyncio.run_coroutine_threadsafe(_made(call), self._loop)
        self._baton.release()
        try:
            return self.wrap(waiting.result())
        finally:
            self._baton.acquire()

    def _done(self, task: asyncio.Future[Any]) -> None:
        self._started.discard(task)
        if not task.cancelled():
            task.exception()  # the page may be gone, and what was started with it

    def handler(self, place: tuple[Any, ...], function: Callable[..., Any]) -> Callable[..., None]:
        """What is registered at Playwright for a handler of the guards; the same for the same place."""
        key = (*place, function)
        if key not in self._handlers:

            def handle(*args: Any) -> None:  # noqa: ANN401 - what Playwright hands over
                with self._baton:
                    wanted = len(inspect.signature(function).parameters)
                    function(*(self.wrap(arg) for arg in args[:wanted]))

            self._handlers[key] = handle
        return self._handlers[key]


async def _made(call: Callable[[], Any]) -> Any:  # noqa: ANN401 - any value of Playwright's
    result = call()
    return await result if inspect.isawaitable(result) else result


class StandIn:
    """Stands in for one asynchronous Playwright object, and passes for its synchronous namesake."""

    def __init__(self, bridge: Bridge, raw: Any) -> None:  # noqa: ANN401 - any object of Playwright's
        self._bridge = bridge
        self._raw = raw

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - any attribute
        """Guards ask ``isinstance``: the synchronous class of the same name answers."""
        if name == "__class__":
            return getattr(sync_api, type(object.__getattribute__(self, "_raw")).__name__, StandIn)
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of Playwright's
        bridge, raw = self._bridge, self._raw
        value = getattr(raw, name)
        if not callable(value) or type(value).__module__.startswith(ASYNC_MODULE):
            return bridge.wrap(value)

        def call(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on
            given = [_plain(arg) for arg in args]
            if name in LISTENING and len(given) > 1:
                given[1] = bridge.handler((id(raw), given[0], name in {"route", "unroute"}), given[1])
            named = {key: _plain(option) for key, option in options.items()}
            return bridge.perform(lambda: value(*given, **named))

        return call


def _plain(value: Any) -> Any:  # noqa: ANN401 - any argument
    return value._raw if type(value) is StandIn else value  # noqa: SLF001 - its own
