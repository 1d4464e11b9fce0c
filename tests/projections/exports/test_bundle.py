"""What a bundle shows, that it is the same whenever it is written, and when none is written."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from domain import events as e
from domain.errors import ConfigError, IntegrityError
from domain.ids import PrincipalId, RunId, StreamId, TaskId, TenantId, task_stream
from projections.exports.bundle import Extras, write_bundle
from projections.exports.copying import MAX_CURSORS
from projections.exports.select import Scope, scope_of
from projections.exports.verify import layout, verify
from tests.projections.exports.forging import Forger
from tests.projections.exports.made import (
    KEY,
    SETTLEMENT,
    TASK_1,
    WITNESS_KEY,
    Made,
    case_of,
    export,
    make,
    seal,
)
from tests.support.events import intent


class Pipe(io.RawIOBase):
    """A file that can be written and nothing else."""

    def __init__(self) -> None:
        self.data = b""

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def write(self, data: Any) -> int:  # noqa: ANN401 - any buffer
        self.data += bytes(data)
        return len(data)


def test_the_same_export_is_the_same_file(made: Made, bundle: Path, tmp_path: Path) -> None:
    extras = Extras(checkpoint=made.checkpoint(), keys=[KEY], seal=seal)
    export(make(), tmp_path / "again.zip", case=case_of(made), extras=extras)
    assert (tmp_path / "again.zip").read_bytes() == bundle.read_bytes()


def test_a_file_that_can_not_be_sought_gets_the_same_bytes(made: Made, plain: Path) -> None:
    pipe = Pipe()
    info = write_bundle(
        pipe,  # type: ignore[arg-type]
        made,
        made,
        tenant=made.book.tenant,
        scope=Scope("bill", "B1"),
        case=case_of(made),
    )
    assert pipe.data == plain.read_bytes()
    assert info.octets == len(pipe.data)


def test_a_signed_and_witnessed_bundle_proves_all_four(made: Made, tmp_path: Path) -> None:
    extras = Extras(checkpoint=made.checkpoint(witnessed_at_s=1_800_000_000), keys=[KEY], seal=seal)
    export(made, tmp_path / "all.zip", extras=extras)
    report = verify(tmp_path / "all.zip", trusted_keys=[KEY], witnesses=[WITNESS_KEY])
    assert report.proved == dict.fromkeys(("integrity", "completeness", "authenticity", "time"), "ok")


def test_an_unsigned_bundle_says_what_it_does_not_prove(plain: Path) -> None:
    report = verify(plain)
    assert report.ok
    assert report.proved == {
        "integrity": "ok",
        "completeness": "ok",
        "authenticity": "not_proved",
        "time": "not_proved",
    }


def test_a_root_that_one_has_proves_authenticity(made: Made, plain: Path) -> None:
    head = made.head(made.book.tenant)
    assert head is not None
    assert verify(plain, expect_root=head.root.hex()).proved["authenticity"] == "ok"


def test_checkpoints_that_one_has_are_the_log_s_own_past(made: Made, plain: Path) -> None:
    checks = verify(plain, known_checkpoints=[made.checkpoint(7), made.checkpoint()]).checks
    assert [(one.name, one.status) for one in checks if one.name == "known"] == [("known", "ok")]


def test_a_witness_that_saw_the_log_before_its_last_event_is_no_witness(made: Made, tmp_path: Path) -> None:
    extras = Extras(checkpoint=made.checkpoint(witnessed_at_s=1_000_000_000), keys=[KEY])
    export(made, tmp_path / "early.zip", extras=extras)
    report = verify(tmp_path / "early.zip", witnesses=[WITNESS_KEY])
    assert [one.what for one in report.problems] == [
        "witness.example saw this log at 2001-09-09 01:46:40 UTC, before its last event was recorded"
    ]


def test_events_are_copied_byte_for_byte(made: Made, bundle: Path) -> None:
    rows = {one.row.position: one.row.body for one in made.book.events}
    for one in Forger(bundle).events():
        assert one.body == rows[one.entry["position"]]


def test_a_bill_brings_its_tasks_their_run_and_the_settlement_it_rests_on(made: Made, tmp_path: Path) -> None:
    info = export(made, tmp_path / "bill.zip")
    assert info.streams == ("run:run-1", "settlement:2026-11", "task:task-1", "task:task-2")
    files = Forger(tmp_path / "bill.zip").files
    originals = [data for path, data in files.items() if layout.SETTLEMENT.fullmatch(path)]
    assert originals == [SETTLEMENT]
    assert next(path for path in files if layout.SETTLEMENT.fullmatch(path)).endswith("-___2026-11.csv")


@pytest.mark.parametrize(
    ("scope", "tasks"),
    [
        (Scope("task", "task-1"), 1),
        (Scope("tasks", "task-1,task-11"), 2),
        (Scope("run", "run-1"), 6),
        (Scope("month", "2026-11"), 6),
        (Scope("log", ""), 6),
    ],
    ids=lambda value: value.kind if isinstance(value, Scope) else "",
)
def test_every_scope_verifies(scope: Scope, tasks: int, made: Made, tmp_path: Path) -> None:
    info = export(made, tmp_path / "scope.zip", scope=scope)
    assert sum(1 for name in info.streams if name.startswith("task:")) == tasks
    assert verify(tmp_path / "scope.zip").ok


def test_the_whole_log_leaves_nothing_out(made: Made, tmp_path: Path) -> None:
    info = export(made, tmp_path / "log.zip", scope=scope_of(log=True))
    assert info.events == info.size == len(made.book.events)


def test_many_streams_are_read_from_the_log_in_one_go(tmp_path: Path) -> None:
    made = make(others=MAX_CURSORS)
    info = export(made, tmp_path / "run.zip", scope=Scope("run", "run-1"))
    assert len(info.streams) > MAX_CURSORS
    assert verify(tmp_path / "run.zip").ok


def test_a_task_that_was_told_who_holds_the_effect_brings_the_holder(tmp_path: Path) -> None:
    made = make(others=1)
    late = made.book.run("run-2").task("task-late", intent("B10"))
    late.add(
        e.TaskClaimDenied(
            effect_key=late.key,
            holder_stream=task_stream(TaskId("task-10")),
            holder_principal=PrincipalId("svc:acme-batch"),
            since_us=1,
        )
    )
    info = export(made, tmp_path / "late.zip", scope=Scope("task", "task-late"))
    assert info.streams == ("run:run-1", "run:run-2", "settlement:2026-11", "task:task-10", "task:task-late")


def test_a_bundle_speaks_of_the_log_up_to_its_checkpoint(made: Made, tmp_path: Path) -> None:
    info = export(made, tmp_path / "then.zip", extras=Extras(checkpoint=made.checkpoint(12), keys=[KEY]))
    assert (info.size, info.streams) == (12, ("run:run-1", "task:task-1"))
    assert verify(tmp_path / "then.zip", trusted_keys=[KEY]).proved["authenticity"] == "ok"


def test_a_bill_that_no_task_touched_has_a_bundle_if_its_case_names_the_settlement(
    made: Made, tmp_path: Path
) -> None:
    case = {"bill": "B99", "tasks": [], "findings": [], "streams": ["settlement:2026-11"]}
    info = export(made, tmp_path / "hand.zip", scope=Scope("bill", "B99"), case=case)
    assert info.streams == ("settlement:2026-11",)
    assert verify(tmp_path / "hand.zip").ok


def test_what_a_case_rests_on_is_shown_too(made: Made, tmp_path: Path) -> None:
    other = next(one for one in made.book.events if one.envelope.task_id == "task-12")
    case = {"findings": [{"decisive": [{"event_id": other.envelope.event_id}]}]}
    assert "task:task-12" in export(made, tmp_path / "case.zip", case=case).streams


def test_a_seal_that_counts_wrong_fails(tmp_path: Path) -> None:
    made = make(others=0)
    run = made.book.run("run-9")
    run.task("task-9", intent("B9")).add(e.TaskSealed(events=5))
    export(made, tmp_path / "seal.zip", scope=Scope("task", "task-9"))
    (problem,) = verify(tmp_path / "seal.zip").problems
    assert problem.what.endswith("(task.sealed, position 28) seals 5 events, and it is number 2")
    assert (problem.position, problem.event_name, problem.stream) == (28, "task.sealed", "task:task-9")


def test_a_store_whose_clock_ran_backwards_is_told(tmp_path: Path) -> None:
    made = make(others=0)
    made.book.run("run-8")
    made.book.now_us -= 86_400_000_000
    made.book.run("run-9")
    export(made, tmp_path / "clock.zip", scope=scope_of(log=True))
    assert "was recorded before the event in front of it" in verify(tmp_path / "clock.zip").problems[0].what


def test_attachments_are_the_exporter_s_word(made: Made, tmp_path: Path) -> None:
    export(made, tmp_path / "more.zip", extras=Extras(attachments={"report.xlsx": b"PK"}, seal=seal))
    assert Forger(tmp_path / "more.zip").files["data/attachments/report.xlsx"] == b"PK"
    assert {one.name: one.status for one in verify(tmp_path / "more.zip", trusted_keys=[KEY]).checks}[
        "seal"
    ] == "ok"
    with pytest.raises(ConfigError, match="can't name an attachment"):
        export(made, tmp_path / "x.zip", extras=Extras(attachments={"=cmd|'/c calc'!A0.csv": b""}))


@pytest.mark.parametrize(
    ("scope", "what"),
    [
        (Scope("bill", "B77"), "has nothing about bill B77"),
        (Scope("task", "task-77"), "has no task:task-77"),
        (Scope("run", "run-77"), "has nothing about run run-77"),
        (Scope("month", "2020-01"), "has nothing about month 2020-01"),
    ],
)
def test_nothing_is_exported_about_what_is_unknown(
    scope: Scope, what: str, made: Made, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=what):
        export(made, tmp_path / "x.zip", scope=scope)
    assert not list(tmp_path.iterdir())


def test_exactly_one_scope_is_asked_for() -> None:
    assert scope_of(tasks=[TASK_1]) == Scope("task", "task-1")
    assert scope_of(run=RunId("r")) == Scope("run", "r")
    for given in ({}, {"bill": "B1", "month": "2026-11"}):
        with pytest.raises(ConfigError, match="give one of them"):
            scope_of(**given)  # type: ignore[arg-type]


def test_a_tenant_without_a_log_has_no_bundle(made: Made, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no events of tenant globex|nothing about"):
        write_bundle(
            tmp_path / "x.zip", made, made, tenant=TenantId("globex"), scope=Scope("bill", "B1"), case=None
        )


def test_a_checkpoint_of_another_log_is_refused(made: Made, tmp_path: Path) -> None:
    longer = make(others=5)
    with pytest.raises(IntegrityError, match="another log, or the record was set back"):
        export(made, tmp_path / "x.zip", extras=Extras(checkpoint=longer.checkpoint()))
    with pytest.raises(ConfigError, match="not a signed note"):
        export(made, tmp_path / "x.zip", extras=Extras(checkpoint="hello"))
    another = Made()
    another.book.run("run-3")
    with pytest.raises(IntegrityError, match=r"log of acme: the events recompute to"):
        export(made, tmp_path / "x.zip", extras=Extras(checkpoint=another.checkpoint()))


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda body: body.replace(b"acme-bot", b"acme-bat"), r"observation\.recorded"),
        (lambda body: b"\xff" + body, "unreadable"),
    ],
)
def test_a_damaged_record_is_not_exported_as_evidence(
    tmp_path: Path, damage: Callable[[bytes], bytes], named: str
) -> None:
    made = make(others=0)
    one = made.book.events[4]
    made.leaves(made.book.tenant)
    forged = type(one.row)(
        tenant=one.row.tenant,
        position=one.row.position,
        stream=one.row.stream,
        version=one.row.version,
        recorded_at_us=one.row.recorded_at_us,
        body=damage(one.row.body),
        entry_hash=one.row.entry_hash,
    )
    made.book.events[4] = type(one)(
        row=forged, envelope=one.envelope, name=one.name, schema=one.schema, event=one.event
    )
    with pytest.raises(IntegrityError, match=rf"acme event 5 \({named}\): its bytes or its place"):
        export(made, tmp_path / "x.zip")
    assert not list(tmp_path.iterdir())


def test_a_screen_that_is_gone_is_told_and_nothing_is_left_behind(tmp_path: Path) -> None:
    made = make(others=0)
    frame = next(one.envelope.frames[0] for one in made.book.events if one.envelope.frames)
    (tmp_path / "x.zip").write_bytes(b"the bundle of yesterday")
    del made.blobs[frame.sha256]
    with pytest.raises(IntegrityError, match=frame.sha256):
        export(made, tmp_path / "x.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["x.zip"]
    assert (tmp_path / "x.zip").read_bytes() == b"the bundle of yesterday"


def test_a_screen_that_is_no_image_is_told(tmp_path: Path) -> None:
    made = make(others=0)
    frame = next(one.envelope.frames[0] for one in made.book.events if one.envelope.frames)
    made.blobs[frame.sha256] = b"<svg onload=alert(1)>"
    with pytest.raises(IntegrityError, match="neither PNG nor WebP"):
        export(made, tmp_path / "x.zip")


def test_every_hash_that_an_event_carries_has_a_decided_place() -> None:
    """A new field with a SHA-256 must be a screen, a document, or known to be no file at all."""
    no_file = {
        ("action.proposed", "digest"),
        ("approval.denied", "digest"),
        ("approval.granted", "digest"),
        ("approval.lapsed", "digest"),
        ("approval.requested", "digest"),
        ("case.concluded", "file_sha256"),  # the settlement file, whose import is shown with it
        ("case.signed_off", "digest"),
        ("commitments.recorded", "events"),
        ("commitments.recorded", "frames"),
        ("data.deleted", "blobs"),
        ("redaction.approved", "digest"),
        ("redaction.denied", "digest"),
        ("redaction.requested", "opening"),  # these two are in data/redacted
        ("redaction.requested", "rendition"),
        ("observation.recorded", "document_sha256"),
        ("observation.recorded", "structure_sha256"),
        ("run.started", "config_sha256"),
    }
    decided = no_file | {("settlement.imported", "blob"), ("trace.attached", "blob")}
    for table in (layout.FRAME_FIELDS, layout.DOCUMENT_FIELDS):
        decided |= {(name, key) for name, keys in table.items() for key in keys}
    found = set()
    for name in e.all_names():
        known = e.type_of(name)
        assert known is not None
        for key, kind in known[0].__annotations__.items():
            if "Sha256" in str(kind) or key.endswith("sha256"):
                found.add((name, key))
    assert found == decided


def test_a_trace_that_was_kept_with_a_task_is_in_its_bundle(tmp_path: Path) -> None:
    made = make()
    run = made.book.run("run-9")
    task = run.task("task-9", intent("B9"))
    trace = made.keep(b"PK\x05\x06" + b"\0" * 18)
    task.add(
        e.TraceAttached(
            blob=trace, tool="playwright 1.65.2", octets=22, calls=3, masked=1, left_out=("bodies",)
        )
    )
    path = tmp_path / "traced.zip"
    export(made, path, scope=Scope("bill", "B9"))
    with zipfile.ZipFile(path) as archive:
        (member,) = (name for name in archive.namelist() if "/data/traces/" in name)
        assert member.endswith(f"data/traces/{trace}.zip")
        assert archive.read(member) == made.blobs[trace]
        assert (
            f"data/traces/{trace}.zip" in archive.read(member.split("/")[0] + "/data/page/head.js").decode()
        )
    assert not verify(path).problems
    made.blobs[trace] = b"another"
    export(made, tmp_path / "other.zip", scope=Scope("bill", "B9"))
    report = verify(tmp_path / "other.zip")
    assert ("documents", f"data/traces/{trace}.zip") in {(one.check, one.file) for one in report.problems}


def test_progress_counts_screens(made: Made, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    scope = Scope("bill", "B1")
    info = write_bundle(
        tmp_path / "x.zip",
        made,
        made,
        tenant=made.book.tenant,
        scope=scope,
        progress=lambda a, b: seen.append((a, b)),
    )
    assert seen == [(number, info.frames) for number in range(1, info.frames + 1)]
    done: list[tuple[int, int]] = []
    verify(tmp_path / "x.zip", progress=lambda a, b: done.append((a, b)))
    assert done[-1][0] == done[-1][1] == sum(len(data) for data in Forger(tmp_path / "x.zip").files.values())


def test_the_library_s_reader_finds_no_fault(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        assert archive.testzip() is None
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_streams_of_the_made_record_are_what_these_tests_take_them_for(made: Made) -> None:
    assert len(list(made.stream(made.book.tenant, StreamId("task:task-1")))) == 11
