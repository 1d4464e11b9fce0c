"""The desk after a redaction and a deletion: what it shows, what it no longer shows, and to whom."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Page, expect
from starlette.applications import Starlette
from starlette.testclient import TestClient

from domain import events as e
from domain.envelope import Draft, Envelope
from domain.errors import CommandRefused
from domain.ids import RETENTION, EventId, PrincipalId, Sha256, StreamId, TenantId, deletion_stream
from domain.policy import Identity
from domain.values import Box
from executor.redactions import Redactions
from executor.runtime.system import SystemClock, SystemIds
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from projections.reading import open_reader
from replay_ui.data import Desk
from replay_ui.evidence import Evidence
from replay_ui.openings import Openings
from replay_ui.routes import evidence_routes
from replay_ui.session import open_desk
from tests.replay_ui.sample import RUN, Everyone, Sample, make
from tests.replay_ui.serving import served
from tests.replay_ui.views.showing import said, show

ACME = TenantId("acme")
NAME, BASIS = "Northwind", "GDPR Art. 17, request 2026-31"
ASKED, ALLOWED = (
    Identity(
        principal=PrincipalId(name),
        kind="person",
        tenants=(ACME,),
        actions=("redact", "approve:redaction"),
    )
    for name in ("person:dpo", "person:counsel")
)


@pytest.fixture
def made(tmp_path: Path) -> Sample:
    return make(tmp_path)


@pytest.fixture
def opened(made: Sample) -> Iterator[Desk]:
    desk = made.desk()
    desk.catch_up(ACME)
    yield desk
    desk.close()


@contextmanager
def redacting(made: Sample) -> Iterator[Redactions]:
    with open_record(made.store) as log, open_reader(made.store, as_stored=True) as stored:
        yield Redactions(
            log=log,
            stored=stored,
            blobs=open_blobs(made.blobs),
            ids=SystemIds(),
            clock=SystemClock(),
            tenant=ACME,
            key=b"k" * 32,
        )


class Ahead:
    """A clock that runs ahead by so many days."""

    def __init__(self, days: int) -> None:
        self._days = days

    def now_us(self) -> int:
        return SystemClock().now_us() + self._days * 86_400_000_000


def withhold(made: Sample, *frames: str, name: bool = False) -> None:
    """Redact the middle of screens, and the counterparty everywhere."""
    with redacting(made) as work:
        asked = [
            work.ask_frame(ASKED, Sha256(one), [Box(x=40, y=40, width=90, height=90)], BASIS)
            for one in frames
        ]
        if name:
            first = next(work.stored.events(ACME, names=("task.opened",))).envelope.event_id
            places: dict[EventId, list[str]] = {first: ["/data/intent/counterparty"]}
            places |= dict(work.places_of(first, places[first]))
            asked += [work.ask_event(ASKED, event, held, BASIS) for event, held in places.items()]
        for one in asked:
            work.answer(ALLOWED, one.redaction, "approve")


def append(made: Sample, stream: StreamId, fact: e.PrivacyEvent, version: int = 1) -> None:
    ids, clock = SystemIds(), SystemClock()
    envelope = Envelope(
        event_id=ids.event_id(),
        tenant=ACME,
        stream=stream,
        version=version,
        principal=ASKED.principal,
        occurred_at_us=clock.now_us(),
        salt=ids.salt(),
    )
    with open_record(made.store) as log:
        log.append([Draft(envelope=envelope, event=fact)])


@pytest.mark.parametrize("askers_clock", [0, 60])
def test_a_request_that_waited_too_long_is_denied_and_not_approved(made: Sample, askers_clock: int) -> None:
    part = [Box(x=40, y=40, width=90, height=90)]
    with redacting(made) as work:
        frame = next(f for item in work.stored.events(ACME) for f in item.envelope.frames).sha256
        asked = replace(work, clock=Ahead(askers_clock)).ask_frame(ASKED, frame, part, BASIS)
        late = replace(work, clock=Ahead(31))
        with pytest.raises(CommandRefused, match="more than thirty days"):
            late.answer(ALLOWED, asked.redaction, "approve")
        late.answer(ALLOWED, asked.redaction, "deny")


def everything(desk: Desk) -> str:
    """All that pages show of the run, its bills and the month, as one text."""
    shown: list[object] = [desk.runs(ACME), desk.timeline(ACME, RUN), desk.tasks_of_run(ACME, RUN)]
    shown += [desk.chain(ACME, bill) for bill in desk.bills(ACME, 50)]
    shown += [desk.queue(ACME, now_us=0), desk.approvals(ACME, now_us=0)]
    shown += [desk.reconciliation(ACME, item.position) for item in desk.imports(ACME)]
    shown += [desk.places(ACME, range(1, desk.standing(ACME).events + 1))]
    return "\n".join(msgspec.json.encode(one, enc_hook=repr).decode() for one in shown)


def breaks(desk: Desk) -> list[tuple[str, str, int]]:
    (item,) = desk.imports(ACME)
    result = desk.reconciliation(ACME, item.position)
    assert result is not None
    return [(found.bill, found.kind, found.amount_minor) for found in result.breaks]


def test_a_withheld_name_is_on_no_page_and_the_books_stay_as_they_were(made: Sample, opened: Desk) -> None:
    assert NAME in everything(opened)
    before = breaks(opened)
    withhold(made, name=True)
    assert NAME not in everything(opened)
    assert "[withheld " in everything(opened)
    assert breaks(opened) == before
    again = made.desk()
    assert NAME not in everything(again), "stored views of before are built again"
    again.close()


def test_the_event_route_shows_the_rendition(made: Sample, opened: Desk) -> None:
    withhold(made, name=True)
    events = [Evidence(opened).event("acme", RUN, position) for position in range(1, 40)]
    shown = b"".join(body for body in events if body is not None)
    assert NAME.encode() not in shown
    assert b"$withheld" in shown


def _first(desk: Desk) -> str:
    line = desk.timeline(ACME, RUN)
    assert line is not None
    return line.entries[0].sha256


def test_a_withheld_screen_is_sent_as_its_rendition_to_its_tenant_only(made: Sample, opened: Desk) -> None:
    sha256 = _first(opened)
    withhold(made, sha256)
    app = Starlette(routes=evidence_routes(Evidence(opened), Everyone("acme"), Openings()))
    with TestClient(app) as http:
        answer = http.get(f"/frames/acme/{RUN}/{sha256}")
    assert answer.headers["X-Withheld"] == hashlib.sha256(answer.content).hexdigest() != sha256
    assert "immutable" not in answer.headers["Cache-Control"]
    app = Starlette(routes=evidence_routes(Evidence(opened), Everyone("globex"), Openings()))
    with TestClient(app) as http:
        assert http.get(f"/frames/acme/{RUN}/{sha256}").status_code == 404


def test_a_deleted_screen_is_told_as_deleted(made: Sample, opened: Desk) -> None:
    sha256 = _first(opened)
    _delete(made, sha256)
    app = Starlette(routes=evidence_routes(Evidence(opened), Everyone("acme"), Openings()))
    with TestClient(app) as http:
        answer = http.get(f"/frames/acme/{RUN}/{sha256}")
    assert answer.status_code == 410
    assert "by person:dpo: screens after 180 days" in answer.text


def _delete(made: Sample, sha256: str) -> None:
    path = Path(made.blobs) / sha256[:2] / sha256[2:4] / sha256
    path.unlink()
    fact = e.DataDeleted(
        deletion_id="d1",
        unit="frame/2026-11",
        key_id="0" * 16,
        basis="screens after 180 days",
        by=ASKED.principal,
        part=1,
        parts=1,
        blobs=(Sha256(sha256),),
    )
    append(made, deletion_stream("d1"), fact)


def test_the_integrity_page_names_what_is_withheld_held_and_deleted(made: Sample, opened: Desk) -> None:
    withhold(made, _first(opened))
    _delete(made, _first(opened))
    hold = e.HoldPlaced(hold_id="hold-7", kind=None, month="", basis="claim 7", by=ASKED.principal)
    append(made, RETENTION, hold)
    open_desk(opened, Everyone("acme"))
    text = said(show("integrity"))
    for words in (
        "Redactions",
        "in force",
        BASIS,
        "40,40,90,90",
        "Legal holds",
        "claim 7",
        "Deletions",
        "180 days",
    ):
        assert words in text, words


def test_a_difference_says_which_holds_cover_its_month(made: Sample, opened: Desk) -> None:
    for name, month in (("hold-7", "2026-11"), ("hold-8", "2025-01")):
        fact = e.HoldPlaced(
            hold_id=name, kind="frame", month=month, basis=f"claim {name}", by=ASKED.principal
        )
        append(made, RETENTION, fact, version=1 + (name == "hold-8"))
    open_desk(opened, Everyone("acme"))
    (item,) = opened.imports(ACME)
    result = opened.reconciliation(ACME, item.position)
    assert result is not None
    text = said(show("month", **{"break": result.breaks[0].id}))
    assert "Legal holds in force" in text
    assert "claim hold-7" in text
    assert "claim hold-8" not in text


def test_a_browser_shows_the_rendition_as_withheld_and_what_is_gone_as_deleted(
    made: Sample, opened: Desk, page: Page, tmp_path: Path
) -> None:
    line = opened.timeline(ACME, RUN)
    assert line is not None
    names = list(dict.fromkeys(entry.sha256 for entry in line.entries))
    withhold(made, names[0])
    _delete(made, names[1])
    at = next(index for index, entry in enumerate(line.entries) if entry.sha256 == names[1])
    with served(made, tmp_path) as (url, _):
        page.goto(f"{url}/replay?run={RUN}")
        player = page.locator(".pr-player")
        expect(player).to_have_attribute("data-verified", "withheld")
        expect(
            page.get_by_text("Parts withheld: this is the rendition that is on record").first
        ).to_be_visible()
        page.goto(f"{url}/replay?run={RUN}&frame={at + 1}")
        expect(player).to_have_attribute("data-verified", "deleted")
        expect(page.get_by_text("by person:dpo: screens after 180 days").first).to_be_visible()
