"""The cases of a difference, a bill or a month go with its bundle, and so does what they rest on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from domain import events as e
from domain.events.case import CauseFound
from domain.ids import StreamId, case_stream
from projections.exports.select import Scope
from projections.exports.verify import verify
from tests.projections.exports.made import Made, export, make
from tests.support.events import sha


def _with_case(made: Made, bill: str, *evidence: int) -> StreamId:
    """A case about a bill, concluded on the word of these positions."""
    stream = case_stream(f"case-{bill}")
    opened = e.CaseOpened(
        break_id=f"case-{bill}", month="2026-11", bill_id=bill, kind="extra_in_file", currency="CNY"
    )
    cause = CauseFound(
        cause="external_change",
        verdict="supported",
        amount_minor=100,
        summary="Somebody else's.",
        party="person",
        evidence=evidence,
    )
    concluded = e.CaseConcluded(
        standing=True,
        amount_minor=100,
        currency="CNY",
        residual_minor=0,
        causes=(cause,),
        file_sha256=sha("file"),
        events_read=len(made.book.events),
        chain_verified=True,
    )
    for fact in (opened, concluded):
        made.book.add(fact, stream=stream)
    return stream


@pytest.mark.parametrize(
    ("scope", "case"),
    [
        (Scope("bill", "B99"), None),
        (Scope("month", "2026-11"), None),
        (Scope("bill", "B1"), {"id": "case-B99", "bill": "B1", "findings": []}),
    ],
    ids=["of its bill", "of its month", "of its difference"],
)
def test_a_kept_case_is_shown_with_all_that_it_rests_on(
    tmp_path: Path, scope: Scope, case: dict[str, Any] | None
) -> None:
    made = make(others=20)
    last = next(one for one in made.book.events if one.row.stream == "task:task-12")
    stream = _with_case(made, "B99", last.row.position)
    info = export(made, tmp_path / "case.zip", scope=scope, case=case)
    assert {stream, "task:task-12", "settlement:2026-11"} <= set(info.streams)
    report = verify(tmp_path / "case.zip")
    assert report.ok, report.lines()


def test_a_case_of_another_bill_is_not_shown(tmp_path: Path) -> None:
    made = make(others=20)
    stream = _with_case(made, "B99", 1)
    assert stream not in export(made, tmp_path / "x.zip", scope=Scope("bill", "B1")).streams
