"""Lines of ``entries.jsonl``: written and read the quick way, which must be the long way's equal."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.exports.verify import layout
from projections.exports.verify.entries import parse_entry
from projections.exports.verify.layout import Entry

HASHES = st.binary(min_size=32, max_size=32).map(bytes.hex)
COUNTS = st.integers(0, layout.MAX_TIME_US)
TEXTS = st.text(max_size=12) | st.sampled_from(
    ["task:1", "", '"', "\\", "<", "\x7f", "账单", "\u2028", "'~ !"]
)
ENTRIES = st.builds(
    Entry,
    position=COUNTS,
    stream=TEXTS,
    version=COUNTS,
    recorded_at_us=COUNTS,
    entry=HASHES,
    body_sha256=HASHES,
    event_id=TEXTS,
)
USUAL = Entry(
    position=7,
    stream="task:1",
    version=2,
    recorded_at_us=9,
    entry="ab" * 32,
    body_sha256="cd" * 32,
    event_id="e-1",
)


@given(ENTRIES)
def test_an_entry_is_written_as_json_in_its_one_form(entry: Entry) -> None:
    assert entry.line() == layout.plain_json(entry.to_dict()) + b"\n"
    assert entry.script() == json.dumps(entry.to_dict(), sort_keys=True, separators=(",", ":"))


@given(ENTRIES)
def test_an_entry_is_read_back_from_its_one_form(entry: Entry) -> None:
    assert parse_entry(entry.line()[:-1]) == entry


@given(ENTRIES, st.data())
def test_what_is_read_is_in_its_one_form(entry: Entry, data: st.DataObject) -> None:
    line = bytearray(entry.line()[:-1])
    at = data.draw(st.integers(0, len(line) - 1))
    line[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    read = parse_entry(bytes(line))
    assert read is None or read.line() == bytes(line) + b"\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"position":7', '"position":07'),
        ('"position":7', '"position":7.0'),
        ('"position":7', '"position":-7'),
        ('"position":7', '"position":true'),
        ('"position":7', '"position":"7"'),
        ('"position":7', f'"position":{layout.MAX_TIME_US + 1}'),
        ('"position":7', '"position":' + "7" * 400),
        ('"position":7', '"position": 7'),
        ('"version":2', '"version":2,"version":2'),
        ('"stream":"task:1"', '"stream":"\\u0074ask:1"'),
        ('"stream":"task:1"', '"stream":"\\ud800"'),
        ("abab", "ab"),
        ("abab", "zzab"),
        ("}", "}\n"),
        ("{", " {"),
    ],
)
def test_any_other_form_is_no_entry(old: str, new: str) -> None:
    line = USUAL.line()[:-1]
    changed = line.replace(old.encode(), new.encode(), 1)
    assert changed != line
    assert parse_entry(line) == USUAL
    assert parse_entry(changed) is None


def test_a_chunk_of_the_page_is_the_call_with_its_events() -> None:
    odd = replace(USUAL, stream="task:<\u00fc>")
    chunks = layout.PageChunks()
    assert not [*chunks.add(USUAL, '{"text":"</script>账"}'.encode()), *chunks.add(odd, None)]
    body = '{"text":"</script>账"}'
    expected = layout.script("proofreelEvents", 1, [(USUAL.to_dict(), body), (odd.to_dict(), None)])
    assert list(chunks.flush()) == [("data/page/events-00001.js", expected)]
