"""The views: one module each, a pure fold and the questions that are asked of its rows.

``ALL`` is the registry: a view that is listed here is stored, rebuilt and checked by the same properties.
"""

from __future__ import annotations

from typing import Any

from projections.fold import Partitioned
from projections.views.timeline import TimelineProjection

ALL: tuple[Partitioned[Any], ...] = (TimelineProjection(),)
"""Every stored view."""
