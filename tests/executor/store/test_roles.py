"""What an application role may do on PostgreSQL, found out by trying."""

from __future__ import annotations

import uuid

import psycopg
import pytest
from sqlalchemy.engine import make_url

from domain.errors import ConfigError, WorldError
from domain.ids import EffectKey
from executor.store.log import open_record
from executor.store.roles import grant_role
from projections.fsck import check
from projections.reading import open_reader
from tests.support.postgres import cluster
from tests.support.records import ACME, GLOBEX, Maker, execute

pytestmark = pytest.mark.postgres


@pytest.fixture
def role() -> str:
    name = f"app_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(cluster().dsn("postgres"), autocommit=True) as session:
        session.execute(f"CREATE ROLE {name} LOGIN".encode())
    return name


@pytest.fixture
def owner_url() -> str:
    url = cluster().url()
    open_record(url).close()
    return url


def _as(url: str, role: str) -> str:
    return cluster().url(make_url(url).database, user=role)


def test_a_role_appends_claims_and_reads_for_its_own_tenant(owner_url: str, role: str) -> None:
    grant_role(owner_url, role, [ACME])
    maker, key = Maker(seed=1), EffectKey("k")
    with open_record(_as(owner_url, role)) as log:
        stream = maker.task()
        assert log.append([maker.claimed(stream, 1, key)], claim=key).last_position == 1
        assert len(list(log.stream(ACME, stream))) == 1
    with open_reader(_as(owner_url, role)) as reader:
        assert check(reader, None).ok
        assert reader.positions(ACME) == 1


def test_a_role_sees_nothing_of_another_tenant(owner_url: str, role: str) -> None:
    grant_role(owner_url, role, [ACME])
    other = Maker(seed=2, tenant=GLOBEX)
    stream = other.task()
    with open_record(owner_url) as log:
        log.append(other.notes(stream, 3))
    with open_reader(_as(owner_url, role)) as reader:
        assert reader.tenants() == []
        assert reader.head(GLOBEX) is None
        assert list(reader.rows(GLOBEX)) == []
        assert list(reader.stream(GLOBEX, stream)) == []


def test_a_role_cannot_append_for_another_tenant(owner_url: str, role: str) -> None:
    grant_role(owner_url, role, [ACME])
    other = Maker(seed=2, tenant=GLOBEX)
    with (
        open_record(_as(owner_url, role)) as log,
        pytest.raises(WorldError, match="may not write for tenant globex"),
    ):
        log.append(other.notes(other.task(), 1))
    with open_reader(owner_url) as reader:
        assert reader.tenants() == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET name = 'x'",
        "DELETE FROM event",
        "TRUNCATE event",
        "INSERT INTO event SELECT * FROM event",
        "UPDATE tenant_head SET size = 0",
        "DELETE FROM tenant_head",
        "UPDATE claim SET principal = 'x'",
        "DELETE FROM claim",
        "INSERT INTO claim_release VALUES ('acme', 'k', 1, 'e', 0)",
        "UPDATE checkpoint SET note = 'x'",
        "DELETE FROM attestation",
        "INSERT INTO tenant_grant VALUES (current_user, 'globex')",
        "ALTER TABLE event DISABLE ROW LEVEL SECURITY",
        "DROP TABLE event",
        "CREATE OR REPLACE FUNCTION proofreel_refuse(facts jsonb) RETURNS void LANGUAGE sql AS 'SELECT'",
    ],
)
def test_a_role_can_neither_change_nor_remove_nor_add_past_the_function(
    owner_url: str, role: str, statement: str
) -> None:
    grant_role(owner_url, role, [ACME])
    maker = Maker(seed=1)
    with open_record(owner_url) as log:
        log.append(maker.notes(maker.task(), 1))
    database = make_url(owner_url).database
    assert database is not None
    with (
        psycopg.connect(cluster().dsn(database, user=role), autocommit=True) as session,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        session.execute(statement.encode())


def test_a_session_cannot_give_itself_a_tenant(owner_url: str, role: str) -> None:
    grant_role(owner_url, role, [ACME])
    other = Maker(seed=2, tenant=GLOBEX)
    with open_record(owner_url) as log:
        log.append(other.notes(other.task(), 1))
    database = make_url(owner_url).database
    assert database is not None
    with psycopg.connect(cluster().dsn(database, user=role), autocommit=True) as session:
        session.execute("SET proofreel.tenant = 'globex'")
        assert session.execute("SELECT count(*) FROM event").fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SET SESSION AUTHORIZATION proofreel")


def test_a_reading_role_cannot_append(owner_url: str, role: str) -> None:
    grant_role(owner_url, role, [ACME], write=False)
    maker = Maker(seed=1)
    with open_record(_as(owner_url, role)) as log, pytest.raises(WorldError, match="permission denied"):
        log.append(maker.notes(maker.task(), 1))


def test_a_role_without_grants_gets_nothing(owner_url: str, role: str) -> None:
    maker = Maker(seed=1)
    with open_record(owner_url) as log:
        log.append(maker.notes(maker.task(), 1))
    with pytest.raises(WorldError, match="permission denied"):
        open_reader(_as(owner_url, role))
    assert execute(owner_url, "SELECT count(*) FROM event") == [(1,)]


def test_grants_need_postgresql_and_a_role_that_exists(owner_url: str) -> None:
    with pytest.raises(ConfigError, match="CREATE ROLE"):
        grant_role(owner_url, "nobody_here", [ACME])
    with pytest.raises(ConfigError, match="plain role name"):
        grant_role(owner_url, "x; DROP TABLE event", [ACME])
    with pytest.raises(ConfigError, match="SQLite has no roles"):
        grant_role("sqlite:////tmp/record.db", "app", [ACME])
