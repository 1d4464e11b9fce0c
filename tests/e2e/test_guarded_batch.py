"""Real Chromium, the real portal, the real record: a guarded batch, and somebody else's loop that is only watched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from domain import events as e
from domain.envelope import Recorded
from domain.ids import TaskId, task_stream
from executor.cli.run_commands import run_batch
from executor.orders import WorkOrder
from executor.sandbox import story
from executor.sandbox.legacy_run import LEGACY, run_legacy
from projections.blobs import open_blob_reader
from projections.fsck import check
from projections.reading import open_reader
from tests.support.sandbox import TENANT, Sandbox, running_sandbox, statuses

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with running_sandbox(tmp_path_factory.mktemp("guarded")) as running:
        yield running


def stored(sandbox: Sandbox, task: TaskId) -> list[Recorded]:
    with open_reader(sandbox.store) as reader:
        return list(reader.stream(TENANT, task_stream(task)))


def sound(sandbox: Sandbox) -> bool:
    with open_reader(sandbox.store) as reader:
        return check(reader, open_blob_reader(sandbox.blobs), TENANT).ok


def test_a_guarded_batch_catches_a_fake_success_and_never_touches_the_wrong_row(sandbox: Sandbox) -> None:
    portal = sandbox.portal
    normal, fake, pushed = sandbox.pending()[:3]
    portal.control.switch_on("fake_success", fake["id"])
    batch = sandbox.batch("guarded", [normal, fake, pushed])

    def push_a_row_between_look_and_click(order: WorkOrder) -> None:
        if order.intent.bill_id == pushed["id"]:
            portal.control.switch_on("row_pushed", pushed["id"], times=1, skip=1)

    with sandbox.workshop() as workshop:
        result = run_batch(workshop, batch, before=push_a_row_between_look_and_click)

    assert statuses(result) == ["succeeded", "taken_over", "succeeded"]
    assert [sandbox.processed(bill) for bill in (normal, fake, pushed)] == [1, 0, 1]
    assert [sandbox.posts(bill) for bill in (normal, fake, pushed)] == [1, 1, 1]
    writers = {entry.account for bill in (normal, pushed) for entry in portal.truth.history(bill["id"])}
    assert writers == {"svc-acme"}
    changed = {
        bill.id for bill in portal.truth.bills("acme") if portal.truth.posts(f"/bills/{bill.id}/actions")
    }
    assert changed == {normal["id"], fake["id"], pushed["id"]}, "no other bill was posted to"

    assert "操作成功" in result.outcomes[1].reason, "what the screen claimed is kept as evidence"
    assert result.outcomes[2].blocks >= 1, "the row had moved, and the click was stopped"
    facts = [item.event for item in stored(sandbox, batch.orders[2].task_id)]
    blocked = [fact for fact in facts if isinstance(fact, e.ActionBlocked)]
    assert blocked
    assert {fact.verdict for fact in blocked} <= {"target_changed", "stale_local", "stale", "intent_mismatch"}
    confirmed = [fact for fact in facts if isinstance(fact, e.ReadbackConfirmed)]
    assert {fact.source for fact in confirmed} == {"api", "detail"}
    assert {fact.account for fact in confirmed} == {"readback-acme"}
    assert sound(sandbox)


def test_a_watched_loop_is_recorded_with_what_the_guard_would_have_said_and_stopped_nowhere(
    sandbox: Sandbox,
) -> None:
    single, doubled = sandbox.pending()[-2:]
    with sandbox.workshop() as workshop:
        said = run_legacy(
            workshop.kit(),
            workshop.setting("unguarded", agent="legacy loop"),
            workshop.watched_pages(2),
            single=story.intent_of(single, "mark_processed", "processed"),
            doubled=story.intent_of(doubled, "mark_processed", "processed"),
        )
    assert "3 of 3 tasks succeeded" in said["said"]
    assert [sandbox.processed(bill) for bill in (single, doubled)] == [1, 2], "nothing was stopped"

    with open_reader(sandbox.store) as reader:
        watched = [item for item in reader.events(TENANT) if item.envelope.run_id == said["run_id"]]
    assert {item.envelope.principal for item in watched} == {LEGACY}
    claims = [item for item in watched if isinstance(item.event, e.TaskDeclaredDone)]
    assert len(claims) == 3
    judged = [item.event for item in watched if isinstance(item.event, e.GuardJudged)]
    assert not any(fact.enforced for fact in judged)
    objections = [check for fact in judged for check in fact.checks if check.guard == "duplicate"]
    assert [check.verdict for check in objections].count("already_in_progress") == 1
    assert not any(isinstance(item.event, e.TaskSucceeded) for item in watched), (
        "its word is a claim, no verdict"
    )
    assert sound(sandbox)


def test_no_secret_is_in_the_record_or_in_any_file_beside_it(sandbox: Sandbox) -> None:
    passwords = [account.password.encode() for account in sandbox.portal.accounts.values()]
    files = [
        path for path in sandbox.folder.rglob("*") if path.is_file() and not path.name.startswith("portal.db")
    ]
    assert any(path.name == "record.db" for path in files)
    found = [path.name for path in files for password in passwords if password in path.read_bytes()]
    assert found == []
