"""Commands about the record itself, as a person calls them: what they print and how they exit."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest

from domain import notes
from executor.cli import run_command
from executor.store.log import open_record
from executor.store.signing import load_key, make_key
from tests.support.records import ACME, Maker, erase, execute

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/record.db"
    maker = Maker(seed=1)
    with open_record(url) as log:
        log.append(maker.notes(maker.task(), 5))
    return url


@pytest.fixture
def key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "desk.key"
    assert run_command(["keys", "init", str(path), "--name", "desk.example.com"]) == 0
    capsys.readouterr()
    return path


def test_fsck_of_a_sound_record_exits_0(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["fsck", "--store", store, "--no-blobs"]) == 0
    assert "5 events of 1 tenants" in capsys.readouterr().out


def test_fsck_of_a_damaged_record_exits_1_and_names_the_place(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(store, "UPDATE event SET body = CAST('{}' AS BLOB) WHERE position = 2")
    assert run_command(["fsck", "--store", store, "--no-blobs", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert not said["ok"]
    assert {finding["position"] for finding in said["findings"]} == {2}
    assert run_command(["fsck", "--store", store, "--no-blobs"]) == 1
    assert "entry_mismatch: acme 2:" in capsys.readouterr().out


def test_fsck_of_no_record_exits_2_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["fsck", "--store", f"sqlite:///{tmp_path}/absent.db", "--no-blobs"]) == 2
    assert "name an existing record" in capsys.readouterr().err


def test_keys_init_makes_a_private_file_and_prints_the_public_half(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "desk.key"
    assert run_command(["keys", "init", str(path), "--name", "desk.example.com", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert notes.parse_verifier_key(said["verifier_key"]).name == "desk.example.com"
    assert path.read_text().strip().split("+", 4)[4] not in json.dumps(said)
    assert run_command(["keys", "init", str(path), "--name", "desk.example.com"]) == 2


def test_a_checkpoint_is_printed_kept_and_found_right_later(
    store: str, key: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "note.txt"
    assert run_command(["checkpoint", "--store", store, "--key", str(key), "--out", str(kept)]) == 0
    note = capsys.readouterr().out
    assert kept.read_text() == note
    assert notes.open_note(note, [load_key(key).verifier(ACME)]).text.startswith("desk.example.com/acme\n5\n")
    assert run_command(["fsck", "--store", store, "--no-blobs", "--checkpoint", str(kept)]) == 0


def test_fsck_checks_signatures_when_it_is_given_a_key_and_says_when_it_is_not(
    store: str, key: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(["checkpoint", "--store", store, "--key", str(key)])
    other = make_key(tmp_path / "other.key", "other.example.com")
    public = [str(notes.verifier_key(one.name, one.private.public_key())) for one in (load_key(key), other)]
    checked = ["fsck", "--store", store, "--no-blobs"]
    capsys.readouterr()
    assert run_command(checked) == 0
    assert "signatures not checked" in capsys.readouterr().out
    assert run_command([*checked, "--key", public[0], "--key", public[1]]) == 0
    assert "1 signature right" in capsys.readouterr().out
    assert run_command([*checked, "--key", public[1]]) == 1
    assert "checkpoint_signature" in capsys.readouterr().out
    assert run_command([*checked, "--key", "no-key"]) == 2


def test_a_log_cut_short_is_found_with_the_checkpoint_that_was_kept(
    store: str, key: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "note.txt"
    run_command(["checkpoint", "--store", store, "--key", str(key), "--out", str(kept)])
    erase(store)
    maker = Maker(seed=1)
    with open_record(store) as log:
        log.append(maker.notes(maker.task(), 3))
    assert run_command(["fsck", "--store", store, "--no-blobs"]) == 0
    assert run_command(["fsck", "--store", store, "--no-blobs", "--checkpoint", str(kept)]) == 1
    assert "truncated" in capsys.readouterr().out


def test_migrate_moves_a_record_and_shows_equal_roots(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["migrate", store, f"sqlite:///{tmp_path}/moved.db", "--json"]) == 0
    (moved,) = json.loads(capsys.readouterr().out)
    assert (moved["tenant"], moved["events"]) == (ACME, 5)
    assert moved["root_before"] == moved["root_after"]
    assert run_command(["migrate", store, store]) == 2


def test_grant_on_sqlite_exits_2(store: str) -> None:
    assert run_command(["grant", "desk_app", "--tenant", "acme", "--store", store]) == 2


def test_a_witness_with_a_bad_key_of_a_log_exits_2(key: Path, tmp_path: Path) -> None:
    state = str(tmp_path / "seen.db")
    assert run_command(["witness", "--key", str(key), "--state", state, "--log", "nonsense"]) == 2
