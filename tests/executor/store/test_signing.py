"""Signed checkpoints and the key that signs them."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from domain import notes
from domain.errors import ConfigError, IntegrityError
from domain.ids import TenantId
from executor.store.signing import load_key, make_key, sign_checkpoint, tenants_of
from projections.fsck import anchors_from, check
from projections.reading import open_reader
from tests.support.records import ACME, Maker, ManualClock, erase, execute

if TYPE_CHECKING:
    from pathlib import Path

    from executor.store.log import RecordLog
    from executor.store.signing import SigningKey


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return make_key(tmp_path / "desk.key", "desk.example.com")


def test_a_key_file_is_readable_by_its_owner_alone_and_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "desk.key"
    made = make_key(path, "desk.example.com")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_key(path).verifier(ACME) == made.verifier(ACME)
    with pytest.raises(ConfigError, match="never replaced"):
        make_key(path, "desk.example.com")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "desk.key"
    make_key(path, "desk.example.com")
    path.chmod(mode)
    with pytest.raises(ConfigError, match="chmod 600"):
        load_key(path)


@pytest.mark.parametrize("damage", ["another name", "truncated", "no key at all"])
def test_a_damaged_key_is_refused_without_showing_it(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "desk.key"
    make_key(path, "desk.example.com")
    content = path.read_text()
    secret = content.strip().split("+", 4)[4]
    path.write_text(
        {
            "another name": content.replace("desk.example", "desk2.example"),
            "truncated": content[:-20],
            "no key at all": "hello\n",
        }[damage]
    )
    with pytest.raises(ConfigError) as caught:
        load_key(path)
    assert secret[:16] not in str(caught.value)


def test_a_key_has_no_text_form(key: SigningKey) -> None:
    assert key.private.private_bytes_raw().hex() not in repr(key)
    assert "0x" in repr(key)


def test_a_name_that_a_note_cannot_carry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name a key"):
        make_key(tmp_path / "k", "two words")


def test_a_checkpoint_verifies_and_says_what_the_head_says(
    url: str, log: RecordLog, maker: Maker, key: SigningKey
) -> None:
    log.append(maker.notes(maker.task(), 5))
    note = sign_checkpoint(log, ACME, key, ManualClock())
    opened = notes.open_note(note, [key.verifier(ACME)])
    signed = notes.parse_checkpoint(opened.text)
    assert signed.origin == "desk.example.com/acme"
    with open_reader(url) as reader:
        head = reader.head(ACME)
        assert head is not None
        assert (signed.size, signed.root) == (head.size, head.root)
        assert [row.note for row in reader.checkpoints(ACME)] == [note]


def test_the_same_size_is_signed_once(log: RecordLog, maker: Maker, key: SigningKey) -> None:
    log.append(maker.notes(maker.task(), 2))
    first = sign_checkpoint(log, ACME, key, ManualClock())
    assert sign_checkpoint(log, ACME, key, ManualClock()) == first


def test_an_empty_log_is_not_signed(log: RecordLog, key: SigningKey) -> None:
    with pytest.raises(ConfigError, match="no events"):
        sign_checkpoint(log, TenantId("nobody"), key, ManualClock())
    assert tenants_of(log) == []


def test_a_log_that_was_rewritten_since_the_last_checkpoint_is_not_signed(
    url: str, log: RecordLog, maker: Maker, key: SigningKey
) -> None:
    log.append(maker.notes(maker.task(), 3))
    sign_checkpoint(log, ACME, key, ManualClock())
    execute(url, "UPDATE event SET entry_hash = ? WHERE position = 2", (b"\x01" * 32,))
    log.append(maker.notes(maker.task(), 1))
    with pytest.raises(IntegrityError):
        sign_checkpoint(log, ACME, key, ManualClock())


def test_a_tail_cut_off_with_its_head_is_caught_by_a_checkpoint_kept_elsewhere(
    url: str, log: RecordLog, maker: Maker, key: SigningKey
) -> None:
    log.append(maker.notes(maker.task(), 3))
    with open_reader(url) as reader:
        before = reader.head(ACME)
    assert before is not None
    log.append(maker.notes(maker.task(), 2))
    kept = sign_checkpoint(log, ACME, key, ManualClock())
    execute(url, "DELETE FROM checkpoint")
    execute(url, "DELETE FROM event WHERE position > 3")
    execute(
        url,
        "UPDATE tenant_head SET size = 3, frontier = ?, recorded_at_us = ?",
        (before.frontier, before.recorded_at_us),
    )
    with open_reader(url) as reader:
        assert check(reader, None).ok, "without the checkpoint nothing shows"
        report = check(reader, None, anchors=anchors_from([kept]))
    assert [finding.code for finding in report.findings] == ["truncated"]
    assert "5 events" in report.findings[0].what


def test_a_rewritten_history_is_caught_by_a_checkpoint_kept_elsewhere(
    url: str, log: RecordLog, maker: Maker, key: SigningKey, tmp_path: Path
) -> None:
    log.append(maker.notes(maker.task(), 3))
    kept = sign_checkpoint(log, ACME, key, ManualClock())
    erase(url)
    log.append(Maker(seed=99).notes(maker.task(), 4))
    with open_reader(url) as reader:
        assert check(reader, None).ok
        report = check(reader, None, anchors=anchors_from([kept]))
    assert [finding.code for finding in report.findings] == ["history_rewritten"]
