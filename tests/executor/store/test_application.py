"""``eventsourcing``'s projections run over the record, on both databases, while it grows."""

from __future__ import annotations

from collections import Counter

import pytest
from eventsourcing.persistence import Tracking
from eventsourcing.projection import Projection, ProjectionRunner

from domain.ids import EffectKey
from executor.store.application import FactMapper, RecordApplication, StoredFact
from executor.store.log import RecordLog
from executor.store.recorder import RecordTrackingRecorder
from tests.support.records import ACME, GLOBEX, Maker


class CountView(RecordTrackingRecorder):
    """How often each kind of event was seen."""

    def __init__(self, log: RecordLog, tenant: str, *, uuids: bool = True) -> None:
        super().__init__(log, tenant, uuids=uuids)
        self.counts: Counter[str] = Counter()


class Counting(Projection[CountView]):
    """Counts events by their class."""

    name = "counting"

    def process_event(self, domain_event: StoredFact, tracking: Tracking) -> None:
        self.view.counts[type(domain_event.event).__name__] += 1
        self.view.insert_tracking(tracking)


def test_a_projection_follows_the_record_and_sees_each_event_once(url: str, log: RecordLog) -> None:
    maker, other = Maker(seed=1), Maker(seed=2, tenant=GLOBEX)
    stream, key = maker.task(), EffectKey("k")
    log.append([maker.opened(stream, key), maker.claimed(stream, 2, key)], claim=key)
    log.append(other.notes(other.task(), 3))
    env = {**RecordApplication.env, "PROOFREEL_STORE": url, "PROOFREEL_TENANT": ACME}
    with ProjectionRunner(
        application_class=RecordApplication, projection_class=Counting, view_class=CountView, env=env
    ) as runner:
        runner.wait(2, timeout=30)
        for version in range(3, 203):
            log.append([maker.note(stream, version)])
        runner.wait(202, timeout=60)
        assert runner.view.counts == {"TaskOpened": 1, "TaskClaimed": 1, "AlertRaised": 200}
        runner.view.log.close()


def test_facts_do_not_enter_the_record_through_the_application(url: str, log: RecordLog) -> None:
    maker = Maker(seed=1)
    with RecordApplication(env={"PROOFREEL_STORE": url, "PROOFREEL_TENANT": ACME}) as app:
        assert isinstance(app.mapper, FactMapper)
        with pytest.raises(TypeError, match=r"RecordLog\.append"):
            app.mapper.to_stored_event(maker.note(maker.task(), 1).event)
