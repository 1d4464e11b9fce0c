"""The append side: versions, idempotency, claims, positions, time; the same on both databases."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import pytest

from domain.codec import encode
from domain.errors import ClaimTaken, CommandRefused, ConfigError, FormatTooNew, VersionConflict
from domain.ids import EffectKey, StreamId, TenantId
from domain.log_format import LEAF_BYTES
from domain.merkle import leaf_hash, root
from executor.store.log import RecordLog, open_record
from projections.fsck import check
from projections.reading import open_reader
from tests.support.records import ACME, GLOBEX, Maker, ManualClock, execute

if TYPE_CHECKING:
    from pathlib import Path

KEY = EffectKey("acme:B1:mark_processed:1")


def test_events_come_back_in_order_as_they_were_written(log: RecordLog, maker: Maker) -> None:
    stream = maker.task()
    drafts = maker.notes(stream, 3)
    log.append(drafts)
    found = list(log.stream(ACME, stream))
    assert [item.event for item in found] == [draft.event for draft in drafts]
    assert [item.row.body for item in found] == [encode(draft) for draft in drafts]
    assert [item.row.version for item in log.stream(ACME, stream, after=1)] == [2, 3]


def test_a_stream_longer_than_a_page_is_read_whole(log: RecordLog, maker: Maker) -> None:
    stream = maker.task()
    log.append(maker.notes(stream, 1_201))
    assert [item.row.version for item in log.stream(ACME, stream)] == list(range(1, 1_202))


def test_a_receipt_names_the_place_and_the_root(url: str, log: RecordLog, maker: Maker) -> None:
    log.append(maker.notes(maker.task(), 2))
    receipt = log.append(maker.notes(maker.task(), 3))
    assert (receipt.first_position, receipt.last_position, receipt.repeated) == (3, 5, False)
    with open_reader(url) as reader:
        joined = reader.leaves(ACME)
        hashes = [leaf_hash(joined[at : at + LEAF_BYTES]) for at in range(0, len(joined), LEAF_BYTES)]
        assert root(hashes) == receipt.root


def test_a_stale_version_is_refused_and_nothing_is_stored(url: str, log: RecordLog, maker: Maker) -> None:
    stream = maker.task()
    log.append(maker.notes(stream, 2))
    with pytest.raises(VersionConflict) as caught:
        log.append(maker.notes(stream, 2, first=2))
    assert (caught.value.expected, caught.value.found) == (1, 2)
    with open_reader(url) as reader:
        assert reader.positions(ACME) == 2


def test_a_gap_in_a_stream_is_refused(log: RecordLog, maker: Maker) -> None:
    stream = maker.task()
    log.append(maker.notes(stream, 1))
    with pytest.raises(VersionConflict):
        log.append(maker.notes(stream, 1, first=3))


def test_a_lost_acknowledgement_is_no_error_and_no_second_event(
    url: str, log: RecordLog, maker: Maker
) -> None:
    stream = maker.task()
    drafts = maker.notes(stream, 2)
    first = log.append(drafts)
    log.append(maker.notes(maker.task(), 4))
    again = log.append(drafts)
    assert again.repeated
    assert msgspec.structs.replace(again, repeated=False) == first
    with open_reader(url) as reader:
        assert reader.positions(ACME) == 6


def test_a_used_event_id_with_other_bytes_is_refused(log: RecordLog, maker: Maker) -> None:
    draft = maker.note(maker.task(), 1)
    log.append([draft])
    other = maker.note(maker.task(), 1)
    thief = replace(other, envelope=msgspec.structs.replace(other.envelope, event_id=draft.envelope.event_id))
    with pytest.raises(CommandRefused, match="event_id_reused"):
        log.append([thief])


def test_a_batch_that_is_half_stored_already_is_refused(log: RecordLog, maker: Maker) -> None:
    stream = maker.task()
    drafts = maker.notes(stream, 3)
    log.append(drafts[:2])
    with pytest.raises(VersionConflict):
        log.append(drafts)


@pytest.mark.parametrize(
    "what", ["nothing", "two streams", "two tenants", "a version left out", "version zero"]
)
def test_drafts_that_do_not_belong_together_are_refused(log: RecordLog, maker: Maker, what: str) -> None:
    stream = maker.task()
    first = maker.note(stream, 1)
    second = maker.note(stream, 2)
    elsewhere = msgspec.structs.replace(second.envelope, tenant=GLOBEX)
    drafts = {
        "nothing": [],
        "two streams": [first, maker.note(maker.task(), 2)],
        "two tenants": [first, replace(second, envelope=elsewhere)],
        "a version left out": [first, maker.note(stream, 3)],
        "version zero": [maker.note(stream, 0)],
    }[what]
    with pytest.raises(CommandRefused, match="append_shape"):
        log.append(drafts)


def test_tenants_have_logs_of_their_own(url: str, log: RecordLog) -> None:
    for tenant in (ACME, GLOBEX):
        other = Maker(seed=3, tenant=tenant)
        assert log.append(other.notes(StreamId("task:same-name"), 2)).last_position == 2
    with open_reader(url) as reader:
        assert reader.tenants() == [ACME, GLOBEX]
        assert check(reader, None).ok


def test_recorded_time_never_runs_backwards_and_the_skew_stays_visible(url: str, maker: Maker) -> None:
    clock = ManualClock()
    with open_record(url, clock=clock) as log:
        stream = maker.task()
        early = log.append([maker.note(stream, 1)]).recorded_at_us
        clock.value_us -= 3_600_000_000
        late = log.append([maker.note(stream, 2)]).recorded_at_us
        assert late == early
        skewed = maker.note(stream, 3)
        skewed = replace(skewed, envelope=msgspec.structs.replace(skewed.envelope, occurred_at_us=1))
        log.append([skewed])
        assert [item.envelope.occurred_at_us for item in log.stream(ACME, stream)][-1] == 1


def test_an_effect_is_claimed_once_and_the_loser_learns_by_whom(log: RecordLog, maker: Maker) -> None:
    holder, other = maker.task(), maker.task()
    receipt = log.append([maker.opened(holder, KEY), maker.claimed(holder, 2, KEY)], claim=KEY)
    log.append([maker.opened(other, KEY)])
    with pytest.raises(ClaimTaken) as caught:
        log.append([maker.claimed(other, 2, KEY)], claim=KEY)
    assert caught.value.holder_stream == holder
    assert caught.value.holder_principal == maker.principal
    assert caught.value.since_us == receipt.recorded_at_us
    assert [item.name for item in log.stream(ACME, other)] == ["task.opened"]
    found = log.claim_of(ACME, KEY)
    assert found is not None
    assert (found.stream, found.principal, found.since_us) == (
        holder,
        maker.principal,
        receipt.recorded_at_us,
    )


def test_claiming_again_with_the_very_events_is_the_same_claim(log: RecordLog, maker: Maker) -> None:
    stream = maker.task()
    drafts = [maker.opened(stream, KEY), maker.claimed(stream, 2, KEY)]
    log.append(drafts, claim=KEY)
    assert log.append(drafts, claim=KEY).repeated


def test_a_released_effect_may_be_claimed_by_another_task(url: str, log: RecordLog, maker: Maker) -> None:
    first, second = maker.task(), maker.task()
    log.append([maker.claimed(first, 1, KEY)], claim=KEY)
    log.append([maker.released(first, 2, KEY)], release=KEY)
    assert log.claim_of(ACME, KEY) is None
    log.append([maker.claimed(second, 1, KEY)], claim=KEY)
    held = log.claim_of(ACME, KEY)
    assert held is not None
    assert held.stream == second
    with open_reader(url) as reader:
        assert [row.generation for row in reader.claims(ACME)] == [1, 2]
        assert check(reader, None).ok


def test_only_the_holder_gives_a_claim_back(log: RecordLog, maker: Maker) -> None:
    holder, other = maker.task(), maker.task()
    log.append([maker.claimed(holder, 1, KEY)], claim=KEY)
    with pytest.raises(CommandRefused, match="not_the_holder"):
        log.append([maker.released(other, 1, KEY)], release=KEY)
    log.append([maker.released(holder, 2, KEY)], release=KEY)
    with pytest.raises(CommandRefused, match="not_the_holder"):
        log.append([maker.released(holder, 3, KEY)], release=KEY)


def test_a_claim_and_the_event_that_says_so_come_together_or_not_at_all(log: RecordLog, maker: Maker) -> None:
    stream = maker.task()
    with pytest.raises(CommandRefused, match="claim_shape"):
        log.append([maker.claimed(stream, 1, KEY)])
    with pytest.raises(CommandRefused, match="claim_shape"):
        log.append([maker.note(stream, 1)], claim=KEY)
    with pytest.raises(CommandRefused, match="claim_shape"):
        log.append([maker.claimed(stream, 1, KEY)], claim=EffectKey("another"))
    with pytest.raises(CommandRefused, match="claim_shape"):
        log.append([maker.released(stream, 1, KEY)])
    assert log.claim_of(ACME, KEY) is None


def test_a_compensation_claims_under_the_key_in_its_envelope(url: str, log: RecordLog, maker: Maker) -> None:
    stream = maker.task()
    key = EffectKey("acme:B1:undo:compensates-1")
    plain = maker.note(stream, 1)
    log.append(
        [replace(plain, envelope=msgspec.structs.replace(plain.envelope, idempotency_key=key))], claim=key
    )
    assert log.claim_of(ACME, key) is not None
    with open_reader(url) as reader:
        assert check(reader, None).ok


def test_tenants_claim_the_same_effect_apart(log: RecordLog) -> None:
    for tenant in (ACME, GLOBEX):
        other = Maker(seed=5, tenant=tenant)
        log.append([other.claimed(other.task(), 1, KEY)], claim=KEY)
    held = log.claim_of(TenantId("initech"), KEY)
    assert held is None


def test_threads_share_commits_and_each_gets_its_own_answer(url: str, log: RecordLog) -> None:
    makers = [Maker(seed=100 + number) for number in range(16)]
    contested = StreamId("task:contested")
    barrier = threading.Barrier(len(makers))
    conflicts = []

    def work(maker: Maker) -> list[int]:
        barrier.wait()
        stream = maker.task()
        places = [log.append([maker.note(stream, version)]).last_position for version in range(1, 11)]
        try:
            places.append(log.append([maker.note(contested, 1)]).last_position)
        except VersionConflict as error:
            conflicts.append(error)
        return places

    with ThreadPoolExecutor(len(makers)) as pool:
        places = sorted(place for result in pool.map(work, makers) for place in result)
    assert places == list(range(1, 162))
    assert len(conflicts) == 15
    with open_reader(url) as reader:
        assert check(reader, None).ok


def test_a_reader_of_positions_misses_nothing_while_writers_commit(url: str, log: RecordLog) -> None:
    done = threading.Event()
    seen: list[int] = []

    def follow() -> None:
        with open_reader(url) as reader:
            while True:
                last_round = done.is_set()
                seen.extend(row.position for row in reader.rows(ACME, after=seen[-1] if seen else 0))
                if last_round:
                    return

    follower = threading.Thread(target=follow)
    follower.start()

    def write(seed: int) -> None:
        own = Maker(seed=seed)
        with open_record(url) as another:
            for count in (1, 3, 1, 20, 2) * 4:
                another.append(own.notes(own.task(), count))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(200, 204)))
    done.set()
    follower.join()
    assert seen == list(range(1, 4 * 4 * 27 + 1))
    assert all(after == before + 1 for before, after in pairwise(seen))


def test_processes_that_start_together_make_the_schema_once(url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        logs = list(pool.map(lambda _: open_record(url), range(8)))
    for opened in logs:
        opened.close()
    with open_reader(url) as reader:
        assert reader.tenants() == []


def test_a_newer_schema_is_refused(url: str) -> None:
    open_record(url).close()
    execute(url, "INSERT INTO record_format (format) VALUES (9)")
    with pytest.raises(FormatTooNew, match="upgrade"):
        open_record(url)
    with pytest.raises(FormatTooNew, match="upgrade"):
        open_reader(url)


@pytest.mark.parametrize(
    ("bad", "remedy"),
    [
        ("nonsense", "use sqlite"),
        ("mysql://host/db", "use sqlite"),
        ("sqlite://", "use sqlite"),
        ("sqlite:////nowhere/at/all/record.db", "mkdir -p"),
        ("postgresql://host", "use sqlite"),
    ],
)
def test_a_wrong_url_is_refused_with_the_remedy(bad: str, remedy: str) -> None:
    with pytest.raises(ConfigError, match=remedy):
        open_record(bad)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and longer than a header " * 40)
    with pytest.raises(ConfigError, match="not a database"):
        open_record(f"sqlite:///{path}")
    with pytest.raises(ConfigError, match="no record"):
        open_reader(f"sqlite:///{path}")


def test_what_is_recorded_cannot_be_changed_through_sqlite(tmp_path: Path, maker: Maker) -> None:
    url = f"sqlite:///{tmp_path}/record.db"
    with open_record(url) as log:
        log.append(maker.notes(maker.task(), 2))
        pooled = log.engine.raw_connection()
        connection = pooled.driver_connection
        assert connection is not None
        for statement in ("UPDATE event SET name = 'x'", "DELETE FROM event WHERE position = 2"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
        pooled.close()
