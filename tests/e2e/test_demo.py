"""The main job, end to end: what the demo says happened is what happened.

Outcomes are compared with the portal's own file, never only with our record.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from domain import events as e
from domain.ids import TenantId
from executor.cli import run_command
from executor.sandbox import story
from executor.sandbox.portal.truth import PortalTruth
from projections.reading import open_reader
from tests.e2e.conftest import Demo

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


@pytest.fixture
def facts(demo: Demo) -> list[tuple[str, e.Event]]:
    with open_reader(demo.said["store"]) as reader:
        return [
            (recorded.envelope.correlation_id or "", recorded.event)
            for recorded in reader.events(TenantId(story.TENANT))
        ]


def about(facts: list[tuple[str, e.Event]], bill: str) -> list[e.Event]:
    return [event for correlation, event in facts if correlation == f"bill:{bill}"]


def bill_with(facts: list[tuple[str, e.Event]], wanted: Callable[[e.Event], bool]) -> str:
    return next(correlation.removeprefix("bill:") for correlation, event in facts if wanted(event))


def test_the_batch_ends_as_the_business_must_see_it(demo: Demo) -> None:
    statuses = Counter(outcome["status"] for outcome in demo.said["outcomes"])
    assert statuses == {"succeeded": 11, "taken_over": 1, "refused": 1, "failed": 1}
    bills = {o["bill_id"] for o in demo.said["outcomes"] if o["status"] != "refused"}
    assert len(bills) >= 12
    truth = PortalTruth(demo.folder / "portal.db")
    for outcome in demo.said["outcomes"]:
        if outcome["action"] == "mark_processed":
            done = [entry for entry in truth.history(outcome["bill_id"]) if entry.action.value == "process"]
            assert len(done) == (1 if outcome["status"] == "succeeded" else 0), outcome


def test_two_executor_processes_at_one_bill_make_one_write(demo: Demo) -> None:
    assert demo.said["two_processes"] == ["already_in_progress", "succeeded"]


def test_a_fake_success_is_handed_to_a_person_and_says_what_the_screen_claimed(
    demo: Demo, facts: list[tuple[str, e.Event]]
) -> None:
    taken = next(o for o in demo.said["outcomes"] if o["status"] == "taken_over")
    events = about(facts, taken["bill_id"])
    assert any(isinstance(event, e.ActionExecuted) and event.toast for event in events)
    assert any(isinstance(event, e.ReadbackMismatched) for event in events)
    assert not any(isinstance(event, e.TaskSucceeded) for event in events)


def test_a_row_inserted_between_look_and_click_is_blocked_then_done(
    demo: Demo, facts: list[tuple[str, e.Event]]
) -> None:
    blocked = [o for o in demo.said["outcomes"] if o["blocks"] and o["status"] == "succeeded"]
    assert len(blocked) == 1
    stop = next(event for event in about(facts, blocked[0]["bill_id"]) if isinstance(event, e.ActionBlocked))
    assert stop.verdict == "target_changed"
    assert stop.expected != stop.found


def test_another_tenants_bill_is_refused_and_nothing_is_clicked(
    demo: Demo, facts: list[tuple[str, e.Event]]
) -> None:
    refused = next(o for o in demo.said["outcomes"] if o["status"] == "refused")
    assert refused["verdict"] == "out_of_scope"
    kinds = {type(event) for correlation, event in facts if correlation == f"bill:{refused['bill_id']}"}
    assert kinds == {e.TaskRefused, e.TaskSealed}


def test_a_refund_waits_for_another_principal_and_is_undone_to_the_state_before(
    demo: Demo, facts: list[tuple[str, e.Event]]
) -> None:
    bill = bill_with(facts, lambda event: isinstance(event, e.ApprovalRequested))
    events = about(facts, bill)
    order = [type(event) for event in events]
    granted = next(event for event in events if isinstance(event, e.ApprovalGranted))
    requested = next(event for event in events if isinstance(event, e.ApprovalRequested))
    assert granted.approver == story.APPROVER != requested.requested_by
    assert granted.digest == requested.digest
    undone = next(event for event in events if isinstance(event, e.CompensationConfirmed))
    registered = [event for event in events if isinstance(event, e.CompensationRegistered)][-1]
    assert undone.restored.status == registered.snapshot.status == "processed"
    assert order.index(e.ApprovalGranted) < order.index(e.CompensationStarted)
    assert demo.said["refund"]["status"] == "compensated"


def test_an_expired_session_fails_at_once_with_an_alert_and_no_retry(
    demo: Demo, facts: list[tuple[str, e.Event]]
) -> None:
    failed = next(o for o in demo.said["outcomes"] if o["status"] == "failed")
    assert failed["verdict"] == "session_expired"
    events = about(facts, failed["bill_id"])
    assert any(isinstance(event, e.AlertRaised) for event in events)
    assert sum(isinstance(event, e.ActionAttempted) and event.writes for event in events) == 1


def test_each_difference_has_its_cause_and_nobody_innocent_is_blamed(demo: Demo) -> None:
    causes = {item["cause"]: item for item in demo.said["causes"]}
    assert set(causes) == {"external_change", "duplicate_across_tasks", "false_success"}
    assert causes["duplicate_across_tasks"]["verdict"] == "proven"
    assert causes["duplicate_across_tasks"]["responsible"] == ["svc:legacy-loop"]
    assert causes["external_change"]["verdict"] in {"supported", "undecidable"}
    assert causes["external_change"]["responsible"] == []
    assert causes["false_success"]["responsible"] == []


def test_the_bundle_proves_integrity_completeness_and_authenticity(
    demo: Demo, capsys: pytest.CaptureFixture[str]
) -> None:
    key = demo.said["evidence"]["key"]
    assert run_command(["verify", str(demo.evidence), "--key", key, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is True
    assert {name: said["proved"][name] for name in ("integrity", "completeness", "authenticity")} == {
        "integrity": "ok",
        "completeness": "ok",
        "authenticity": "ok",
    }


def rewritten(source: Path, out: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """The same zip with changed or dropped members."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(out, "w") as new:
        for item in old.infolist():
            data = change(item.filename, old.read(item))
            if data is not None:
                new.writestr(item, data)
    return out


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes((data[middle] ^ 1,)) + data[middle + 1 :]


@pytest.mark.parametrize(
    ("member", "change", "word"),
    [
        ("events.jsonl", flip, "event"),
        (".webp", flip, "webp"),
        ("events.jsonl", lambda data: b"".join(data.splitlines(keepends=True)[:-1]), "event"),
    ],
)
def test_a_changed_event_a_changed_frame_and_a_missing_event_fail_and_are_named(
    demo: Demo,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    member: str,
    change: Callable[[bytes], bytes],
    word: str,
) -> None:
    forged = rewritten(
        demo.evidence,
        tmp_path / "forged.zip",
        lambda name, data: change(data) if name.endswith(member) else data,
    )
    assert run_command(["verify", str(forged)]) == 1
    assert word in capsys.readouterr().out


def copied(demo: Demo, folder: Path) -> tuple[str, str]:
    """A copy of the record to damage."""
    shutil.copy(demo.folder / "record.db", folder / "record.db")
    shutil.copytree(demo.folder / "blobs", folder / "blobs")
    return f"sqlite:///{folder / 'record.db'}", str(folder / "blobs")


def test_a_changed_or_deleted_event_makes_fsck_name_it(
    demo: Demo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, blobs = copied(demo, tmp_path)
    assert run_command(["fsck", "--store", store, "--blobs", blobs]) == 0
    with sqlite3.connect(tmp_path / "record.db") as db:
        for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(
                f"DROP TRIGGER {trigger}"
            )  # they refuse honest mistakes; this is somebody with the file
        changed = db.execute(
            "SELECT max(position) FROM event WHERE instr(CAST(body AS TEXT), 'task.succeeded')"
        ).fetchone()[0]
        db.execute(
            "UPDATE event SET body = CAST(replace(CAST(body AS TEXT), 'api,detail', 'api,detial') AS BLOB)"
            " WHERE position = ?",
            (changed,),
        )
        deleted = changed - 30
        db.execute("DELETE FROM event WHERE position = ?", (deleted,))
    db.close()
    capsys.readouterr()
    assert run_command(["fsck", "--store", store, "--blobs", blobs, "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert any(finding["position"] == changed for finding in findings), findings
    assert any(str(deleted) in finding["what"] for finding in findings), findings


def test_a_changed_and_a_deleted_frame_make_fsck_name_them(
    demo: Demo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, blobs = copied(demo, tmp_path)
    changed, deleted, *_ = sorted(path for path in (tmp_path / "blobs").rglob("*") if path.is_file())
    changed.write_bytes(flip(changed.read_bytes()))
    deleted.unlink()
    assert run_command(["fsck", "--store", store, "--blobs", blobs, "--json"]) == 1
    named = {finding["blob"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert any(changed.name.startswith(name) or name.startswith(changed.name) for name in named if name)
    assert any(deleted.name.startswith(name) or name.startswith(deleted.name) for name in named if name)


def test_no_password_is_in_the_record_or_its_frames_index(demo: Demo) -> None:
    """Passwords are random for each portal: what the process printed and stored must not hold one."""
    stored = (demo.folder / "record.db").read_bytes()
    config = demo.config.read_text(encoding="utf-8")
    assert b"scrypt" not in stored
    assert "password" not in config
    done = subprocess.run(
        ["grep", "-rlF", "vendor_sid", str(demo.folder / "record.db")], capture_output=True, check=False
    )
    assert done.stdout == b""
