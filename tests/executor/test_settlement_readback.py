"""The settlement file as a readback source: on a small file, and on the sandbox's real one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from domain import events as e
from domain.errors import ConfigError, WorldError
from domain.ids import RunId
from executor.config import load_config
from executor.orchestrator import Orchestrator
from executor.sandbox import story
from executor.sandbox.portal.server import PortalThread
from executor.settlement_readback import Booking, Meaning, SettlementMonth, SettlementReadback
from tests.support.rungs import Works, works_on
from tests.support.vendor import FakeVendor, VendorReadback
from tests.support.workbench import BILL

MEANING = Meaning(statuses={"process": "processed", "refund": "refunded"}, undoing=frozenset({"undo"}))


class FileSession:
    """Hands out one file."""

    account = "readback-acme"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get(self, path: str, **_: str) -> FileSession:
        self.asked.append(path)
        return self

    content = b"the file"


def line(kind: str, amount: int = 143_474, bill: str = BILL) -> Booking:
    return Booking(bill_id=bill, kind=kind, amount_minor=amount, currency="CNY", counterparty="北风贸易")


def source(vendor: FakeVendor, lines: Sequence[Booking], doubts: Sequence[str] = ()) -> SettlementReadback:
    return SettlementReadback(
        FileSession(),  # type: ignore[arg-type]
        "/settlement/{month}.csv",
        parse=lambda _data, _month: SettlementMonth(bookings=lines, doubts=doubts),
        meaning=MEANING,
        bills=VendorReadback(vendor),
    )


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        ([], "pending"),
        (["process"], "processed"),
        (["process", "refund"], "refunded"),
        (["process", "undo"], "pending"),
        (["process", "refund", "undo"], "processed"),
        (["process", "fee"], "processed"),
    ],
)
def test_a_bill_is_what_its_booked_lines_add_up_to(vendor: FakeVendor, kinds: list[str], status: str) -> None:
    other = line("process", bill="CY202611-0002")
    state = source(vendor, [other, *(line(kind) for kind in kinds)]).read(BILL)
    assert (state.status, state.ledger_lines, state.month) == (status, len(kinds), "2026-11")


def test_a_file_that_contradicts_itself_decides_nothing(vendor: FakeVendor) -> None:
    with pytest.raises(WorldError, match="contradicts itself: 3 lines, the trailer says 4"):
        source(vendor, [line("process")], ["3 lines, the trailer says 4"]).read(BILL)


# -- on the sandbox ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalThread]:
    with PortalThread(tmp_path_factory.mktemp("portal") / "portal.sqlite", counts={"acme": 30}) as running:
        yield running


@pytest.fixture(scope="module")
def taken() -> list[str]:
    return []


@pytest.fixture
def works(portal: PortalThread, tmp_path: Path, taken: list[str]) -> Iterator[Works]:
    portal.control.reset()
    with works_on(portal, tmp_path, ladder=["api"], taken=taken, sources=["api", "settlement_file"]) as made:
        yield made


def test_the_file_confirms_what_was_booked(works: Works) -> None:
    bill = works.bill()
    order = works.order(bill)
    assert works.run(order).reason == "confirmed by api,settlement_file"
    confirmed = works.facts(order, e.ReadbackConfirmed)[-1]
    assert (confirmed.source, confirmed.account) == ("settlement_file", "readback-acme")
    assert confirmed.found.amount_minor == bill["amount_minor"]


def test_a_fee_that_nobody_ordered_is_a_difference_of_the_file(works: Works) -> None:
    bill = works.bill()
    works.portal.control.switch_on("collateral_fee", bill["id"])
    order = works.order(bill)
    assert works.run(order).status == "taken_over"
    found = {fact.source: fact.differences for fact in works.facts(order, e.ReadbackMismatched)}
    assert found["settlement_file"]["ledger_lines"] == "1 → 2"


def test_a_booking_that_the_file_takes_back_reopens_the_task_at_the_second_look(
    portal: PortalThread, tmp_path: Path, taken: list[str]
) -> None:
    portal.control.reset()
    policy = {"later_sources": ["settlement_file"]}
    with works_on(portal, tmp_path, ladder=["api"], taken=taken, policy=policy) as works:
        bill = works.bill()
        order = works.order(bill)
        assert works.run(order).status == "succeeded"
        with portal.client("wang.li") as person:
            person.undo(bill["id"])
        later = Orchestrator(works.workshop.kit(), run_id=RunId("run-1"), hands=works.workshop.hands)
        assert later.second_look(order).status == "taken_over"
        wrong = {fact.source: fact for fact in works.facts(order, e.ReadbackMismatched)}
        assert wrong["settlement_file"].phase == "later"
        assert wrong["settlement_file"].differences["status"] == "processed → pending"


def test_a_success_is_sealed_when_the_file_agrees_too(
    portal: PortalThread, tmp_path: Path, taken: list[str]
) -> None:
    portal.control.reset()
    policy = {"later_sources": ["settlement_file"]}
    with works_on(portal, tmp_path, ladder=["api"], taken=taken, policy=policy) as works:
        order = works.order(works.bill())
        assert works.run(order).reason == "confirmed by api,list"
        later = Orchestrator(works.workshop.kit(), run_id=RunId("run-1"), hands=works.workshop.hands)
        assert later.second_look(order).status == "succeeded"
        confirmed = [fact for fact in works.facts(order, e.ReadbackConfirmed) if fact.phase == "later"]
        assert [fact.source for fact in confirmed] == ["api", "list", "settlement_file"]
        assert len(works.facts(order, e.TaskSealed)) == 1


def test_the_file_can_not_be_the_source_of_the_state_before_a_write(tmp_path: Path) -> None:
    path = story.write_config(tmp_path / "proofreel.yaml", origin="http://127.0.0.1:1", language="zh")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("  - api\n  - detail", "  - settlement_file\n  - api"), encoding="utf-8")
    with pytest.raises(ConfigError, match="shows no bill before it is booked"):
        load_config(path)
