"""Frames and events go out to the run that names them, and to no other."""

from __future__ import annotations

import hashlib

import msgspec

from replay_ui.data import Desk
from replay_ui.evidence import Evidence
from replay_ui.player.manifest import COLUMNS
from tests.replay_ui.sample import OTHER_RUN, RUN, WATCHED


def test_the_header_tells_the_run_before_any_chunk(desk: Desk) -> None:
    header = Evidence(desk).header("acme", RUN)
    assert header is not None
    assert (header.tenant, header.run, header.mode) == ("acme", RUN, "guarded")
    assert header.frames == len(_shas(desk, RUN)) == 9
    assert [stop.tone for stop in header.stops] == ["stopped", "stopped"]


def test_a_chunk_has_every_column_of_the_player(desk: Desk) -> None:
    chunk = Evidence(desk).chunk("acme", RUN, 0)
    assert chunk is not None
    columns = msgspec.json.decode(chunk)["columns"]
    assert tuple(columns) == COLUMNS
    assert columns["sha256"] == _shas(desk, RUN)
    assert Evidence(desk).chunk("acme", RUN, 1) is None


def test_a_frame_is_the_stored_bytes(desk: Desk) -> None:
    for sha256 in _shas(desk, RUN):
        frame = Evidence(desk).frame("acme", RUN, sha256)
        assert frame is not None
        assert hashlib.sha256(frame.content).hexdigest() == sha256
        assert frame.media_type == "image/png"


def test_a_frame_of_another_run_or_tenant_does_not_exist_here(desk: Desk) -> None:
    foreign = (set(_shas(desk, WATCHED)) | set(_shas(desk, OTHER_RUN, "globex"))) - set(_shas(desk, RUN))
    assert foreign
    assert all(Evidence(desk).frame("acme", RUN, sha256) is None for sha256 in foreign)
    assert Evidence(desk).frame("acme", OTHER_RUN, _shas(desk, OTHER_RUN, "globex")[0]) is None


def test_an_event_is_the_stored_bytes_and_only_of_its_run(desk: Desk) -> None:
    stored = Evidence(desk).event("acme", RUN, 1)
    assert stored is not None
    assert b"run.started" in stored
    assert Evidence(desk).event("acme", WATCHED, 1) is None
    assert Evidence(desk).event("acme", RUN, 10_000) is None


def _shas(desk: Desk, run: str, tenant: str = "acme") -> list[str]:
    chunk = Evidence(desk).chunk(tenant, run, 0)
    assert chunk is not None
    found: list[str] = msgspec.json.decode(chunk)["columns"]["sha256"]
    return found


def test_a_manifest_is_said_in_the_readers_language_with_its_values_as_they_are(desk: Desk) -> None:
    source = Evidence(desk)
    own, said, other = (source.chunk("acme", RUN, 0, language) for language in ("", "zh", "xx"))
    assert own is not None
    assert said is not None
    assert other == own
    before, after = (msgspec.json.decode(chunk)["columns"] for chunk in (own, said))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"summary", "verdict"}
    assert not [one for one in after["summary"] if one in before["summary"]]
    assert "pass" in before["verdict"]
    assert "通过" in after["verdict"]
