"""A vendor in memory and the hands and eyes to work on it: production ports, no browser, no network, no waiting.

The vendor trusts its forms as the sandbox's portal does: it books an action a second time, answers "done" without
booking, or books without answering. What it holds is the truth that tests compare the record with.
"""

from __future__ import annotations

import hashlib
import io
import random
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, assert_never

from PIL import Image

from domain.errors import WorldError
from domain.ids import EventId, Sha256
from domain.policy import ReadbackSource
from domain.values import Box, BusinessState, Check, Intent, Point, Verdict
from executor.readback import Missing
from executor.recipe import Recipe
from executor.tools.base import FieldMap, Frame, Look, Performed, RequestRule, Step, Target

Fault = Literal[
    "fake_success",
    "late_posting",
    "commit_then_504",
    "drop_then_504",
    "partial_save",
    "double_posting",
    "collateral_fee",
    "late_reversal",
    "late_duplicate",
    "session_expired",
    "forbidden",
]
FAULTS: tuple[Fault, ...] = (
    "fake_success",
    "late_posting",
    "commit_then_504",
    "drop_then_504",
    "partial_save",
    "double_posting",
    "collateral_fee",
    "late_reversal",
    "late_duplicate",
    "session_expired",
    "forbidden",
)
AFTER = {"process": "processed", "refund": "refunded"}
BEFORE = {"refunded": "processed", "processed": "pending", "pending": "pending"}
SERVICE_ACCOUNT = "svc-acme"
READER_ACCOUNT = "readback-acme"


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


@dataclass(slots=True)
class VendorBill:
    """A bill as the vendor keeps it."""

    bill_id: str
    status: str = "pending"
    amount_minor: int = 143_474
    currency: str = "CNY"
    counterparty: str = "北风贸易"
    month: str = "2026-11"
    history: list[tuple[str, str]] = field(default_factory=list)
    """Account and action code of each change."""
    ledger: list[str] = field(default_factory=list)
    handled: dict[str, str] = field(default_factory=dict)
    """What was stored with the last change."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the vendor's server says to a post."""

    status: int
    toast: str = ""


class FakeVendor:
    """The vendor's server with its truth; ``hook`` is called right before and right after a booking."""

    def __init__(self, bills: Iterable[VendorBill]) -> None:
        self.bills = {bill.bill_id: bill for bill in bills}
        self.posts: list[tuple[str, str, str]] = []
        """Account, bill and action code of each post that reached the server."""
        self.sessions: set[str] = set()
        self.log_ins: list[str] = []
        self.refused: Counter[tuple[str, str]] = Counter()
        """Posts that were refused for session or rights, by bill and action code."""
        self.unreadable: set[str] = set()
        """Sources that can't be read now."""
        self.hook: Callable[[str], None] = lambda _: None
        self.late_after_reads = 2
        self._faults: dict[str, list[Fault]] = {}
        self._late: list[tuple[int, str, str, str]] = []
        self._later: list[tuple[str, str, str]] = []

    def switch_on(self, bill_id: str, fault: Fault) -> None:
        """The next post about the bill meets this fault."""
        self._faults.setdefault(bill_id, []).append(fault)

    def log_in(self, account: str) -> None:
        """Start a session."""
        self.log_ins.append(account)
        self.sessions.add(account)

    def booked(self, bill_id: str, code: str) -> int:
        """How often the vendor has booked an action of a bill."""
        return sum(action == code for _, action in self.bills[bill_id].history)

    def act(self, account: str, bill_id: str, code: str) -> Answer:
        """One post of the confirmation form."""
        self.hook("before the effect")
        self.posts.append((account, bill_id, code))
        answer = self._answer(account, bill_id, code)
        self.refused[bill_id, code] += answer.status in {401, 403}
        self.hook("after the effect")
        return answer

    def _answer(self, account: str, bill_id: str, code: str) -> Answer:  # noqa: C901 - one case a fault
        waiting = self._faults.get(bill_id)
        fault = waiting.pop(0) if waiting else None
        done = Answer(200, "操作成功")
        match fault:
            case None:
                self.book(account, bill_id, code)
            case "fake_success":
                pass
            case "late_posting":
                self._late.append((self.late_after_reads, account, bill_id, code))
            case "commit_then_504":
                self.book(account, bill_id, code)
                return Answer(504)
            case "drop_then_504":
                return Answer(504)
            case "partial_save":
                self.book(account, bill_id, code)
                self.bills[bill_id].handled["counterparty_id"] = ""
            case "double_posting":
                self.book(account, bill_id, code)
                self.book(account, bill_id, code)
            case "collateral_fee":
                self.book(account, bill_id, code)
                self.bills[bill_id].ledger.append("fee")
            case "late_reversal":
                self.book(account, bill_id, code)
                self._later.append(("vendor-rule", bill_id, "undo"))
            case "late_duplicate":
                self.book(account, bill_id, code)
                self._later.append(("vendor-queue", bill_id, code))
            case "session_expired":
                self.sessions.discard(account)
                return Answer(401)
            case "forbidden":
                return Answer(403)
            case _:
                assert_never(fault)
        return done

    def book(self, account: str, bill_id: str, code: str) -> None:
        """Change the bill."""
        bill = self.bills[bill_id]
        bill.status = BEFORE[bill.status] if code == "undo" else AFTER[code]
        bill.history.append((account, code))
        bill.ledger.append(code)
        bill.handled = {
            "amount_minor": str(bill.amount_minor),
            "currency": bill.currency,
            "month": bill.month,
            "counterparty_id": f"id of {bill.counterparty}",
        }

    def pass_time(self) -> None:
        """Let everything happen that the vendor does later by itself."""
        later, self._later = self._later, []
        late, self._late = self._late, []
        for account, bill_id, code in [*[item[1:] for item in late], *later]:
            self.book(account, bill_id, code)

    def read(self, source: str, bill_id: str) -> VendorBill:
        """Look at a bill; late postings come in after so many looks."""
        if source in self.unreadable:
            raise WorldError(f"{source} can't be reached")
        self._late = [
            (left - (late_bill == bill_id), who, late_bill, code) for left, who, late_bill, code in self._late
        ]
        for item in [item for item in self._late if item[0] <= 0]:
            self._late.remove(item)
            self.book(*item[1:])
        if bill_id not in self.bills:
            raise Missing(f"{source} has no bill {bill_id}")
        return self.bills[bill_id]


class VendorReadback:
    """An independent source over the fake vendor."""

    def __init__(
        self, vendor: FakeVendor, source: ReadbackSource = "api", *, account: str = READER_ACCOUNT
    ) -> None:
        self.source: ReadbackSource = source
        self.account = account
        self._vendor = vendor

    def read(self, bill_id: str) -> BusinessState:
        """See ``executor.readback.Readback``; only the API shows stored fields."""
        bill = self._vendor.read(self.source, bill_id)
        stored = {f"handled.{key}": value for key, value in bill.handled.items()}
        known = {"counterparty_id": f"id of {bill.counterparty}"}
        return BusinessState(
            bill_id=bill.bill_id,
            status=bill.status,
            amount_minor=bill.amount_minor,
            currency=bill.currency,
            counterparty=bill.counterparty,
            month=bill.month,
            history_length=len(bill.history),
            ledger_lines=len(bill.ledger),
            last_actor=bill.history[-1][0] if bill.history else "",
            extra={**known, **stored} if self.source == "api" else {},
        )


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
