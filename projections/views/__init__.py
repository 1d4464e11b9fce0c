"""The views: one module each, a pure fold and the questions that are asked of its rows.

``ALL`` is the registry: a view that is listed here is stored, rebuilt and checked by the same properties.
"""

from __future__ import annotations

from typing import Any

from projections.fold import Partitioned
from projections.views.approvals import Approvals
from projections.views.cases import Cases
from projections.views.dead_letters import DeadLetters
from projections.views.evidence_chain import EvidenceChain
from projections.views.runs import Runs
from projections.views.takeover_queue import TakeoverQueue
from projections.views.tallies import Metrics
from projections.views.targets import Targets
from projections.views.task_states import TaskStates
from projections.views.timeline import TimelineProjection

ALL: tuple[Partitioned[Any], ...] = (
    TaskStates(),
    Runs(),
    TimelineProjection(),
    EvidenceChain(),
    Metrics(),
    TakeoverQueue(),
    Approvals(),
    Cases(),
    Targets(),
    DeadLetters(),
)
"""Every stored view."""
