"""``proofreel redact`` on a real record: asked for, approved, withheld in every export and view, and still proved."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from domain.ids import TaskId, TenantId, task_stream
from projections.blobs import open_blob_reader
from projections.exports.verify import verify
from projections.masking import Masks
from projections.reading import RecordReader, open_reader
from tests.executor.cli.conftest import Command
from tests.support.workbench import BILL

DPO, COUNSEL, CLERK = "person:dpo", "person:counsel", "person:clerk"
BASIS = "GDPR Art. 17, request 2026-31"
TENANT = TenantId("acme")


@pytest.fixture
def office(desk: Path, recorded: Mapping[str, TaskId], proofreel: Command) -> Path:
    """People with rights, and a privacy key."""
    assert recorded
    path = desk / "proofreel.yaml"
    config = yaml.safe_load(path.read_text("utf-8"))
    config["people"] += [
        {"principal": DPO, "tenants": ["acme"], "actions": ["redact", "approve:redaction"]},
        {"principal": COUNSEL, "tenants": ["acme"], "actions": ["redact", "approve:redaction"]},
        {"principal": CLERK, "tenants": ["acme"], "actions": []},
    ]
    config["privacy"] = {"key": "privacy.key"}
    path.write_text(yaml.safe_dump(config, allow_unicode=True), "utf-8")
    assert proofreel("keys", "privacy", desk / "privacy.key").code == 0
    return desk


@pytest.fixture
def stored(office: Path) -> Iterator[RecordReader]:
    with open_reader(f"sqlite:///{office}/record.db", as_stored=True) as reader:
        yield reader


def opened(stored: RecordReader, recorded: Mapping[str, TaskId]) -> Any:  # noqa: ANN401 - Recorded
    return next(stored.stream(TENANT, task_stream(recorded["succeeded"])))


def asked(done: Any) -> list[str]:  # noqa: ANN401 - what a command did
    assert done.code == 0, done.err
    return [one["redaction"] for one in done.json["requested"]]


def export(proofreel: Command, desk: Path) -> bytes:
    done = proofreel("export", "--bill", BILL, "-o", desk / "out.zip")
    assert done.code == 0, done.err
    return (desk / "out.zip").read_bytes()


def test_a_counterparty_is_withheld_everywhere_once_another_person_approved(
    office: Path, stored: RecordReader, recorded: Mapping[str, TaskId], proofreel: Command
) -> None:
    first = opened(stored, recorded)
    name = json.loads(first.row.body)["data"]["intent"]["counterparty"]
    assert proofreel("redact", "commit", "--json").json["events"] > 10
    request = ("redact", "field", first.envelope.event_id, "--field", "intent/counterparty")
    redactions = asked(proofreel(*request, "--everywhere", "--basis", BASIS, "--as", DPO, "--json"))
    assert len(redactions) > 2
    assert name.encode() in export(proofreel, office), "a request alone withholds nothing"
    masks, before = Masks({name: "the name"}), _everything(office, proofreel)
    assert len([place for place, data in before.items() if masks.found_in(data)]) > 3
    own = proofreel("redact", "approve", redactions[0], "--as", DPO)
    assert (own.code, "redaction.self" in own.word) == (1, True)
    assert proofreel("redact", "approve", *redactions, "--as", COUNSEL).code == 0

    assert name.encode() not in export(proofreel, office)
    report = verify(office / "out.zip")
    assert report.ok, report.lines()
    assert report.withheld.events >= 2
    assert report.withheld.later == 0, "it was committed to before"
    shown = proofreel("verify", office / "out.zip", "--json").json["withheld"]
    assert (shown["events"], shown["bases"]) == (report.withheld.events, [BASIS])
    assert "withheld: " in proofreel("verify", office / "out.zip").out
    outputs = _everything(office, proofreel)
    assert outputs.keys() == before.keys()
    assert not [place for place, data in outputs.items() if masks.found_in(data)]
    with zipfile.ZipFile(office / "out.zip") as archive:
        assert any("data/withheld.json" in member for member in archive.namelist())
    rows = proofreel("redact", "list", "--json").json["redactions"]
    assert {row["status"] for row in rows} == {"approved"}
    assert (rows[0]["requested_by"], rows[0]["answered_by"], rows[0]["basis"]) == (DPO, COUNSEL, BASIS)


def _everything(office: Path, proofreel: Command) -> dict[str, bytes]:
    """What commands print and write about the record."""
    said = {
        " ".join(command): proofreel(*command).out.encode()
        for command in (("tasks", "--json"), ("takeover", "list", "--json"), ("approvals", "list", "--json"))
    }
    written = {
        "log.json": ("ocel", "-o", office / "log.json"),
        "report": ("report", "--month", "2026-11", "-o", office / "report"),
    }
    for file, command in written.items():
        done = proofreel(*command)
        assert done.code == 0, done.err
        for path in (office / file).rglob("*") if (office / file).is_dir() else [office / file]:
            if path.is_file():
                said[path.name] = path.read_bytes()
    return said


def test_a_rectangle_of_a_screen_is_withheld(
    office: Path, stored: RecordReader, recorded: Mapping[str, TaskId], proofreel: Command
) -> None:
    sha256 = _a_screen(office, stored, recorded)
    before = proofreel(
        "redact", "frame", sha256, "--region", "0,0,2,2", "--basis", BASIS, "--as", DPO, "--json"
    )
    (redaction,) = asked(before)
    assert proofreel("redact", "list", "--open").out.count(redaction) == 1
    assert proofreel("redact", "approve", redaction, "--as", COUNSEL, "--note", "checked").code == 0
    again = proofreel(
        "redact", "frame", sha256, "--region", "0,0,5,5", "--basis", BASIS, "--as", DPO, "--json"
    )
    assert proofreel("redact", "approve", *asked(again), "--as", COUNSEL).code == 0
    rows = proofreel("redact", "list", "--json").json["redactions"]
    assert rows[1]["parts"] == "0,0,2,2 0,0,5,5", "what was withheld before stays withheld"


def _a_screen(office: Path, stored: RecordReader, recorded: Mapping[str, TaskId]) -> str:
    """A screen of the task; those of the scripted vendor have four pixels each way."""
    blobs = open_blob_reader(str(office / "blobs"))
    frames = (
        frame
        for one in stored.stream(TENANT, task_stream(recorded["succeeded"]))
        for frame in one.envelope.frames
    )
    return next(frame.sha256 for frame in frames if blobs.has(frame.sha256))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("frame", "0" * 64, "--region", "1,2,3"), 2, "is no rectangle"),
        (("frame", "zz", "--region", "1,2,3,4"), 2, "is no SHA-256"),
        (("field", "nobody", "--field", "title"), 1, "there is no event nobody"),
        (("document", "0" * 64), 1, "there is no document"),
    ],
)
def test_what_can_not_be_withheld_is_told_in_one_line(
    office: Path, proofreel: Command, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = proofreel(
        "redact", *arguments, "--basis", BASIS, "--as", DPO, "--config", office / "proofreel.yaml"
    )
    assert (done.code, words in done.word) == (code, True), done.err


def test_what_says_who_acted_is_not_withheld(
    stored: RecordReader, recorded: Mapping[str, TaskId], proofreel: Command
) -> None:
    event = opened(stored, recorded).envelope.event_id
    done = proofreel("redact", "field", event, "--field", "intent/bill_id", "--basis", BASIS, "--as", DPO)
    assert (done.code, "redaction.field" in done.word) == (1, True)
    assert "/data/intent/counterparty" in done.word, "the remedy lists what may be withheld"


def test_rights_are_checked(stored: RecordReader, recorded: Mapping[str, TaskId], proofreel: Command) -> None:
    event = opened(stored, recorded).envelope.event_id
    request = ("redact", "field", event, "--field", "intent/counterparty", "--basis", BASIS)
    done = proofreel(*request, "--as", CLERK)
    assert (done.code, "redaction.right" in done.word) == (1, True)
    (redaction,) = asked(proofreel(*request, "--as", DPO, "--json"))
    done = proofreel("redact", "approve", redaction, "--as", CLERK)
    assert (done.code, "redaction.right" in done.word) == (1, True)
    assert proofreel("redact", "deny", redaction, "--as", COUNSEL, "--note", "needed").code == 0
    done = proofreel("redact", "approve", redaction, "--as", COUNSEL)
    assert (done.code, "redaction.order" in done.word) == (1, True)


def test_a_rendition_that_the_original_does_not_give_is_not_approved(
    office: Path, stored: RecordReader, recorded: Mapping[str, TaskId], proofreel: Command
) -> None:
    """Whoever asks with another key, or with a rendition of their own, gets no approval by accident."""
    event = opened(stored, recorded).envelope.event_id
    request = (
        "redact",
        "field",
        event,
        "--field",
        "intent/counterparty",
        "--basis",
        BASIS,
        "--as",
        DPO,
        "--json",
    )
    (redaction,) = asked(proofreel(*request))
    (office / "privacy.key").unlink()
    assert proofreel("keys", "privacy", office / "privacy.key").code == 0
    done = proofreel("redact", "approve", redaction, "--as", COUNSEL)
    assert (done.code, "redaction.parts" in done.word) == (1, True)
    assert proofreel("redact", "commit").code == 0
    assert proofreel("keys", "privacy", office / "other.key").code == 0
    (office / "privacy.key").unlink()
    (office / "other.key").rename(office / "privacy.key")
    done = proofreel(*request)
    assert (done.code, "use the privacy key of then" in done.word) == (1, True)


def test_a_key_that_others_may_read_is_refused(office: Path, proofreel: Command) -> None:
    (office / "privacy.key").chmod(0o644)
    done = proofreel("redact", "commit")
    assert (done.code, "may be read by others" in done.word) == (2, True)
    assert proofreel("keys", "privacy", office / "privacy.key").code == 2, "a key in use is never replaced"
