"""Transport to the guards' script over the DevTools protocol (synchronous Playwright).

Rules: the script stands in every frame before the first script of the page; it is called only in its own world;
what it reports arrives in order. Asynchronous pages come through ``executor.guards.blocking``.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import orjson
from playwright.sync_api import CDPSession, Frame, Page
from playwright.sync_api import Error as PlaywrightError

from domain.errors import WorldError
from executor.guards import script
from executor.tools.base import SiteRules

READY_LIMIT_MS = 10_000
READ_ATTEMPTS = 3
NO_SHARED_WORKERS = "delete globalThis.SharedWorker;"
GONE = re.compile(r"context|navigat|destroyed|closed|detached|Target crashed", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """One frame's copy of the script's world."""

    session: CDPSession = field(repr=False)
    unique_id: str
    """Distinguishes it from every other place, also after navigations."""
    number: int
    frame_id: str


@dataclass(frozen=True, slots=True)
class Hit:
    """The node at a point, as the browser itself finds it: inside frames and closed shadow roots too."""

    backend_node: int
    frame_id: str
    offset: tuple[float, float]
    """Position of the frame's viewport in the page's viewport, CSS pixels."""


@dataclass(frozen=True, slots=True)
class Message:
    """One report of the script."""

    place: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sighting:
    """Where one frame's secret fields were, as its last answer said."""

    place: str
    answer: dict[str, Any]
    at_s: float
    """``time.monotonic``."""


class WorldGone(WorldError):
    """The document that was asked is no longer there: the page navigated."""


class IsolatedWorld:
    """The guards' script in one page."""

    def __init__(self, page: Page, rules: SiteRules, *, enforce: bool = False) -> None:
        """``enforce``: the page gets no shared workers, whose requests no guard could hold."""
        self.page = page
        self._enforce = enforce
        self._kept_out: list[tuple[CDPSession, str]] = []
        self.mark = f"x-{secrets.token_hex(12)}"
        self.messages: list[Message] = []
        self.sighting: Sighting | None = None
        """The newest answer about secret fields, of whichever frame."""
        self._binding = f"b{secrets.token_hex(12)}"
        self._source = script.build(rules, binding=self._binding, mark=self.mark)
        self._places: dict[str, Place] = {}
        self._foreign: dict[Frame, CDPSession | None] = {}
        self.session = page.context.new_cdp_session(page)
        self._install(self.session)
        tree: dict[str, Any] = self.session.send("Page.getFrameTree")
        self._main_frame_id = str(tree["frameTree"]["frame"]["id"])
        page.on("framenavigated", self._forget_frame)
        page.on("framedetached", self._forget_frame)

    def _install(self, session: CDPSession) -> None:
        numbers: dict[int, str] = {}

        def created(event: dict[str, Any]) -> None:
            context = event["context"]
            if context["name"] != script.WORLD:
                return
            unique = f"{context['uniqueId']}"
            numbers[context["id"]] = unique
            frame_id = str(context.get("auxData", {}).get("frameId", ""))
            self._places[unique] = Place(session, unique, context["id"], frame_id)

        def destroyed(event: dict[str, Any]) -> None:
            self._places.pop(numbers.pop(event["executionContextId"], ""), None)

        def cleared(_: object) -> None:
            for unique in numbers.values():
                self._places.pop(unique, None)
            numbers.clear()

        def called(event: dict[str, Any]) -> None:
            if event["name"] == self._binding:
                place = numbers.get(event["executionContextId"], "")
                self.messages.append(Message(place, orjson.loads(event["payload"])))

        session.on("Runtime.executionContextCreated", created)
        session.on("Runtime.executionContextDestroyed", destroyed)
        session.on("Runtime.executionContextsCleared", cleared)
        session.on("Runtime.bindingCalled", called)
        session.send("Runtime.enable")
        session.send("Page.enable")
        session.send("Runtime.addBinding", {"name": self._binding, "executionContextName": script.WORLD})
        session.send(
            "Page.addScriptToEvaluateOnNewDocument",
            {"source": self._source, "worldName": script.WORLD, "runImmediately": True},
        )

        if self._enforce:
            asked = {"source": NO_SHARED_WORKERS, "runImmediately": True}
            answer = session.send("Page.addScriptToEvaluateOnNewDocument", asked)
            self._kept_out.append((session, str(answer["identifier"])))

    def release(self) -> None:
        """Let go of somebody else's page: its next documents have everything again."""
        for session, identifier in self._kept_out:
            with contextlib.suppress(PlaywrightError):  # the frame may be gone
                session.send("Page.removeScriptToEvaluateOnNewDocument", {"identifier": identifier})
        self._kept_out.clear()

    def _forget_frame(self, frame: Frame) -> None:
        if frame != self.page.main_frame:
            self._foreign.pop(frame, None)

    def _attach_foreign(self) -> None:
        """Frames in a process of their own have a session of their own; most pages have none."""
        for frame in self.page.frames:
            if frame.parent_frame is None or frame in self._foreign:
                continue
            self._foreign[frame] = None
            with contextlib.suppress(PlaywrightError):  # part of its parent's session, the usual case
                session = self.page.context.new_cdp_session(frame)
                self._foreign[frame] = session
                self._install(session)

    def places(self) -> list[Place]:
        """Every frame that has the script, the page itself first."""
        self._attach_foreign()
        return sorted(self._places.values(), key=lambda place: place.frame_id != self._main_frame_id)

    def main(self) -> Place:
        """The page's own document; waits while a navigation is under way.

        Raises:
            WorldError: the page has no document within ten seconds.
        """
        waited = 0
        while True:
            for place in self._places.values():
                if place.frame_id == self._main_frame_id:
                    return place
            if waited >= READY_LIMIT_MS:
                raise WorldError("the page has no document", remedy="see whether the target system answers")
            self.page.wait_for_timeout(5)
            waited += 5

    def is_main(self, place: Place) -> bool:
        """True for the page's own document."""
        return place.frame_id == self._main_frame_id

    def place_of(self, frame_id: str) -> Place | None:
        """The script's world in one frame."""
        return next((place for place in self._places.values() if place.frame_id == frame_id), None)

    def call(self, function: str, *args: object, place: Place | None = None) -> Any:  # noqa: ANN401 - JSON edge
        """Call the script in one frame (the page itself by default).

        Raises:
            WorldGone: the frame navigated meanwhile.
        """
        where = place or self.main()
        answer = self._evaluate(
            where.session,
            "Runtime.evaluate",
            {
                "expression": script.call(function, *args),
                "uniqueContextId": where.unique_id,
                "returnByValue": True,
            },
        )
        if isinstance(answer, dict) and "secrets" in answer:
            self.sighting = Sighting(where.unique_id, answer["secrets"], time.monotonic())
        return answer

    def apply(self, source: str, argument: object) -> Any:  # noqa: ANN401 - JSON edge
        """Call a function of our own, given the script's functions, in the page's isolated world.

        Raises:
            WorldGone: the page navigated meanwhile.
        """
        where = self.main()
        expression = f"({source})(__proofreel)({orjson.dumps(argument).decode()})"
        asked = {"expression": expression, "uniqueContextId": where.unique_id, "returnByValue": True}
        return self._evaluate(where.session, "Runtime.evaluate", asked)

    def call_on_node(self, function: str, backend_node: int, *args: object, place: Place) -> Any:  # noqa: ANN401
        """Call the script with a node found by the browser, also one inside a closed shadow root."""
        where = {"backendNodeId": backend_node, "executionContextId": place.number}
        node = self._send(place.session, "DOM.resolveNode", where)
        return self._evaluate(
            place.session,
            "Runtime.callFunctionOn",
            {
                "functionDeclaration": f"function(...a) {{ return __proofreel.{function}(this, ...a); }}",
                "objectId": node["object"]["objectId"],
                "arguments": [{"value": arg} for arg in args],
                "returnByValue": True,
            },
        )

    def node_at(self, main: Place, x: float, y: float) -> Hit | None:
        """The node at a point of the page's document (CSS pixels, scrolling included); ``None`` outside it."""
        try:
            where = {"x": round(x), "y": round(y), "includeUserAgentShadowDOM": False}
            found = self._send(main.session, "DOM.getNodeForLocation", where)
        except WorldGone:
            raise
        except WorldError:
            return None
        frame_id = str(found["frameId"])
        return Hit(found["backendNodeId"], frame_id, self._offset(frame_id))

    def offset_of(self, place: Place) -> tuple[float, float]:
        """Position of a frame's viewport in the page's viewport, CSS pixels."""
        return self._offset(place.frame_id)

    def _offset(self, frame_id: str) -> tuple[float, float]:
        if frame_id == self._main_frame_id:
            return 0.0, 0.0
        owner = self._send(self.session, "DOM.getFrameOwner", {"frameId": frame_id})
        box = self._send(self.session, "DOM.getBoxModel", {"backendNodeId": owner["backendNodeId"]})
        return box["model"]["content"][0], box["model"]["content"][1]

    def send(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """One command of the DevTools protocol to the page.

        Raises:
            WorldGone: the document was replaced meanwhile.
            WorldError: the browser refused.
        """
        return self._send(self.session, method, params)

    def _evaluate(self, session: CDPSession, method: str, params: dict[str, Any]) -> Any:  # noqa: ANN401
        answer = self._send(session, method, params)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details.get("text", "")
            raise WorldError(f"the guards' script failed: {str(text).splitlines()[0]}")
        return answer["result"].get("value")

    @staticmethod
    def _send(session: CDPSession, method: str, params: dict[str, Any]) -> dict[str, Any]:
        try:
            return cast("dict[str, Any]", session.send(method, params))
        except PlaywrightError as error:
            if GONE.search(error.message):
                raise WorldGone("the document was replaced by a navigation") from error
            raise WorldError(f"the browser refused {method}: {error.message.splitlines()[0]}") from error

    def take(self, wanted: Callable[[Message], bool], *, limit_ms: int = 0) -> list[Message]:
        """Remove and return the reports that fit; waits up to ``limit_ms`` for the first of them."""
        waited = 0
        while not any(wanted(m) for m in self.messages) and waited < limit_ms:
            self.page.wait_for_timeout(5)
            waited += 5
        taken = [m for m in self.messages if wanted(m)]
        self.messages = [m for m in self.messages if not wanted(m)]
        return taken


def read_all(world: IsolatedWorld, function: str) -> list[dict[str, Any]]:
    """Ask every frame, the page itself first; again when a navigation came between.

    Raises:
        WorldError: the page keeps navigating.
    """
    for attempt in range(READ_ATTEMPTS):
        try:
            main = world.main()
            answers = [world.call(function, place=main)]
        except WorldGone:
            if attempt == READ_ATTEMPTS - 1:
                raise
            continue
        for place in world.places():
            if place.unique_id != main.unique_id:
                answers += _read_child(world, function, place.unique_id)
        return answers
    raise WorldError(
        "the page keeps navigating", remedy="see whether the target system is in a redirect loop"
    )


def _read_child(world: IsolatedWorld, function: str, unique_id: str) -> list[dict[str, Any]]:
    place = next((p for p in world.places() if p.unique_id == unique_id), None)
    try:
        return [] if place is None else [world.call(function, place=place)]
    except WorldGone:
        return []
