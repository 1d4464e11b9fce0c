"""Files that only pretend to be a bundle: each is refused before anything in it is believed, with the reason."""

from __future__ import annotations

import io
import json
import re
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from domain.errors import ConfigError
from projections.exports.verify import layout, verify
from tests.projections.exports.forging import Forger

BASE = "proofreel-0123456789abcdef"
Build = Callable[[zipfile.ZipFile], None]


def info(name: str, *, mode: int = stat.S_IFREG | 0o644, method: int = zipfile.ZIP_STORED) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    made.create_system = 3
    made.external_attr = mode << 16
    made.compress_type = method
    return made


def member(name: str, data: bytes = b"x", **options: int) -> Build:
    return lambda archive: archive.writestr(info(name, **options), data)


def several(*names: str) -> Build:
    def build(archive: zipfile.ZipFile) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # the library warns of duplicate names, and writes them
            for name in names:
                archive.writestr(info(name), b"x")

    return build


HOSTILE: dict[str, tuple[Build, str]] = {
    "empty": (lambda _: None, r"the archive is empty"),
    "zip slip": (member(f"{BASE}/../../etc/cron.d/x"), r"leads out of the folder \(zip slip\)"),
    "absolute": (member("/etc/passwd"), r"absolute or foreign path"),
    "drive": (member("C:/windows/x"), r"absolute or foreign path"),
    "backslash": (member(f"{BASE}\\..\\x"), r"absolute or foreign path"),
    "control character": (member(f"{BASE}/data/\x1b[2Jx"), r"control character in a name"),
    "twice": (several(f"{BASE}/bagit.txt", f"{BASE}/bagit.txt"), r"there twice"),
    "case": (several(f"{BASE}/bagit.txt", f"{BASE}/BagIt.txt"), r"case or Unicode collision"),
    "composed": (several(f"{BASE}/data/é", f"{BASE}/data/e\u0301"), r"case or Unicode collision"),
    "compatible": (several(f"{BASE}/bagit.txt", f"{BASE}/\uff42agit.txt"), r"case or Unicode collision"),
    "trailing dot": (several(f"{BASE}/bagit.txt", f"{BASE}/bagit.txt."), r"case or Unicode collision"),
    "symbolic link": (member(f"{BASE}/bagit.txt", mode=stat.S_IFLNK | 0o777), r"a symbolic link"),
    "device": (member(f"{BASE}/bagit.txt", mode=stat.S_IFCHR | 0o600), r"no regular file"),
    "folder": (member(f"{BASE}/data/", b"", mode=0), r"a folder of its own"),
    "bomb": (
        member(f"{BASE}/bagit.txt", bytes(1 << 20), method=zipfile.ZIP_DEFLATED),
        r"compressed; a bundle stores",
    ),
    "second folder": (several(f"{BASE}/bagit.txt", "other/bagit.txt"), r"outside the folder"),
    "other folder": (member("evidence/bagit.txt"), r"outside the folder"),
    "no folder": (member("bagit.txt"), r"outside the folder"),
    "stranger": (member(f"{BASE}/data/run.exe"), r"a bundle has no such file"),
    "formula": (member(f"{BASE}/data/attachments/=cmd|' /C calc'!A0.csv"), r"a bundle has no such file"),
    "markup": (member(f"{BASE}/data/attachments/<script>.html"), r"a bundle has no such file"),
    "hidden": (member(f"{BASE}/data/attachments/.htaccess"), r"a bundle has no such file"),
    "order": (several(f"{BASE}/bagit.txt", f"{BASE}/bag-info.txt"), r"not in the order of a bundle"),
}


def archive_of(build: Build) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        build(archive)
    return target.getvalue()


def reason(data: bytes, path: Path) -> str:
    path.write_bytes(data)
    report = verify(path)
    assert not report.ok
    return " | ".join(problem.what for problem in report.problems)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    build, pattern = HOSTILE[name]
    assert re.search(pattern, reason(archive_of(build), tmp_path / "hostile.zip"))


def test_what_is_no_zip_is_refused(tmp_path: Path) -> None:
    assert "not a readable zip file" in reason(b"%PDF-1.7 " * 100, tmp_path / "x.zip")
    assert "not a readable zip file" in reason(b"", tmp_path / "x.zip")


def test_what_is_not_there_is_bad_use(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        verify(tmp_path / "nothing.zip")
    with pytest.raises(ConfigError, match="proofreel export"):
        verify(tmp_path)


def encrypted(data: bytes) -> bytes:
    """Set the flag of encryption on the first member, in both its headers."""
    changed = bytearray(data)
    changed[6] |= 1
    changed[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(changed)


def lying_size(data: bytes) -> bytes:
    changed = bytearray(data)
    at = data.index(b"PK\x01\x02") + 24
    changed[at : at + 4] = struct.pack("<I", 0x7FFFFFFF)
    return bytes(changed)


def overlapping(data: bytes) -> bytes:
    """Let the second member begin where the first does."""
    changed = bytearray(data)
    second = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4)
    changed[second + 42 : second + 46] = bytes(4)
    return bytes(changed)


def date_in_local_header(data: bytes) -> bytes:
    changed = bytearray(data)
    changed[12] ^= 2
    return bytes(changed)


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        (encrypted, r"encrypted"),
        (lying_size, r"says 2147483647 bytes and stores"),
        (overlapping, r"gap or overlap"),
        (date_in_local_header, r"its header differs from the directory"),
        (lambda data: b"#!/bin/sh\n" + data, r"gap or overlap|not in the form of a bundle|header differs"),
        (lambda data: data + b"\x00", r"something follows it|not a readable zip"),
        (lambda data: data[:-2] + b"\x04\x00evil", r"not in the form of a bundle"),
        (lambda data: data[: len(data) // 2], r"not a readable zip file"),
    ],
    ids=["encrypted", "size", "overlap", "date", "before", "behind", "comment", "cut"],
)
def test_an_archive_with_one_odd_header_is_refused(
    change: Callable[[bytes], bytes], pattern: str, bundle: Path, tmp_path: Path
) -> None:
    assert re.search(pattern, reason(change(bundle.read_bytes()), tmp_path / "odd.zip"))


def test_bytes_between_members_are_refused(forger: Forger, tmp_path: Path) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for number, (name, content) in enumerate(forger.files.items()):
            archive.writestr(info(f"{forger.base}/{name}"), content)
            if number == 0:
                target.write(b"payload")
                archive.start_dir = target.tell()
    assert "gap or overlap" in reason(target.getvalue(), tmp_path / "gap.zip")


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_changed_byte_anywhere_verifies(data: st.DataObject, bundle: Path, tmp_path: Path) -> None:
    content = bytearray(bundle.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1), label="at")
    content[at] ^= data.draw(st.integers(1, 255), label="flip")
    assert reason(bytes(content), tmp_path / "flipped.zip")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_changed_byte_of_a_header_verifies(data: st.DataObject, bundle: Path, tmp_path: Path) -> None:
    """Most bytes of a bundle are content; these draw from the directory and the end."""
    content = bytearray(bundle.read_bytes())
    start = content.index(b"PK\x01\x02")
    at = data.draw(st.integers(start, len(content) - 1), label="at")
    content[at] ^= data.draw(st.integers(1, 255), label="flip")
    assert reason(bytes(content), tmp_path / "flipped.zip")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_event_with_a_changed_byte_verifies_even_when_all_else_agrees(
    data: st.DataObject, bundle: Path, tmp_path: Path
) -> None:
    forger = Forger(bundle)
    events = forger.events()
    one = events[data.draw(st.integers(0, len(events) - 1), label="event")]
    body = bytearray(one.body)
    at = data.draw(st.integers(0, len(body) - 1), label="at")
    body[at] ^= data.draw(st.integers(1, 127), label="flip")
    one.body = bytes(body).replace(b"\n", b"\t")
    forger.put(events)
    forger.list_again()
    assert str(one.entry["event_id"]) in reason(
        forger.write(tmp_path / "forged.zip").read_bytes(), tmp_path / "forged.zip"
    )


ODD: st.SearchStrategy[object] = st.sampled_from(
    [None, True, -1, 2**70, 1.5, "", "\ud800", "\x1b[2J", [], {}, [[]], {"kind": []}, ["x"] * 3]
)


def places(value: object) -> list[tuple[dict[str, object] | list[object], str | int]]:
    """Every place in a JSON value that something else could stand at."""
    found: list[tuple[dict[str, object] | list[object], str | int]] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            found += [(item, key) for key in item]
            stack += item.values()
        elif isinstance(item, list):
            found += [(item, index) for index in range(len(item))]
            stack += item
    return found


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_odd_value_gets_through_or_breaks_the_verifier(
    data: st.DataObject, bundle: Path, tmp_path: Path
) -> None:
    forger = Forger(bundle)
    path = data.draw(
        st.sampled_from([layout.HEAD, layout.FINDINGS, layout.ENTRIES, layout.EVENTS, layout.WITHHELD]),
        label="path",
    )
    lines = forger.files.get(path, b'{"events":{},"frames":{"0":{"basis":"b","by":"x"}}}\n').splitlines()
    number = data.draw(st.integers(0, len(lines) - 1), label="line")
    value = json.loads(lines[number])
    container, key = data.draw(st.sampled_from(places(value)), label="place")
    container[key] = data.draw(ODD, label="value")  # type: ignore[index]
    lines[number] = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    content = b"".join(line + b"\n" for line in lines)
    assume(content != forger.files.get(path))
    forger.files[path] = content
    forger.list_again()
    found = reason(forger.write(tmp_path / "odd.zip").read_bytes(), tmp_path / "odd.zip")
    assert found.isprintable()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_file_with_other_bytes_gets_through_or_breaks_the_verifier(
    data: st.DataObject, bundle: Path, tmp_path: Path
) -> None:
    forger = Forger(bundle)
    path = data.draw(st.sampled_from(sorted(set(forger.files) - {layout.KEYS})), label="path")
    content = forger.files[path]
    start = data.draw(st.integers(0, len(content)), label="start")
    end = data.draw(st.integers(start, min(len(content), start + 300)), label="end")
    forger.files[path] = content[:start] + data.draw(st.binary(max_size=40), label="bytes") + content[end:]
    assume(forger.files[path] != content)
    if path not in {layout.MANIFEST, layout.TAG_MANIFEST}:
        forger.list_again()
    assert reason(forger.write(tmp_path / "odd.zip").read_bytes(), tmp_path / "odd.zip").isprintable()
