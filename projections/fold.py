"""Projections are folds: no I/O, no clock, no other view.

Rules enforced here:

* A view depends on the events alone, in the order of the tenant's log; so the fold of a prefix, continued with the
  rest, is the fold of all, and a view can be thrown away and built again.
* What happens to a view when time passes (age, breach, expiry) is not in it. The functions that answer such
  questions take ``now_us``.
* A partitioned projection is one small fold for each key (a task, a run). An event touches one key at most, so a
  stored view changes in as many rows as there are keys in a batch, however long the log is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from domain.envelope import Recorded

V = TypeVar("V")


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a view stores: immutable, keyword-only, made of values without cycles.

    A fold makes a new row for each event. ``msgspec.structs.replace`` does that in a thirtieth of the time that
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


class Partitioned(Projection[V], Protocol[V]):
    """A family of folds, one for each key; ``apply`` sees the events of its key only."""

    @property
    def row_type(self) -> type[V]:
        """Type of a row, a ``Row``; it must survive JSON."""
        ...

    def key(self, recorded: Recorded) -> str | None:
        """Key whose row the event belongs to, out of the event alone; None when it belongs to none.

        Where it is one of the functions of ``views.common``, as a ``staticmethod``, views share the sorting by it.
        """
        ...

    def group(self, view: V) -> str:
        """Name under which rows are looked up together (the run, the bill); may be empty."""
        ...


def run(projection: Projection[V], events: Iterable[Recorded], view: V | None = None) -> V:
    """View after ``events``, starting from ``view`` or from nothing."""
    current = projection.initial() if view is None else view
    for recorded in events:
        current = projection.apply(current, recorded)
    return current


def run_keys(
    projection: Partitioned[V], events: Iterable[Recorded], rows: Mapping[str, V] | None = None
) -> dict[str, V]:
    """Rows by key after ``events``, starting from ``rows`` or from nothing; keys in order of first appearance."""
    current = dict(rows or {})
    for recorded in events:
        key = projection.key(recorded)
        if key is not None:
            view = current[key] if key in current else projection.initial()
            current[key] = projection.apply(view, recorded)
    return current


def run_together(
    projections: Sequence[Partitioned[Any]], events: Iterable[Recorded]
) -> tuple[dict[str, Any], ...]:
    """Rows by key of several projections, in one pass over the events."""
    found: tuple[dict[str, Any], ...] = tuple({} for _ in projections)
    for recorded in events:
        for projection, rows in zip(projections, found, strict=True):
            key = projection.key(recorded)
            if key is not None:
                view = rows[key] if key in rows else projection.initial()
                rows[key] = projection.apply(view, recorded)
    return found
