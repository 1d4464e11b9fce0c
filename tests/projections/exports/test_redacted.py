"""A redacted bundle verifies, says what is withheld and why, and holds nothing of it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from domain import events as e
from domain import tiles
from domain.envelope import Recorded
from domain.errors import ConfigError
from domain.ids import Sha256, StreamId
from domain.values import Box
from executor.redaction import pixels_of
from projections.exports.bundle import Extras
from projections.exports.select import Scope, scope_of
from projections.exports.verify import VerifyReport, layout, verify
from tests.projections.exports.forging import Forger
from tests.projections.exports.made import SETTLEMENT, Made, case_of, export, make
from tests.projections.exports.withholding import (
    ALLOWED,
    ASKED,
    BASIS,
    REGION,
    commit,
    delete,
    pointers,
    record,
    redact_event,
    redact_frame,
    request_of,
)

TOAST = "操作成功"
"""Claim of the first task's screen; stands in one event, the settlement file doesn't have it."""


@pytest.fixture
def made() -> Made:
    return make(others=1)


def event(made: Made, name: str = "action.executed") -> Recorded:
    return next(one for one in made.book.events if one.name == name)


def seen(made: Made) -> Sha256:
    """A screen that several events of the first task name."""
    return next(one.envelope.frames[0].sha256 for one in made.book.events if one.envelope.frames)


def problem(report: VerifyReport, words: str) -> None:
    assert not report.ok
    assert any(words in one.what for one in report.problems), "\n".join(report.lines())


@pytest.fixture(scope="module")
def less(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One redacted bundle, for those who only read it."""
    return redacted(make(others=1), tmp_path_factory.mktemp("less"))


def redacted(made: Made, tmp_path: Path, *, committed: bool = True) -> Path:
    before = commit(made) if committed else None
    redact_frame(made, seen(made), committed=before)
    redact_event(made, event(made), ["/data/toast"], committed=before)
    export(made, tmp_path / "less.zip", case=case_of(made))
    return tmp_path / "less.zip"


def test_a_redacted_bundle_verifies_and_says_what_is_withheld(made: Made, tmp_path: Path) -> None:
    report = verify(redacted(made, tmp_path))
    assert report.ok, "\n".join(report.lines())
    counts = report.withheld
    assert (counts.frames, counts.regions, counts.events, counts.fields) == (1, 1, 1, 1)
    assert counts.words() == f"withheld: 1 frames (1 regions), 1 fields of 1 events: {BASIS}"
    assert any(line.endswith(counts.words()) for line in report.lines())
    assert report.to_dict()["withheld"]["bases"] == (BASIS,)  # type: ignore[index]
    assert (report.proved["integrity"], report.proved["completeness"]) == ("ok", "ok")


def test_without_an_earlier_commitment_the_rest_is_on_the_word_of_two_people(
    made: Made, tmp_path: Path
) -> None:
    report = verify(redacted(made, tmp_path, committed=False))
    assert report.ok
    assert report.withheld.later == 2
    assert report.proved["integrity"] == "not_proved"
    assert any(f"on the word of {ALLOWED}, {ASKED}" in line for line in report.lines())


def test_nothing_of_what_is_withheld_is_in_the_file(made: Made, tmp_path: Path) -> None:
    original = made.blobs[seen(made)]
    content = redacted(made, tmp_path).read_bytes()
    for text in (TOAST,):
        writings = [text.encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be", "gb18030")]
        writings += [json.dumps(text).strip('"').encode(), text.encode().hex().encode()]
        writings += [base64.b64encode(bytes(skip) + text.encode())[4:-4] for skip in range(3)]
        assert not [writing for writing in writings if writing in content]
    assert original not in content
    assert base64.b64encode(original) not in content
    assert original[100:400] not in content
    for path, data in Forger(tmp_path / "less.zip").files.items():
        if layout.RENDITION.fullmatch(path):
            shown, whole = tiles.decode_png(data), pixels_of(original, "")
            hidden = tiles.hidden_by(whole.width, whole.height, [REGION])
            assert hidden
            assert all(tiles.tile(shown, one) != tiles.tile(whole, one) for one in hidden)


def test_what_is_shown_is_byte_for_byte_the_same_when_exported_again(made: Made, tmp_path: Path) -> None:
    first = redacted(made, tmp_path).read_bytes()
    export(made, tmp_path / "again.zip", case=case_of(made))
    assert (tmp_path / "again.zip").read_bytes() == first


def test_a_request_alone_withholds_nothing(made: Made, tmp_path: Path) -> None:
    redact_frame(made, seen(made), approver=None)
    export(made, tmp_path / "whole.zip")
    report = verify(tmp_path / "whole.zip")
    assert (report.ok, bool(report.withheld)) == (True, False)


def test_a_redaction_newer_than_the_checkpoint_asks_for_a_new_one(made: Made, tmp_path: Path) -> None:
    note = made.checkpoint()
    redact_frame(made, seen(made))
    with pytest.raises(ConfigError, match="is newer; sign the log as it is now"):
        export(made, tmp_path / "old.zip", extras=Extras(checkpoint=note))
    export(made, tmp_path / "new.zip", extras=Extras(checkpoint=made.checkpoint()))
    assert verify(tmp_path / "new.zip").ok


def test_a_withheld_text_in_another_place_stops_the_export(made: Made, tmp_path: Path) -> None:
    first = next(one for one in made.book.events if one.name == "task.opened")
    redact_event(made, first, ["/data/intent/counterparty"])
    with pytest.raises(
        ConfigError, match=r"stands in \d+ more places of this export: event 019a.*--everywhere"
    ):
        export(made, tmp_path / "leak.zip")
    assert not (tmp_path / "leak.zip").exists()
    for number, one in enumerate([*made.book.events]):
        where = pointers(one, "Northwind") if one.row.stream != StreamId("redaction:r2") else []
        if where and one is not first:
            redact_event(made, one, where, name=f"more-{number}")
    export(made, tmp_path / "less.zip", case={**case_of(made), "said": "owed to Northwind of Li"})
    assert verify(tmp_path / "less.zip").ok
    assert b"Northwind" not in (tmp_path / "less.zip").read_bytes()
    assert "[withheld " in Forger(tmp_path / "less.zip").files[layout.FINDINGS].decode()


def test_a_withheld_text_in_a_document_asks_for_the_document(made: Made, tmp_path: Path) -> None:
    one = made.book.add(
        e.CaseNoted(by=ASKED, text="账单月份"), stream=StreamId("case:brk-0001"), principal=ASKED
    )
    redact_event(made, one, ["/data/text"])
    with pytest.raises(ConfigError, match=r"data/settlement/.*proofreel redact document"):
        export(made, tmp_path / "leak.zip", case=case_of(made))
    name = next(one.event.blob for one in made.book.events if isinstance(one.event, e.SettlementImported))
    record(made, request_of(made, "document", name, None), name="doc")
    export(made, tmp_path / "less.zip", case=case_of(made))
    report = verify(tmp_path / "less.zip")
    assert (report.ok, report.withheld.documents) == (True, 1), report.lines()
    assert SETTLEMENT not in (tmp_path / "less.zip").read_bytes()


def test_deleted_bytes_are_deleted_and_not_missing(made: Made, tmp_path: Path) -> None:
    delete(made, seen(made))
    export(made, tmp_path / "less.zip")
    report = verify(tmp_path / "less.zip")
    assert report.ok, report.lines()
    assert report.withheld.words() == "withheld: 1 contents deleted: retention of screens: 180 days"


def test_the_whole_log_can_be_exported_with_its_redactions(made: Made, tmp_path: Path) -> None:
    commit(made)
    redact_frame(made, seen(made), regions=[Box(x=0, y=0, width=5000, height=5000)])
    delete(made, event(made).envelope.frames[0].sha256)
    export(made, tmp_path / "log.zip", scope=scope_of(log=True))
    report = verify(tmp_path / "log.zip")
    assert (report.ok, report.withheld.frames, report.withheld.deleted) == (True, 1, 1), report.lines()


def test_what_is_redacted_and_deleted_later_is_told_as_deleted(made: Made, tmp_path: Path) -> None:
    redact_frame(made, seen(made))
    delete(made, seen(made))
    for scope in (Scope("bill", "B1"), scope_of(log=True)):
        export(made, tmp_path / "less.zip", scope=scope)
        report = verify(tmp_path / "less.zip")
        assert (report.ok, report.withheld.frames, report.withheld.deleted) == (True, 0, 1), report.lines()
