"""Sessions on PostgreSQL: whoever opened one closes it, also when others are at work at that moment."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import make_url

from executor.store.log import open_record
from executor.store.postgres_writer import HINT_EVERY_S
from tests.support.postgres import cluster
from tests.support.records import Maker

pytestmark = pytest.mark.postgres


@pytest.fixture
def url() -> str:
    """URL of an empty database on PostgreSQL."""
    return cluster().url()


def _sessions(admin: psycopg.Connection[Any]) -> int:
    """The product's sessions in this database."""
    row = admin.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'proofreel'"
    ).fetchone()
    assert row is not None
    return int(row[0])


def _wait_until(true: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(500):
        if true():
            return
        pause.wait(0.01)
    raise AssertionError("it did not come true within five seconds")


def _administrator(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(cluster().dsn(str(make_url(url).database)), autocommit=True)


def _waits_for_a_lock(admin: psycopg.Connection[Any]) -> bool:
    row = admin.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    ).fetchone()
    return row == (1,)


def test_a_session_that_writes_while_all_are_dropped_is_closed_afterwards(url: str) -> None:
    maker = Maker(seed=1)
    with _administrator(url) as admin, ThreadPoolExecutor(1) as pool:
        log = open_record(url)
        log.append(maker.notes(maker.task(), 1))
        with _administrator(url) as blocker, blocker.transaction():
            blocker.execute("SELECT * FROM tenant_head FOR UPDATE")
            late = pool.submit(log.append, maker.notes(maker.task(), 1))
            _wait_until(lambda: _waits_for_a_lock(admin))
            log.committer.close()
        assert late.result().last_position == 2
        log.close()
        _wait_until(lambda: _sessions(admin) == 0)


def test_a_session_that_reads_while_the_record_is_closed_is_closed_afterwards(url: str) -> None:
    log = open_record(url)
    with log.engine.connect() as reading:
        session = reading.connection.driver_connection
        log.close()
        assert session is not None
        assert not session.closed
    assert session.closed


def _fork(url: str) -> int:
    """In a process without other threads: append, fork, append in the child; its exit code is what it found."""
    log, maker = open_record(url), Maker(seed=1)
    log.append(maker.notes(maker.task(), 1))
    time.sleep(2 * HINT_EVERY_S)
    child = os.fork()
    if child == 0:
        try:
            log.append(maker.notes(maker.task(), 1))
            with psycopg.connect(make_url(url).set(drivername="postgresql").render_as_string()) as admin:
                row = admin.execute(
                    "SELECT count(*) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND query LIKE 'SELECT pg_notify%'"
                ).fetchone()
            os._exit(0 if row == (2,) else 3)
        finally:
            os._exit(4)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    log.append(maker.notes(maker.task(), 1))
    log.close()
    return code


def test_a_forked_child_hints_on_a_session_of_its_own(url: str) -> None:
    command = f"from tests.executor.store.test_sessions import _fork; raise SystemExit(_fork({url!r}))"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
