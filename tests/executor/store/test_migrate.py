"""Moving a record between the databases, both ways, with the same roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from domain.errors import ConfigError, IntegrityError
from domain.ids import EffectKey
from executor.store.log import open_record
from executor.store.migrate import migrate
from executor.store.signing import make_key, sign_checkpoint
from projections.fsck import check
from projections.reading import open_reader
from tests.support.records import ACME, BACKENDS, GLOBEX, Maker, ManualClock, execute, fresh_url

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.records import Backend

pytestmark = pytest.mark.postgres
WAYS = [(source, target) for source in BACKENDS for target in BACKENDS]


def _fill(url: str, folder: Path) -> None:
    key = EffectKey("k")
    with open_record(url) as log:
        for tenant in (ACME, GLOBEX):
            maker = Maker(seed=7, tenant=tenant)
            stream = maker.task()
            log.append([maker.opened(stream, key), maker.claimed(stream, 2, key)], claim=key)
            log.append([maker.released(stream, 3, key)], release=key)
            for _ in range(3):
                log.append(maker.notes(maker.task(), 450))
        sign_checkpoint(log, ACME, make_key(folder / "desk.key", "desk.example.com"), ManualClock())


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_roots_rows_claims_and_checkpoints_are_the_same_afterwards(
    source: Backend, target: Backend, tmp_path: Path
) -> None:
    before, after = fresh_url(source, tmp_path), fresh_url(target, tmp_path)
    _fill(before, tmp_path)
    moved = migrate(before, after)
    assert [(item.tenant, item.events, item.root_before == item.root_after) for item in moved] == [
        (ACME, 1353, True),
        (GLOBEX, 1353, True),
    ]
    with open_reader(before) as old, open_reader(after) as new:
        for tenant in (ACME, GLOBEX):
            assert old.head(tenant) == new.head(tenant)
            assert list(old.indexed_rows(tenant)) == list(new.indexed_rows(tenant))
            assert list(old.claims(tenant)) == list(new.claims(tenant))
            assert old.checkpoints(tenant) == new.checkpoints(tenant)
        assert check(new, None).ok


def test_the_moved_record_goes_on_where_the_old_one_stopped(tmp_path: Path) -> None:
    before, after = fresh_url("sqlite", tmp_path), fresh_url("postgres", tmp_path)
    maker = Maker(seed=7)
    stream = maker.task()
    with open_record(before) as log:
        log.append(maker.notes(stream, 5))
    migrate(before, after)
    with open_record(after) as log:
        assert log.append([maker.note(stream, 6)]).last_position == 6
    with open_reader(after) as reader:
        assert check(reader, None).ok


def test_a_move_that_was_done_already_may_be_run_again(tmp_path: Path) -> None:
    before, after = fresh_url("sqlite", tmp_path), fresh_url("sqlite", tmp_path)
    _fill(before, tmp_path)
    assert migrate(before, after) == migrate(before, after)


def test_another_log_at_the_target_is_left_alone(tmp_path: Path) -> None:
    before, after = fresh_url("sqlite", tmp_path), fresh_url("sqlite", tmp_path)
    for seed, url in ((1, before), (2, after)):
        maker = Maker(seed=seed)
        with open_record(url) as log:
            log.append(maker.notes(maker.task(), 2))
    with pytest.raises(ConfigError, match="another log of tenant acme"):
        migrate(before, after)
    with pytest.raises(ConfigError, match="the same"):
        migrate(before, before)


@pytest.mark.parametrize("damage", ["body", "link"])
def test_a_damaged_record_is_not_passed_on_as_sound(damage: str, tmp_path: Path) -> None:
    before, after = fresh_url("sqlite", tmp_path), fresh_url("sqlite", tmp_path)
    maker = Maker(seed=1)
    with open_record(before) as log:
        log.append(maker.notes(maker.task(), 4))
    statement = {
        "body": "UPDATE event SET body = CAST('{}' AS BLOB) WHERE position = 2",
        "link": "UPDATE event SET entry_hash = zeroblob(32) WHERE position = 2",
    }[damage]
    execute(before, statement)
    with pytest.raises(IntegrityError):
        migrate(before, after)
