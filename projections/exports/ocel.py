"""The record as an object-centric event log: OCEL 2.0 JSON, for process-mining tools.

A. Berti et al., "OCEL (Object-Centric Event Log) 2.0 Specification", 2024, section 8 and its JSON schema.

Rules enforced here:

* Every event of the log is an event of the export, under its own id and name, with its position, so that what a tool
  finds can be looked up in the record.
* Objects are bills, tasks, runs, principals and settlement files. Ids begin with the type, for they share one space.
* Values are text whatever their declared type is, as the published schema demands; times are UTC with microseconds.
* Attributes are the plain fields of a fact (text, whole numbers, flags). Nested values stay in the record.
* Events are written as they are read; only objects are held in memory. The same log gives the same bytes.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Literal, NewType, get_args, get_origin, get_type_hints

import orjson

from domain import events as e
from domain.envelope import Recorded
from domain.events.base import all_names, type_of
from projections.exports.report.tables import moment
from projections.views.common import bill_of, task_of
from projections.views.runs import outcome_of

ObjectType = Literal["bill", "task", "run", "principal", "settlement_file"]
ValueType = Literal["string", "integer", "boolean"]

OBJECT_TYPES: dict[ObjectType, dict[str, ValueType]] = {
    "bill": {
        "status": "string",
        "amount_minor": "integer",
        "currency": "string",
        "counterparty": "string",
        "month": "string",
    },
    "task": {"action": "string", "mode": "string", "state": "string"},
    "run": {"mode": "string", "agent": "string", "goal": "string", "origin": "string"},
    "principal": {},
    "settlement_file": {"file_name": "string", "month": "string", "profile": "string"},
}
COMMON: dict[str, ValueType] = {"position": "integer", "stream": "string"}
"""Attributes of every event, beside those of its fact."""
FLUSH = 256
"""Events of one chunk."""


@dataclass(slots=True)
class _Thing:
    """An object while the log is read."""

    type: ObjectType
    last: dict[str, str] = field(default_factory=dict)
    attributes: list[dict[str, str]] = field(default_factory=list)
    relations: dict[tuple[str, str], None] = field(default_factory=dict)

    def tell(self, name: str, value: object, time: str) -> None:
        """Note an attribute where it differs from what was known."""
        text = _text(value)
        if text and self.last.get(name) != text:
            self.last[name] = text
            self.attributes.append({"name": name, "value": text, "time": time})


def ocel(events: Iterable[Recorded]) -> Iterator[bytes]:
    """The document in chunks, UTF-8.

    Args:
        events: of one tenant, in the order of its log.
    """
    things: dict[str, _Thing] = {}
    yield (
        b'{"objectTypes":' + orjson.dumps(_object_types()) + b',"eventTypes":' + orjson.dumps(_event_types())
    )
    yield b',"events":['
    waiting: list[bytes] = []
    begun = False
    for recorded in events:
        waiting.append(orjson.dumps(_event(recorded, things)))
        if len(waiting) == FLUSH:
            yield (b",\n" if begun else b"\n") + b",\n".join(waiting)
            waiting, begun = [], True
    if waiting:
        yield (b",\n" if begun else b"\n") + b",\n".join(waiting)
    yield b'],"objects":['
    for number, (name, thing) in enumerate(sorted(things.items())):
        yield (b",\n" if number else b"\n") + orjson.dumps(_object(name, thing))
    yield b"]}\n"


def _object_types() -> list[dict[str, Any]]:
    return [
        {"name": name, "attributes": [{"name": key, "type": kind} for key, kind in attributes.items()]}
        for name, attributes in OBJECT_TYPES.items()
    ]


def _event_types() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "attributes": [{"name": key, "type": kind} for key, kind in (COMMON | _plain(name)).items()],
        }
        for name in all_names()
    ]


@lru_cache(maxsize=256)
def _plain(name: str) -> dict[str, ValueType]:
    """Plain fields of a fact, with their types; a field that is called like a common attribute gives way."""
    known = type_of(name)
    if known is None:
        return {}
    hints = get_type_hints(known[0])
    found = {item.name: _value_type(hints[item.name]) for item in fields(known[0]) if item.name not in COMMON}
    return {key: kind for key, kind in found.items() if kind is not None}


def _value_type(hint: Any) -> ValueType | None:  # noqa: ANN401 - a type annotation can be anything
    if isinstance(hint, NewType):
        return _value_type(hint.__supertype__)
    if get_origin(hint) is Literal:
        return "string"
    if get_origin(hint) is types.UnionType:
        inner = {_value_type(part) for part in get_args(hint) if part is not type(None)}
        return inner.pop() if len(inner) == 1 else None
    kinds: dict[Any, ValueType] = {str: "string", bool: "boolean", int: "integer"}
    return kinds.get(hint)


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def _event(recorded: Recorded, things: dict[str, _Thing]) -> dict[str, Any]:
    envelope = recorded.envelope
    time = moment(envelope.occurred_at_us).isoformat(timespec="microseconds").replace("+00:00", "Z")
    values: dict[str, object] = {"position": recorded.row.position, "stream": recorded.row.stream}
    values |= {name: getattr(recorded.event, name) for name in _plain(recorded.name)}
    return {
        "id": envelope.event_id,
        "type": recorded.name,
        "time": time,
        "attributes": [
            {"name": name, "value": _text(value)} for name, value in values.items() if value is not None
        ],
        "relationships": [
            {"objectId": name, "qualifier": qualifier} for name, qualifier in _relate(recorded, time, things)
        ],
    }


def _relate(recorded: Recorded, time: str, things: dict[str, _Thing]) -> Iterator[tuple[str, str]]:
    """Objects of an event; what it says about them is noted."""
    envelope, event = recorded.envelope, recorded.event
    who = f"principal:{envelope.principal}"
    things.setdefault(who, _Thing("principal"))
    yield who, "acted"
    bill, task, run = bill_of(recorded), task_of(recorded), envelope.run_id
    if bill:
        thing = things.setdefault(f"bill:{bill}", _Thing("bill"))
        _tell_bill(thing, event, time)
        yield f"bill:{bill}", "about"
    if task is not None:
        thing = things.setdefault(f"task:{task}", _Thing("task"))
        if isinstance(event, e.TaskOpened | e.TaskRefused):
            thing.tell("action", event.intent.action, time)
            thing.tell("mode", event.mode if isinstance(event, e.TaskOpened) else "", time)
        thing.tell("state", outcome_of(event), time)
        if bill:
            thing.relations[f"bill:{bill}", "about"] = None
        if run is not None:
            thing.relations[f"run:{run}", "worked on in"] = None
        yield f"task:{task}", "part of"
    if run is not None:
        thing = things.setdefault(f"run:{run}", _Thing("run"))
        if isinstance(event, e.RunStarted):
            for name in OBJECT_TYPES["run"]:
                thing.tell(name, getattr(event, name), time)
        yield f"run:{run}", "during"
    if isinstance(event, e.SettlementImported):
        thing = things.setdefault(f"settlement_file:{event.blob}", _Thing("settlement_file"))
        for name in OBJECT_TYPES["settlement_file"]:
            thing.tell(name, getattr(event, name), time)
        yield f"settlement_file:{event.blob}", "imported"


def _tell_bill(thing: _Thing, event: e.Event, time: str) -> None:
    match event:
        case e.TaskOpened() | e.TaskRefused():
            for name in ("amount_minor", "currency", "counterparty", "month"):
                thing.tell(name, getattr(event.intent, name), time)
        case e.ReadbackConfirmed() | e.ReadbackMismatched():
            thing.tell("status", event.found.status, time)
        case e.CompensationRegistered():
            thing.tell("status", event.snapshot.status, time)
        case e.CompensationConfirmed():
            thing.tell("status", event.restored.status, time)
        case _:
            return


def _object(name: str, thing: _Thing) -> dict[str, Any]:
    return {
        "id": name,
        "type": thing.type,
        "attributes": thing.attributes,
        "relationships": [
            {"objectId": other, "qualifier": qualifier} for other, qualifier in thing.relations
        ],
    }
