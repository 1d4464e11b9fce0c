"""Canonical bytes: one form, nothing that has none, and history that survives newer releases' fields."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.codec import FORMAT, MAX_BODY_BYTES, SAFE_INTEGER, canonical, decode, encode, read
from domain.envelope import Draft, Envelope, StoredRow
from domain.errors import FormatTooNew, IntegrityError
from domain.events import AlertRaised, TaskClaimed
from domain.ids import EffectKey, EventId, PrincipalId, RunId, StreamId, TaskId, TenantId
from domain.values import FrameRef
from tests.support.records import Maker

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-SAFE_INTEGER, SAFE_INTEGER) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def _draft(message: str = "hello") -> Draft:
    return Draft(
        envelope=Envelope(
            event_id=EventId("019a0000-0000-7000-8000-000000000001"),
            tenant=TenantId("acme"),
            stream=StreamId("task:1"),
            version=3,
            principal=PrincipalId("svc:acme-batch"),
            occurred_at_us=1_796_000_000_000_000,
            salt="ab" * 32,
            run_id=RunId("run-1"),
            task_id=TaskId("1"),
            idempotency_key=EffectKey("acme:B1:mark_processed:1"),
            frames=(FrameRef(role="observed", sha256=Maker().uuid(), width=1, height=2),),  # type: ignore[arg-type]
            causation_id=EventId("019a0000-0000-7000-8000-000000000000"),
            correlation_id="case-1",
        ),
        event=AlertRaised(kind="x", severity="low", message=message, delivered={"log": "ok"}),
    )


@given(PLAIN)
def test_plain_data_survives_and_has_one_form(value: object) -> None:
    data = canonical(value)
    assert orjson.loads(data) == value
    assert canonical(orjson.loads(data)) == data
    assert json.loads(data) == value


def test_keys_are_sorted_and_nothing_is_padded() -> None:
    assert canonical({"b": [1, True, None], "a": "é"}) == '{"a":"é","b":[1,true,null]}'.encode()


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": 1.5}, "$.a"),
        ([0, float("nan")], r"$\[1]"),
        ({"a": {"b": SAFE_INTEGER + 1}}, "$.a.b"),
        (-SAFE_INTEGER - 1, "$"),
        ({"a": b"bytes"}, "$.a"),
        ({"a": {1, 2}}, "$.a"),
        ({1: "number as a key"}, "$"),
        ({"a": "\ud800"}, "$"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_path(value: object, path: str) -> None:
    with pytest.raises(ValueError, match=path.replace("$", r"\$").replace(r"\$\[", r"\$\[")):
        canonical(value)


@given(TEXT, st.dictionaries(TEXT, TEXT, max_size=4), st.integers(-SAFE_INTEGER, SAFE_INTEGER))
def test_an_event_is_written_in_the_one_form_that_plain_data_has(
    message: str, delivered: dict[str, str], at_us: int
) -> None:
    draft = _draft(message)
    envelope = msgspec.structs.replace(draft.envelope, occurred_at_us=at_us, correlation_id=message)
    event = AlertRaised(kind=message, severity="low", message=message, delivered=delivered)
    body = encode(Draft(envelope=envelope, event=event))
    assert body == canonical(orjson.loads(body))


@pytest.mark.parametrize(
    "character", ["\u0000", "\u001f", '"\\/', "\u007f", "\u2028", "\ufeff", "\uffff", "\U0001f600"]
)
def test_every_kind_of_character_is_written_in_the_one_form(character: str) -> None:
    body = encode(_draft(character))
    assert body == canonical(orjson.loads(body))
    assert orjson.loads(body)["data"]["message"] == character


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("delivered", {"log": 1.5}, "$.data.delivered.log"),
        ("delivered", {"log": ["x", float("nan")]}, "$.data.delivered.log[1]"),
        ("delivered", {1: "number as a key"}, "$: "),
        ("message", SAFE_INTEGER + 1, "$.data.message"),
        ("message", "\ud800", "$: "),
        ("delivered", {"\ud800": "x"}, "$: "),
    ],
)
def test_an_event_that_has_no_canonical_form_is_refused(field: str, value: object, path: str) -> None:
    fields = {"kind": "x", "severity": "low", "message": "", "delivered": {}, field: value}
    event = AlertRaised(**fields)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=re.escape(path)):
        encode(Draft(envelope=_draft().envelope, event=event))


@pytest.mark.parametrize("value", [1.0, float("inf"), SAFE_INTEGER + 1, -SAFE_INTEGER - 1])
def test_an_envelope_that_has_no_canonical_form_is_refused(value: float) -> None:
    envelope = msgspec.structs.replace(_draft().envelope, occurred_at_us=value)
    with pytest.raises(ValueError, match="occurred_at_us"):
        encode(Draft(envelope=envelope, event=_draft().event))


def test_an_event_comes_back_as_it_went_in() -> None:
    draft = _draft()
    envelope, name, schema, event = decode(encode(draft))
    assert (envelope, event) == (draft.envelope, draft.event)
    assert (name, schema) == ("alert.raised", 1)


@given(TEXT)
def test_page_content_cannot_forge_structure(message: str) -> None:
    hostile = message + '","format":9,"_type_":"os.system","name":"task.sealed'
    _, name, _, event = decode(encode(_draft(hostile)))
    assert name == "alert.raised"
    assert isinstance(event, AlertRaised)
    assert event.message == hostile


def test_an_event_that_is_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="the limit is"):
        encode(_draft("x" * MAX_BODY_BYTES))


def test_fields_of_a_newer_release_are_passed_over_and_stay_in_the_bytes() -> None:
    raw = orjson.loads(encode(_draft()))
    raw["added_later"] = {"a": 1}
    raw["data"]["added_later"] = "too"
    body = canonical(raw)
    _, _, _, event = decode(body)
    assert event == _draft().event
    assert b"added_later" in body


@pytest.mark.parametrize(
    "change",
    [{"format": FORMAT + 1}, {"name": "alert.renamed_later"}, {"schema": 2}],
    ids=["a newer layout", "an unknown event", "a newer schema"],
)
def test_what_a_newer_release_wrote_is_refused_with_a_clear_word(change: dict[str, object]) -> None:
    raw = orjson.loads(encode(_draft())) | change
    with pytest.raises(FormatTooNew, match="upgrade proofreel"):
        decode(canonical(raw), where="acme event 5")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b'"text"',
        b"{}",
        b'{"format":1}',
        b'{"format":"1"}',
        b'{"format":null}',
        b"\xff",
    ],
)
def test_bytes_that_are_no_event_are_refused_with_their_place(body: bytes) -> None:
    with pytest.raises(IntegrityError, match="acme event 5"):
        decode(body, where="acme event 5")


@pytest.mark.parametrize("key", sorted(orjson.loads(encode(_draft()))))
def test_an_event_without_one_of_its_fields_is_refused(key: str) -> None:
    raw = orjson.loads(encode(_draft()))
    del raw[key]
    with pytest.raises(IntegrityError):
        decode(canonical(raw))


@pytest.mark.parametrize("key", sorted(orjson.loads(encode(_draft()))))
@pytest.mark.parametrize("value", [[1], {"a": 1}, True], ids=["a list", "an object", "a boolean"])
def test_an_event_with_a_field_of_another_kind_is_refused(key: str, value: object) -> None:
    raw = orjson.loads(encode(_draft())) | {key: value}
    with pytest.raises(IntegrityError):
        decode(canonical(raw))


@given(st.data())
def test_any_damaged_byte_is_refused_or_reads_as_something_else(data: st.DataObject) -> None:
    body = encode(_draft())
    at = data.draw(st.integers(0, len(body) - 1))
    damaged = bytearray(body)
    damaged[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        found = decode(bytes(damaged))
    except IntegrityError:
        return
    assert found != decode(body) or orjson.loads(bytes(damaged)) != orjson.loads(body)


def test_errors_name_the_row() -> None:
    row = StoredRow(
        tenant=TenantId("acme"),
        position=5,
        stream=StreamId("task:1"),
        version=1,
        recorded_at_us=0,
        body=b"{}",
        entry_hash=b"",
    )
    with pytest.raises(IntegrityError, match="acme event 5"):
        read(row)
    good = msgspec.structs.replace(row, body=encode(_draft()))
    assert read(good).envelope.stream == "task:1"


def test_a_claim_keeps_its_key() -> None:
    draft = replace(_draft(), event=TaskClaimed(effect_key=EffectKey("k")))
    assert decode(encode(draft))[3] == draft.event
