"""Metrics: four rates with their intervals and targets, split and by day; each number opens its events (B13, G6).

``?part=`` names what stands below the four rates: ``events`` (the default), ``slices``, ``days``, ``targets``. The
other parameters choose events: ``metric`` and ``set``, with ``by`` and ``value`` or a sample; ``day``; ``verdict``.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

import streamlit as st

from replay_ui.components.blocks import Block, Lines, Note, Tile, Tiles, percent, text
from replay_ui.components.sheet import sheet
from replay_ui.views import metric_days, metric_events, metric_slices, targets
from replay_ui.views.common import View, choice
from replay_ui.views.metric_links import NAMES, PARTS, metric_path, part_of, start_us
from replay_ui.views.runs import MODES, label

if TYPE_CHECKING:
    from projections.views.metrics import Metric, MetricName
    from replay_ui.figures import Figures


def page(view: View) -> None:
    """Show the four metrics, and below them the part that the address names."""
    words = view.words
    first, second, third, _ = st.columns((2, 2, 2, 2))
    with first:
        mode = choice(words("mode.label"), "mode", MODES, show=lambda code: label(view, "mode", code))
    with second:
        since = day(words("metrics.since"), "since")
    with third:
        until = day(words("metrics.until"), "until")
    answer = view.desk.metrics(
        view.tenant,
        since_us=start_us(since) if since else 0,
        until_us=start_us(until + timedelta(days=1)) if until else None,
        mode=mode,
    )
    figures = answer.value
    asked = st.query_params.get("metric")
    name = next((one for one in NAMES if one == asked), NAMES[0])
    part = part_of()
    sheet((*view.as_of(answer), tiles(view, figures, name), parts(view, part)), key="metrics-figures")
    if part == "targets":
        targets.section(view, figures)
    elif not figures.report.tasks:
        sheet((Note(text=words("metrics.none"), detail=words("metrics.none_do")),), key="metrics")
    elif part == "slices":
        metric_slices.section(view, figures, name)
    else:
        sheet(below(view, figures, name, part), key="metrics")


def below(view: View, figures: Figures, name: MetricName, part: str) -> tuple[Block, ...]:
    """The part below the rates that needs no choice of its own."""
    if part == "days":
        return metric_days.section(view, figures)
    return metric_events.section(view, figures, name)


def day(label_text: str, parameter: str) -> date | None:
    """A day whose value is a parameter of the URL (``YYYY-MM-DD``, UTC)."""
    key = f"day-{parameter}"

    def changed() -> None:
        picked = st.session_state[key]
        st.query_params.pop("page", None)
        if picked is None:
            st.query_params.pop(parameter, None)
        else:
            st.query_params[parameter] = picked.isoformat()

    try:
        asked = date.fromisoformat(st.query_params.get(parameter, ""))
    except ValueError:
        asked = None
    st.session_state[key] = asked
    st.date_input(label_text, key=key, on_change=changed, format="YYYY-MM-DD")
    return asked


def tiles(view: View, figures: Figures, chosen: str) -> Tiles:
    """The four rates."""
    return Tiles(items=tuple(tile(view, figures.report.of(name), chosen=name == chosen) for name in NAMES))


def tile(view: View, metric: Metric, *, chosen: bool) -> Tile:
    """One rate with its 95 % interval and its target; only counts where there is too little to state one."""
    words, rate = view.words, metric.rate
    counts = f"{len(metric.numerator):,} / {len(metric.denominator):,}"
    href = metric_path(view, part=part_of(), metric=metric.name)
    name = words(f"metrics.{metric.name}")
    goal = targets.in_short(view, metric)
    if rate is None:
        detail = words("metrics.too_few", counts=counts)
        return Tile(label=name, value="–", detail=f"{detail}{goal}", href=href, chosen=chosen)
    detail = words(
        "metrics.interval", counts=counts, low=percent(rate.low_permille), high=percent(rate.high_permille)
    )
    return Tile(
        label=name,
        value=percent(rate.permille),
        detail=f"{detail}{goal}",
        href=href,
        chosen=chosen,
        low=rate.low_permille,
        high=rate.high_permille,
        at=rate.permille,
    )


def parts(view: View, part: str) -> Lines:
    """The way between the parts."""
    links = tuple(
        text(
            view.words(f"metrics.part_{one}"),
            "strong" if one == part else "button",
            href="" if one == part else metric_path(view, part=one, metric=st.query_params.get("metric", "")),
        )
        for one in PARTS
    )
    return Lines(items=(links,))
