"""Hashing the members of an archive: each once, whoever takes it, and what is wrong in the archive's order."""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path

import pytest

from projections.exports.verify import hashing
from projections.exports.verify.archive import Archive, Refused
from projections.exports.verify.hashing import hash_members
from projections.exports.verify.report import Findings
from projections.exports.zipwriter import ZipWriter, piece_of

BASE = "proofreel-0123456789abcdef"
SIZES = (0, 1, 255 << 10, (256 << 10) + 1, 700_000)


def written(path: Path, count: int = 40) -> dict[str, bytes]:
    """An archive of members of many sizes; what is in it."""
    rng = random.Random(5)
    members = {
        f"data/frames/{number:064x}.png": rng.randbytes(SIZES[number % len(SIZES)]) for number in range(count)
    }
    with path.open("wb") as file:
        archive = ZipWriter(file, BASE)
        for name, data in members.items():
            archive.add(name, piece_of(data))
        archive.finish()
    return members


@pytest.mark.parametrize("processors", [1, 2, 5])
@pytest.mark.parametrize("large", [1, 64 << 20])
def test_every_member_has_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int, large: int
) -> None:
    members = written(tmp_path / "made.zip")
    monkeypatch.setattr(hashing, "processors", lambda: processors)
    monkeypatch.setattr(hashing, "_LARGE_BYTES", large)
    findings, told = Findings(), list[tuple[int, int]]()
    with (tmp_path / "made.zip").open("rb", buffering=0) as file:
        archive = Archive.open(file)
        hashes = hash_members(archive, findings, lambda done, total: told.append((done, total)))
    assert hashes == {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    assert list(hashes) == list(members)
    total = sum(map(len, members.values()))
    assert told == sorted(told)
    assert told[-1] == (total, total)
    assert not findings.problems


@pytest.mark.parametrize("processors", [1, 3])
def test_what_differs_from_its_checksum_is_named_in_the_order_of_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    members = written(tmp_path / "made.zip")
    changed = [name for number, name in enumerate(members) if number % len(SIZES) == len(SIZES) - 1]
    monkeypatch.setattr(hashing, "processors", lambda: processors)
    with (tmp_path / "made.zip").open("r+b", buffering=0) as file:
        archive = Archive.open(file)
        for name in changed:
            file.seek(archive.members[name].end - 1)
            last = file.read(1)[0]
            file.seek(archive.members[name].end - 1)
            file.write(bytes((last ^ 1,)))
        findings = Findings()
        hash_members(archive, findings)
    assert [problem.file for problem in findings.problems] == changed
    assert all("differ from the checksum" in problem.what for problem in findings.problems)


@pytest.mark.parametrize("processors", [1, 3])
def test_a_file_that_is_cut_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    written(tmp_path / "made.zip")
    monkeypatch.setattr(hashing, "processors", lambda: processors)
    with (tmp_path / "made.zip").open("rb", buffering=0) as file:
        archive = Archive.open(file)
        os.truncate(tmp_path / "made.zip", file.seek(0, os.SEEK_END) // 2)
        with pytest.raises(Refused, match="is cut off"):
            hash_members(archive, Findings())
