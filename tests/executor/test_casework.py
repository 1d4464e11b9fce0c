"""A case on a real record: one reconciliation is one append, and a person's word is their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.case import CaseState, Conclude, OpenCase, digest_of
from domain.errors import CommandRefused, ConfigError, VersionConflict
from domain.ids import PrincipalId, case_stream
from domain.policy import Identity
from executor.casework import Casework, note, reopen, sign_off
from executor.runtime.system import SystemClock, SystemIds
from executor.store.log import RecordLog, open_record
from tests.domain.test_case import FIRST, GONE, OPENED
from tests.support.records import ACME, GLOBEX, SERVICE

CASE = OPENED.break_id
LI = Identity(principal=PrincipalId("person:li.na"), kind="person", tenants=(ACME,), actions=())


@pytest.fixture
def log(tmp_path: Path) -> Iterator[RecordLog]:
    with open_record(f"sqlite:///{tmp_path}/record.db") as opened:
        yield opened


@pytest.fixture
def work(log: RecordLog) -> Casework:
    made = Casework(log, ids=SystemIds(), clock=SystemClock(), tenant=ACME)
    made.submit(CASE, [OpenCase(OPENED), Conclude(FIRST, by=SERVICE)], principal=SERVICE)
    return made


def test_a_reconciliation_is_appended_as_one_with_its_month(work: Casework, log: RecordLog) -> None:
    stored = list(log.stream(ACME, case_stream(CASE)))
    assert [recorded.event for recorded in stored] == [OPENED, FIRST]
    assert [recorded.row.position for recorded in stored] == [1, 2]
    assert {recorded.envelope.correlation_id for recorded in stored} == {"month:2026-11"}


def test_what_changes_nothing_is_not_appended(work: Casework, log: RecordLog) -> None:
    assert work.submit(CASE, [Conclude(FIRST, by=SERVICE)], principal=SERVICE) == ()
    assert work.load(CASE).version == 2


def test_of_a_refused_word_nothing_is_recorded(work: Casework) -> None:
    with pytest.raises(CommandRefused, match=r"case\.exists"):
        work.submit(CASE, [Conclude(GONE, by=SERVICE), OpenCase(OPENED)], principal=SERVICE)
    assert work.load(CASE).version == 2


def test_a_person_notes_signs_off_and_reopens_in_their_own_name(work: Casework, log: RecordLog) -> None:
    note(work, CASE, LI, "asked the vendor")
    assert sign_off(work, CASE, LI, digest_of(FIRST)[:12], note="agreed") == digest_of(FIRST)
    assert work.load(CASE).status == "signed_off"
    reopen(work, CASE, LI, "a corrected file is announced")
    said = list(log.stream(ACME, case_stream(CASE), after=2))
    assert [recorded.name for recorded in said] == ["case.noted", "case.signed_off", "case.reopened"]
    assert {recorded.envelope.principal for recorded in said} == {LI.principal}


def test_a_digest_is_of_the_newest_conclusion_and_long_enough_to_mean_one(work: Casework) -> None:
    with pytest.raises(ConfigError, match="cases show"):
        sign_off(work, CASE, LI, digest_of(FIRST)[:7])
    work.submit(CASE, [Conclude(GONE, by=SERVICE)], principal=SERVICE)
    with pytest.raises(CommandRefused, match=r"case\.sign_off_digest"):
        sign_off(work, CASE, LI, digest_of(FIRST))


def test_a_service_may_not_sign_off(work: Casework) -> None:
    service = Identity(principal=PrincipalId("svc:other"), kind="service", tenants=(ACME,), actions=())
    with pytest.raises(CommandRefused, match=r"case\.sign_off_person"):
        sign_off(work, CASE, service, digest_of(FIRST))


def test_a_person_of_another_tenant_has_no_word(work: Casework) -> None:
    stranger = Identity(principal=PrincipalId("person:eve"), kind="person", tenants=(GLOBEX,), actions=())
    with pytest.raises(CommandRefused, match=r"case\.tenant"):
        note(work, CASE, stranger, "hello")
    with pytest.raises(CommandRefused, match=r"case\.tenant"):
        sign_off(work, CASE, stranger, digest_of(FIRST))
    with pytest.raises(CommandRefused, match=r"case\.tenant"):
        reopen(work, CASE, stranger, "because")


def test_of_two_words_at_once_the_later_is_told(work: Casework, log: RecordLog) -> None:
    class Slow(Casework):
        """Somebody else writes between its look and its append."""

        def load(self, break_id: str) -> CaseState:
            state = super().load(break_id)
            note(work, break_id, LI, "first")
            return state

    late = Slow(log, ids=SystemIds(), clock=SystemClock(), tenant=ACME)
    with pytest.raises(VersionConflict):
        late.submit(CASE, [Conclude(GONE, by=SERVICE)], principal=SERVICE)
    assert work.load(CASE).version == 3
