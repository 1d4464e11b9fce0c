"""Independent readback: over a fake source with a clock that is set by hand, and over a real HTTP server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from domain import events as e
from domain.errors import WorldError
from domain.policy import ReadbackSource
from domain.values import BusinessState, Intent
from executor.config import Secret
from executor.readback import (
    POLL_S,
    ApiReadback,
    Expectation,
    HttpSession,
    JsonMap,
    Missing,
    Readback,
    ReadbackFact,
    ReadLane,
    differences,
    verify,
)
from tests.support.site import Answer, Site, running_site

BEFORE = BusinessState(
    bill_id="B1",
    status="pending",
    amount_minor=143_474,
    currency="CNY",
    counterparty="北风贸易",
    month="2026-11",
    history_length=0,
    ledger_lines=2,
)
AFTER = replace(BEFORE, status="processed", history_length=1, ledger_lines=3, last_actor="svc-acme")
INTENT = Intent(
    bill_id="B1",
    action="mark_processed",
    counterparty="北风贸易",
    amount_minor=143_474,
    currency="CNY",
    month="2026-11",
    expected_status="processed",
)
WANTED = Expectation(intent=INTENT, status="processed", before=BEFORE)


class Scripted:
    """A source that shows one state after the other, the last one from then on."""

    account = "readback-acme"

    def __init__(self, *shown: BusinessState | WorldError, source: ReadbackSource = "api") -> None:
        self.source: ReadbackSource = source
        self._shown = list(shown)
        self.reads = 0

    def read(self, bill_id: str) -> BusinessState:
        self.reads += 1
        now = self._shown.pop(0) if len(self._shown) > 1 else self._shown[0]
        if isinstance(now, WorldError):
            raise now
        return now


class Time:
    """Passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def ask(*sources: Readback, expected: Expectation = WANTED, deadline_s: float = 1.5) -> list[ReadbackFact]:
    time = Time()
    return verify(
        sources, expected, phase="first", deadline_s=deadline_s, monotonic=time.monotonic, sleep=time.sleep
    )


# -- differences ---------------------------------------------------------------------------------------------


def test_the_intended_state_has_no_differences() -> None:
    assert differences(WANTED, AFTER) == {}


@pytest.mark.parametrize(
    ("changed", "name", "says"),
    [
        ({"status": "pending"}, "status", "processed → pending"),
        ({"bill_id": "B2"}, "bill_id", "B1 → B2"),
        ({"amount_minor": 14_347_400}, "amount_minor", "143474 → 14347400"),
        ({"currency": "USD"}, "currency", "CNY → USD"),
        ({"counterparty": "北風贸易"}, "counterparty", "北风贸易 → 北風贸易"),
        ({"month": "2026-12"}, "month", "2026-11 → 2026-12"),
        ({"ledger_lines": 4}, "ledger_lines", "3 → 4"),
        ({"ledger_lines": 2}, "ledger_lines", "3 → 2"),
        ({"history_length": 2}, "history_length", "1 → 2"),
    ],
)
def test_each_part_that_disagrees_is_named(changed: dict[str, object], name: str, says: str) -> None:
    assert differences(WANTED, replace(AFTER, **changed)) == {name: says}  # type: ignore[arg-type]


def test_lines_are_not_compared_with_a_source_that_does_not_show_them() -> None:
    shown = replace(AFTER, ledger_lines=-1, history_length=-1)
    assert differences(WANTED, shown) == {}
    assert differences(replace(WANTED, before=shown), AFTER) == {}


def test_a_write_that_adds_no_line_must_not_add_one() -> None:
    assert differences(replace(WANTED, new_ledger_lines=0), AFTER) == {"ledger_lines": "2 → 3"}


def test_a_partly_saved_bill_is_a_difference_where_stored_fields_are_shown() -> None:
    exact = replace(WANTED, exact={"handled.counterparty_id": "V1", "handled.amount_minor": "143474"})
    whole = {"handled.counterparty_id": "V1", "handled.amount_minor": "143474"}
    assert differences(exact, replace(AFTER, extra=whole)) == {}
    partly = {"handled.amount_minor": "143474"}
    assert differences(exact, replace(AFTER, extra=partly)) == {"handled.counterparty_id": "V1 → "}
    assert differences(exact, AFTER) == {}, "a source that shows no stored fields can't be compared by them"


# -- verify --------------------------------------------------------------------------------------------------


def test_a_confirming_source_is_asked_once() -> None:
    source = Scripted(AFTER)
    (fact,) = ask(source)
    assert isinstance(fact, e.ReadbackConfirmed)
    assert (fact.tries, fact.waited_us, fact.found, fact.account) == (1, 0, AFTER, "readback-acme")


def test_a_late_posting_is_waited_for_until_it_is_there() -> None:
    (fact,) = ask(Scripted(BEFORE, BEFORE, AFTER))
    assert isinstance(fact, e.ReadbackConfirmed)
    assert (fact.tries, fact.waited_us) == (3, int(2 * POLL_S * 1_000_000))


def test_a_state_that_stays_wrong_is_a_mismatch_with_all_that_differs() -> None:
    source = Scripted(BEFORE)
    (fact,) = ask(source, deadline_s=3 * POLL_S)
    assert isinstance(fact, e.ReadbackMismatched)
    assert fact.differences == {
        "status": "processed → pending",
        "ledger_lines": "3 → 2",
        "history_length": "1 → 0",
    }
    assert fact.tries == source.reads > 1
    assert fact.found == BEFORE


def test_an_unreachable_source_is_inconclusive_and_never_a_confirmation() -> None:
    (fact,) = ask(Scripted(WorldError("the API is down")), deadline_s=POLL_S)
    assert isinstance(fact, e.ReadbackInconclusive)
    assert fact.reason == "the API is down"


def test_a_source_that_comes_back_in_time_counts() -> None:
    (fact,) = ask(Scripted(WorldError("down"), AFTER))
    assert isinstance(fact, e.ReadbackConfirmed)


def test_a_source_that_goes_down_after_a_mismatch_is_inconclusive() -> None:
    (fact,) = ask(Scripted(BEFORE, WorldError("down")), deadline_s=2 * POLL_S)
    assert isinstance(fact, e.ReadbackInconclusive)


def test_every_source_is_asked_whatever_the_others_say() -> None:
    sources = [Scripted(BEFORE), Scripted(AFTER, source="detail"), Scripted(WorldError("x"), source="list")]
    facts = ask(*sources, deadline_s=0.0)
    assert [type(fact).__name__ for fact in facts] == [
        "ReadbackMismatched",
        "ReadbackConfirmed",
        "ReadbackInconclusive",
    ]
    assert [fact.source for fact in facts] == ["api", "detail", "list"]
    assert [source.reads for source in sources] == [1, 1, 1]


# -- over HTTP -----------------------------------------------------------------------------------------------

PASSWORD = "correct horse battery staple"
ROW = {
    "id": "B1",
    "status": "processed",
    "amount_minor": 143_474,
    "currency": "CNY",
    "counterparty": "北风贸易",
    "month": "2026-11",
    "history": [{"account": "svc-acme"}],
    "postings": [1, 2, 3],
    "handled": {"amount_minor": 143_474},
}


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as running:
        running.answers["/login"] = Answer(303, headers={"Location": "/"})
        running.answers["/api/bills/B1"] = Answer(body=json.dumps(ROW))
        yield running


@pytest.fixture
def session(site: Site) -> Iterator[HttpSession]:
    made = HttpSession(
        site.url,
        account="readback-acme",
        secret=Secret(PASSWORD),
        login_path="/login",
        account_field="username",
        secret_field="password",
    )
    yield made
    made.close()


@pytest.fixture
def api(session: HttpSession) -> ApiReadback:
    return ApiReadback(
        session, "/api/bills/{bill_id}", JsonMap(extra=("handled.amount_minor", "handled.month"))
    )


def test_the_api_s_answer_becomes_a_business_state(api: ApiReadback) -> None:
    assert api.read("B1") == replace(AFTER, extra={"handled.amount_minor": "143474"})
    assert api.account == "readback-acme"


def test_one_log_in_serves_many_reads(api: ApiReadback, site: Site) -> None:
    for _ in range(3):
        api.read("B1")
    assert [path for path, _ in site.posts] == ["/login"]


def test_an_ended_session_is_renewed_once_and_then_given_up(api: ApiReadback, site: Site) -> None:
    site.answers["/api/bills/B1"] = Answer(401)
    with pytest.raises(WorldError, match="401"):
        api.read("B1")
    assert len(site.posts) == 2
    assert len(site.asked) == 2


def test_a_refused_log_in_is_told_without_the_password(api: ApiReadback, site: Site) -> None:
    site.answers["/login"] = Answer(303, headers={"Location": "/login?wrong"})
    with pytest.raises(WorldError, match="refuses the log-in") as refusal:
        api.read("B1")
    assert PASSWORD not in f"{refusal.value!r} {refusal.value}"


def test_a_bill_that_is_not_there_is_told_apart_from_a_target_that_is_down(
    api: ApiReadback, site: Site
) -> None:
    with pytest.raises(Missing):
        api.read("B2")
    site.answers["/api/bills/B2"] = Answer(503)
    with pytest.raises(WorldError) as refusal:
        api.read("B2")
    assert not isinstance(refusal.value, Missing)


@pytest.mark.parametrize("body", ["<html>", "[]", "{}", '{"id": "B1"}', '{"amount_minor": "many"}', "7", ""])
def test_an_answer_of_another_shape_can_not_be_read(api: ApiReadback, site: Site, body: str) -> None:
    site.answers["/api/bills/B1"] = Answer(body=body)
    with pytest.raises(WorldError, match="another shape"):
        api.read("B1")


def test_a_target_that_is_down_is_a_world_error(api: ApiReadback, session: HttpSession) -> None:
    down = HttpSession(
        "http://127.0.0.1:9",
        account="readback-acme",
        secret=Secret(PASSWORD),
        login_path="/login",
        account_field="username",
        secret_field="password",
    )
    with pytest.raises(WorldError, match="can't reach") as refusal:
        ApiReadback(down, "/api/bills/{bill_id}", JsonMap()).read("B1")
    assert PASSWORD not in str(refusal.value)
    down.close()


def test_the_read_lane_keeps_the_original_bytes_of_every_page(session: HttpSession, site: Site) -> None:
    listed = {key: value for key, value in ROW.items() if key not in {"history", "postings"}}
    site.answers["/api/bills"] = Answer(body=json.dumps({"bills": [listed], "pages": 2}))
    data, bills = ReadLane(session, "/api/bills", JsonMap()).fetch()
    assert len(data.split(b"\n")) == len(bills) == 2
    assert json.loads(data.split(b"\n")[0])["bills"] == [listed]
    assert bills[0].ledger_lines == bills[0].history_length == -1
    assert [path for path, _ in site.posts] == ["/login"], "nothing was written"


def test_the_list_is_a_readback_source_too(session: HttpSession, site: Site) -> None:
    lane = ReadLane(session, "/api/bills", JsonMap())
    site.answers["/api/bills"] = Answer(body=json.dumps({"bills": [ROW, {**ROW, "id": "B11"}]}))
    assert lane.read("B1").bill_id == "B1"
    with pytest.raises(Missing):
        lane.read("B2")


@pytest.mark.parametrize("body", ["<html>", "[]", "{}", '{"bills": [{}]}', '{"bills": 7}'])
@pytest.mark.parametrize("read", [ReadLane.fetch, lambda lane: lane.read("B1")])
def test_a_list_of_another_shape_can_not_be_read(
    session: HttpSession, site: Site, body: str, read: Callable[[ReadLane], object]
) -> None:
    site.answers["/api/bills"] = Answer(body=body)
    with pytest.raises(WorldError, match="another shape"):
        read(ReadLane(session, "/api/bills", JsonMap()))
