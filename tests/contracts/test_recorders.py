"""``eventsourcing``'s own contract suites, on our recorders and both databases."""

from __future__ import annotations

import os
import tempfile
import threading
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from unittest import TestCase
from unittest.mock import patch

import pytest
from eventsourcing.tests.application import ExampleApplicationTestCase
from eventsourcing.tests.persistence import (
    AggregateRecorderTestCase,
    ApplicationRecorderTestCase,
    NonInterleavingNotificationIDsBaseCase,
    ProcessRecorderTestCase,
    TrackingRecorderTestCase,
)

from executor.store.log import RecordLog, open_record
from executor.store.recorder import (
    Factory,
    RecordAggregateRecorder,
    RecordApplicationRecorder,
    RecordProcessRecorder,
    RecordTrackingRecorder,
)
from tests.support.records import Backend, fresh_url

if TYPE_CHECKING:
    from uuid import UUID

    from eventsourcing.utils import EnvType


class _OnRecord(TestCase):
    """Opens an empty record for each test."""

    backend: ClassVar[Backend] = "sqlite"

    def open(self) -> RecordLog:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        log = open_record(fresh_url(self.backend, Path(folder.name)))
        self.addCleanup(log.close)
        self.addCleanup(_join_new_threads, frozenset(threading.enumerate()))
        return log


def _join_new_threads(known: frozenset[threading.Thread]) -> None:
    """The suite doesn't wait for its readers; the record must not be closed under their hands."""
    for thread in threading.enumerate():
        if thread not in known:
            thread.join()


class _TextIds(_OnRecord):
    """The same with ids that are plain text."""

    def new_originator_id(self) -> UUID | str:
        return f"order-{uuid.uuid4()}"


class TestAggregateRecorderOnSqlite(_OnRecord, AggregateRecorderTestCase):
    def create_recorder(self) -> RecordAggregateRecorder:
        recorder = RecordAggregateRecorder(self.open(), "acme")
        recorder.create_table()
        return recorder


class TestApplicationRecorderOnSqlite(_OnRecord, ApplicationRecorderTestCase[Any]):
    def create_recorder(self) -> RecordApplicationRecorder:
        return RecordApplicationRecorder(self.open(), "acme")

    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TestTextIdsOnSqlite(_TextIds, ApplicationRecorderTestCase[Any]):
    def create_recorder(self) -> RecordApplicationRecorder:
        return RecordApplicationRecorder(self.open(), "acme", uuids=False)


class TestTrackingRecorderOnSqlite(_OnRecord, TrackingRecorderTestCase):
    def create_recorder(self) -> RecordTrackingRecorder:
        return RecordTrackingRecorder(self.open(), "acme")


class TestProcessRecorderOnSqlite(_OnRecord, ProcessRecorderTestCase):
    def create_recorder(self) -> RecordProcessRecorder:
        return RecordProcessRecorder(self.open(), "acme")


class TestNonInterleavingOnSqlite(_OnRecord, NonInterleavingNotificationIDsBaseCase):
    insert_num = 200

    def create_recorder(self) -> RecordApplicationRecorder:
        return RecordApplicationRecorder(self.open(), "acme")


class TestExampleApplicationOnSqlite(_OnRecord, ExampleApplicationTestCase):
    expected_factory_topic = "executor.store.recorder:Factory"

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.environ["PERSISTENCE_MODULE"] = "executor.store.recorder"
        os.environ["PROOFREEL_STORE"] = fresh_url(self.backend, Path(folder.name))
        self.addCleanup(os.environ.pop, "PERSISTENCE_MODULE")
        self.addCleanup(os.environ.pop, "PROOFREEL_STORE")
        self._close_factories()

    def _close_factories(self) -> None:
        """The suite leaves its applications open; their connections must not outlive the test."""
        made = Factory.__init__

        def opening(factory: Factory, env: EnvType | None) -> None:
            made(factory, env)
            self.addCleanup(factory.close)

        patcher = patch.object(Factory, "__init__", opening)
        patcher.start()
        self.addCleanup(patcher.stop)


@pytest.mark.postgres
class TestAggregateRecorderOnPostgres(TestAggregateRecorderOnSqlite):
    backend = "postgres"


@pytest.mark.postgres
class TestApplicationRecorderOnPostgres(TestApplicationRecorderOnSqlite):
    backend = "postgres"


@pytest.mark.postgres
class TestTextIdsOnPostgres(TestTextIdsOnSqlite):
    backend = "postgres"


@pytest.mark.postgres
class TestTrackingRecorderOnPostgres(TestTrackingRecorderOnSqlite):
    backend = "postgres"


@pytest.mark.postgres
class TestProcessRecorderOnPostgres(TestProcessRecorderOnSqlite):
    backend = "postgres"


@pytest.mark.postgres
class TestNonInterleavingOnPostgres(TestNonInterleavingOnSqlite):
    backend = "postgres"


@pytest.mark.postgres
class TestExampleApplicationOnPostgres(TestExampleApplicationOnSqlite):
    backend = "postgres"


# The library's base classes are collected as tests of their own where they stand in a module's name space.
del (
    AggregateRecorderTestCase,
    ApplicationRecorderTestCase,
    ExampleApplicationTestCase,
    NonInterleavingNotificationIDsBaseCase,
    ProcessRecorderTestCase,
    TrackingRecorderTestCase,
)
