"""Each page on a small record: what it says, where it leads, and what a stranger sees."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from domain.ids import TenantId
from projections.views.reconciliation import break_id
from replay_ui.app import PAGES
from replay_ui.data import Desk
from replay_ui.session import open_desk
from tests.replay_ui.sample import DOUBLE, FAKE, RUN, SECRET_BILL, STOPPED, WATCHED, Everyone, Sample
from tests.replay_ui.synthetic import HOSTILE
from tests.replay_ui.views.showing import Heard, data, links, note_of, rows_of, said, show, thumbs

BREAK = break_id(TenantId("acme"), "2026-11", DOUBLE, "duplicate_in_file")


@pytest.fixture
def opened(sample: Sample) -> Iterator[Desk]:
    desk = sample.desk()
    open_desk(desk, Everyone("acme"))
    yield desk
    desk.close()


def test_runs_lead_to_their_replay(opened: Desk) -> None:
    page = show("runs")
    assert {f"/replay?tenant=acme&run={RUN}", f"/replay?tenant=acme&run={WATCHED}"} <= links(page)
    assert "target changed 1" in said(page)
    assert "record only" in said(page)


def test_a_filter_in_the_address_narrows_the_runs(opened: Desk) -> None:
    page = show("runs", mode="record_only")
    assert f"/replay?tenant=acme&run={RUN}" not in links(page)
    assert f"/replay?tenant=acme&run={WATCHED}" in links(page)
    assert "Nothing matches" in said(show("runs", q="no such words"))


def test_a_choice_goes_into_the_address(opened: Desk) -> None:
    page = show("runs")
    page.selectbox(key="filter-mode").select("guarded").run()
    assert page.query_params["mode"] in ("guarded", ["guarded"])
    assert f"/replay?tenant=acme&run={WATCHED}" not in links(page)
    page.selectbox(key="filter-mode").select("").run()
    assert "mode" not in page.query_params


def test_a_replay_has_the_run_its_tasks_and_their_first_frames(opened: Desk) -> None:
    page = show("replay", run=RUN)
    player = next(item for item in data(page) if "manifest" in item)
    assert player["manifest"] == f"/manifest/acme/{RUN}"
    assert player["n"] == 9
    assert f"/replay?tenant=acme&run={RUN}&frame=1" in links(page)
    assert f"/replay?tenant=acme&run={RUN}&frame=5" in links(page)
    assert f"/chain?tenant=acme&bill={FAKE}" in links(page)


def test_an_event_in_the_address_becomes_its_frame(opened: Desk) -> None:
    line = opened.timeline(TenantId("acme"), RUN)
    assert line is not None
    page = show("replay", run=RUN, at=str(line.entries[4].position))
    assert next(item for item in data(page) if "manifest" in item)["seek"] == 4
    assert "at" not in page.query_params


def test_a_run_that_is_not_there_says_so(opened: Desk) -> None:
    assert "There is no such run" in said(show("replay", run="run-globex"))


def test_the_month_names_difference_cause_and_responsible(opened: Desk) -> None:
    page = show("month")
    words = said(page)
    assert "Done twice by two tasks" in words
    assert "proven" in words
    assert "svc:acme-batch" in words
    assert "Record verified" in words
    assert any(f"break={BREAK}" in link for link in links(page))
    assert "Done twice" not in said(show("month", kind="missing_in_file"))
    assert "Done twice" not in said(show("month", sure="supported"))


def test_a_difference_leads_to_its_events_frames_chain_and_bundle(opened: Desk) -> None:
    (item,) = opened.imports(TenantId("acme"))
    page = show("month", **{"break": BREAK})
    found = links(page)
    assert f"/bundles/acme/{item.position}/{BREAK}.zip" in found
    assert f"/chain?tenant=acme&bill={DOUBLE}" in found
    assert any(link.startswith(f"/replay?tenant=acme&run={WATCHED}&at=") for link in found)
    assert any(link.startswith(f"/chain?tenant=acme&bill={DOUBLE}&event=") for link in found)
    assert "Counter-evidence" in said(page)
    assert "not found" in said(page)


def test_a_chain_restores_each_write_and_lists_every_event(opened: Desk) -> None:
    page = show("chain", bill=FAKE)
    words = said(page)
    chain = opened.chain(TenantId("acme"), FAKE)
    assert chain is not None
    assert all(json.dumps(item.sentence, ensure_ascii=False)[1:-1] in words for item in chain.items)
    assert "The screen claimed" in words
    assert "refuted" in words
    assert any(item["src"].startswith(f"/frames/acme/{RUN}/") for item in thumbs(data(page)))


def test_one_category_of_a_chain_can_be_shown_alone(opened: Desk) -> None:
    words = said(show("chain", bill=FAKE, show="readback"))
    assert "readback.mismatched" in words
    assert "task.opened" not in words


def test_the_event_in_the_address_is_marked(opened: Desk) -> None:
    chain = opened.chain(TenantId("acme"), FAKE)
    assert chain is not None
    page = show("chain", bill=FAKE, event=str(chain.items[-1].position))
    (shown,) = (block for item in data(page) for block in item["blocks"] if block["kind"] == "chain")
    assert [bool(item.get("chosen")) for item in shown["items"]] == [False] * (len(chain.items) - 1) + [True]


def test_text_of_an_audited_page_stays_a_text(opened: Desk) -> None:
    page = show("chain", bill=STOPPED)
    assert HOSTILE in json.dumps(data(page)).encode().decode("unicode_escape")
    assert not any(HOSTILE in str(element.proto) for element in page.get("html"))
    assert not any(HOSTILE in element.value for element in page.markdown)


def test_the_queue_without_people_only_shows(opened: Desk) -> None:
    page = show("queue", task="task-refund")
    assert "decides nothing" in said(page)
    assert "12,400.50 CNY" in said(page)
    assert [button.label for button in page.button] == ["Look again"]


def test_an_approval_is_given_by_somebody_else_for_what_was_seen(opened: Desk) -> None:
    heard = Heard()
    open_desk(opened, Everyone("acme"), heard)
    page = show("queue", task="task-refund")
    decide_as = next(box for box in page.selectbox if box.label == "Decide as")
    assert decide_as.options == ["person:li.na"]
    note_of(page).input("checked with the counterparty")
    next(button for button in page.button if button.label == "Approve exactly this").click().run()
    assert heard.calls == [
        ("acme", "task-refund", "approval-refund", "grant", "person:li.na", "checked with the counterparty")
    ]
    assert "on record" in said(page)


def test_a_refused_decision_says_why(opened: Desk) -> None:
    open_desk(opened, Everyone("acme"), Heard(refuse=True))
    page = show("queue", task="task-refund")
    next(button for button in page.button if button.label == "Refuse").click().run()
    assert "may not approve" in said(page)


def test_a_takeover_is_closed_with_a_note_only(opened: Desk) -> None:
    heard = Heard()
    open_desk(opened, Everyone("acme"), heard)
    page = show("queue", task="task-fake")
    close = next(button for button in page.button if button.label == "Close with this finding")
    close.click().run()
    assert heard.calls == []
    assert "closed with a note" in said(page)
    note_of(page).input("looked it up")
    next(button for button in page.button if button.label == "Close with this finding").click().run()
    assert heard.calls == [("acme", "task-fake", "effect_present", "person:li.na", "looked it up")]


def test_a_metric_leads_to_the_events_it_counts(opened: Desk) -> None:
    page = show("metrics")
    report = opened.metrics(TenantId("acme")).value.report
    (wrong,) = report.mis_operation.numerator
    assert f"/chain?tenant=acme&bill={DOUBLE}&event={wrong}" in links(page)
    assert "had taken effect before" in said(page)
    page = show("metrics", metric="completion", set="denominator")
    assert all(f"event={position}" in said(page) for position in report.completion.denominator)


def test_a_period_without_tasks_says_what_to_do(opened: Desk) -> None:
    assert "No task was opened" in said(show("metrics", since="2030-01-01"))
    assert "No task was opened" in said(show("metrics", until="2020-01-01"))
    assert "No task was opened" not in said(show("metrics", since="2026-10-26", until="2026-10-26"))


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("language", ["zh", "ja", "ko"])
def test_each_page_is_there_in_each_language(opened: Desk, path: str, language: str) -> None:
    page = show(path, language)
    assert data(page)
    assert page.title[0].value != show(path).title[0].value


@pytest.mark.parametrize("language", ["zh", "ja", "ko"])
def test_evidence_is_said_in_the_readers_language(opened: Desk, language: str) -> None:
    acme = TenantId("acme")
    (item,) = opened.imports(acme)
    result = opened.reconciliation(acme, item.position)
    assert result is not None
    for found in result.breaks:
        page = said(show("month", language, **{"break": found.id}))
        for finding in found.findings:
            assert finding.summary not in page
            assert all(piece.sentence not in page for piece in finding.decisive)
            assert all(counter.looked_for not in page for counter in finding.counter_evidence)
    page = said(show("chain", language, bill=FAKE))
    chain = opened.chain(acme, FAKE)
    assert chain is not None
    assert [entry.sentence for entry in chain.items if entry.sentence in page] == []


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("query", [{"tenant": "globex"}, {"tenant": "nobody"}])
def test_another_tenants_name_in_the_address_shows_nothing(
    opened: Desk, path: str, query: dict[str, str]
) -> None:
    page = show(path, **query, run="run-globex", bill=SECRET_BILL, file="1", task="task-globex")
    assert data(page) == []
    assert "no such tenant" in page.info[0].value


@pytest.mark.parametrize("path", PAGES)
def test_another_tenants_ids_under_ones_own_tenant_show_nothing_of_it(opened: Desk, path: str) -> None:
    page = show(
        path, tenant="acme", run="run-globex", bill=SECRET_BILL, task="task-globex", event="3", at="3"
    )
    theirs = {"task-globex", f"acme:{SECRET_BILL}", f"globex:{SECRET_BILL}", "/globex/"}
    assert not any(name in said(page) for name in theirs)


@pytest.mark.parametrize("path", PAGES)
def test_an_empty_record_says_what_to_do_next(
    path: str, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = sample.desk()
    nobody = "nobody-has-anything"
    monkeypatch.setattr(desk, "tenants", lambda: [TenantId(nobody)])
    open_desk(desk, Everyone(nobody))
    page = show(path)
    desk.close()
    notes = [block for item in data(page) for block in item.get("blocks", ()) if block["kind"] == "note"]
    assert notes
    assert path == "queue" or notes[0]["detail"]


def test_a_long_table_goes_on_a_page_further(opened: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = opened.runs(TenantId("acme")) * 300
    monkeypatch.setattr(opened, "runs", lambda _, offset, limit, **__: runs[offset : offset + limit])
    monkeypatch.setattr(opened, "count_runs", lambda _, **__: len(runs))
    first, second = show("runs"), show("runs", page="2")
    assert "1–100 of 600" in said(first)
    assert "101–200 of 600" in said(second)
    assert any("page=2" in link for link in links(first))
    assert len(rows_of(first)) == 100
    assert len(rows_of(second)) == 100
