"""A metric by tenant, action, rung, principal, UI version or day; each number opens its events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import streamlit as st

from projections.views.slices import DIMENSIONS, Dimension, Slice, slices
from replay_ui.components.blocks import (
    Bar,
    Block,
    Chart,
    Column,
    Heading,
    Lines,
    Note,
    Row,
    Span,
    cell,
    percent,
    row,
    table,
    text,
)
from replay_ui.components.sheet import sheet
from replay_ui.views.common import METRICS, View, choice, paged
from replay_ui.views.metric_links import SETS, metric_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from domain.ids import TenantId
    from projections.views.interval import Rate
    from projections.views.metrics import Metric, MetricName
    from replay_ui.figures import Figures

TENANT: Final = "tenant"


def section(view: View, figures: Figures, name: MetricName) -> None:
    """What the metric is split by, and its slices."""
    words = view.words
    tenants = [tenant for tenant in view.desk.tenants() if view.viewer.may_read(tenant)]
    ways: tuple[str, ...] = (*DIMENSIONS, TENANT) if len(tenants) > 1 else DIMENSIONS
    left, _ = st.columns((2, 6))
    with left:
        by = choice(words("metrics.by"), "by", ways, show=lambda one: words(f"metrics.by_{one}"))
    if by == TENANT:
        found = by_tenant(view, figures, tenants, name)
    else:
        dimension = next(one for one in DIMENSIONS if one == by)
        found = by_dimension(view, figures, name, dimension)
    head = Heading(text=words(f"metrics.{name}"), beside=(text(words("metrics.slices_is"), "quiet"),))
    sheet((head, *found), key="metrics")


def by_dimension(view: View, figures: Figures, name: MetricName, dimension: Dimension) -> tuple[Block, ...]:
    """One line for each value of a dimension; days as a chart above."""
    found = [one for one in slices(figures.trials, dimension) if one.metric.name == name]
    if not found:
        return (Note(text=view.words("metrics.no_events")),)
    part, pager = paged(view, METRICS, found)
    rows = [
        slice_row(
            view,
            one.metric,
            shown=value_shown(view, dimension, one.value),
            paths=[
                metric_path(view, metric=name, by=dimension, value=one.value, set=which) for which in SETS
            ],
        )
        for one in part
    ]
    made: list[Block] = [chart(view, found)] if dimension == "day" else []
    made.append(table(columns(view, dimension, name), rows, label=view.words("metrics.part_slices")))
    return (*made, Lines(items=(pager,))) if pager else tuple(made)


def value_shown(view: View, dimension: Dimension, value: str) -> str:
    """A value in the reader's language where it is a code of ours."""
    if not value:
        return view.words("metrics.unsaid")
    return view.words.of(dimension, value) if dimension in {"action", "rung"} else value


def chart(view: View, found: Sequence[Slice]) -> Chart:
    """The rate of each day."""
    words = view.words
    return Chart(
        label=words("metrics.by_day"),
        bars=tuple(
            Bar(
                label=one.value,
                at=one.metric.rate.permille if one.metric.rate else None,
                detail=counts(one.metric),
                href=metric_path(view, metric=one.metric.name, by="day", value=one.value, set="numerator"),
            )
            for one in found
        ),
    )


def by_tenant(
    view: View, figures: Figures, tenants: Sequence[TenantId], name: MetricName
) -> tuple[Block, ...]:
    """One line for each tenant that the viewer may read; they are never summed."""
    period = figures.report
    rows = []
    for tenant in tenants:
        answer = view.desk.metrics(
            tenant, since_us=period.since_us, until_us=period.until_us, mode=period.mode
        )
        paths = [metric_path(view, tenant=tenant, metric=name, set=which) for which in SETS]
        rows.append(slice_row(view, answer.value.report.of(name), shown=tenant, paths=paths))
    return (table(columns(view, TENANT, name), rows, label=view.words("metrics.part_slices")),)


def columns(view: View, by: str, name: MetricName) -> list[str | Column]:
    """Headings of a table of slices."""
    words = view.words
    heads: list[str | Column] = [
        Column(label=words(f"metrics.by_{by}"), grow=True),
        Column(label=words("metrics.set_numerator"), align="end"),
        Column(label=words("metrics.set_denominator"), align="end"),
        words("metrics.rate"),
    ]
    return (
        [*heads, Column(label=words("metrics.set_undecided"), align="end")]
        if name == "mis_operation"
        else heads
    )


def slice_row(view: View, metric: Metric, *, shown: str, paths: Sequence[str]) -> Row:
    """One slice: each number leads to its events."""
    numbers = [
        text(f"{len(positions):,}", "number", href=path)
        for positions, path in zip(
            (metric.numerator, metric.denominator, metric.undecided), paths, strict=True
        )
    ]
    cells = [cell(text(shown, "strong")), cell(numbers[0]), cell(numbers[1]), cell(*rate(view, metric.rate))]
    return row(*cells, *(numbers[2:] if metric.name == "mis_operation" else ()))


def rate(view: View, found: Rate | None) -> tuple[Span, ...]:
    """A rate with its interval, in words and drawn; nothing is stated where there is too little."""
    if found is None:
        return (text(view.words("metrics.too_few_short"), "quiet"),)
    low, high = percent(found.low_permille), percent(found.high_permille)
    return (
        text(percent(found.permille), "number"),
        Span(
            text=f"{low} – {high}",
            look="quiet",
            low=found.low_permille,
            high=found.high_permille,
            at=found.permille,
        ),
    )


def counts(metric: Metric) -> str:
    """``34 / 40``, with the rate where one is stated."""
    shown = f"{len(metric.numerator):,} / {len(metric.denominator):,}"
    return f"{shown} · {percent(metric.rate.permille)}" if metric.rate else shown
