"""Any order of appends, claims, repetitions, crashes and reopenings, against a model that is a few dictionaries."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from domain.envelope import Draft
from domain.errors import ClaimTaken, CommandRefused, VersionConflict
from domain.ids import EffectKey, StreamId, TenantId
from executor.store import sqlite_end
from executor.store.log import RecordLog, open_record
from projections.fsck import Anchor, check
from projections.reading import open_reader
from tests.support.records import ACME, GLOBEX, Backend, Maker, fresh_url

TENANTS = st.sampled_from([ACME, GLOBEX])
STREAMS = st.sampled_from([StreamId(f"task:{name}") for name in "abcd"])
KEYS = st.sampled_from([EffectKey(f"effect-{name}") for name in "xyz"])


class RecordMachine(RuleBasedStateMachine):
    """The real record on the left, the model on the right."""

    backend: Backend = "sqlite"
    file_after = sqlite_end.FILE_AFTER

    @initialize(seed=st.integers(0, 2**32))
    def start(self, seed: int) -> None:
        self.usual, sqlite_end.FILE_AFTER = sqlite_end.FILE_AFTER, self.file_after
        self.folder = Path(tempfile.mkdtemp())
        self.url = fresh_url(self.backend, self.folder)
        self.log: RecordLog = open_record(self.url)
        self.makers = {
            tenant: Maker(seed=seed + number, tenant=tenant) for number, tenant in enumerate((ACME, GLOBEX))
        }
        self.stored: dict[tuple[str, str], list[str]] = {}
        self.order: dict[str, list[str]] = {ACME: [], GLOBEX: []}
        self.holders: dict[tuple[str, str], str] = {}
        self.done: list[tuple[list[Draft], dict[str, Any]]] = []
        self.anchors: list[Anchor] = []

    def teardown(self) -> None:
        if hasattr(self, "log"):
            sqlite_end.FILE_AFTER = self.usual
            self.log.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _version(self, tenant: TenantId, stream: StreamId) -> int:
        return len(self.stored.get((tenant, stream), []))

    def _append(self, drafts: list[Draft], **options: EffectKey) -> None:
        """Append what must succeed, and tell the model."""
        receipt = self.log.append(drafts, **options)
        envelope = drafts[0].envelope
        ids = [draft.envelope.event_id for draft in drafts]
        assert receipt.first_position == len(self.order[envelope.tenant]) + 1
        self.order[envelope.tenant] += ids
        self.stored.setdefault((envelope.tenant, envelope.stream), []).extend(ids)
        assert receipt.last_position == len(self.order[envelope.tenant])
        self.done.append((drafts, options))
        self.anchors.append(
            Anchor(tenant=envelope.tenant, size=receipt.last_position, root=receipt.root, source="a receipt")
        )

    @rule(tenant=TENANTS, stream=STREAMS, count=st.integers(1, 5))
    def append(self, tenant: TenantId, stream: StreamId, count: int) -> None:
        first = self._version(tenant, stream) + 1
        self._append(self.makers[tenant].notes(stream, count, first=first))

    @rule(tenant=TENANTS, stream=STREAMS, off=st.sampled_from([-2, -1, 1, 2]))
    def append_at_the_wrong_version(self, tenant: TenantId, stream: StreamId, off: int) -> None:
        version = self._version(tenant, stream) + 1 + off
        if version < 1:
            return
        with pytest.raises(VersionConflict) as caught:
            self.log.append([self.makers[tenant].note(stream, version)])
        assert caught.value.found == self._version(tenant, stream)

    @precondition(lambda self: self.done)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        drafts, options = data.draw(st.sampled_from(self.done))
        receipt = self.log.append(drafts, **options)
        assert receipt.repeated
        tenant = drafts[0].envelope.tenant
        assert self.order[tenant][receipt.first_position - 1] == drafts[0].envelope.event_id
        anchor = Anchor(tenant=tenant, size=receipt.last_position, root=receipt.root, source="a receipt")
        assert anchor in self.anchors

    @rule(tenant=TENANTS, stream=STREAMS, key=KEYS)
    def claim(self, tenant: TenantId, stream: StreamId, key: EffectKey) -> None:
        draft = self.makers[tenant].claimed(stream, self._version(tenant, stream) + 1, key)
        holder = self.holders.get((tenant, key))
        if holder is None:
            self._append([draft], claim=key)
            self.holders[tenant, key] = stream
            return
        with pytest.raises(ClaimTaken) as caught:
            self.log.append([draft], claim=key)
        assert caught.value.holder_stream == holder

    @rule(tenant=TENANTS, stream=STREAMS, key=KEYS)
    def release(self, tenant: TenantId, stream: StreamId, key: EffectKey) -> None:
        draft = self.makers[tenant].released(stream, self._version(tenant, stream) + 1, key)
        if self.holders.get((tenant, key)) == stream:
            self._append([draft], release=key)
            del self.holders[tenant, key]
            return
        with pytest.raises(CommandRefused, match="not_the_holder"):
            self.log.append([draft], release=key)

    @rule()
    def reopen(self) -> None:
        self.log.close()
        self.log = open_record(self.url)

    @rule()
    def crash(self) -> None:
        """Connections die without a word, as they do with their process or their server."""
        self.log.committer.close()
        self.log.engine.dispose(close=False)
        self.log = open_record(self.url)

    @invariant()
    def the_record_is_what_the_model_says(self) -> None:
        if not hasattr(self, "log"):
            return
        for (tenant, stream), ids in self.stored.items():
            found = self.log.stream(TenantId(tenant), StreamId(stream))
            assert [item.envelope.event_id for item in found] == ids
        for tenant in (ACME, GLOBEX):
            for key in ("effect-x", "effect-y", "effect-z"):
                held = self.log.claim_of(tenant, EffectKey(key))
                assert (held.stream if held else None) == self.holders.get((tenant, key))

    @invariant()
    def the_record_is_sound_and_agrees_with_every_receipt(self) -> None:
        if not hasattr(self, "log"):
            return
        with open_reader(self.url) as reader:
            report = check(reader, None, anchors=self.anchors)
            assert report.findings == []
            for tenant, ids in self.order.items():
                assert [item.event_id for item in reader.indexed_rows(TenantId(tenant))] == ids


class FilingMachine(RecordMachine):
    """The same where events are filed soon, so that most are found through the tables of places."""

    file_after = 3


class PostgresMachine(RecordMachine):
    """The same on PostgreSQL."""

    backend: Backend = "postgres"


_SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck), stateful_step_count=20)
TestRecordMachine = RecordMachine.TestCase
TestRecordMachine.settings = settings(_SETTINGS, max_examples=25)
TestFilingMachine = FilingMachine.TestCase
TestFilingMachine.settings = settings(_SETTINGS, max_examples=25)
TestPostgresMachine = pytest.mark.postgres(PostgresMachine.TestCase)
TestPostgresMachine.settings = settings(_SETTINGS, max_examples=8)
