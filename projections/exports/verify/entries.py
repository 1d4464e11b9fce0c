"""Reads lines of ``entries.jsonl``: one form each, all else is no entry."""

from __future__ import annotations

import hashlib
import json
import re

from projections.exports.verify import layout
from projections.exports.verify.layout import Entry

_TEXT = rb'"([ !#-\[\]-~]*)"'
_HASH = rb'"([0-9a-f]{64})"'
_COUNT = rb"(0|[1-9][0-9]{0,17})"
_USUAL = re.compile(
    rb'\{"body_sha256":%b,"entry":%b,"event_id":%b,"position":%b,"recorded_at_us":%b,"stream":%b,"version":%b\}'
    % (_HASH, _HASH, _TEXT, _COUNT, _COUNT, _TEXT, _COUNT)
)
"""An entry without a character that JSON escapes: its one form can be read off. Others go the long way."""


def parse_entry(line: bytes) -> Entry | None:
    """An entry in its one form, None for anything else."""
    match = _USUAL.fullmatch(line)
    if match is None:
        return _parse_any(line)
    body_sha256, link, event_id, position, recorded_at_us, stream, version = match.groups()
    entry = Entry(
        position=int(position),
        stream=stream.decode(),
        version=int(version),
        recorded_at_us=int(recorded_at_us),
        entry=link.decode(),
        body_sha256=body_sha256.decode(),
        event_id=event_id.decode(),
    )
    return entry if max(entry.position, entry.version, entry.recorded_at_us) <= layout.MAX_TIME_US else None


def _parse_any(line: bytes) -> Entry | None:
    """The same by decoding, and writing it again to compare."""
    try:
        raw = json.loads(line)
        if set(raw) != set(layout.ENTRY_FIELDS):
            return None
        entry = Entry(**raw)
        integers = (entry.position, entry.version, entry.recorded_at_us)
        texts = (entry.stream, entry.entry, entry.body_sha256, entry.event_id)
        shaped = all(type(item) is int and 0 <= item <= layout.MAX_TIME_US for item in integers) and all(
            type(item) is str for item in texts
        )
        hashes = bytes.fromhex(entry.entry), bytes.fromhex(entry.body_sha256)
        whole = all(len(item) == hashlib.sha256().digest_size for item in hashes)
        return entry if shaped and whole and entry.line() == line + b"\n" else None
    except (ValueError, TypeError, RecursionError):
        return None
