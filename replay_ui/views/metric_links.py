"""Addresses of the page of metrics: the filters of now, and which events a number opens."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Final, Literal, get_args

import streamlit as st

from projections.views.metrics import MetricName
from replay_ui.components.blocks import page_path
from replay_ui.views.common import METRICS, View

Part = Literal["events", "slices", "days", "targets"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)
NAMES: Final[tuple[MetricName, ...]] = get_args(MetricName)
SETS: Final = ("numerator", "denominator", "undecided")
_KEPT: Final = ("mode", "since", "until")
_DAY_US: Final = 86_400_000_000


def part_of() -> Part:
    """Part of the page that the address names."""
    asked = st.query_params.get("part")
    return next((part for part in PARTS if part == asked), PARTS[0])


def metric_path(view: View, **parameters: str | int | None) -> str:
    """Path of the page with the filters of now and further parameters; the first part leaves the address clean."""
    kept: dict[str, str | int | None] = {key: value for key, value in st.query_params.items() if key in _KEPT}
    if parameters.get("part") == PARTS[0]:
        parameters["part"] = None
    return page_path(METRICS, **({"tenant": view.tenant} | kept | parameters))


def start_us(moment: date) -> int:
    """First microsecond of a day, UTC."""
    midnight = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return (midnight - datetime(1970, 1, 1, tzinfo=UTC)).days * _DAY_US
