"""Opening evidence is on record, before it is shown, once for what is looked at in one go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from domain import events as e
from domain.errors import WorldError
from domain.events.access import Opened
from domain.ids import PrincipalId, TenantId, access_stream
from executor.openings import RecordedOpenings
from executor.runtime.system import SystemClock, SystemIds
from executor.store.log import open_record
from projections import fsck
from projections.reading import open_reader
from replay_ui.asgi import layers
from replay_ui.bundles import bundle_routes
from replay_ui.data import Desk
from replay_ui.evidence import Evidence
from replay_ui.openings import ONE_GO_S, Openings
from replay_ui.roles import Viewer
from replay_ui.routes import evidence_routes
from tests.replay_ui.sample import DONE, OTHER_RUN, RUN, Everyone, Sample, make

ACME = TenantId("acme")
WHO = Viewer("person:omar", {"acme"}, {"acme": frozenset({"auditor"})}, "https://login.example 2")


class Heard:
    """A recorder that writes down, or fails."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str, str]] = []
        self.broken = False

    def record(self, viewer: Viewer, tenant: str, kind: Opened, subject: str) -> None:
        if self.broken:
            raise WorldError("the disk is full")
        self.calls.append((viewer.name, tenant, kind, subject))


class Hours:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_is_looked_at_in_one_go_is_one_opening() -> None:
    heard, clock = Heard(), Hours()
    openings = Openings(heard, clock=clock)
    for _ in range(5):
        openings.note(WHO, "acme", "run", RUN)
        clock.now += ONE_GO_S / 6
    assert heard.calls == [("person:omar", "acme", "run", RUN)]
    clock.now = ONE_GO_S + 1
    openings.note(WHO, "acme", "run", RUN)
    assert len(heard.calls) == 2


def test_another_person_another_thing_and_another_account_are_openings_of_their_own() -> None:
    heard = Heard()
    openings = Openings(heard)
    for viewer in (WHO, WHO._replace(name="person:li.na"), WHO._replace(account="https://login.example 9")):
        openings.note(viewer, "acme", "run", RUN)
        openings.note(viewer, "acme", "bill", RUN)
    assert len(heard.calls) == 6


def test_a_bundle_that_is_carried_away_is_recorded_each_time() -> None:
    heard = Heard()
    openings = Openings(heard)
    openings.note(WHO, "acme", "bundle", "bill B1")
    openings.note(WHO, "acme", "bundle", "bill B1")
    assert len(heard.calls) == 2


def test_a_failed_recording_is_tried_again_at_the_next_look() -> None:
    heard = Heard()
    openings = Openings(heard)
    heard.broken = True
    with pytest.raises(WorldError):
        openings.note(WHO, "acme", "run", RUN)
    heard.broken = False
    openings.note(WHO, "acme", "run", RUN)
    assert len(heard.calls) == 1


@pytest.fixture
def mine(tmp_path: Path) -> Sample:
    return make(tmp_path)


@pytest.fixture
def own_desk(mine: Sample) -> Iterator[Desk]:
    desk = mine.desk()
    yield desk
    desk.close()


def client(desk: Desk, openings: Openings) -> TestClient:
    access = Everyone("acme", roles=["auditor"])
    routes = [*evidence_routes(Evidence(desk), access, openings), *bundle_routes(desk, access, openings)]
    return TestClient(Starlette(routes=routes, middleware=layers(access)))


def test_each_route_puts_the_opening_on_record(own_desk: Desk) -> None:
    heard = Heard()
    http = client(own_desk, Openings(heard))
    line = own_desk.timeline(ACME, RUN)
    assert line is not None
    for path in (
        f"/manifest/acme/{RUN}.json",
        f"/manifest/acme/{RUN}/0.json",
        f"/frames/acme/{RUN}/{line.entries[0].sha256}",
        f"/events/acme/{RUN}/{line.entries[0].position}.json",
    ):
        assert http.get(path).status_code == 200
    assert heard.calls == [("person:tester", "acme", "run", RUN)]
    assert http.get("/bundles/acme.zip", params={"kind": "bill", "name": DONE}).status_code == 200
    assert heard.calls[1:] == [("person:tester", "acme", "bundle", f"bill {DONE}")]


@pytest.mark.parametrize(
    "path",
    [
        f"/manifest/acme/{OTHER_RUN}.json",
        f"/manifest/globex/{OTHER_RUN}.json",
        f"/frames/acme/{RUN}/{'0' * 64}",
        "/events/acme/no-such-run/1.json",
        "/bundles/acme.zip?kind=bill&name=G1",
        "/bundles/globex.zip?kind=log",
    ],
)
def test_a_guess_leaves_no_trace(own_desk: Desk, path: str) -> None:
    heard = Heard()
    assert client(own_desk, Openings(heard)).get(path).status_code == 404
    assert heard.calls == []


def test_what_can_not_be_recorded_is_not_shown(own_desk: Desk) -> None:
    heard = Heard()
    heard.broken = True
    http = client(own_desk, Openings(heard))
    answer = http.get(f"/manifest/acme/{RUN}.json")
    assert answer.status_code == 503
    assert "disk is full" in answer.text
    assert "columns" not in answer.text
    assert http.get("/bundles/acme.zip", params={"kind": "bill", "name": DONE}).status_code == 422


def test_the_record_holds_who_opened_what_and_still_adds_up(mine: Sample, own_desk: Desk) -> None:
    before = own_desk.standing(ACME).events
    with open_record(mine.store) as log:
        recorders = [RecordedOpenings(log, ids=SystemIds(), clock=SystemClock()) for _ in range(2)]
        for number in range(3):
            for recorder in recorders:
                recorder.record(WHO, "acme", "run", f"run-{number}")
    with open_reader(mine.store) as reader:
        stored = list(reader.stream(ACME, access_stream(PrincipalId("person:omar"))))
        assert [item.envelope.version for item in stored] == [1, 2, 3, 4, 5, 6]
        assert {item.envelope.principal for item in stored} == {"person:omar"}
        assert {item.envelope.run_id for item in stored} == {None}
        fact = stored[0].event
        assert fact == e.EvidenceOpened(
            kind="run", subject="run-0", roles=("auditor",), account="https://login.example 2"
        )
        assert fsck.check(reader, None, ACME).ok
    assert own_desk.standing(ACME).events == before + 6
    assert own_desk.end_of_evidence(ACME) == before


def test_looking_changes_no_answer_of_the_desk(mine: Sample, own_desk: Desk) -> None:
    (item,) = own_desk.imports(ACME)
    first = own_desk.reconciliation(ACME, item.position)
    with open_record(mine.store) as log:
        RecordedOpenings(log, ids=SystemIds(), clock=SystemClock()).record(WHO, "acme", "bill", DONE)
    assert own_desk.reconciliation(ACME, item.position) is first
    assert len(own_desk.runs(ACME)) == 2
