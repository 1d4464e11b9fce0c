"""A vendor in memory: it trusts its forms as the sandbox's portal does, and its faults can be switched on.

It books an action a second time, answers "done" without booking, or books without answering. What it holds is the truth
that tests compare the record with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, assert_never

from domain.errors import WorldError
from domain.policy import ReadbackSource
from domain.values import BusinessState
from executor.readback import Missing

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
        if bill.status == "pending":
            bill.handled = {}

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
