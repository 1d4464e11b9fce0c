"""Records of an earlier layout: still read and checked, brought to today's with proof, never appended to by mistake."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import psycopg
import pytest
from sqlalchemy.engine import make_url

from domain.errors import ConfigError
from domain.ids import EffectKey, StreamId
from executor.store.log import open_record
from executor.store.migrate import migrate
from executor.store.roles import grant_role
from projections.fsck import check
from projections.reading import open_reader
from tests.support.first_layout import APPEND, as_first_layout, back_to_first_layout
from tests.support.postgres import cluster
from tests.support.records import ACME, GLOBEX, Maker, execute, fresh_url

if TYPE_CHECKING:
    from pathlib import Path

KEY = EffectKey("k")
STREAM = StreamId("task:kept")


def _fill(url: str) -> None:
    with open_record(url) as log:
        for tenant in (ACME, GLOBEX):
            maker = Maker(seed=7, tenant=tenant)
            log.append([maker.claimed(STREAM, 1, KEY)], claim=KEY)
            log.append(maker.notes(STREAM, 170, first=2))
            log.append(maker.notes(maker.task(), 3))


@pytest.fixture
def old(tmp_path: Path) -> str:
    """A SQLite record of the first layout."""
    now = fresh_url("sqlite", tmp_path)
    _fill(now)
    return as_first_layout(now, tmp_path)


def test_a_record_of_the_first_layout_is_read_and_checked_as_ever(old: str) -> None:
    with open_reader(old) as reader:
        assert reader.tenants() == [ACME, GLOBEX]
        assert reader.positions(ACME) == 174
        assert [item.row.version for item in reader.stream(ACME, STREAM, after=168)] == [169, 170, 171]
        assert check(reader, None).findings == []


def test_nothing_is_appended_to_a_first_layout_and_the_refusal_names_the_way_on(old: str) -> None:
    with pytest.raises(ConfigError, match=r"layout 1.*proofreel migrate"):
        open_record(old)


def test_damage_in_a_first_layout_is_found(old: str) -> None:
    execute(old, "DELETE FROM event WHERE position = 5")
    with open_reader(old) as reader:
        assert "position_gap" in {finding.code for finding in check(reader, None).findings}


@pytest.mark.parametrize("backend", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_first_layout_is_brought_to_todays_with_the_same_roots(
    old: str, backend: str, tmp_path: Path
) -> None:
    new = fresh_url("postgres" if backend == "postgres" else "sqlite", tmp_path)
    assert [item.root_before == item.root_after for item in migrate(old, new)] == [True, True]
    with open_reader(old) as before, open_reader(new) as after:
        for tenant in (ACME, GLOBEX):
            assert before.head(tenant) == after.head(tenant)
            assert list(before.indexed_rows(tenant)) == list(after.indexed_rows(tenant))
            assert list(before.claims(tenant)) == list(after.claims(tenant))
    with open_record(new) as log:
        assert log.append([Maker(seed=8).note(STREAM, 172)]).last_position == 175
    with open_reader(new) as after:
        assert check(after, None).findings == []


@pytest.mark.postgres
def test_on_postgresql_the_owner_brings_the_first_layout_up_where_it_is(tmp_path: Path) -> None:
    url = fresh_url("postgres", tmp_path)
    _fill(url)
    role = f"app_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(cluster().dsn("postgres"), autocommit=True) as session:
        session.execute(f"CREATE ROLE {role} LOGIN".encode())
    grant_role(url, role, [ACME])
    back_to_first_layout(url)
    execute(url, f"GRANT EXECUTE ON FUNCTION {APPEND} TO {role}")
    as_role = cluster().url(make_url(url).database, user=role)
    with pytest.raises(ConfigError, match=r"owner.*proofreel grant"):
        open_record(as_role)
    with open_reader(url) as reader:
        assert check(reader, None).findings == []
    open_record(url).close()
    with open_record(as_role) as log:
        assert log.append([Maker(seed=8).note(STREAM, 172)]).last_position == 175
    with open_reader(url) as reader:
        assert check(reader, None).findings == []
