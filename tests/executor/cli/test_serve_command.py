"""``proofreel serve``: what people decide at the desk is recorded as theirs, by the rules of the commands."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.case import OpenCase
from domain.errors import CommandRefused, ConfigError
from domain.events import CaseOpened, TargetAccepted
from domain.ids import PrincipalId, TenantId
from executor.casework import Casework
from executor.cli import run_command
from executor.cli.serve_command import RecordedDecisions
from executor.config import load_config
from executor.runtime.system import SystemClock, SystemIds
from executor.store.log import open_record
from projections.views.reconciliation import Reconciliation
from replay_ui.operator_actions import AskedRedaction
from tests.replay_ui.sample import Sample, make
from tests.support.site import Answer, running_site

ACME = TenantId("acme")
CONFIG = """
tenant: acme
identity: {principal: "svc:acme-batch", tenants: [acme], actions: [mark_processed, refund, undo]}
people:
  - {principal: "person:li.na", tenants: [acme], actions: ["approve:refund"]}
  - {principal: "person:wang.lei", tenants: [globex], actions: ["approve:refund"]}
  - {principal: "person:chen.jie", tenants: [acme]}
target:
  name: vendor portal
  origin: http://127.0.0.1:8800
  recipe: vendor-portal
  service: {account: svc-acme, secret_env: SERVICE_PASSWORD}
  readback: {account: readback-acme, secret_env: READBACK_PASSWORD}
"""


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return make(tmp_path)


@pytest.fixture
def decisions(sample: Sample, tmp_path: Path) -> Iterator[RecordedDecisions]:
    path = tmp_path / "proofreel.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    with open_record(sample.store) as log:
        yield RecordedDecisions(load_config(path), log)


def grant(decisions: RecordedDecisions, person: str, approval: str = "approval-refund") -> None:
    decisions.answer("acme", "task-refund", approval=approval, verdict="grant", person=person, note="checked")


def test_only_people_of_the_tenant_are_offered(decisions: RecordedDecisions) -> None:
    assert decisions.people("acme") == ["person:li.na", "person:chen.jie"]
    assert decisions.people("nobody") == []


def test_an_approval_is_recorded_as_the_persons(decisions: RecordedDecisions, sample: Sample) -> None:
    grant(decisions, "person:li.na")
    desk = sample.desk()
    last = list(desk.reader.events(ACME))[-1]
    desk.close()
    assert (last.name, last.envelope.principal) == ("approval.granted", "person:li.na")


def test_a_request_that_took_the_place_of_the_seen_one_is_not_granted(decisions: RecordedDecisions) -> None:
    with pytest.raises(CommandRefused, match=r"approval\.changed"):
        grant(decisions, "person:li.na", approval="approval-before")


def undelivered(sample: Sample) -> list[tuple[int, int, dict[str, str]]]:
    """Position, tries and failures of each dead letter."""
    desk = sample.desk()
    found = [(letter.position, letter.tries, letter.failed) for _, letter in desk.letters(ACME)]
    desk.close()
    return found


def test_an_alert_is_tried_again_under_the_persons_name_until_it_is_delivered(
    sample: Sample, tmp_path: Path
) -> None:
    path = tmp_path / "proofreel.yaml"
    ((seen, tries, failed),) = undelivered(sample)
    assert (tries, failed) == (1, {"webhook": "ConnectError, 3 tries"})
    with running_site() as site, open_record(sample.store) as log:
        path.write_text(f"{CONFIG}notify: {{webhook: '{site.url}/hook'}}\n", encoding="utf-8")
        decisions = RecordedDecisions(load_config(path), log)
        site.answers["/hook"] = Answer(500)
        went = decisions.tell_again("acme", "task-stopped", position=seen, person="person:chen.jie")
        assert went == {"webhook": "HTTPStatusError, 3 tries"}
        ((now, tries, failed),) = undelivered(sample)
        assert (tries, failed) == (2, {"webhook": "HTTPStatusError, 3 tries"})
        with pytest.raises(CommandRefused, match=r"alert\.changed"):
            decisions.tell_again("acme", "task-stopped", position=seen, person="person:chen.jie")
        site.answers["/hook"] = Answer(200)
        assert decisions.tell_again("acme", "task-stopped", position=now, person="person:chen.jie") == {
            "webhook": "ok"
        }
    assert undelivered(sample) == []
    desk = sample.desk()
    last = [one for one in desk.reader.events(ACME) if one.name == "alert.raised"][-1]
    desk.close()
    assert last.envelope.principal == "person:chen.jie"


def test_a_note_is_kept_only_for_a_tenant_of_ones_own(decisions: RecordedDecisions, sample: Sample) -> None:
    with open_record(sample.store) as log:
        work = Casework(log, ids=SystemIds(), clock=SystemClock(), tenant=ACME)
        fact = CaseOpened(break_id="b1", month="2026-11", bill_id="B1", kind="extra_in_file", currency="CNY")
        work.submit("b1", [OpenCase(fact)], principal=PrincipalId("person:li.na"))
    decisions.note_case("acme", "b1", person="person:li.na", text="asked the vendor")
    with pytest.raises(CommandRefused, match=r"case\.tenant"):
        decisions.note_case("acme", "b1", person="person:wang.lei", text="me too")
    with pytest.raises(CommandRefused, match=r"case\.reopen_order"):
        decisions.reopen_case("acme", "b1", person="person:li.na", reason="again")
    desk = sample.desk()
    (case,) = desk.cases(ACME)
    desk.close()
    assert [(entry.name, entry.by) for entry in case.entries][-1] == ("case.noted", "person:li.na")


def a_target() -> TargetAccepted:
    return TargetAccepted(
        metric="completion",
        direction="at_least",
        target_permille=900,
        proposed_permille=900,
        low_permille=900,
        high_permille=1000,
        hits=40,
        trials=40,
        since_us=0,
        until_us=1,
        share_permille=1000,
        seed="s",
        through_position=10,
    )


def test_a_target_is_accepted_under_the_persons_name(decisions: RecordedDecisions, sample: Sample) -> None:
    decisions.accept_target("acme", a_target(), person="person:li.na")
    desk = sample.desk()
    holds = desk.targets(ACME)["completion"].holds
    desk.close()
    assert holds is not None
    assert (holds.by, holds.fact) == ("person:li.na", a_target())


def test_a_target_of_another_tenant_is_accepted_by_nobody_who_does_not_act_there(
    decisions: RecordedDecisions,
) -> None:
    with pytest.raises(CommandRefused, match=r"target\.tenant"):
        decisions.accept_target("acme", a_target(), person="person:wang.lei")


def test_an_alert_of_another_tenant_is_not_tried_by_somebody_who_does_not_act_there(
    decisions: RecordedDecisions, sample: Sample
) -> None:
    ((seen, *_),) = undelivered(sample)
    with pytest.raises(CommandRefused, match=r"person\.tenant"):
        decisions.tell_again("acme", "task-stopped", position=seen, person="person:wang.lei")


@pytest.mark.parametrize(
    ("person", "rule"), [("person:chen.jie", "approval.right"), ("person:wang.lei", "person.tenant")]
)
def test_a_person_without_the_right_approves_nothing(
    decisions: RecordedDecisions, sample: Sample, person: str, rule: str
) -> None:
    with pytest.raises(CommandRefused, match=rule):
        grant(decisions, person)
    desk = sample.desk()
    assert len(desk.approvals(ACME, now_us=0)) == 1
    desk.close()


def test_somebody_who_is_not_configured_decides_nothing(decisions: RecordedDecisions) -> None:
    with pytest.raises(ConfigError, match="no person"):
        grant(decisions, "person:stranger")


def month(sample: Sample) -> Reconciliation:
    desk = sample.desk()
    (item,) = desk.imports(ACME)
    result = desk.reconciliation(ACME, item.position)
    desk.close()
    assert result is not None
    return result


def test_one_difference_is_kept_as_the_persons_case_and_again_changes_nothing(
    decisions: RecordedDecisions, sample: Sample
) -> None:
    result = month(sample)
    chosen = result.breaks[0].id
    decisions.keep_case("acme", result, chosen, person="person:li.na")
    desk = sample.desk()
    (case,) = desk.cases(ACME)
    last = list(desk.reader.events(ACME))[-1]
    assert (case.break_id, case.standing) == (chosen, "waits")
    assert (last.name, last.envelope.principal) == ("case.concluded", "person:li.na")
    decisions.keep_case("acme", result, chosen, person="person:li.na")
    assert list(desk.reader.events(ACME))[-1].row.position == last.row.position
    desk.close()


def test_a_difference_that_the_month_does_not_have_or_of_another_tenant_is_not_kept(
    decisions: RecordedDecisions, sample: Sample
) -> None:
    result = month(sample)
    with pytest.raises(CommandRefused, match=r"case\.gone"):
        decisions.keep_case("acme", result, "no-such-difference", person="person:li.na")
    with pytest.raises(CommandRefused, match=r"case\.tenant"):
        decisions.keep_case("acme", result, result.breaks[0].id, person="person:wang.lei")


def test_people_are_offered_by_the_right_that_they_have(decisions: RecordedDecisions) -> None:
    assert decisions.people("acme", "approve:refund") == ["person:li.na"]
    assert decisions.people("acme", "redact") == []


def test_without_the_tenants_configuration_nothing_is_asked_to_be_withheld(
    decisions: RecordedDecisions,
) -> None:
    asked = AskedRedaction(kind="frame", subject="0" * 64, basis="GDPR Art. 17")
    with pytest.raises(ConfigError, match="serve the desk with the configuration"):
        decisions.ask_redaction("acme", asked, person="person:li.na")


def test_a_takeover_is_taken_and_closed_by_its_owner(decisions: RecordedDecisions, sample: Sample) -> None:
    decisions.take("acme", "task-fake", person="person:li.na")
    with pytest.raises(CommandRefused):
        decisions.take("acme", "task-fake", person="person:chen.jie")
    decisions.resolve(
        "acme", "task-fake", resolution="effect_absent", person="person:li.na", note="looked it up"
    )
    desk = sample.desk()
    waiting = {item.task_id for item in desk.queue(ACME, now_us=0)}
    desk.close()
    assert "task-fake" not in waiting


def test_a_task_that_is_not_there_is_named(decisions: RecordedDecisions) -> None:
    with pytest.raises(ConfigError, match="no task task-nobody"):
        decisions.take("acme", "task-nobody", person="person:li.na")


def test_a_taken_port_is_one_line_that_names_the_option(
    sample: Sample, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code = run_command(["serve", "--store", sample.store, "--blobs", sample.blobs, "--port", port])
    error = capsys.readouterr().err
    assert code == 2
    assert error.count("\n") == 1
    assert "--port" in error


def test_an_address_that_others_reach_is_refused_without_access_control(
    sample: Sample, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = run_command(["serve", "--store", sample.store, "--blobs", sample.blobs, "--host", "0.0.0.0"])  # noqa: S104 - refused
    assert code == 2
    assert "no access control" in capsys.readouterr().err


def test_a_tenant_that_is_not_on_record_is_refused(
    sample: Sample, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = run_command(["serve", "--store", sample.store, "--blobs", sample.blobs, "--tenant", "nobody"])
    assert code == 2
    assert "it has: acme, globex" in capsys.readouterr().err
