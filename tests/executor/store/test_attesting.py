"""Witnesses and time stamps: a real witness and a real authority over HTTP on loopback."""

from __future__ import annotations

import base64
import contextlib
import shutil
from typing import TYPE_CHECKING

import httpx
import pytest

from domain import notes
from domain.errors import IntegrityError, WorldError
from domain.log_format import checkpoint_text
from executor.store.attesting import submit_to_witness, timestamp_checkpoint
from executor.store.log import RecordLog, open_record
from executor.store.signing import SigningKey, make_key, sign_checkpoint
from executor.store.witness import WitnessState, format_request, parse_request, witness_app
from projections.reading import open_reader
from tests.support.records import ACME, Maker, ManualClock
from tests.support.servers import Authority, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLOCK = ManualClock()


@pytest.fixture
def desk(tmp_path: Path) -> SigningKey:
    return make_key(tmp_path / "desk.key", "desk.example.com")


@pytest.fixture
def witness(tmp_path: Path) -> SigningKey:
    return make_key(tmp_path / "witness.key", "witness.example.org")


@pytest.fixture
def witness_url(tmp_path: Path, desk: SigningKey, witness: SigningKey) -> Iterator[str]:
    app = witness_app(WitnessState(tmp_path / "seen.db"), witness, [desk.verifier(ACME)], CLOCK)
    with serving(app) as base:
        yield base


def _grow_and_sign(log: RecordLog, maker: Maker, desk: SigningKey, count: int) -> str:
    log.append(maker.notes(maker.task(), count))
    return sign_checkpoint(log, ACME, desk, CLOCK)


def test_a_witness_cosigns_each_checkpoint_that_continues_the_last(
    url: str, log: RecordLog, maker: Maker, desk: SigningKey, witness: SigningKey, witness_url: str
) -> None:
    for count in (1, 4, 3, 9):
        note = _grow_and_sign(log, maker, desk, count)
        line = submit_to_witness(
            log, ACME, note, url=witness_url, witness=witness.verifier_of_witness(), clock=CLOCK
        )
        opened = notes.open_note(note + line, [desk.verifier(ACME), witness.verifier_of_witness()])
        assert [signed.key.name for signed in opened.signed] == [
            "desk.example.com/acme",
            "witness.example.org",
        ]
    with open_reader(url) as reader:
        assert [(row.size, row.kind, row.signer) for row in reader.attestations(ACME)] == [
            (size, "cosignature", "witness.example.org") for size in (1, 5, 8, 17)
        ]


def test_asking_again_for_the_same_checkpoint_is_no_conflict(
    log: RecordLog, maker: Maker, desk: SigningKey, witness: SigningKey, witness_url: str
) -> None:
    note = _grow_and_sign(log, maker, desk, 2)
    key = witness.verifier_of_witness()
    for _ in range(2):
        submit_to_witness(log, ACME, note, url=witness_url, witness=key, clock=CLOCK)


def test_a_database_that_was_set_back_is_caught_by_the_witness(
    tmp_path: Path, maker: Maker, desk: SigningKey, witness: SigningKey, witness_url: str
) -> None:
    path = tmp_path / "record.db"
    url = f"sqlite:///{path}"
    key = witness.verifier_of_witness()
    with open_record(url) as log:
        _grow_and_sign(log, maker, desk, 3)
    shutil.copy(path, tmp_path / "backup.db")
    with open_record(url) as log:
        note = _grow_and_sign(log, maker, desk, 4)
        submit_to_witness(log, ACME, note, url=witness_url, witness=key, clock=CLOCK)
    for leftover in ("record.db-wal", "record.db-shm"):
        with contextlib.suppress(FileNotFoundError):
            (tmp_path / leftover).unlink()
    shutil.copy(tmp_path / "backup.db", path)
    with open_record(url) as log:
        for count, complaint in (
            (1, "has seen 7 events, this record has 4: an older copy"),
            (3, "another log of 7 events"),
            (5, "does not continue"),
        ):
            note = _grow_and_sign(log, maker, desk, count)
            with pytest.raises(IntegrityError, match=complaint):
                submit_to_witness(log, ACME, note, url=witness_url, witness=key, clock=CLOCK)


def _post(base: str, body: bytes) -> httpx.Response:
    return httpx.post(f"{base}/add-checkpoint", content=body)


def test_the_witness_answers_as_the_specification_says(
    desk: SigningKey, witness_url: str, tmp_path: Path
) -> None:
    origin = desk.origin(ACME)
    root = bytes(32)
    note = notes.sign_note(checkpoint_text(origin, 3, root), origin, desk.private)
    other_origin = notes.sign_note(checkpoint_text("other/log", 3, root), "other/log", desk.private)
    thief = make_key(tmp_path / "thief.key", "desk.example.com")
    forged = notes.sign_note(checkpoint_text(origin, 3, root), origin, thief.private)
    assert _post(witness_url, b"nonsense").status_code == 400
    assert _post(witness_url, format_request(4, [], note)).status_code == 400
    assert _post(witness_url, format_request(0, [], other_origin)).status_code == 404
    assert _post(witness_url, format_request(0, [], forged)).status_code == 403
    assert _post(witness_url, b"x" * 70_000).status_code == 413
    conflict = _post(witness_url, format_request(2, [bytes(32)], note))
    assert (conflict.status_code, conflict.text) == (409, "0\n")
    assert conflict.headers["content-type"].startswith("text/x.tlog.size")
    accepted = _post(witness_url, format_request(0, [], note))
    assert accepted.status_code == 200
    assert accepted.text.startswith("\u2014 witness.example.org ")
    fork = notes.sign_note(checkpoint_text(origin, 3, b"\x01" * 32), origin, desk.private)
    assert _post(witness_url, format_request(3, [], fork)).status_code == 409
    longer = notes.sign_note(checkpoint_text(origin, 5, b"\x01" * 32), origin, desk.private)
    assert _post(witness_url, format_request(3, [bytes(32)], longer)).status_code == 422


def test_a_witness_remembers_over_a_restart(tmp_path: Path, desk: SigningKey, witness: SigningKey) -> None:
    origin = desk.origin(ACME)
    note = notes.sign_note(checkpoint_text(origin, 3, bytes(32)), origin, desk.private)
    for expected in (200, 409):
        app = witness_app(WitnessState(tmp_path / "seen.db"), witness, [desk.verifier(ACME)], CLOCK)
        with serving(app) as base:
            assert _post(base, format_request(0, [], note)).status_code == expected


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"old 1",
        b"old x\n\nnote",
        b"old 01\n\nnote",
        b"new 1\n\nnote",
        b"old 1\n!!!\n\nnote",
        b"old 1\nAAAA\n\nnote",
    ],
)
def test_a_malformed_request_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_request(body)


def test_a_request_is_read_back_as_it_was_written() -> None:
    proof = [bytes([number]) * 32 for number in range(3)]
    body = format_request(7, proof, "text\n\nsignature\n")
    assert parse_request(body) == (7, proof, "text\n\nsignature\n")
    assert base64.b64encode(proof[0]) in body


def test_a_witness_that_is_away_is_the_worlds_failure_and_blocks_no_append(
    log: RecordLog, maker: Maker, desk: SigningKey, witness: SigningKey
) -> None:
    note = _grow_and_sign(log, maker, desk, 2)
    with pytest.raises(WorldError, match="can't be reached"):
        submit_to_witness(
            log, ACME, note, url="http://127.0.0.1:9", witness=witness.verifier_of_witness(), clock=CLOCK
        )
    assert log.append(maker.notes(maker.task(), 1)).last_position == 3


def test_a_time_stamp_is_kept_and_openssl_believes_it(
    url: str, log: RecordLog, maker: Maker, desk: SigningKey, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    note = _grow_and_sign(log, maker, desk, 2)
    with authority.serving() as where:
        response = timestamp_checkpoint(log, ACME, note, url=where, clock=CLOCK)
    text = notes.split_note(note)[0].encode()
    assert authority.verifies(response, text)
    assert not authority.verifies(response, text + b"x")
    with open_reader(url) as reader:
        kept = reader.attestations(ACME)
    assert [(row.size, row.kind, row.content) for row in kept] == [(2, "rfc3161", response)]


def test_a_time_stamp_for_something_else_is_refused(
    log: RecordLog, maker: Maker, desk: SigningKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    note = _grow_and_sign(log, maker, desk, 2)
    with authority.serving() as where:
        stale = timestamp_checkpoint(log, ACME, note, url=where, clock=CLOCK)
        monkeypatch.setattr(authority, "reply", lambda _: stale)
        later = _grow_and_sign(log, maker, desk, 1)
        with pytest.raises(IntegrityError, match="not for this checkpoint"):
            timestamp_checkpoint(log, ACME, later, url=where, clock=CLOCK)
