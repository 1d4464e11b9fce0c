"""Hands to work on the vendor in memory, and ids from a seed: production ports, no browser, no network, no waiting."""

from __future__ import annotations

import hashlib
import io
import random
import re
import uuid
from collections.abc import Mapping

from PIL import Image

from domain.errors import WorldError
from domain.ids import EventId, Sha256
from domain.values import Box, Check, Intent, Point, Verdict
from executor.recipe import Recipe
from executor.tools.base import FieldMap, Frame, Look, Performed, RequestRule, Step, Target
from tests.support.vendor import SERVICE_ACCOUNT, FakeVendor


class SeededIds:
    """Ids and salts from a seed."""

    def __init__(self, seed: int | str = 0) -> None:
        self._random = random.Random(seed)

    def event_id(self) -> EventId:
        """A new id of an event."""
        return EventId(self.uuid())

    def uuid(self) -> str:
        """A new UUID."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def salt(self) -> str:
        """32 bytes in hex."""
        return f"{self._random.getrandbits(256):064x}"


_ROW = re.compile(r"tr\[data-bill-id='(?P<bill>[^']+)'\] button\[data-action=detail\]")
_PANEL = re.compile(r"\.panel\[data-bill-id='(?P<bill>[^']+)'\] button\[data-action=(?P<code>\w+)\]")
_DIALOG = "[role=dialog] .dialog-buttons button.primary"
_FILTER = ("#filter select[name=month]", "#filter button[type=submit]")


class FakeHands:
    """Pages of the fake vendor, reached by the shipped recipe's selectors; see ``executor.runtime.kit.Hands``."""

    def __init__(self, vendor: FakeVendor, recipe: Recipe, *, account: str = SERVICE_ACCOUNT) -> None:
        self.vendor = vendor
        self.account = account
        self.objections: dict[str, list[Check]] = {}
        """Label → findings that the guards will have about it, one at a time."""
        self.lost: set[str] = set()
        """Labels that the vendor's redesign has taken away."""
        self.dead = False
        """The browser is gone."""
        self.reports: Performed | None = None
        """What is reported about a write in place of what happened."""
        self.performed: list[str] = []
        """Labels or kinds of the steps that were really performed."""
        self._codes = {section.code for section in recipe.actions.values()}
        self._path = "about:blank"
        self._month = ""
        self._listed = False
        self._dialog: tuple[str, str] | None = None
        self._toast = ""

    def log_in(self) -> None:
        """See ``Hands``."""
        self.vendor.log_in(self.account)

    def goto(self, url: str) -> None:
        """See ``Hands``."""
        self._alive()
        self._path = "/" + url.split("/", 3)[3]
        self._dialog, self._listed, self._toast = None, self._path == "/bills", ""

    def die(self, when: str) -> None:
        """As the vendor's hook: the browser goes down after the vendor has booked, before it answers."""
        self.dead = when == "after the effect"

    def _alive(self) -> None:
        if self.dead:
            raise WorldError("the browser is gone")

    @property
    def _logged_in(self) -> bool:
        return self.account in self.vendor.sessions

    def look(self) -> Look:
        """See ``Hands``."""
        self._alive()
        shown = [
            self._path,
            self._month,
            str(self._listed),
            str(self._dialog),
            self._toast,
            str(self._logged_in),
        ]
        bill = self.vendor.bills.get(self._path.removeprefix("/bills/"))
        shown.append(bill.status if bill else "")
        document = Sha256(hashlib.sha256("\f".join(shown).encode()).hexdigest())
        return Look(
            frame=frame_of(document),
            url=f"http://vendor.test{self._path}",
            title=self._path,
            structure_sha256=Sha256(hashlib.sha256(self._path.encode()).hexdigest()),
            document_sha256=document,
            account=self.account if self._logged_in else "",
            signals=() if self._logged_in else ("login_form",),
        )

    def locate(self, step: Step, fields: FieldMap) -> Target | None:
        """See ``Hands``."""
        if step.label in self.lost:
            return None
        for selector in step.selectors:
            if self._has(selector):
                return Target(
                    fingerprint=f'{{"name":"{step.label}"}}',
                    label=step.label,
                    role="button",
                    point=Point(x=10, y=10),
                    box=Box(x=0, y=0, width=20, height=20),
                    selector=selector,
                )
        return None

    def _has(self, selector: str) -> bool:
        if not self._logged_in:
            return False
        if selector == _DIALOG:
            return self._dialog is not None
        if selector in _FILTER:
            return self._path == "/bills"
        row, panel = _ROW.fullmatch(selector), _PANEL.fullmatch(selector)
        if row:
            return self._listed and row["bill"] in self.vendor.bills
        return panel is not None and self._path == f"/bills/{panel['bill']}" and panel["code"] in self._codes

    def judge(
        self,
        step: Step,
        target: Target,
        planned: Look,
        *,
        intent: Intent | None,
        fields: FieldMap,
        known: Mapping[str, str],
    ) -> tuple[tuple[Check, ...], Frame]:
        """See ``Hands``."""
        waiting = self.objections.get(step.label)
        finding = waiting.pop(0) if waiting else Check(guard="target", verdict="pass")
        return (Check(guard="auth", verdict="pass"), finding), self.look().frame

    def perform(
        self, step: Step, target: Target, *, rule: RequestRule | None, intent: Intent | None
    ) -> Performed:
        """See ``Hands``."""
        self._alive()
        self.performed.append(step.label or step.kind)
        row, panel = _ROW.fullmatch(target.selector), _PANEL.fullmatch(target.selector)
        if row:
            self._path, self._listed = f"/bills/{row['bill']}", False
        elif panel:
            self._dialog = (panel["bill"], panel["code"])
        elif target.selector == _DIALOG:
            return self._confirm()
        elif step.kind == "select":
            self._month = step.text
        else:
            self._listed, self._path = True, "/bills"
            self._toast = f"filtered by {self._month}"
        return Performed(status="executed", delivered_events=3, latency_us=900)

    def _confirm(self) -> Performed:
        assert self._dialog is not None
        (bill, code), self._dialog = self._dialog, None
        answer = self.vendor.act(self.account, bill, code)
        self._toast = answer.toast
        if self.reports is not None:
            return self.reports
        sent = (f"POST /bills/{bill}/actions {answer.status}",)
        refusals: dict[int, Verdict] = {401: "session_expired", 403: "forbidden"}
        if answer.status in refusals:
            check = Check(guard="auth", verdict=refusals[answer.status], found=sent[0])
            return Performed(status="failed", check=check, requests=sent, reason="the target refused it")
        if answer.status != 200:
            return Performed(status="unknown", requests=sent, reason=f"answered with {answer.status}")
        return Performed(status="executed", requests=sent, toast=answer.toast, delivered_events=3)

    def trouble(self, look: Look, *, missing: bool = False) -> Check:
        """See ``Hands``."""
        if not self._logged_in:
            return Check(guard="auth", verdict="session_expired", found="the log-in page")
        return Check(guard="auth", verdict="page_changed" if missing else "pass")

    def effect(self, before: Look, after: Look) -> Check:
        """See ``Hands``."""
        same = before.document_sha256 == after.document_sha256
        return Check(guard="effect", verdict="noop" if same else "pass", decisive=False)


_FRAMES: dict[str, Frame] = {}


def frame_of(document: str) -> Frame:
    """A small real PNG whose colour is the document's."""
    if document not in _FRAMES:
        red, green, blue = (int(document[place : place + 2], 16) for place in (0, 2, 4))
        out = io.BytesIO()
        Image.new("RGB", (4, 4), (red, green, blue)).save(out, "PNG")
        data = out.getvalue()
        name = Sha256(hashlib.sha256(data).hexdigest())
        _FRAMES[document] = Frame(data=data, sha256=name, width=4, height=4, captured_at_us=0)
    return _FRAMES[document]
