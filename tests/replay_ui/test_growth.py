"""Answers are kept while no evidence is added; a slow one is shown with its end while a newer one is made."""

from __future__ import annotations

import threading

import pytest

from domain.errors import IntegrityError
from domain.ids import TenantId
from executor.openings import RecordedOpenings
from executor.runtime.system import SystemClock, SystemIds
from executor.store.log import open_record
from replay_ui.data import Desk
from replay_ui.growth import SLOW_S, Answers, end_of_evidence
from replay_ui.roles import Viewer
from tests.replay_ui.sample import Sample, make

ACME = TenantId("acme")


class Clock:
    """Seconds that pass when somebody works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_answer_is_made_once_for_each_end_of_the_evidence() -> None:
    answers, made = Answers(), []

    def make_one() -> str:
        made.append(1)
        return f"answer {len(made)}"

    assert answers.get("a", 5, make_one) == ("answer 1", 5, True)
    assert answers.get("a", 5, make_one) == ("answer 1", 5, True)
    assert answers.get("a", 6, make_one) == ("answer 2", 6, True)
    assert answers.get("b", 6, make_one) == ("answer 3", 6, True)


def test_a_slow_answer_is_shown_with_its_end_until_the_newer_one_is_there() -> None:
    clock, gate = Clock(), threading.Event()
    answers = Answers(clock=clock)

    def slowly(value: str) -> str:
        clock.now += SLOW_S
        return value

    def held(value: str) -> str:
        gate.wait(30)
        return slowly(value)

    assert answers.get("a", 5, lambda: slowly("old")).newest
    for _ in range(3):
        assert answers.get("a", 9, lambda: held("new")) == ("old", 5, False)
    gate.set()
    answers.wait()
    assert answers.get("a", 9, lambda: slowly("never")) == ("new", 9, True)


def test_what_goes_wrong_in_the_background_is_said_in_the_foreground() -> None:
    clock = Clock()
    answers = Answers(clock=clock)

    def slowly() -> str:
        clock.now += SLOW_S
        return "old"

    def broken() -> str:
        raise IntegrityError("the file is not what was imported", where="blob 1")

    answers.get("a", 5, slowly)
    assert not answers.get("a", 9, broken).newest
    answers.wait()
    with pytest.raises(IntegrityError):
        answers.get("a", 9, broken)


def test_the_end_of_the_evidence_leaves_out_who_looked(tmp_path_factory: pytest.TempPathFactory) -> None:
    made: Sample = make(tmp_path_factory.mktemp("growth"))
    desk: Desk = made.desk()
    before = desk.standing(ACME).events
    viewer = Viewer("person:omar", {"acme"}, {"acme": frozenset({"auditor"})})
    with open_record(made.store) as log:
        recorder = RecordedOpenings(log, ids=SystemIds(), clock=SystemClock())
        for number in range(600):
            recorder.record(viewer, "acme", "run", f"run-{number}")
    end = desk.standing(ACME).events
    assert end == before + 600
    assert desk.end_of_evidence(ACME) == before
    assert end_of_evidence(desk.reader, ACME, end) == before
    assert end_of_evidence(desk.reader, ACME, end, known=before + 3) == before + 3
    desk.close()
