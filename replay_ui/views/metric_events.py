"""The events behind a number of the page of metrics: of a metric, a slice, a day, a verdict or a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from projections.views.metrics import metric_of
from projections.views.slices import DIMENSIONS, value_of
from replay_ui.components.blocks import (
    Block,
    Column,
    Heading,
    Lines,
    Note,
    Row,
    Span,
    Tile,
    Tiles,
    cell,
    moment,
    percent,
    row,
    table,
    text,
)
from replay_ui.views.common import METRICS, View, paged
from replay_ui.views.metric_links import SETS, metric_path
from replay_ui.views.metric_slices import value_shown
from replay_ui.views.targets import sample_of, sampled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from projections.views.metrics import Metric, MetricName
    from replay_ui.data import Place
    from replay_ui.figures import Figures


class Chosen(NamedTuple):
    """Events that the address names."""

    heading: str
    beside: tuple[Span, ...]
    explained: str
    sets: Mapping[str, tuple[int, ...]]
    """Positions by the name of the set."""
    kept: dict[str, str | int | None]
    """Parameters that choose the same events again."""
    metric: Metric | None = None


def section(view: View, figures: Figures, name: MetricName) -> tuple[Block, ...]:
    """What a number stands for, and the events of one of its sets."""
    words = view.words
    chosen = chosen_of(view, figures, name)
    asked = st.query_params.get("set")
    which = asked if asked is not None and asked in chosen.sets else next(iter(chosen.sets))
    blocks: list[Block] = [
        Heading(text=chosen.heading, beside=chosen.beside),
        Lines(items=((text(chosen.explained),),)),
        Tiles(
            items=tuple(
                Tile(
                    label=words(f"metrics.set_{one}"),
                    value=f"{len(positions):,}",
                    href=metric_path(view, **(chosen.kept | {"set": one})),
                    chosen=one == which,
                )
                for one, positions in chosen.sets.items()
            )
        ),
    ]
    metric = chosen.metric
    if metric is not None and metric.worst is not None:
        worst = words("metrics.worst", rate=percent(metric.worst.permille))
        blocks.append(Note(text=worst, tone="unknown"))
    return (*blocks, *listed(view, chosen.sets[which], metric, words(f"metrics.set_{which}")))


def chosen_of(view: View, figures: Figures, name: MetricName) -> Chosen:
    """What the address names: a day's steps, steps of a verdict, else a metric, whole, of a slice or of a sample."""
    words, query = view.words, st.query_params
    day, verdict = query.get("day"), query.get("verdict")  # each look at the address takes a lock
    found = next((one for one in figures.days if one.day == day), None)
    if found is not None:
        return Chosen(
            heading=words("metrics.steps"),
            beside=(text(found.day, "strong"), clear(view, "days")),
            explained=words("metrics.success_is"),
            sets={"ok": found.ok, "steps": found.steps},
            kept={"day": found.day},
        )
    counted = next((one for one in figures.verdicts if one.verdict == verdict), None)
    if counted is not None:
        return Chosen(
            heading=words("metrics.steps"),
            beside=(view.verdict(counted.verdict), clear(view, "days")),
            explained=words("metrics.verdicts_is"),
            sets={"steps": counted.steps},
            kept={"verdict": counted.verdict},
        )
    return of_metric(view, figures, name)


def of_metric(view: View, figures: Figures, name: MetricName) -> Chosen:
    """A metric over everything that was selected, over one slice of it, or over a sample."""
    words, query = view.words, st.query_params
    metric = figures.report.of(name)
    kept: dict[str, str | int | None] = {"metric": name}
    beside: tuple[Span, ...] = ()
    by = next((one for one in DIMENSIONS if one == query.get("by")), None)
    sample = sample_of()
    if by is not None and "value" in query:
        value = query["value"]
        own = [trial for trial in figures.trials if trial.metric == name and value_of(by, trial) == value]
        metric = metric_of(name, own)
        shown = f"{words(f'metrics.by_{by}')}: {value_shown(view, by, value)}"
        beside, kept = (
            (text(shown, "strong"), clear(view, "slices", by=by)),
            kept | {"by": by, "value": value},
        )
    elif sample is not None:
        metric = view.desk.proposals(view.tenant, sample).value.of(name).sample
        beside, kept = (
            (text(words("metrics.sample"), "strong"), clear(view, "targets")),
            kept | sampled(sample),
        )
    sets = {"numerator": metric.numerator, "denominator": metric.denominator, "undecided": metric.undecided}
    return Chosen(
        heading=words(f"metrics.{name}"),
        beside=beside,
        explained=words(f"metrics.{name}_is"),
        sets={one: sets[one] for one in SETS if one != "undecided" or name == "mis_operation"},
        kept=kept,
        metric=metric,
    )


def clear(view: View, part: str, **parameters: str) -> Span:
    """The way back to where the number stands."""
    metric = st.query_params.get("metric")
    href = metric_path(view, part=part, metric=metric, **parameters)
    return text(view.words("metrics.back"), href=href)


def listed(view: View, positions: tuple[int, ...], metric: Metric | None, label: str) -> tuple[Block, ...]:
    """Events as a table."""
    words = view.words
    if not positions:
        return (Note(text=words("metrics.no_events")),)
    part, pager = paged(view, METRICS, positions)
    reasons: dict[int, list[str]] = {}
    for finding in metric.findings if metric else ():
        reasons.setdefault(finding.position, []).append(finding.reason)
    columns = (
        words("event"),
        words("time"),
        words("bill"),
        Column(label=words("month.says"), grow=True),
        words("metrics.counted"),
        words("identity"),
    )
    places = view.desk.places(view.tenant, part)
    rows = [event_row(view, place, reasons.get(place.position, [])) for place in places]
    made = table(columns, rows, label=label)
    return (made, Lines(items=(pager,))) if pager else (made,)


def event_row(view: View, place: Place, reasons: list[str]) -> Row:
    """One event behind a number."""
    path = view.event_path(place.bill_id, place.position) if place.bill_id else ""
    why = ", ".join(view.words.of("reason", reason) for reason in reasons)
    return row(
        cell((view.stored(place.run_id, place.position), text(place.name, "mono"))),
        moment(place.at_us),
        text(place.bill_id or "–", "strong", href=path),
        text(view.words.said(place.sentence), "quiet"),
        text(why or "–"),
        text(place.principal, "mono"),
        href=path,
    )
