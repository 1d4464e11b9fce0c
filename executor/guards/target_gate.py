"""The target gate: an input event passes only while the element under it is the observed one (X1).

Rules: what was observed is compared in the browser, in the capture phase of the event itself, so that no time passes
between the comparison and the click; every other frame is denied; a mismatch swallows the event; the verdict travels
through the binding, because a navigation takes the script's world with it; an action of which no event was seen is
not a success.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Locator

from domain.errors import WorldError
from domain.values import Box, Check, Point
from executor.guards.world import IsolatedWorld, Message, Place, WorldGone
from executor.tools.base import FieldMap, GateReport, Target

ActionKind = Literal["mouse", "drop", "key"]
KEPT_TARGETS = 64
"""Observed nodes that are kept; older ones must be observed again."""
EVENT_WAIT_MS = 500
"""How long the first report of a delivered event may be under way."""
LIMIT_TEXT = 400
DISPATCH_MARK = (
    "(all, type) => { if (all.length === 1) all[0].dispatchEvent(new Event(type, {composed: true}));"
    " return all.length; }"
)


@dataclass(frozen=True, slots=True)
class _Live:
    """Where an observed node is, in the page that is open now."""

    place: Place
    ref: str
    fingerprint: dict[str, Any]
    x: float
    y: float
    offset: tuple[float, float]
    """Position of the frame's viewport in the page's viewport."""
    guarded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the script described, and where its frame is."""

    raw: dict[str, Any]
    place: Place
    offset: tuple[float, float]


@dataclass(slots=True)
class _Armed:
    live: _Live
    number: str
    enforce: bool


def describe_difference(expected: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[str, str]:
    """Two texts that a person can compare: only the parts that differ."""

    def text(side: Mapping[str, Any], other: Mapping[str, Any]) -> str:
        parts = []
        for key, value in side.items():
            shown = value
            if isinstance(value, dict) and isinstance(other.get(key), dict):
                shown = {k: v for k, v in value.items() if other[key].get(k) != v}
            parts.append(f"{key}={shown if isinstance(shown, str) else orjson.dumps(shown).decode()}")
        return "; ".join(parts)[:LIMIT_TEXT]

    return text(expected, found), text(found, expected)


def read_report(messages: Sequence[Message], number: str, *, navigated: bool) -> GateReport:
    """What the reports of one armed action say together."""
    own = [m.body for m in messages if m.body.get("id") == number]
    blocked = next((b for b in own if b["kind"] == "blocked"), None)
    delivered = tuple(str(b["type"]) for b in own if b["kind"] == "event")
    if blocked is None:
        return GateReport(delivered=delivered, navigated=navigated)
    expected, found = describe_difference(blocked["expected"], blocked["found"])
    return GateReport(
        delivered=delivered,
        blocked=True,
        event=str(blocked["type"]),
        expected=expected,
        found=found,
        navigated=navigated,
    )


def gate_check(report: GateReport) -> Check:
    """The gate's finding as an event records it."""
    measures = {"delivered_events": len(report.delivered)}
    if report.blocked:
        return Check(
            guard="gate",
            verdict="target_changed",
            expected=report.expected,
            found=f"{report.found} at {report.event}" if report.event else report.found,
            measures=measures,
        )
    if not report.delivered and not report.navigated:
        return Check(
            guard="gate",
            verdict="noop",
            expected="input events",
            found="none was delivered",
            measures=measures,
        )
    return Check(guard="gate", verdict="pass", measures=measures)


def _options(fields: FieldMap | None) -> dict[str, Any]:
    if fields is None:
        return {}
    return {"formSelector": fields.form_selector, "drawn": dict(fields.drawn_selectors)}


class TargetGate:
    """Observes elements of one page and arms the gate for them."""

    def __init__(self, world: IsolatedWorld) -> None:
        self.world = world
        self._live: OrderedDict[str, _Live] = OrderedDict()
        self._armed: _Armed | None = None

    def observe(self, where: Locator | Point, *, fields: FieldMap | None = None) -> Target | None:
        """The element that a locator names, or that lies at a point of the page.

        Returns ``None`` when there is nothing. A point inside a closed shadow root or a frame is followed into it.
        """
        options = _options(fields)
        if isinstance(where, Point):
            return self._observe_point(where, options, fields)
        return self._observe_marked(where, options, fields)

    def observe_only(
        self, locator: Locator, *, fields: FieldMap | None = None, css: str = ""
    ) -> tuple[int, Target | None]:
        """How many elements the locator finds now, and the element if it is one: asked and observed at once.

        ``css`` is the locator's selector on the page itself: where it is plain CSS, one question is enough.

        Raises:
            playwright.sync_api.Error: the selector is not valid, or the page went away.
        """
        seen = self._by_css(css, _options(fields)) if css else None
        if seen is not None:
            return 1, self._keep(seen.raw, seen.place, seen.offset, fields)
        count = self._send_mark(locator)
        if count != 1:
            return count, None
        return count, self._observe_marked(locator, _options(fields), fields, sent=True)

    def _by_css(self, selector: str, options: dict[str, Any]) -> _Seen | None:
        """The one element in view that a plain CSS selector finds; None where the locator has to be asked."""
        try:
            main = self.world.main()
            raw = self.world.call("observeOnly", selector, options, place=main)
        except WorldGone:
            return None
        seen = None if raw is None else _Seen(raw, main, (0.0, 0.0))
        return seen if seen is not None and self._in_view(seen) else None

    def _observe_marked(
        self, locator: Locator, options: dict[str, Any], fields: FieldMap | None, *, sent: bool = False
    ) -> Target | None:
        try:
            seen = self._marked(locator, options) if sent or self._send_mark(locator) == 1 else None
            if seen is not None and not self._in_view(seen):
                locator.scroll_into_view_if_needed()
                seen = self._marked(locator, options) if self._send_mark(locator) == 1 else None
        except (PlaywrightError, WorldGone):
            return None
        return None if seen is None else self._keep(seen.raw, seen.place, seen.offset, fields)

    def _send_mark(self, locator: Locator) -> int:
        """Hand the located element into the script's world: by an event that only the script knows."""
        self.world.places()  # frames that came since have the script before the event comes
        self.world.take(lambda m: m.body["kind"] == "mark")
        return int(locator.evaluate_all(DISPATCH_MARK, self.world.mark))

    def _marked(self, locator: Locator, options: dict[str, Any]) -> _Seen | None:
        """What the script says about the element that was handed in."""
        marks = self.world.take(lambda m: m.body["kind"] == "mark", limit_ms=EVENT_WAIT_MS)
        place = next((p for p in self.world.places() if marks and p.unique_id == marks[-1].place), None)
        raw = None if place is None else self.world.call("observeMarked", options, place=place)
        if place is None or raw is None:
            return None
        if self.world.is_main(place):
            return _Seen(raw, place, (0.0, 0.0))
        box = locator.bounding_box()
        if box is None:
            return None
        return _Seen(raw, place, (box["x"] - raw["rect"][0], box["y"] - raw["rect"][1]))

    def _in_view(self, seen: _Seen) -> bool:
        """Is the middle of the element within the page's viewport?"""
        view = seen.raw["view"] if self.world.is_main(seen.place) else self.world.call("viewport")
        x, y = seen.raw["x"] + seen.offset[0], seen.raw["y"] + seen.offset[1]
        return bool(0 <= x < view["width"] and 0 <= y < view["height"])

    def _observe_point(self, point: Point, options: dict[str, Any], fields: FieldMap | None) -> Target | None:
        main = self.world.main()
        view = self.world.call("viewport", place=main)
        x, y = point.x / view["scale"], point.y / view["scale"]
        hit = self.world.node_at(main, x + view["left"], y + view["top"])
        if hit is None:
            return None
        place = self.world.place_of(hit.frame_id) or main
        inside = {**options, "x": x - hit.offset[0], "y": y - hit.offset[1]}
        raw = self.world.call_on_node("observeNode", hit.backend_node, inside, place=place)
        return None if raw is None else self._keep(raw, place, hit.offset, fields)

    def _keep(
        self,
        raw: dict[str, Any],
        place: Place,
        offset: tuple[float, float],
        fields: FieldMap | None,
    ) -> Target:
        guarded = tuple(fields.form) if fields is not None else ()
        key = secrets.token_hex(8)
        self._live[key] = _Live(place, raw["id"], raw["fp"], raw["x"], raw["y"], offset, guarded)
        while len(self._live) > KEPT_TARGETS:
            self._live.popitem(last=False)
        scale = float(raw["scale"])

        def pixel(value: float, shift: float) -> int:
            return round((value + shift) * scale)

        def box(rect: Sequence[float]) -> Box:
            return Box(
                x=pixel(rect[0], offset[0]),
                y=pixel(rect[1], offset[1]),
                width=round(rect[2] * scale),
                height=round(rect[3] * scale),
            )

        return Target(
            fingerprint=orjson.dumps(raw["fp"], option=orjson.OPT_SORT_KEYS).decode(),
            label=raw["label"],
            role=raw["role"],
            point=Point(x=pixel(raw["x"], offset[0]), y=pixel(raw["y"], offset[1])),
            box=box(raw["rect"]),
            row=box(raw["band"]) if raw["band"] else None,
            scope=raw["scope"],
            scope_text=raw["scopeText"],
            row_text=raw["rowText"],
            row_key=raw["rowKey"],
            form=raw["form"],
            drawn=raw["drawn"],
            heading=raw["heading"],
            opaque=raw["opaque"],
            covered_by=raw["coveredBy"],
            enabled=raw["enabled"],
            context_id=key,
        )

    def pointer(self, target: Target) -> tuple[float, float]:
        """Where the mouse goes, in CSS pixels of the page's viewport."""
        live = self._live[target.context_id]
        return live.x + live.offset[0], live.y + live.offset[1]

    def arm(
        self,
        target: Target,
        kind: ActionKind = "mouse",
        *,
        enforce: bool = True,
        take: Literal["", "focus", "all"] = "",
    ) -> GateReport | None:
        """Let the next input pass only for this target; ``None`` when it is armed.

        Args:
            target: an observed element.
            kind: mouse events are judged by what is under the pointer, keyboard events by what has the focus.
            enforce: False lets mismatching events through and only reports them.
            take: give the element the focus (``all``: and select its text) before keyboard input.

        Returns:
            A report when the target is already another one; nothing was delivered then.
        """
        live = self._live.get(target.context_id)
        if live is None:
            return GateReport(blocked=True, expected="a target of the open page", found="one that is gone")
        if self._armed is not None:
            self.disarm_quietly()
        number = secrets.token_hex(8)
        try:
            for place in self.world.places():
                if place.unique_id != live.place.unique_id:
                    self._deny(place, number, kind, enforce=enforce)
            changed = self.world.call(
                "arm",
                {
                    "ref": live.ref,
                    "id": number,
                    "fp": live.fingerprint,
                    "x": live.x,
                    "y": live.y,
                    "kind": kind,
                    "enforce": enforce,
                    "guarded": list(live.guarded),
                    "take": take,
                },
                place=live.place,
            )
        except WorldGone:
            return GateReport(blocked=True, expected="the observed document", found="another document")
        if changed is not None:
            expected, found = describe_difference(changed["expected"], changed["found"])
            if enforce:
                self.disarm_quietly()
                return GateReport(blocked=True, expected=expected, found=found)
        self._armed = _Armed(live, number, enforce)
        return None

    def _deny(self, place: Place, number: str, kind: ActionKind, *, enforce: bool) -> None:
        try:
            self.world.call("deny", number, kind, enforce, place=place)
        except WorldGone:
            return

    def disarm(self) -> GateReport:
        """Switch the gate off and say what it saw."""
        armed = self._armed
        if armed is None:
            return GateReport()
        navigated = not self.disarm_quietly()
        wait = 0 if self._seen(armed.number) else EVENT_WAIT_MS
        taken = self.world.take(lambda m: m.body.get("id") == armed.number, limit_ms=wait)
        return read_report(taken, armed.number, navigated=navigated)

    def _seen(self, number: str) -> bool:
        return any(m.body.get("id") == number for m in self.world.messages)

    def disarm_quietly(self) -> bool:
        """Switch the gate off in every frame; False when the armed document is gone."""
        armed, self._armed = self._armed, None
        alive = armed is None
        for place in self.world.places():
            try:
                self.world.call("disarm", place=place)
            except WorldGone:
                continue
            alive = alive or (armed is not None and place.unique_id == armed.live.place.unique_id)
        return alive

    def choose(self, target: Target, option: str, *, enforce: bool = True) -> GateReport:
        """Pick an option of a ``select``: compared and chosen in one turn of the page.

        Raises:
            WorldError: the option is not there, or there are several such.
        """
        live = self._live.get(target.context_id)
        if live is None:
            return GateReport(blocked=True, expected="a target of the open page", found="one that is gone")
        request = {"ref": live.ref, "fp": live.fingerprint, "option": option, "enforce": enforce}
        try:
            answer = self.world.call("choose", request, place=live.place)
        except WorldGone:
            return GateReport(blocked=True, expected="the observed document", found="another document")
        expected, found = ("", "")
        if answer.get("changed"):
            expected, found = describe_difference(answer["changed"]["expected"], answer["changed"]["found"])
            return GateReport(
                blocked=True, expected=expected, found=found, delivered=() if enforce else ("change",)
            )
        if answer.get("missing"):
            raise WorldError(f"there is no single option {option!r}")
        return GateReport(delivered=("input", "change"))

    def holds(self, target: Target, text: str) -> bool:
        """True if the observed field now holds exactly ``text``; the value itself stays in the browser."""
        live = self._live.get(target.context_id)
        if live is None:
            return False
        try:
            return bool(self.world.call("holds", live.ref, text, place=live.place))
        except WorldGone:
            return False
