"""The page of metrics: split, by day, targets; and that each of its numbers opens the events that it counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from domain import events as e
from domain.envelope import Draft
from domain.events import TargetAccepted
from domain.ids import TenantId
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from projections.blobs import open_blob_reader
from projections.canary import Canary
from projections.reading import open_reader
from projections.views.slices import slices
from replay_ui.data import Desk
from replay_ui.session import open_desk
from tests.benchmarks._records import tasks
from tests.replay_ui.sample import DOUBLE, Everyone, Sample
from tests.replay_ui.views.showing import Heard, data, links, said, show
from tests.support.events import Book, TaskBook, intent, sha

ACME = TenantId("acme")
DAY_US = 86_400_000_000


@pytest.fixture
def opened(sample: Sample) -> Iterator[Desk]:
    desk = sample.desk()
    open_desk(desk, Everyone("acme"))
    yield desk
    desk.close()


@pytest.fixture(scope="module")
def forty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Forty tasks that were done."""
    folder = tmp_path_factory.mktemp("forty")
    store = f"sqlite:///{folder}/record.db"
    tasks(store, 400)
    yield from desk_over(folder, store)


@pytest.fixture
def changing(tmp_path: Path) -> Iterator[Desk]:
    """Six steps on one day; the next day's page is another one, and four of six steps are stopped."""
    store = f"sqlite:///{tmp_path}/record.db"
    with open_record(store) as log:
        book = Book(start_us=1_793_000_000_000_000)
        run = book.run("run-1")
        for number in range(6):
            made = run.task(f"task-a{number}", intent(f"A{number}"))
            made.claim()
            step(made, ui="ui-1", ok=True)
        book.now_us += DAY_US
        for number in range(6):
            made = run.task(f"task-b{number}", intent(f"B{number}"))
            made.claim()
            step(made, ui="ui-2", ok=number >= 4)
        for recorded in book.events:
            claim = recorded.event.effect_key if isinstance(recorded.event, e.TaskClaimed) else None
            log.append([Draft(envelope=recorded.envelope, event=recorded.event)], claim=claim)
    yield from desk_over(tmp_path, store)


def step(made: TaskBook, *, ui: str, ok: bool) -> None:
    """Look at a page of this structure, and one step on it that is performed or stopped."""
    look = e.ObservationRecorded(
        url="http://127.0.0.1:8800/bills", title="Bills", structure_sha256=sha(ui), document_sha256=sha(ui)
    )
    made.add(look)
    click = made.propose()
    if ok:
        made.judge(click)
        made.attempt(click, writes=False)
        made.execute(click)
    else:
        made.judge(click, "page_changed")


def desk_over(folder: Path, store: str) -> Iterator[Desk]:
    (folder / "blobs").mkdir()
    open_blobs(str(folder / "blobs"))
    views = sa.create_engine(f"sqlite:///{folder}/views.db")
    desk = Desk(open_reader(store), open_blob_reader(str(folder / "blobs")), views)
    open_desk(desk, Everyone("acme"))
    yield desk
    desk.close()


def followed(href: str) -> AppTest:
    """The page behind a link."""
    parts = urlsplit(href)
    return show(parts.path.strip("/"), **dict(parse_qsl(parts.query, keep_blank_values=True)))


def numbers(page: AppTest) -> list[tuple[str, str]]:
    """Each number of the page's tables that leads somewhere, and where."""
    return [
        (span["text"], span["href"])
        for item in data(page)
        for block in item["blocks"]
        if block["kind"] == "table"
        for row in block["rows"]
        for cell in row["cells"]
        for line in cell.get("lines", ())
        for span in line
        if span.get("look") == "number" and span.get("href")
    ]


def listed(page: AppTest) -> int:
    """Events that the page lists in its last table; 0 where it says that there are none."""
    tables = [block for item in data(page) for block in item["blocks"] if block["kind"] == "table"]
    return len(tables[-1]["rows"]) if tables else 0


@pytest.mark.parametrize("by", ["action", "rung", "principal", "ui", "day"])
def test_each_number_of_a_split_opens_as_many_events(opened: Desk, by: str) -> None:
    found = numbers(show("metrics", part="slices", by=by))
    assert found
    for shown, href in found:
        assert listed(followed(href)) == int(shown), href


def test_the_groups_of_a_split_are_those_of_the_record(opened: Desk) -> None:
    page = show("metrics", part="slices", by="ui", metric="completion")
    figures = opened.metrics(ACME).value
    own = [one for one in slices(figures.trials, "ui") if one.metric.name == "completion"]
    assert own
    assert all(f'"text": "{one.value or "not on record"}"' in said(page) for one in own)
    assert sum(len(one.metric.denominator) for one in own) == len(figures.report.completion.denominator)


def test_tenants_stand_beside_each_other_only_for_who_may_read_both(sample: Sample) -> None:
    desk = sample.desk()
    open_desk(desk, Everyone("acme", "globex"))
    both = show("metrics", part="slices", by="tenant", metric="completion", tenant="acme")
    open_desk(desk, Everyone("acme"))
    one = show("metrics", part="slices", by="tenant", metric="completion", tenant="acme")
    desk.close()
    assert [shown for shown, _ in numbers(both)][-2:] == ["1", "1"]
    assert any("tenant=globex" in href for _, href in numbers(both))
    assert "globex" not in said(one)


def test_each_day_has_its_success_beside_changes_of_the_page_and_a_warning(changing: Desk) -> None:
    page = show("metrics", part="days")
    first, second = changing.metrics(ACME).value.days
    (bars,) = [block["bars"] for item in data(page) for block in item["blocks"] if block["kind"] == "chart"]
    assert [bar["at"] for bar in bars] == [1000, 333]
    assert [bar.get("tone") for bar in bars] == ["ok", "failed"]
    assert "mark" not in bars[0]
    assert second.changes[0].after in bars[1]["mark"]
    assert "under 70 %" in said(page)
    assert (len(first.ok), len(second.ok)) == (6, 2)
    for shown, href in numbers(page):
        assert listed(followed(href)) == int(shown), href


def test_a_target_is_proposed_from_a_sample_and_accepted_by_a_person(forty: Desk) -> None:
    heard = Heard()
    open_desk(forty, Everyone("acme"), heard)
    days = forty.metrics(ACME).value.days
    query = {"part": "targets", "from": days[0].day, "to": days[-1].day, "share": "1000", "seed": "s"}
    page = show("metrics", **query)
    assert "No target was accepted yet." in said(page)
    page.selectbox(key="accept-metric").select("completion").run()
    next(button for button in page.button if button.label == "Accept this target").click().run()
    ((tenant, fact, person),) = heard.calls
    assert isinstance(fact, TargetAccepted)
    assert (tenant, person, fact.metric, fact.direction) == ("acme", "person:li.na", "completion", "at_least")
    sample = Canary(since_us=fact.since_us, until_us=fact.until_us, share_permille=1000, seed="s")
    proposal = forty.proposals(ACME, sample).value.of("completion")
    assert fact.target_permille == fact.proposed_permille == proposal.proposed_permille
    assert (fact.hits, fact.trials) == (40, 40)
    for shown, href in numbers(page):
        assert listed(followed(href)) == int(shown), href


def test_another_figure_than_the_proposed_one_needs_its_reason(forty: Desk) -> None:
    heard = Heard()
    open_desk(forty, Everyone("acme"), heard)
    days = forty.metrics(ACME).value.days
    page = show("metrics", part="targets", **{"from": days[0].day, "to": days[-1].day, "share": "1000"})
    page.selectbox(key="accept-metric").select("completion").run()
    next(field for field in page.number_input if field.label == "Target (%)").set_value(50.0)
    next(button for button in page.button if button.label == "Accept this target").click().run()
    assert heard.calls == []
    assert "needs its reason" in said(page)


def test_who_may_not_approve_accepts_no_target(forty: Desk) -> None:
    open_desk(forty, Everyone("acme", roles=["investigator"]), Heard())
    days = forty.metrics(ACME).value.days
    page = show("metrics", part="targets", **{"from": days[0].day, "to": days[-1].day, "share": "1000"})
    assert "Accept this target" not in [button.label for button in page.button]


def test_a_sample_that_is_too_small_proposes_nothing_and_says_so(opened: Desk) -> None:
    open_desk(opened, Everyone("acme"), Heard())
    page = show("metrics", part="targets", **{"from": "2026-10-01", "to": "2026-12-31", "share": "1000"})
    assert "of at least 30" in said(page)
    assert "No metric has enough events" in said(page)


def test_a_split_leads_on_to_the_bills_behind_it(opened: Desk) -> None:
    page = show("metrics", metric="mis_operation", by="action", value="mark_processed", set="numerator")
    assert any(f"bill={DOUBLE}" in href for href in links(page))
