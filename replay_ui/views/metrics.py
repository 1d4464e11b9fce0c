"""Metrics: four rates, each with its definition, its interval and the events it counts (B13)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

import streamlit as st

from replay_ui.components.blocks import (
    Block,
    Column,
    Heading,
    Lines,
    Note,
    Row,
    Tile,
    Tiles,
    cell,
    percent,
    row,
    table,
    text,
    when,
)
from replay_ui.components.sheet import sheet
from replay_ui.views.common import METRICS, View, choice, paged
from replay_ui.views.runs import MODES, label

if TYPE_CHECKING:
    from projections.views.metrics import Metric, MetricsReport
    from replay_ui.data import Place

NAMES: Final = ("mis_operation", "completion", "takeover", "rollback")
SETS: Final = ("numerator", "denominator", "undecided")
_DAY_US: Final = 86_400_000_000


def page(view: View) -> None:
    """Show the four metrics; ``?metric=`` and ``?set=`` list the events behind a number."""
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
    report = answer.value
    asked = st.query_params.get("metric")
    name = asked if asked in NAMES else NAMES[0]
    sheet((*view.as_of(answer), figures(view, report, name)), key="metrics-figures")
    if not report.tasks:
        sheet((Note(text=words("metrics.none"), detail=words("metrics.none_do")),), key="metrics")
        return
    sheet(behind(view, of_name(report, name)), key="metrics")


def of_name(report: MetricsReport, name: str) -> Metric:
    """One of the four."""
    return {
        "mis_operation": report.mis_operation,
        "completion": report.completion,
        "takeover": report.takeover,
        "rollback": report.rollback,
    }[name]


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


def start_us(moment: date) -> int:
    """First microsecond of a day, UTC."""
    midnight = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return (midnight - datetime(1970, 1, 1, tzinfo=UTC)).days * _DAY_US


def figures(view: View, report: MetricsReport, chosen: str) -> Tiles:
    """The four rates."""
    return Tiles(items=tuple(tile(view, of_name(report, name), chosen=name == chosen) for name in NAMES))


def tile(view: View, metric: Metric, *, chosen: bool) -> Tile:
    """One rate with its 95 % interval; only counts where there is too little to state one."""
    words, rate = view.words, metric.rate
    counts = f"{len(metric.numerator):,} / {len(metric.denominator):,}"
    href = metric_path(view, metric.name)
    name = words(f"metrics.{metric.name}")
    if rate is None:
        detail = words("metrics.too_few", counts=counts)
        return Tile(label=name, value="–", detail=detail, href=href, chosen=chosen)
    detail = words(
        "metrics.interval", counts=counts, low=percent(rate.low_permille), high=percent(rate.high_permille)
    )
    return Tile(
        label=name,
        value=percent(rate.permille),
        detail=detail,
        href=href,
        chosen=chosen,
        low=rate.low_permille,
        high=rate.high_permille,
        at=rate.permille,
    )


def metric_path(view: View, name: str, which: str = "") -> str:
    """Path of the events behind a number, with the filters of now."""
    kept: dict[str, str | int | None] = {
        key: value for key, value in st.query_params.items() if key in {"mode", "since", "until"}
    }
    return view.path(METRICS, **(kept | {"metric": name, "set": which}))


def behind(view: View, metric: Metric) -> tuple[Block, ...]:
    """Definition of a metric, and the events of one of its sets."""
    words = view.words
    asked = st.query_params.get("set")
    which = asked if asked in SETS else SETS[0]
    sets = {"numerator": metric.numerator, "denominator": metric.denominator, "undecided": metric.undecided}
    blocks: list[Block] = [
        Heading(text=words(f"metrics.{metric.name}")),
        Lines(items=((text(words(f"metrics.{metric.name}_is")),),)),
        Tiles(
            items=tuple(
                Tile(
                    label=words(f"metrics.set_{name}"),
                    value=f"{len(sets[name]):,}",
                    href=metric_path(view, metric.name, name),
                    chosen=name == which,
                )
                for name in SETS
                if name != "undecided" or metric.name == "mis_operation"
            )
        ),
    ]
    if metric.worst is not None:
        worst = words("metrics.worst", rate=percent(metric.worst.permille))
        blocks.append(Note(text=worst, tone="unknown"))
    positions = sets[which]
    if not positions:
        return (*blocks, Note(text=words("metrics.no_events")))
    part, pager = paged(view, METRICS, positions)
    reasons: dict[int, list[str]] = {}
    for finding in metric.findings:
        reasons.setdefault(finding.position, []).append(finding.reason)
    columns = (
        words("event"),
        words("time"),
        words("bill"),
        Column(label=words("month.says"), grow=True),
        words("metrics.counted"),
        words("identity"),
    )
    rows = [
        event_row(view, place, reasons.get(place.position, []))
        for place in view.desk.places(view.tenant, part)
    ]
    blocks.append(table(columns, rows, label=words(f"metrics.set_{which}")))
    return (*blocks, Lines(items=(pager,))) if pager else tuple(blocks)


def event_row(view: View, place: Place, reasons: list[str]) -> Row:
    """One event behind a number."""
    path = view.event_path(place.bill_id, place.position) if place.bill_id else ""
    why = ", ".join(view.words.of("reason", reason) for reason in reasons)
    return row(
        cell((view.stored(place.run_id, place.position), text(place.name, "mono"))),
        text(when(place.at_us), "number"),
        text(place.bill_id or "–", "strong", href=path),
        text(place.sentence, "quiet"),
        text(why or "–"),
        text(place.principal, "mono"),
        href=path,
    )
