"""Success by day beside changes of the target's UI, and steps by verdict (G6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.views.slices import WARNING_PERMILLE
from replay_ui.components.blocks import (
    Bar,
    Block,
    Chart,
    Column,
    Heading,
    Lines,
    Note,
    Row,
    cell,
    chip,
    percent,
    row,
    table,
    text,
)
from replay_ui.views.common import METRICS, View, paged
from replay_ui.views.metric_links import metric_path
from replay_ui.views.metric_slices import rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.views.slices import Day, VerdictCount
    from replay_ui.figures import Figures

CHART_DAYS: int = 366
"""Newest days that the chart shows; the table below pages through all of them."""


def section(view: View, figures: Figures) -> tuple[Block, ...]:
    """The days as a chart and as a table, and the verdicts."""
    words, days = view.words, figures.days
    head = Heading(text=words("metrics.success"), beside=(text(words("metrics.success_is"), "quiet"),))
    if not days:
        return (head, Note(text=words("metrics.no_days")))
    part, pager = paged(view, METRICS, days[::-1])
    columns = (
        words("metrics.by_day"),
        Column(label=words("metrics.set_ok"), align="end"),
        Column(label=words("metrics.steps"), align="end"),
        words("metrics.rate"),
        words("state"),
        Column(label=words("metrics.changes"), grow=True),
    )
    rows = [day_row(view, one) for one in part]
    made: list[Block] = [
        head,
        chart(view, days[-CHART_DAYS:]),
        table(columns, rows, label=words("metrics.success")),
    ]
    if pager:
        made.append(Lines(items=(pager,)))
    return (*made, *verdicts(view, figures.verdicts))


def chart(view: View, days: Sequence[Day]) -> Chart:
    """A bar for each day; a mark where the target's UI changed."""
    words = view.words
    return Chart(
        label=words("metrics.success"),
        limit=WARNING_PERMILLE,
        limit_label=words("metrics.warning"),
        mark_label=words("metrics.ui_changed") if any(day.changes for day in days) else "",
        bars=tuple(
            Bar(
                label=day.day,
                at=day.rate.permille if day.rate else None,
                detail=f"{len(day.ok):,} / {len(day.steps):,}"
                + (f" · {percent(day.rate.permille)}" if day.rate else ""),
                tone="failed" if day.warning else "ok" if day.rate else "none",
                href=metric_path(view, day=day.day, set="steps"),
                mark="; ".join(f"{change.page}: {change.before} → {change.after}" for change in day.changes),
            )
            for day in days
        ),
    )


def day_row(view: View, day: Day) -> Row:
    """One day: each number leads to its steps, each change to the first look at the new page."""
    words = view.words
    changes = [
        (
            view.stored("", change.position),
            text(change.page, "name"),
            text(f"{change.before} → {change.after}", "mono"),
        )
        for change in day.changes
    ]
    return row(
        text(day.day, "strong"),
        text(f"{len(day.ok):,}", "number", href=metric_path(view, day=day.day, set="ok")),
        text(f"{len(day.steps):,}", "number", href=metric_path(view, day=day.day, set="steps")),
        cell(*rate(view, day.rate)),
        cell((chip(words("metrics.warning"), "failed"),) if day.warning else ()),
        cell(*changes),
    )


def verdicts(view: View, counted: Sequence[VerdictCount]) -> tuple[Block, ...]:
    """Steps by the verdict they ended with."""
    words = view.words
    if not counted:
        return ()
    head = Heading(text=words("metrics.verdicts"), beside=(text(words("metrics.verdicts_is"), "quiet"),))
    columns = (
        Column(label=words("verdict.label"), grow=True),
        Column(label=words("metrics.steps"), align="end"),
    )
    rows = [
        row(
            cell((view.verdict(one.verdict),)),
            text(
                f"{len(one.steps):,}",
                "number",
                href=metric_path(view, verdict=one.verdict, set="steps"),
            ),
        )
        for one in counted
    ]
    return (head, table(columns, rows, label=words("metrics.verdicts")))
