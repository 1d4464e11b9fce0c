"""Cases, integrity, export and search: what they say, where they lead, and to whom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from domain.ids import PrincipalId, TenantId
from domain.policy import Identity
from executor.casework import Casework, sign_off
from executor.runtime.system import SystemClock, SystemIds
from executor.store.log import open_record
from executor.store.signing import make_key, sign_checkpoint
from projections.settlement.cases import casework
from replay_ui.data import Desk
from replay_ui.roles import ROLES, Role
from replay_ui.session import open_desk
from tests.replay_ui.sample import DONE, DOUBLE, FAKE, RUN, Everyone, Sample, make
from tests.replay_ui.views.showing import Heard, data, links, rows_of, said, show

ACME = TenantId("acme")
LI = Identity(principal=PrincipalId("person:li.na"), kind="person", tenants=(ACME,), actions=())


def keep_cases(made: Sample, desk: Desk) -> None:
    """Keep the month's differences, as ``proofreel reconcile --keep`` does."""
    (item,) = desk.imports(ACME)
    result = desk.reconciliation(ACME, item.position)
    assert result is not None
    with open_record(made.store) as log:
        work = Casework(log, ids=SystemIds(), clock=SystemClock(), tenant=ACME)
        for one in casework(result, {}, by=PrincipalId("person:li.na")):
            work.submit(one.break_id, one.commands, principal=PrincipalId("person:li.na"))


@pytest.fixture
def made(tmp_path: Path) -> Sample:
    return make(tmp_path)


@pytest.fixture
def opened(made: Sample) -> Iterator[Desk]:
    desk = made.desk()
    open_desk(desk, Everyone("acme"))
    yield desk
    desk.close()


def test_the_inbox_has_what_waits_with_the_most_urgent_first(made: Sample, opened: Desk) -> None:
    keep_cases(made, opened)
    page = show("")
    kinds = [row["cells"][0]["lines"][0][0]["text"] for row in rows_of(page)]
    assert kinds[:3] == ["Takeover", "Takeover", "Approval"]
    assert set(kinds[3:]) == {"Difference"}
    assert len(kinds) == 3 + len(opened.cases(ACME))
    assert "not kept as a case" not in said(page)
    assert "late" in said(page)
    found = links(page)
    assert "/queue?tenant=acme&task=task-refund" in found
    assert "/queue?tenant=acme&task=task-fake" in found
    assert any(link.startswith("/month?tenant=acme&file=") and "break=" in link for link in found)


def test_differences_that_nobody_kept_wait_too(opened: Desk) -> None:
    page = show("")
    assert len(rows_of(page)) == 3 + 4
    assert "not kept as a case" in said(page)


def test_the_inbox_can_be_narrowed_by_the_address(made: Sample, opened: Desk) -> None:
    keep_cases(made, opened)
    page = show("", kind="difference")
    kinds = {row["cells"][0]["lines"][0][0]["text"] for row in rows_of(page)}
    assert kinds == {"Difference"}
    assert "Done twice by two tasks" in said(page)


def test_a_difference_that_is_no_case_says_how_to_keep_it(opened: Desk) -> None:
    page = show("month", **{"break": _double(opened)})
    assert "not kept as a case" in said(page)
    assert "--keep" in said(page)


def test_a_difference_is_kept_as_a_case_with_a_button(made: Sample, opened: Desk) -> None:
    heard, double = Heard(), _double(opened)
    open_desk(opened, Everyone("acme"), heard)
    page = press(show("month", **{"break": double}), "Keep as a case")
    assert heard.calls == [("keep", "acme", "2026-11", double, "person:li.na")]
    assert "The difference is kept as a case." in said(page)
    keep_cases(made, opened)
    page = show("month", **{"break": double})
    assert not [button for button in page.button if button.label == "Keep as a case"]


def test_a_case_is_signed_off_for_exactly_what_was_read(made: Sample, opened: Desk) -> None:
    keep_cases(made, opened)
    heard = Heard()
    open_desk(opened, Everyone("acme"), heard)
    page = show("month", **{"break": _double(opened)})
    assert "waits for sign-off" in said(page)
    assert "case.concluded" in said(page)
    next(button for button in page.button if button.label.startswith("Sign off")).click().run()
    case = next(row for row in opened.cases(ACME) if row.bill_id == DOUBLE)
    assert heard.calls == [("acme", case.break_id, case.digest, "person:li.na", "")]


def test_whom_a_conclusion_names_is_not_offered_to_sign_it(made: Sample, opened: Desk) -> None:
    keep_cases(made, opened)
    open_desk(opened, Everyone("acme"), Heard())
    page = show("month", **{"break": _double(opened)})
    assert next(box for box in page.selectbox if box.label == "Decide as").options == ["person:li.na"]


def press(page: AppTest, label: str) -> AppTest:
    return next(button for button in page.button if button.label.startswith(label)).click().run()


def test_an_investigator_notes_on_a_case_and_a_signed_one_is_reopened_with_a_reason(
    made: Sample, opened: Desk
) -> None:
    keep_cases(made, opened)
    heard = Heard()
    case = next(row for row in opened.cases(ACME) if row.bill_id == DOUBLE)
    open_desk(opened, Everyone("acme"), heard)
    page = show("month", **{"break": case.break_id})
    page.text_input(key="note-note").input("asked the vendor")
    press(page, "Keep the note")
    assert heard.calls == [("note", "acme", case.break_id, "person:li.na", "asked the vendor")]
    with open_record(made.store) as log:
        work = Casework(log, ids=SystemIds(), clock=SystemClock(), tenant=ACME)
        sign_off(work, case.break_id, LI, case.digest)
    page = show("month", **{"break": case.break_id})
    assert not [button for button in page.button if button.label.startswith("Sign off")]
    page.text_input(key="reopen-note").input("a late file")
    press(page, "Reopen")
    assert heard.calls[-1] == ("reopen", "acme", case.break_id, "person:li.na", "a late file")


@pytest.mark.parametrize("role", ROLES)
def test_notes_are_for_who_investigates_or_approves(made: Sample, opened: Desk, role: Role) -> None:
    keep_cases(made, opened)
    open_desk(opened, Everyone("acme", roles=[role]), Heard())
    page = show("month", **{"break": _double(opened)})
    offered = any(button.label == "Keep the note" for button in page.button)
    assert offered == (role in {"investigator", "approver"})


def test_all_lines_of_a_month_are_there_each_with_what_was_expected(opened: Desk) -> None:
    (item,) = opened.imports(ACME)
    result = opened.reconciliation(ACME, item.position)
    assert result is not None
    rows = rows_of(show("month", show="lines"))
    assert len(rows) == len(result.matched) + len(result.breaks)
    states = [row["cells"][-1]["lines"][0][0]["text"] for row in rows]
    assert states.count("agrees") == len(result.matched) > 0
    assert f"/chain?tenant=acme&bill={result.matched[0].found.bill}" in links(show("month", show="lines"))


@pytest.mark.parametrize("roles", [["investigator"], ["auditor"], ["operator"]])
def test_only_approvers_are_offered_decisions_on_approvals_and_cases(
    made: Sample, opened: Desk, roles: list[str]
) -> None:
    keep_cases(made, opened)
    open_desk(opened, Everyone("acme", roles=roles), Heard())  # type: ignore[arg-type]
    for page in (show("queue", task="task-refund"), show("month", **{"break": _double(opened)})):
        assert not [button for button in page.button if button.label.startswith(("Approve", "Sign off"))]
    offered = [button.label for button in show("queue", task="task-fake").button]
    assert ("Take over" in offered) == (roles == ["operator"])


def test_a_person_decides_under_their_own_name_only(opened: Desk) -> None:
    heard = Heard()
    open_desk(opened, Everyone("acme", roles=["approver", "operator"]), heard)
    page = show("queue", task="task-refund")
    grant = next(button for button in page.button if button.label == "Approve exactly this")
    assert grant.disabled, "person:tester is not among the people who act"
    assert next(box for box in page.selectbox if box.label == "Decide as").options == []


def test_integrity_names_the_root_and_that_nothing_is_signed_yet(opened: Desk) -> None:
    page = show("integrity")
    head = opened.reader.head(ACME)
    assert head is not None
    assert head.root.hex() in said(page)
    assert "No checkpoint was ever signed" in said(page)
    assert "has not checked the record yet" in said(page)


def test_a_signed_checkpoint_covers_the_evidence_though_somebody_looked_since(
    made: Sample, opened: Desk, tmp_path: Path
) -> None:
    with open_record(made.store) as log:
        sign_checkpoint(log, ACME, make_key(tmp_path / "desk.key", "desk.example"), SystemClock())
    page = show("integrity")
    assert "covers all evidence" in said(page)
    assert "desk.example" in said(page)


def test_a_check_is_kept_with_the_end_that_it_speaks_of(opened: Desk) -> None:
    page = show("integrity")
    next(button for button in page.button if button.label == "Check now").click().run()
    assert not page.exception
    assert "Nothing was found wrong" in said(page)
    assert "Nothing was found wrong" in said(show("integrity"))


def test_damage_is_shown_with_its_place(made: Sample) -> None:
    with sa.create_engine(made.store).begin() as connection:
        names = connection.execute(
            sa.text("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        ).fetchall()
        for (name,) in names:
            connection.execute(sa.text(f"DROP TRIGGER {name}"))
        connection.execute(
            sa.text(
                "UPDATE event SET body = CAST(replace(body, 'mark the bills', 'mark no bills') AS BLOB)"
                " WHERE tenant = 'acme' AND position = 1"
            )
        )
    desk = made.desk()
    open_desk(desk, Everyone("acme"))
    page = show("integrity")
    next(button for button in page.button if button.label == "Check now").click().run()
    desk.close()
    assert "damaged" in said(page)
    assert "#1" in said(page)


def test_a_bundle_is_offered_for_what_is_on_record(opened: Desk) -> None:
    assert "/bundles/acme.zip?kind=bill&name=B1" in links(show("export", kind="bill", name=DONE))
    assert f"/bundles/acme.zip?kind=run&name={RUN}" in links(show("export", kind="run", name=RUN))
    assert "/bundles/acme.zip?kind=month&name=2026-11" in links(show("export", kind="month", name="2026-11"))
    assert "/bundles/acme.zip?kind=log&name=" in links(show("export", kind="log"))
    page = show("export", kind="bill", name="no-such-bill")
    assert not any("/bundles/" in link for link in links(page))
    assert "nothing to export" in said(page)


def test_evidence_is_carried_away_by_auditors_only(opened: Desk) -> None:
    open_desk(opened, Everyone("acme", roles=["investigator"]))
    page = show("export", kind="bill", name=DONE)
    assert not any("/bundles/" in link for link in links(page))
    assert "auditors" in said(page)
    assert not any("/bundles/" in link for link in links(show("month", **{"break": _double(opened)})))
    assert [button.label for button in show("integrity").button if button.label == "Check now"] == []


def test_a_search_leads_to_chain_and_replay(opened: Desk) -> None:
    page = show("search", q="svc:acme-batch")
    assert f"/chain?tenant=acme&bill={FAKE}" in links(page)
    assert f"/replay?tenant=acme&run={RUN}" in links(page)
    stored = opened.stored(ACME, 7)
    assert stored is not None
    by_hash = show("search", q=stored.row.entry_hash.hex())
    assert any("event=7" in link or "at=7" in link for link in links(by_hash))
    assert "Nothing is on record" in said(show("search", q="no such thing"))


def test_the_sidebar_searches_from_every_page(opened: Desk) -> None:
    page = show("metrics")
    field = next(item for item in page.sidebar.text_input if item.label == "Search")
    field.input(DONE).run()
    assert page.session_state["_followed"] == f"/search?tenant=acme&q={DONE}"


def test_every_page_has_its_data(opened: Desk) -> None:
    for path in ("", "integrity", "export", "search"):
        assert data(show(path))


def _double(desk: Desk) -> str:
    (item,) = desk.imports(ACME)
    result = desk.reconciliation(ACME, item.position)
    assert result is not None
    return next(found.id for found in result.breaks if found.bill == DOUBLE)
