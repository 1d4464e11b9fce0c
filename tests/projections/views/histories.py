"""Histories that no rule of the domain would allow: a view must survive whatever is on record."""

from __future__ import annotations

from hypothesis import strategies as st

from domain import events as e
from domain.envelope import Recorded
from domain.ids import RunId, TaskId, case_stream, run_stream, task_stream
from tests.support.events import Book, frame, intent, key_of
from tests.support.examples import one_of_each

_FACTS = one_of_each()

_steps = st.tuples(
    st.integers(0, len(_FACTS) - 1),
    st.integers(0, 2),  # task; 0 is none
    st.integers(0, 2),  # run; 0 is none
    st.sampled_from(["", "observed", "before", "after", "readback", "planned", "snapshot"]),
)


def _build(steps: list[tuple[int, int, int, str]]) -> list[Recorded]:
    book = Book()
    for which, task, run, role in steps:
        stream = task_stream(TaskId(f"t{task}")) if task else run_stream(RunId(f"r{run}"))
        if isinstance(_FACTS[which], e.CaseEvent):
            stream = case_stream(f"c{task}")
        book.add(
            _FACTS[which],
            stream=stream,
            task=f"t{task}" if task else None,
            run=f"r{run}" if run else None,
            frames=[frame(f"screen-{which}", role)] if role else [],  # type: ignore[arg-type]
            key=key_of(intent(f"B{task}")) if task else None,
        )
    return book.events


histories: st.SearchStrategy[list[Recorded]] = st.lists(_steps, max_size=40).map(_build)
"""Any facts in any order, over up to two tasks, two runs and three cases."""
