"""What a forger may try with what is withheld: each attempt fails, with the reason."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from domain import events as e
from domain import tiles
from domain.errors import ConfigError
from domain.ids import StreamId
from executor.redaction import frame_parts, pixels_of
from projections.exports.select import Scope, scope_of
from projections.exports.verify import layout, verify
from tests.projections.exports.forging import Forger
from tests.projections.exports.made import Made, export, make
from tests.projections.exports.test_redacted import event, less, made, problem, seen
from tests.projections.exports.withholding import (
    ALLOWED,
    ASKED,
    REGION,
    commit,
    record,
    redact_event,
    redact_frame,
    request_of,
)

__all__ = ["less", "made"]


def test_nobody_approves_their_own_request(made: Made, tmp_path: Path) -> None:
    redact_frame(made, seen(made), approver=ASKED)
    export(made, tmp_path / "own.zip")
    assert verify(tmp_path / "own.zip").ok, "it is not in force, so nothing is withheld"
    made = make(others=1)
    redact_frame(made, seen(made))
    _forged_approval(made, tmp_path, ASKED, f"was approved by {ASKED}, who asked for it")


def _forged_approval(made: Made, tmp_path: Path, approver: str, words: str) -> None:
    """A forger's approval that the log really holds, in a bundle that withholds by it."""
    export(made, tmp_path / "good.zip", scope=scope_of(log=True))
    forger = Forger(tmp_path / "good.zip")
    bodies = forger.files[layout.EVENTS].replace(
        f'"approver":"{ALLOWED}"'.encode(), f'"approver":"{approver}"'.encode()
    )
    forger.files[layout.EVENTS] = bodies.replace(
        f'"principal":"{ALLOWED}"'.encode(), f'"principal":"{approver}"'.encode()
    )
    forger.chain_again(forger.events())
    forger.log_again()
    problem(verify(forger.cover().write(tmp_path / "forged.zip")), words)


def test_an_approval_of_another_request_withholds_nothing(made: Made, tmp_path: Path) -> None:
    redact_frame(made, seen(made))
    export(made, tmp_path / "good.zip", scope=scope_of(log=True))
    forger = Forger(tmp_path / "good.zip")
    forger.files[layout.EVENTS] = forger.files[layout.EVENTS].replace(b'"x":10,"y":70', b'"x":10,"y":71')
    forger.chain_again(forger.events())
    forger.log_again()
    problem(
        verify(forger.cover().write(tmp_path / "forged.zip")),
        "approves another request than the one on record",
    )


Attack = Callable[[Forger], object]


def _rendition(forger: Forger) -> str:
    return next(path for path in forger.files if layout.RENDITION.fullmatch(path))


def hide_the_redaction(forger: Forger) -> None:
    forger.put([one for one in forger.events_shown() if not one.entry["stream"].startswith("redaction:")])
    head = forger.json(layout.HEAD)
    head["streams"] = {name: n for name, n in head["streams"].items() if not name.startswith("redaction:")}
    forger.put_json(layout.HEAD, head)


def withhold_one_more_screen(forger: Forger) -> None:
    path = forger.frames()[0]
    del forger.files[path]
    stated = forger.json(layout.WITHHELD)
    item = next(iter(stated["frames"].values()))
    stated["frames"][path.partition("frames/")[2][:64]] = item
    forger.put_json(layout.WITHHELD, stated)


def withhold_one_more_event(forger: Forger) -> None:
    stated = forger.json(layout.WITHHELD)
    (item,) = stated["events"].values()
    events = forger.events_shown()
    hidden = next(one for one in events if one.name == "readback.confirmed")
    shown = json.loads(hidden.body)
    shown["data"]["source"] = "nothing happened"
    stated["events"][hidden.entry["event_id"]] = {**item, "shown": shown}
    hidden.body = b""
    forger.put(events)
    forger.put_json(layout.WITHHELD, stated)


def show_a_redacted_screen(forger: Forger) -> None:
    stated = forger.json(layout.WITHHELD)
    name, item = next(iter(stated["frames"].items()))
    stated["frames"] = {}
    forger.put_json(layout.WITHHELD, stated)
    forger.files[f"data/frames/{name}.png"] = forger.files[_rendition(forger)]
    assert item


def paint_outside_of_the_rectangle(forger: Forger) -> None:
    path = _rendition(forger)
    pixels = tiles.decode_png(forger.files[path])
    rgb = bytearray(pixels.rgb)
    rgb[0:3] = b"\xff\x00\x00"
    forger.files[path] = tiles.encode_png(tiles.Pixels(pixels.width, pixels.height, bytes(rgb)))


def say_another_basis(forger: Forger) -> None:
    stated = forger.json(layout.WITHHELD)
    next(iter(stated["frames"].values()))["basis"] = "because"
    forger.put_json(layout.WITHHELD, stated)


def show_another_text(forger: Forger) -> None:
    stated = forger.json(layout.WITHHELD)
    (item,) = stated["events"].values()
    item["shown"]["data"]["latency_us"] = 1
    forger.put_json(layout.WITHHELD, stated)


def leave_out_the_salts(forger: Forger) -> None:
    for path in [path for path in forger.files if layout.REDACTED.fullmatch(path) and path.endswith("json")]:
        del forger.files[path]


def add_a_stray_rendition(forger: Forger) -> None:
    forger.files["data/redacted/" + "0" * 64 + ".json"] = b"{}"


def say_deleted(forger: Forger) -> None:
    path = forger.frames()[0]
    del forger.files[path]
    stated = forger.json(layout.WITHHELD)
    item = {"at_us": 1, "basis": "180 days", "by": "person:dpo", "stream": "deletion:d1"}
    stated["deleted"] = {path.partition("frames/")[2][:64]: item}
    forger.put_json(layout.WITHHELD, stated)


ATTACKS: dict[Attack, str] = {
    hide_the_redaction: "is withheld, and no redaction in force here says so",
    withhold_one_more_screen: "is withheld, and no redaction in force here says so",
    withhold_one_more_event: "is withheld, and no redaction in force here says so",
    show_a_redacted_screen: "is withheld by redaction:r1, and the bundle shows it",
    paint_outside_of_the_rectangle: "is not the one that the redaction names",
    say_another_basis: "says something else of screen",
    show_another_text: "shows something else than the redaction names",
    leave_out_the_salts: "is missing",
    add_a_stray_rendition: "belongs to no redaction of this bundle",
    say_deleted: "is said to be deleted, and no event here says so",
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_forgery_with_what_is_withheld_fails_with_the_reason(
    attack: Attack, less: Path, tmp_path: Path
) -> None:
    forger = Forger(less)
    attack(forger)
    problem(verify(forger.cover().write(tmp_path / "forged.zip")), ATTACKS[attack])


def _repainted(made: Made, sha256: str, *, inside: bool) -> bytes:
    """A rendition with something of its own, in its one form."""
    whole = pixels_of(made.blobs[sha256], "")
    hidden = tiles.hidden_by(whole.width, whole.height, [REGION])
    rgb = bytearray(tiles.covered(whole, hidden).rgb)
    at = (REGION.y * whole.width + REGION.x) * 3 if inside else 0
    rgb[at : at + 3] = b"\xff\x00\x00"
    return tiles.encode_png(tiles.Pixels(whole.width, whole.height, bytes(rgb)))


def _spoiled(value: Any, dice: random.Random) -> Any:  # noqa: ANN401 - JSON of any shape
    """The same JSON with one value somewhere in it exchanged for something odd, or left out."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        key = dice.choice(sorted(value))
        if dice.random() < 0.1:
            return {name: item for name, item in value.items() if name != key}
        return value | {key: _spoiled(value[key], dice)}
    if isinstance(value, list) and value and dice.random() < 0.85:
        at = dice.randrange(len(value))
        return [*value[:at], _spoiled(value[at], dice), *value[at + 1 :]]
    odd: list[Any] = [
        None,
        True,
        -1,
        10**30,
        1.5,
        "",
        "zz",
        [],
        {},
        [[]],
        {"$withheld": 7},
        "\x1b[31m",
        "0" * 64,
    ]
    return dice.choice([one for one in odd if one != value])


@pytest.mark.parametrize("seed", range(12))
def test_whatever_a_forger_writes_is_a_problem_and_no_accident(less: Path, tmp_path: Path, seed: int) -> None:
    """Statements, salts and the facts about redactions, each with a value of another kind somewhere."""
    dice, forger = random.Random(seed), Forger(less)
    targets = [layout.WITHHELD]
    targets += sorted(
        path for path in forger.files if layout.REDACTED.fullmatch(path) and path.endswith("json")
    )
    target = dice.choice([*targets, layout.EVENTS])
    if target == layout.EVENTS:
        events = forger.events_shown()
        one = dice.choice([one for one in events if one.name.startswith(("redaction.", "commitments."))])
        spoiled = json.loads(one.body)
        one.body = layout.plain_json(spoiled | {"data": _spoiled(spoiled["data"], dice)})
        forger.put(events)
    else:
        forger.put_json(target, _spoiled(json.loads(forger.files[target]), dice))
    report = verify(forger.cover().write(tmp_path / "spoiled.zip"))
    assert not report.ok
    assert all(line.isprintable() for line in report.lines())


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        (False, "outside of its rectangles it is not the screen that was committed to"),
        (True, "something else than the pattern stands within its rectangles"),
    ],
)
def test_a_recorded_rendition_that_is_not_the_screen_is_refused(
    made: Made,
    tmp_path: Path,
    inside: bool,  # noqa: FBT001 - a table
    words: str,
) -> None:
    painted = made.keep(_repainted(made, seen(made), inside=inside))
    redact_frame(made, seen(made), rendition=painted)
    export(made, tmp_path / "painted.zip")
    problem(verify(tmp_path / "painted.zip"), words)


def test_a_root_that_was_not_committed_to_before_is_refused(made: Made, tmp_path: Path) -> None:
    """Requester and approver together can't show another screen, once it was committed to."""
    before = commit(made)
    other = made.screen("B1 processed long ago").sha256
    parts = frame_parts(made.blobs[other], seen(made), [REGION], b"x" * 32)
    fact = request_of(made, "frame", seen(made), parts, regions=[REGION], committed=before)
    record(made, fact)
    export(made, tmp_path / "other.zip")
    problem(verify(tmp_path / "other.zip"), "did not commit to it before")


def test_a_rendition_with_a_hidden_chunk_is_refused(made: Made, tmp_path: Path) -> None:
    redact_frame(made, seen(made))
    request = next(one.event for one in made.book.events if isinstance(one.event, e.RedactionRequested))
    assert request.rendition
    data = made.blobs[request.rendition]
    smuggled = made.keep(data + made.blobs[seen(made)])
    made = make(others=1)
    made.keep(data + made.blobs[seen(made)])
    redact_frame(made, seen(made), rendition=smuggled)
    export(made, tmp_path / "fat.zip")
    problem(verify(tmp_path / "fat.zip"), "its picture is not a PNG of the one form")


def test_a_withheld_event_can_not_be_exchanged(made: Made, tmp_path: Path) -> None:
    one = event(made)
    redact_event(made, one, ["/data/toast"])
    export(made, tmp_path / "less.zip")
    forger = Forger(tmp_path / "less.zip")
    entries = [json.loads(line) for line in forger.files[layout.ENTRIES].splitlines()]
    entry = next(item for item in entries if item["event_id"] == one.envelope.event_id)
    entry["body_sha256"] = "0" * 64
    forger.files[layout.ENTRIES] = b"".join(layout.plain_json(item) + b"\n" for item in entries)
    report = verify(forger.cover().write(tmp_path / "forged.zip"))
    problem(report, f"position {one.row.position}) is not the recorded one")


def test_a_trace_is_withheld_with_a_screen_of_its_task(made: Made, tmp_path: Path) -> None:
    trace = made.keep(b"PK a trace with screens of its own")
    made.book.add(
        e.TraceAttached(blob=trace, tool="playwright", octets=9, calls=1, masked=0),
        stream=StreamId("task:task-1"),
        task="task-1",
        run="run-1",
    )
    redact_frame(made, seen(made))
    with pytest.raises(ConfigError, match="has screens of its own and may show what redaction:r1 withholds"):
        export(made, tmp_path / "trace.zip", scope=Scope("task", "task-1"))
    record(made, request_of(made, "document", trace, None), name="doc")
    export(made, tmp_path / "less.zip", scope=Scope("task", "task-1"))
    assert verify(tmp_path / "less.zip").ok
