"""The data contract of the player, and its words and addresses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec
import pytest

import replay_ui.player
from domain.errors import ConfigError, IntegrityError
from replay_ui.player import frame_from_query, frame_to_query, run_urls
from replay_ui.player.component import PlayerState, seen_of, state_of
from replay_ui.player.following import Seen
from replay_ui.player.labels import ENGLISH, complete
from replay_ui.player.manifest import (
    COLUMNS,
    FrameEntry,
    Header,
    Stop,
    Tone,
    chunk_bytes,
    header_bytes,
    header_of,
    stops_of,
)
from tests.replay_ui.synthetic import entry

FRONTEND: Final = Path(replay_ui.player.__file__).parent / "frontend"


def judged(tone: Tone, *, step: int, task: str = "t", position: int = 1) -> FrameEntry:
    return msgspec.structs.replace(entry(0), tone=tone, step=step, task_id=task, position=position)


def test_a_step_is_one_stop_coloured_by_its_worst_frame() -> None:
    entries = [
        judged("ok", step=1),
        judged("stopped", step=2),
        judged("failed", step=2),
        judged("failed", step=3),
        judged("ok", step=4),
        judged("stopped", step=4, task="u"),
    ]
    assert stops_of(entries) == (Stop(1, "failed"), Stop(3, "failed"), Stop(5, "stopped"))


def test_frames_outside_any_step_are_stops_by_their_event() -> None:
    entries = [judged("failed", step=0, position=7), judged("failed", step=0, position=8)]
    assert [stop.frame for stop in stops_of(entries)] == [0, 1]


def test_a_header_reads_back_as_it_was_written() -> None:
    header = header_of([entry(i) for i in range(40)], tenant="acme", run="r", mode="guarded", title="T")
    assert msgspec.json.decode(header_bytes(header), type=Header) == header
    assert (header.frames, header.steps) == (40, 10)
    assert (header.started_at_us, header.ended_at_us) == (entry(0).t_us, entry(39).t_us)


def test_a_run_without_frames_has_a_header() -> None:
    header = header_of([], tenant="acme", run="r", mode="guarded")
    assert (header.frames, header.steps, header.started_at_us, header.stops) == (0, 0, 0, ())


def test_columns_give_the_entries_back() -> None:
    entries = [entry(i) for i in range(8, 12)]
    chunk = msgspec.json.decode(chunk_bytes(entries, 0))
    rows = [{name: chunk["columns"][name][i] for name in COLUMNS} for i in range(chunk["n"])]
    assert [msgspec.convert(row, FrameEntry) for row in rows] == entries


@pytest.mark.parametrize(
    ("change", "words"),
    [({"sha256": "A" * 64}, "SHA-256"), ({"sha256": "../secret"}, "SHA-256"), ({"width": 0}, "size")],
)
def test_an_entry_that_cannot_be_shown_truthfully_is_refused(change: dict[str, object], words: str) -> None:
    entries = [entry(0), msgspec.structs.replace(entry(1), **change)]
    with pytest.raises(IntegrityError, match=words) as refused:
        header_of(entries, tenant="acme", run="r", mode="guarded")
    assert refused.value.where == "run r frame 1"


def test_ids_stay_one_segment_of_an_address() -> None:
    urls = run_urls("a/../b", "run?x#y z")
    assert urls.frames == "/frames/a%2F..%2Fb/run%3Fx%23y%20z"
    assert urls.manifest.startswith("/manifest/a%2F..%2Fb/")


@pytest.mark.parametrize("value", [None, "", "0", "41", "-1", "1.5", "٣", "9" * 5000, "abc"])
def test_a_link_to_no_frame_names_none(value: str | None) -> None:
    assert frame_from_query(value, 40) is None


@pytest.mark.parametrize("index", [0, 1, 38, 39])
def test_a_link_counts_from_one_and_reads_back(index: int) -> None:
    assert frame_to_query(index) == str(index + 1)
    assert frame_from_query(frame_to_query(index), 40) == index


@pytest.mark.parametrize(
    "value", [None, 3, "x", {}, {"frame": "3"}, {"frame": True}, {"frame": 40}, {"frame": -1}]
)
def test_a_malformed_state_of_the_browser_counts_as_none(value: object) -> None:
    assert state_of(value, 40) == PlayerState(None, "", None)
    assert seen_of(value, 40).frame is None


def test_a_state_of_the_browser_is_read_with_unknown_words_dropped() -> None:
    told = {"frame": 3, "sha256": "ab", "verified": "match", "nonce": 2, "told": 7, "url": "3"}
    assert state_of(told, 40) == PlayerState(3, "ab", "match")
    assert seen_of(told, 40) == Seen(3, 2, 7, "3")
    assert seen_of(told | {"nonce": True, "told": "7", "url": 3}, 40) == Seen(3, 0)
    assert state_of(told | {"verified": "surely"}, 40).verified is None


def test_a_translation_may_be_partial_and_a_wrong_key_is_refused() -> None:
    assert complete({"play": "播放"}) == {**ENGLISH, "play": "播放"}
    with pytest.raises(ConfigError, match="'plai' does not exist"):
        complete({"plai": "播放"})


def test_the_frontend_uses_only_labels_that_exist_and_every_one_of_them() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in FRONTEND.glob("*.js"))
    direct = set(re.findall(r"labels\.([a-z_0-9]+)", code))
    named = set(re.findall(r'"((?:hash|key)_[a-z_0-9]+)"', code))
    destructured = set(re.findall(r"\b(frame_of|hash_match|hash_differs): ", code))
    built = {name for name in ENGLISH if name.startswith(("role_", "tone_", "legend_"))}
    assert direct | named | destructured | built == set(ENGLISH)


def test_the_frontend_never_makes_html_out_of_text_and_loads_nothing_from_elsewhere() -> None:
    for path in FRONTEND.iterdir():
        code = path.read_text(encoding="utf-8")
        for door in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser"):
            assert door not in code, f"{path.name} uses {door}"
        addresses = set(re.findall(r"https?://[^\s\"']+", code))
        assert addresses <= {"http://www.w3.org/2000/svg"}, f"{path.name} names {addresses}"
