"""The vocabulary: names, schema versions, goldens, and what is refused instead of guessed at.

To write the golden of a *new* event: ``python -m tests.domain.test_events``. A golden that exists is never rewritten.
"""

from __future__ import annotations

import dataclasses
import typing
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest

from domain import events
from domain.codec import canonical, decode, encode
from domain.errors import FormatTooNew, IntegrityError
from domain.events import upcasts
from domain.events.base import all_names, fact, name_of, type_of
from tests.domain.samples import SAMPLES, draft_of
from tests.support.examples import one_of_each

GOLDEN = Path(__file__).parents[1] / "golden" / "events"
UNION: tuple[type, ...] = typing.get_args(events.Event)
samples = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: name_of(sample)[0])


def golden(name: str, schema: int) -> Path:
    return GOLDEN / f"{name}.v{schema}.json"


def test_the_registry_and_the_closed_union_are_the_same() -> None:
    registered = [found[0] for name in all_names() if (found := type_of(name)) is not None]
    assert set(registered) == set(UNION)
    assert len(registered) == len(UNION)


def test_what_streams_may_hold_is_the_union() -> None:
    others = (events.SettlementImported, events.EvidenceOpened, events.TargetAccepted)
    parts = (
        *typing.get_args(events.TaskEvent),
        *typing.get_args(events.RunEvent),
        *typing.get_args(events.CaseEvent),
        *typing.get_args(events.PrivacyEvent),
        *others,
    )
    assert set(parts) == set(UNION)


def test_every_event_is_exported_under_its_own_name() -> None:
    for cls in UNION:
        assert getattr(events, cls.__name__) is cls
        assert cls.__name__ in events.__all__


def test_names_are_ours_and_never_a_module_path() -> None:
    for name in all_names():
        noun, _, happened = name.partition(".")
        assert noun.replace("_", "").isalpha()
        assert happened.replace("_", "").isalpha()
        assert not name.startswith("domain.")


def test_a_name_is_taken_once() -> None:
    class Twin:
        pass

    before = all_names()
    with pytest.raises(ValueError, match=r"task\.opened is taken by TaskOpened"):
        fact("task.opened")(Twin)
    assert all_names() == before


def test_only_facts_have_a_stored_name() -> None:
    with pytest.raises(KeyError):
        name_of("task.opened")
    assert type_of("task.unheard_of") is None


@pytest.mark.parametrize("cls", UNION, ids=lambda cls: cls.__name__)
def test_facts_are_frozen_documented_and_hold_no_floats(cls: type) -> None:
    assert cls.__doc__
    assert not cls.__doc__.startswith(f"{cls.__name__}(")
    sample = next(sample for sample in SAMPLES if type(sample) is cls)
    field = dataclasses.fields(typing.cast("Any", cls))[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(sample, field, None)
    hints = typing.get_type_hints(cls)
    assert float not in hints.values()


def test_every_event_has_one_sample_and_one_example() -> None:
    assert sorted(name_of(sample)[0] for sample in SAMPLES) == list(all_names())
    assert sorted(name_of(example)[0] for example in one_of_each()) == list(all_names())


@samples
def test_a_sample_fills_every_field(sample: events.Event) -> None:
    for field in dataclasses.fields(sample):
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        assert getattr(sample, field.name) != default, f"{field.name} is left at its default"


@samples
def test_the_golden_decodes_to_the_sample_and_encodes_back_byte_for_byte(sample: events.Event) -> None:
    name, schema = name_of(sample)
    stored = golden(name, schema).read_bytes()
    envelope, stored_name, stored_schema, event = decode(stored)
    draft = draft_of(sample)
    assert (stored_name, stored_schema, event, envelope) == (name, schema, sample, draft.envelope)
    assert encode(draft) == stored


def test_every_golden_is_of_a_known_event_and_every_version_up_to_now_has_one() -> None:
    kept = {path.name for path in GOLDEN.glob("*.json")}
    wanted = {
        golden(name, version).name
        for name in all_names()
        if (known := type_of(name)) is not None
        for version in range(1, known[1] + 1)
    }
    assert kept == wanted | {"task.opened.v99.json"}


def test_every_step_between_versions_has_an_upcast() -> None:
    wanted = {
        (name, version)
        for name in all_names()
        if (known := type_of(name)) is not None
        for version in range(1, known[1])
    }
    assert set(upcasts.UPCASTS) == wanted


def test_an_event_from_the_future_is_refused_with_a_clear_word() -> None:
    stored = (GOLDEN / "task.opened.v99.json").read_bytes()
    with pytest.raises(FormatTooNew) as refusal:
        decode(stored, where="acme event 7")
    assert "task.opened has schema 99, this release knows 1" in str(refusal.value)
    assert "upgrade proofreel" in str(refusal.value)


def _changed(**fields: object) -> bytes:
    raw = orjson.loads(golden("task.opened", 1).read_bytes())
    return canonical(raw | fields)


def test_an_unknown_event_is_refused_and_never_guessed_at() -> None:
    with pytest.raises(FormatTooNew, match=r"task\.teleported"):
        decode(_changed(name="task.teleported"))


def test_a_layout_from_the_future_is_refused() -> None:
    with pytest.raises(FormatTooNew, match="format 2"):
        decode(_changed(format=2))


@pytest.mark.parametrize("data", [{}, {"intent": 7}, [], None, "task.opened"])
def test_an_event_without_what_it_must_say_is_no_event(data: object) -> None:
    with pytest.raises(IntegrityError, match="not a readable event"):
        decode(_changed(data=data))


def test_a_field_that_this_release_does_not_know_does_not_hide_the_event() -> None:
    raw = orjson.loads(golden("task.claimed", 1).read_bytes())
    raw["data"]["colour"] = "green"
    _, _, _, event = decode(canonical(raw))
    assert isinstance(event, events.TaskClaimed)


STEPS: dict[tuple[str, int], upcasts.Upcast] = {
    ("parcel.sent", 1): lambda data: {**data, "weight_g": data["weight_kg"] * 1000},
    ("parcel.sent", 2): lambda data: {"to": data["to"], "weight_g": data["weight_g"]},
}


def test_old_data_is_lifted_step_by_step_and_stays_as_it_was_stored() -> None:
    old = {"to": "Li Na", "weight_kg": 2}
    assert upcasts.lift("parcel.sent", 1, old, current=3, upcasts=STEPS) == {"to": "Li Na", "weight_g": 2000}
    assert old == {"to": "Li Na", "weight_kg": 2}
    halfway = {"to": "Li Na", "weight_kg": 2, "weight_g": 2000}
    assert upcasts.lift("parcel.sent", 2, halfway, current=3, upcasts=STEPS) == {
        "to": "Li Na",
        "weight_g": 2000,
    }


def test_current_data_is_not_touched() -> None:
    data = {"to": "Li Na", "weight_g": 2000}
    assert upcasts.lift("parcel.sent", 3, data, current=3, upcasts=STEPS) is data


def test_data_from_the_future_is_not_lifted() -> None:
    with pytest.raises(FormatTooNew, match="schema 4, this release knows 3"):
        upcasts.lift("parcel.sent", 4, {}, current=3, upcasts=STEPS)


def test_a_missing_step_is_said_and_not_skipped() -> None:
    with pytest.raises(KeyError):
        upcasts.lift("parcel.sent", 1, {}, current=3, upcasts={("parcel.sent", 2): STEPS["parcel.sent", 2]})


def write_missing_goldens() -> None:
    """Write the goldens that are not there yet; those that are stay as they were committed."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for sample in SAMPLES:
        path = golden(*name_of(sample))
        if not path.exists():
            path.write_bytes(encode(draft_of(sample)))
    future = GOLDEN / "task.opened.v99.json"
    if not future.exists():
        raw = msgspec.json.decode(encode(draft_of(SAMPLES[0])))
        raw |= {"schema": 99, "data": {"purpose": "what nobody can know today"}}
        future.write_bytes(canonical(raw))


if __name__ == "__main__":
    write_missing_goldens()
