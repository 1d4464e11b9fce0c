"""The real batch runner over a vendor in memory, stopped at every append and every booking, and started again.

Every failure prints the seed, the moments of the stops and the faults: ``one_life`` with them repeats it exactly.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from domain import events as e
from domain.errors import CommandRefused
from domain.ids import TenantId
from domain.policy import Identity
from domain.ports import BlobStore, EventLog
from executor.approvals import answer
from executor.orders import WorkOrder
from executor.recipe import Recipe, load_recipe
from executor.store.blobs import open_blobs
from executor.store.log import RecordLog, open_record
from projections.blobs import open_blob_reader
from projections.fsck import check
from projections.reading import open_reader
from tests.simulation.checker import check_all
from tests.simulation.crashes import Fuse, Stopped, StoppingLog
from tests.support.fakes import SeededIds
from tests.support.records import ManualClock
from tests.support.vendor import FAULTS, FakeVendor, Fault, VendorBill
from tests.support.workbench import PERSON, Bench

SEEDS = 240
MAX_STOPS = 4
MAX_LIVES = 12
RUNS_AFTER_THE_LAST_STOP = 3


@dataclass(frozen=True)
class Place:
    """One record for all seeds; each has a tenant of its own."""

    url: str
    folder: str
    log: RecordLog
    blobs: BlobStore


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    memory = Path("/dev/shm")  # a stop of the process needs no disk that survives a power cut
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        url = f"sqlite:///{folder}/record.db"
        with open_record(url) as log:
            yield Place(url, f"{folder}/blobs", log, open_blobs(f"{folder}/blobs"))


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    """The shipped recipe without the way through the list: fewer steps, the same rules."""
    shipped = load_recipe("vendor-portal")
    short = {
        name: msgspec.structs.replace(action, steps=[shipped.actions["undo"].steps[0], *action.steps[-2:]])
        for name, action in shipped.actions.items()
    }
    return msgspec.structs.replace(shipped, actions=short)


@dataclass(frozen=True, slots=True)
class Story:
    """What happens in one seed."""

    bills: tuple[str, ...]
    faults: tuple[tuple[str, Fault], ...]
    refund: bool
    """The first bill is to be refunded after it was processed, which needs a person's word."""
    granted: bool
    stops: tuple[int, ...]


def story_of(seed: int) -> Story:
    chance = random.Random(seed)
    bills = tuple(f"B{number}" for number in range(chance.randint(1, 3)))
    faults = tuple((bill, chance.choice(FAULTS)) for bill in bills if chance.random() < 0.6)
    stops = tuple(chance.randint(1, 40) for _ in range(chance.randint(1, MAX_STOPS)))
    return Story(bills, faults, chance.random() < 0.5, chance.random() < 0.7, stops)


def orders_of(bench: Bench, story: Story) -> list[WorkOrder]:
    orders = [bench.order(bill, name="batch") for bill in story.bills]
    if story.refund:
        orders.append(bench.order(story.bills[0], "refund", name="batch"))
    return orders


def one_life(
    place: Place, recipe: Recipe, vendor: FakeVendor, tenant: TenantId, story: Story, life: int
) -> Fuse:
    """One process: it runs the batch, and a person answers what waits; until its fuse blows or all is done."""
    fuse = Fuse(at=story.stops[life] if life < len(story.stops) else 0)
    vendor.hook = fuse.moment
    log: EventLog = StoppingLog(place.log, fuse)
    bench = make_bench(place, recipe, vendor, tenant, log, life)
    orders = orders_of(bench, story)
    try:
        bench.runner(orders, name="batch").run(
            progress=lambda number, total, _outcome, _order: vendor.pass_time() if number == total else None
        )
        answer_what_waits(bench, orders, story)
    except Stopped:
        vendor.sessions.clear()
    return fuse


def make_bench(
    place: Place, recipe: Recipe, vendor: FakeVendor, tenant: TenantId, log: EventLog, life: int
) -> Bench:
    clock = ManualClock(1_796_000_000_000_000 + life * 60_000_000)
    ids = SeededIds(f"{tenant}, life {life}")
    return Bench(log, place.blobs, vendor, tenant=tenant, recipe=recipe, clock=clock, ids=ids)


def answer_what_waits(bench: Bench, orders: list[WorkOrder], story: Story) -> None:
    person = Identity(
        principal=PERSON.principal, kind="person", tenants=(bench.kit.tenant,), actions=PERSON.actions
    )
    for order in orders:
        stream = bench.stream(order)
        if stream.state.status == "awaiting_approval":
            verdict = "grant" if story.granted else "deny"
            answer(stream, person, verdict, note="", now_us=bench.clock.now_us())  # type: ignore[arg-type]


def live(place: Place, recipe: Recipe, name: str, story: Story) -> tuple[Bench, FakeVendor, list[Fuse]]:
    """All lives of a story, until enough of them ended by themselves."""
    tenant = TenantId(name)
    vendor = FakeVendor(VendorBill(bill_id=bill) for bill in story.bills)
    for bill, fault in story.faults:
        vendor.switch_on(bill, fault)
    fuses: list[Fuse] = []
    while sum(not fuse.blown for fuse in fuses) < RUNS_AFTER_THE_LAST_STOP:
        assert len(fuses) < MAX_LIVES, "it never comes to an end"
        fuses.append(one_life(place, recipe, vendor, tenant, story, len(fuses)))
    vendor.hook = lambda _: None
    return make_bench(place, recipe, vendor, tenant, place.log, 99), vendor, fuses


def judge(place: Place, recipe: Recipe, name: str, story: Story) -> list[Fuse]:
    try:
        bench, vendor, fuses = live(place, recipe, name, story)
        doubles = sum(fault == "double_posting" for _, fault in story.faults)
        check_all(bench, orders_of(bench, story), vendor, own_doubles=doubles)
    except (AssertionError, CommandRefused) as error:
        pytest.fail(f"{name}: {story}: {error}")
    return fuses


@pytest.mark.parametrize("block", range(6))
def test_stopped_anywhere_and_started_again_nothing_is_doubled_unattempted_or_left_open(
    place: Place, recipe: Recipe, block: int
) -> None:
    size = SEEDS // 6
    stopped = 0
    for seed in range(block * size, (block + 1) * size):
        print(f"seed {seed}")  # noqa: T201 - shown by pytest when it fails
        fuses = judge(place, recipe, f"seed-{seed}", story_of(seed))
        stopped += sum(fuse.blown for fuse in fuses)
    assert stopped > size // 2, "the stops must really happen"


def test_stopped_at_every_single_moment(place: Place, recipe: Recipe) -> None:
    """One processed bill and its refund: first without a stop to count the moments, then stopped at each."""
    whole = Story(("B0",), (), refund=True, granted=True, stops=())
    moments = judge(place, recipe, "whole", whole)[0].trace
    assert "before the effect" in moments
    assert len(moments) > 20
    for moment in range(1, len(moments) + 1):
        fuses = judge(
            place, recipe, f"moment-{moment}", Story(("B0",), (), refund=True, granted=True, stops=(moment,))
        )
        assert fuses[0].blown, f"moment {moment} ({moments[moment - 1]}) never came"


def test_the_record_of_all_these_stops_is_sound(place: Place, recipe: Recipe) -> None:
    for seed in range(1000, 1010):
        judge(place, recipe, f"sound-{seed}", story_of(seed))
        with open_reader(place.url) as reader:
            report = check(reader, open_blob_reader(place.folder), TenantId(f"sound-{seed}"))
        assert report.ok, report


def test_the_checker_sees_a_write_that_was_sent_twice(place: Place, recipe: Recipe) -> None:
    story = Story(("B0",), (), refund=False, granted=False, stops=())
    bench, vendor, _ = live(place, recipe, "twice", story)
    vendor.act("svc-acme", "B0", "process")
    with pytest.raises(AssertionError):
        check_all(bench, orders_of(bench, story), vendor, own_doubles=0)


def test_the_checker_sees_an_effect_behind_a_failed_task(place: Place, recipe: Recipe) -> None:
    story = Story(("B0",), (("B0", "session_expired"),), refund=False, granted=False, stops=())
    bench, vendor, _ = live(place, recipe, "behind", story)
    (order,) = orders_of(bench, story)
    assert isinstance(bench.stream(order).history()[-2], e.TaskFailed)
    vendor.book("svc-acme", "B0", "process")
    with pytest.raises(AssertionError):
        check_all(bench, orders_of(bench, story), vendor, own_doubles=0)
