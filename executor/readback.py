"""Independent readback: what other channels say about the business, field by field, until a deadline.

Rules: a source never shares the session or the account that wrote (B6); a late posting is waited for, a wrong one is
not excused; every configured source is asked, since one table alone misses a third of the faults; what changed beside
the target (an extra ledger line, a wrong stored amount) is a difference too. Nothing here writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import httpx

from domain.errors import WorldError
from domain.events import ReadbackConfirmed, ReadbackInconclusive, ReadbackMismatched
from domain.events.evidence import ReadbackPhase
from domain.policy import ReadbackSource
from domain.values import BusinessState, Intent
from executor.config import Secret
from executor.filling import in_path
from executor.holds import HOLD, PASSED, HoldMap, hold_difference, holds_of

READ_TIMEOUT_S = 5.0
POLL_S = 0.15
SHAPE_ERRORS = (ValueError, TypeError, AttributeError, KeyError, IndexError)
"""What reading an answer of another shape than configured can raise."""

ReadbackFact = ReadbackConfirmed | ReadbackMismatched | ReadbackInconclusive


class Missing(WorldError):
    """The target answers and has no such thing: the order is wrong, the world is not gone."""


@runtime_checkable
class Readback(Protocol):
    """One independent source."""

    source: ReadbackSource
    account: str
    """Account of the reading session."""

    def read(self, bill_id: str) -> BusinessState:
        """The bill as this source shows it now.

        Raises ``Missing`` when it isn't there, ``WorldError`` when it can't be read.
        """
        ...


class HttpSession:
    """A logged-in HTTP session of the readback account."""

    def __init__(
        self,
        origin: str,
        *,
        account: str,
        secret: Secret,
        login_path: str,
        account_field: str,
        secret_field: str,
    ) -> None:
        self.account = account
        self._login_path = login_path
        self._credentials = {account_field: account, secret_field: secret}
        self._client = httpx.Client(base_url=origin, timeout=READ_TIMEOUT_S, follow_redirects=False)
        self._logged_in = False

    def get(self, path: str, **params: str) -> httpx.Response:
        """GET with one log-in if the session is new or was ended.

        Raises ``Missing`` when there is nothing under that path, ``WorldError`` when it can't be had.
        """
        try:
            for attempt in range(2):
                if not self._logged_in:
                    self._log_in()
                response = self._client.get(path, params=params)
                if response.status_code not in {401, 302, 303} or attempt:
                    break
                self._logged_in = False
        except httpx.HTTPError as error:
            raise WorldError(
                f"readback account {self.account} can't reach {path}: {type(error).__name__}",
                remedy="check that the target is up",
            ) from None
        if response.status_code == httpx.codes.NOT_FOUND:
            raise Missing(f"readback account {self.account} finds no {path}")
        if not response.is_success:
            raise WorldError(f"readback account {self.account} got {response.status_code} for {path}")
        return response

    def _log_in(self) -> None:
        response = self._client.post(
            self._login_path, data={name: str(value[:]) for name, value in self._credentials.items()}
        )
        if response.status_code not in {302, 303} or self._login_path in response.headers.get("location", ""):
            raise WorldError(
                f"the target refuses the log-in of readback account {self.account}",
                remedy="check its password",
            )
        self._logged_in = True

    def close(self) -> None:
        """End the connection."""
        self._client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMap:
    """Where a JSON answer holds the parts of a ``BusinessState``."""

    bill_id: str = "id"
    status: str = "status"
    amount_minor: str = "amount_minor"
    currency: str = "currency"
    counterparty: str = "counterparty"
    month: str = "month"
    history: str = "history"
    ledger: str = "postings"
    actor: str = "account"
    extra: tuple[str, ...] = ()
    """Keys (``handled.amount_minor``) kept in ``BusinessState.extra`` as text."""
    hold: HoldMap | None = None
    """Where colleagues' holds are, if the target has such a thing."""


def _dig(data: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - JSON edge
    value: Any = data
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def state_of(data: Mapping[str, Any], keys: JsonMap) -> BusinessState:
    """A bill out of a JSON answer; ``ValueError`` and its like when the answer has another shape."""
    history, ledger = _dig(data, keys.history), _dig(data, keys.ledger)
    return BusinessState(
        bill_id=str(_dig(data, keys.bill_id)),
        status=str(_dig(data, keys.status)),
        amount_minor=int(_dig(data, keys.amount_minor)),
        currency=str(_dig(data, keys.currency)),
        counterparty=str(_dig(data, keys.counterparty)),
        month=str(_dig(data, keys.month)),
        history_length=-1 if history is None else len(history),
        ledger_lines=-1 if ledger is None else len(ledger),
        last_actor=str(history[-1].get(keys.actor, "")) if history else "",
        extra={
            **{key: str(value) for key in keys.extra if (value := _dig(data, key)) is not None},
            **(holds_of(data, keys.hold, history or ()) if keys.hold is not None else {}),
        },
    )


class ApiReadback:
    """The target's own read API."""

    source: ReadbackSource = "api"

    def __init__(self, session: HttpSession, path: str, keys: JsonMap) -> None:
        self.account = session.account
        self._session = session
        self._path = path
        self._keys = keys

    def read(self, bill_id: str) -> BusinessState:
        """See ``Readback``."""
        answer = self._session.get(in_path(self._path, bill_id=bill_id))
        try:
            return state_of(answer.json(), self._keys)
        except SHAPE_ERRORS as error:
            raise WorldError(f"the read API's answer about {bill_id} has another shape: {error!r}") from error


class ReadLane:
    """The list of difference bills, free to retry, without effect on the target (B14); also a readback source."""

    source: ReadbackSource = "list"

    def __init__(self, session: HttpSession, path: str, keys: JsonMap, *, rows: str = "bills") -> None:
        self.account = session.account
        self._session = session
        self._path = path
        self._keys = keys
        self._rows = rows

    def fetch(self) -> tuple[bytes, Sequence[BusinessState]]:
        """Original bytes of every page joined by newlines, and the bills of the account's tenant."""
        pages, bills, number, total = [], [], 1, 1
        while number <= total:
            answer = self._session.get(self._path, page=str(number))
            pages.append(answer.content)
            try:
                data = answer.json()
                bills += [state_of(row, self._keys) for row in data[self._rows]]
                total = int(data.get("pages", 1))
            except SHAPE_ERRORS as error:
                raise WorldError(f"the list's page {number} has another shape: {error!r}") from error
            number += 1
        return b"\n".join(pages), bills

    def read(self, bill_id: str) -> BusinessState:
        """One bill of the list; ``Missing`` when the account's tenant has no such bill."""
        answer = self._session.get(self._path, bill_id=bill_id)
        try:
            states = [state_of(row, self._keys) for row in answer.json()[self._rows]]
        except SHAPE_ERRORS as error:
            raise WorldError(f"the list's answer about {bill_id} has another shape: {error!r}") from error
        found = [state for state in states if state.bill_id == bill_id]
        if not found:
            raise Missing(f"the list of {self.account} has no bill {bill_id}")
        return found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the business must look like after the write."""

    intent: Intent
    status: str
    before: BusinessState | None = None
    """Snapshot before the write; None compares absolute fields only."""
    new_ledger_lines: int = 1
    """Ledger lines that the write adds."""
    exact: Mapping[str, str] = field(default_factory=dict)
    """Stored fields (``BusinessState.extra``) that must have these values."""


def differences(expected: Expectation, found: BusinessState) -> dict[str, str]:
    """Field → ``expected → found`` for all that disagrees; empty when the readback confirms."""
    intent = expected.intent
    pairs: dict[str, tuple[object, object]] = {
        "bill_id": (intent.bill_id, found.bill_id),
        "status": (expected.status, found.status),
        "amount_minor": (intent.amount_minor, found.amount_minor),
        "currency": (intent.currency, found.currency),
        "counterparty": (intent.counterparty, found.counterparty),
        "month": (intent.month, found.month),
    }
    before = expected.before
    if before is not None and min(before.ledger_lines, found.ledger_lines) >= 0:
        pairs["ledger_lines"] = (before.ledger_lines + expected.new_ledger_lines, found.ledger_lines)
    if before is not None and min(before.history_length, found.history_length) >= 0:
        pairs["history_length"] = (before.history_length + 1, found.history_length)
    if found.extra.keys() - {HOLD, PASSED}:  # only sources that show stored fields can be compared by them
        pairs |= {key: (value, found.extra.get(key, "")) for key, value in expected.exact.items()}
    wrong = {name: f"{want} → {got}" for name, (want, got) in pairs.items() if want != got}
    hold = hold_difference(before, found)
    return wrong | {HOLD: hold} if hold else wrong


def verify(
    sources: Sequence[Readback],
    expected: Expectation,
    *,
    phase: ReadbackPhase,
    deadline_s: float,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[ReadbackFact]:
    """Ask every source until it confirms or the deadline passes; one fact for each source, in their order."""
    start = monotonic()
    return [
        _ask(
            source,
            expected,
            phase=phase,
            start=start,
            deadline_s=deadline_s,
            monotonic=monotonic,
            sleep=sleep,
        )
        for source in sources
    ]


def _ask(
    source: Readback,
    expected: Expectation,
    *,
    phase: ReadbackPhase,
    start: float,
    deadline_s: float,
    monotonic: Callable[[], float],
    sleep: Callable[[float], None],
) -> ReadbackFact:
    tries = 0
    while True:
        tries += 1
        found: BusinessState | None = None
        diff: dict[str, str] = {}
        reason = ""
        try:
            found = source.read(expected.intent.bill_id)
            diff = differences(expected, found)
        except WorldError as error:
            reason = error.what
        waited = monotonic() - start
        if (found is not None and not diff) or waited >= deadline_s:
            break
        sleep(POLL_S)
    waited_us = int(waited * 1_000_000)
    if found is None:
        return ReadbackInconclusive(
            source=source.source,
            phase=phase,
            account=source.account,
            reason=reason,
            tries=tries,
            waited_us=waited_us,
        )
    if diff:
        return ReadbackMismatched(
            source=source.source,
            phase=phase,
            account=source.account,
            expected_status=expected.status,
            found=found,
            differences=diff,
            tries=tries,
            waited_us=waited_us,
        )
    return ReadbackConfirmed(
        source=source.source,
        phase=phase,
        account=source.account,
        expected_status=expected.status,
        found=found,
        tries=tries,
        waited_us=waited_us,
    )
