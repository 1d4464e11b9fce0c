"""Projections are folds: no I/O, no clock, no other view.

Rules enforced here:

* A view depends on the events alone, in the order of the tenant's log; so the fold of a prefix, continued with the
  rest, is the fold of all, and a view can be thrown away and built again.
* What happens to a view when time passes (age, breach, expiry) is not in it. The functions that answer such
  questions take ``now_us``.
* A partitioned projection is one small fold for each key (a task, a run). An event touches one key at most, so a
  stored view changes in as many rows as there are keys in a batch, however long the log is.
* Events of a batch reach a row together (``extend``), which costs a fraction of a new row for each. How a log is cut
  into batches changes no row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from domain.envelope import Recorded

V = TypeVar("V")

BATCH = 4000
"""Events that are sorted by key and folded together."""

_POSITION = attrgetter("row.position")


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What a view stores: immutable, keyword-only, made of values without cycles.

    A fold makes new rows all the time. ``msgspec.structs.replace`` does that in a thirtieth of the time that
    ``dataclasses.replace`` takes on a row of thirty fields, which decides how fast views are built again.

    Rows that are many or large are ``array_like``: stored without the names of their fields, in half the bytes. Their
    fields are told apart by order, so a view counts its ``version`` up when that changes.
    """


class Projection(Protocol[V]):
    """A pure fold over events."""

    @property
    def name(self) -> str:
        """Stable name; stored beside the rows."""
        ...

    @property
    def version(self) -> int:
        """Counts up when ``apply`` means something else; stored views of another version are built again."""
        ...

    def initial(self) -> V:
        """The view before the first event."""
        ...

    def apply(self, view: V, recorded: Recorded) -> V:
        """The view after one more event; never changes ``view`` itself, never raises on a known event."""
        ...

    def extend(self, view: V, events: Sequence[Recorded]) -> V:
        """The view after several more, one at least; what ``apply`` would have made of them one by one."""
        ...


class Partitioned(Projection[V], Protocol[V]):
    """A family of folds, one for each key; ``apply`` sees the events of its key only."""

    @property
    def row_type(self) -> type[V]:
        """Type of a row, a ``Row``; it must survive JSON."""
        ...

    @property
    def by_place(self) -> bool:
        """True if an event's stream, task and run alone decide its key: then it is asked for once for all of them."""
        ...

    @property
    def facts(self) -> frozenset[type] | None:
        """Kinds of facts that can have a key; None for any."""
        ...

    def key(self, recorded: Recorded) -> str | None:
        """Key whose row the event belongs to, out of the event alone; None when it belongs to none.

        Where it is one of the functions of ``views.common``, as a ``staticmethod``, views share the sorting by it.
        """
        ...

    def group(self, view: V) -> str:
        """Name under which rows are looked up together (the run, the bill); may be empty."""
        ...


class Folded(ABC, Generic[V]):
    """Base of a view that is written for several events; one event is the shortest such case."""

    by_place: bool = True
    facts: frozenset[type] | None = None

    @abstractmethod
    def extend(self, view: V, events: Sequence[Recorded]) -> V:
        """View after several more events."""

    def apply(self, view: V, recorded: Recorded) -> V:
        """View after one more event."""
        return self.extend(view, (recorded,))


class FoldedSingly(ABC, Generic[V]):
    """Base of a view that is written for one event."""

    by_place: bool = True
    facts: frozenset[type] | None = None

    @abstractmethod
    def apply(self, view: V, recorded: Recorded) -> V:
        """View after one more event."""

    def extend(self, view: V, events: Sequence[Recorded]) -> V:
        """View after several more events."""
        for recorded in events:
            view = self.apply(view, recorded)
        return view


class ByKey:
    """Events of a batch, sorted by the keys of any views; views that tell keys in the same way share the sorting.

    Args:
        batch: in order of the log.
    """

    def __init__(self, batch: Sequence[Recorded]) -> None:
        self._batch = batch
        self._places: list[list[Recorded]] = []
        self._kinds: frozenset[type] = frozenset()
        self._sorted: dict[Callable[[Recorded], str | None], dict[str, list[Recorded]]] = {}

    def of(self, projection: Partitioned[Any]) -> dict[str, list[Recorded]]:
        """Events in order of the log by the view's key, in order of first appearance."""
        key = projection.key
        own = self._sorted.get(key)
        if own is None:
            own = self._by_place(key) if projection.by_place else self._by_event(key, projection.facts)
            self._sorted[key] = own
        return own

    def _by_place(self, key_of: Callable[[Recorded], str | None]) -> dict[str, list[Recorded]]:
        if not self._places:
            places: dict[tuple[str, str | None, str | None], list[Recorded]] = {}
            for recorded in self._batch:
                envelope = recorded.envelope
                place = (recorded.row.stream, envelope.task_id, envelope.run_id)
                if place in places:
                    places[place].append(recorded)
                else:
                    places[place] = [recorded]
            self._places = list(places.values())
        own: dict[str, list[Recorded]] = {}
        joined: dict[str, list[Recorded]] = {}
        for events in self._places:
            key = key_of(events[0])
            if key is None:
                continue
            if key not in own:
                own[key] = events
            elif key in joined:
                joined[key].extend(events)
            else:
                own[key] = joined[key] = [*own[key], *events]
        for events in joined.values():
            events.sort(key=_POSITION)
        return own

    def _by_event(
        self, key_of: Callable[[Recorded], str | None], facts: frozenset[type] | None
    ) -> dict[str, list[Recorded]]:
        self._kinds = self._kinds or frozenset({type(recorded.event) for recorded in self._batch})
        own: dict[str, list[Recorded]] = {}
        if facts is not None and self._kinds.isdisjoint(facts):
            return own
        for recorded in self._batch:
            if facts is not None and type(recorded.event) not in facts:
                continue
            key = key_of(recorded)
            if key is not None:
                own.setdefault(key, []).append(recorded)
        return own


def batches(events: Iterable[Recorded], size: int = BATCH) -> Iterator[list[Recorded]]:
    """Events in lists of ``size``, the last one shorter."""
    left = iter(events)
    while batch := list(islice(left, size)):
        yield batch


def run(projection: Projection[V], events: Iterable[Recorded], view: V | None = None) -> V:
    """View after ``events``, one by one, starting from ``view`` or from nothing."""
    current = projection.initial() if view is None else view
    for recorded in events:
        current = projection.apply(current, recorded)
    return current


def run_keys(
    projection: Partitioned[V], events: Iterable[Recorded], rows: Mapping[str, V] | None = None
) -> dict[str, V]:
    """Rows by key after ``events``, starting from ``rows`` or from nothing; keys in order of first appearance."""
    current = dict(rows or {})
    for batch in batches(events):
        _extend(projection, ByKey(batch), current)
    return current


def run_together(
    projections: Sequence[Partitioned[Any]], events: Iterable[Recorded]
) -> tuple[dict[str, Any], ...]:
    """Rows by key of several projections, in one pass over the events."""
    found: tuple[dict[str, Any], ...] = tuple({} for _ in projections)
    for batch in batches(events):
        by_key = ByKey(batch)
        for projection, rows in zip(projections, found, strict=True):
            _extend(projection, by_key, rows)
    return found


def _extend(projection: Partitioned[V], by_key: ByKey, rows: dict[str, V]) -> None:
    for key, events in by_key.of(projection).items():
        view = rows[key] if key in rows else projection.initial()
        rows[key] = projection.extend(view, events)
