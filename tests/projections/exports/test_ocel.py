"""OCEL 2.0 JSON: valid by the published schema, every event in it, and references that lead somewhere."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from hypothesis import given

from domain import events as e
from domain.envelope import Recorded
from domain.events.base import all_names
from domain.ids import settlement_stream
from projections.exports.ocel import FLUSH, ocel
from tests.projections.views.histories import histories
from tests.support.events import Book, intent, sha
from tests.support.examples import one_of_each

_NAMED = {"type": "object", "properties": {"name": {"type": "string"}, "type": {"type": "string"}}}
_TYPES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "attributes": {"type": "array", "items": _NAMED | {"required": ["name", "type"]}},
        },
        "required": ["name", "attributes"],
    },
}
_RELATIONS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"objectId": {"type": "string"}, "qualifier": {"type": "string"}},
        "required": ["objectId", "qualifier"],
    },
}
_VALUE = {"name": {"type": "string"}, "value": {"type": "string"}}
_TIME = {"type": "string", "format": "date-time"}


def _things(attribute: dict[str, Any], own: dict[str, Any], required: list[str]) -> dict[str, Any]:
    attributes = {"type": "object", "properties": attribute, "required": sorted(attribute)}
    shape = {"id": {"type": "string"}, "type": {"type": "string"}, "relationships": _RELATIONS} | own
    return {
        "type": "array",
        "items": {
            "type": "object",
            "properties": shape | {"attributes": {"type": "array", "items": attributes}},
            "required": required,
        },
    }


SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "eventTypes": _TYPES,
        "objectTypes": _TYPES,
        "events": _things(_VALUE, {"time": _TIME}, ["id", "type", "time"]),
        "objects": _things(_VALUE | {"time": _TIME}, {}, ["id", "type"]),
    },
    "required": ["eventTypes", "objectTypes", "events", "objects"],
}
"""The rules of the standard's own JSON schema (ocel-standard.org, 2.0)."""


def document(events: list[Recorded]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(b"".join(ocel(events)))
    return found


def valid(found: dict[str, Any]) -> None:
    jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(found)
    objects = {thing["id"]: thing["type"] for thing in found["objects"]}
    assert len(objects) == len(found["objects"])
    event_types = {
        kind["name"]: {a["name"]: a["type"] for a in kind["attributes"]} for kind in found["eventTypes"]
    }
    object_types = {
        kind["name"]: {a["name"]: a["type"] for a in kind["attributes"]} for kind in found["objectTypes"]
    }
    for event in found["events"]:
        assert all(relation["objectId"] in objects for relation in event["relationships"])
        declared(event, event_types)
    for thing in found["objects"]:
        assert all(relation["objectId"] in objects for relation in thing["relationships"])
        declared(thing, object_types)


def declared(thing: dict[str, Any], kinds: dict[str, dict[str, str]]) -> None:
    """Every attribute is declared and reads as what it is declared to be."""
    for attribute in thing["attributes"]:
        kind = kinds[thing["type"]][attribute["name"]]
        if kind == "integer":
            assert str(int(attribute["value"])) == attribute["value"]
        elif kind == "boolean":
            assert attribute["value"] in {"true", "false"}


@given(history=histories)
def test_any_log_gives_a_valid_document_with_every_event_once(history: list[Recorded]) -> None:
    found = document(history)
    valid(found)
    assert [event["id"] for event in found["events"]] == [r.envelope.event_id for r in history]


def test_every_fact_of_the_vocabulary_has_its_type() -> None:
    book = Book()
    for fact in one_of_each():
        book.add(fact, stream=settlement_stream("2026-11"))
    found = document(book.events)
    valid(found)
    assert {event["type"] for event in found["events"]} == set(all_names())
    assert {kind["name"] for kind in found["eventTypes"]} == set(all_names())


def of(found: dict[str, Any], name: str) -> dict[str, Any]:
    thing: dict[str, Any] = next(thing for thing in found["objects"] if thing["id"] == name)
    return thing


def test_a_bills_status_is_told_as_it_changed() -> None:
    book = Book()
    book.run().task("t1", intent("B1")).done()
    bill = of(document(book.events), "bill:B1")
    told = [(one["name"], one["value"]) for one in bill["attributes"]]
    assert ("amount_minor", "12000") in told
    assert [value for name, value in told if name == "status"] == ["pending", "processed"]
    times = [one["time"] for one in bill["attributes"] if one["name"] == "status"]
    assert times == sorted(times)
    assert times[0].endswith("Z")


def test_an_event_is_related_to_bill_task_run_and_identity() -> None:
    book = Book()
    book.run("run-1").task("t1", intent("B1")).done()
    event = document(book.events)["events"][-1]
    assert {(one["objectId"], one["qualifier"]) for one in event["relationships"]} == {
        ("bill:B1", "about"),
        ("task:t1", "part of"),
        ("run:run-1", "during"),
        ("principal:svc:acme-batch", "acted"),
    }
    assert {"name": "position", "value": str(len(book.events))} in event["attributes"]


def test_ids_of_a_task_and_a_bill_of_one_name_stay_apart() -> None:
    book = Book()
    book.run("x").task("x", intent("x")).done()
    names = {thing["id"] for thing in document(book.events)["objects"]}
    assert {"bill:x", "task:x", "run:x"} <= names


def test_a_settlement_import_is_related_to_its_file() -> None:
    book = Book()
    fact = next(one for one in one_of_each() if isinstance(one, e.SettlementImported))
    book.add(fact, stream=settlement_stream("2026-11"))
    found = document(book.events)
    assert of(found, f"settlement_file:{sha('file')}")["type"] == "settlement_file"


def test_a_log_of_many_chunks_is_one_document_and_the_same_again() -> None:
    book = Book()
    run = book.run()
    for number in range(FLUSH // 4):
        run.task(f"t{number}", intent(f"B{number}")).done()
    first = list(ocel(book.events))
    assert len(first) > 6
    assert b"".join(first) == b"".join(ocel(book.events))
    assert len(json.loads(b"".join(first))["events"]) == len(book.events) > 2 * FLUSH


def test_an_empty_log_is_a_valid_document() -> None:
    valid(document([]))
