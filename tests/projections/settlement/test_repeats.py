"""Repeated line ids: what a plain look at all of them finds, however much is in memory at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projections.settlement import repeats
from projections.settlement.repeats import Repeated, Repeats


def collected(ids: Sequence[tuple[int, int]], every: int = 3) -> Repeated:
    found = Repeats()
    for number, (name, line) in enumerate(ids):
        found.hashes.append(name)
        found.lines.append(line)
        if number % every == 0:
            found.spill()
    return found.found()


def plainly(ids: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    first: dict[int, int] = {}
    pairs = [(first.setdefault(name, line), line) for name, line in ids]
    return [pair for pair in pairs if pair[0] != pair[1]]


SMALL_HASHES = st.integers(-4, 4) | st.sampled_from([-(2**63), 2**63 - 1])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(SMALL_HASHES, max_size=60), held=st.sampled_from([1, 2, 7, 1000]))
def test_every_repeat_is_found_whatever_is_put_away(
    names: list[int], held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats, "HELD", held)
    ids = [(name, 3 * line) for line, name in enumerate(names)]
    expected = plainly(ids)
    assert collected(ids) == Repeated(pairs=tuple(expected), total=len(expected))


def test_several_bookings_of_one_line_repeat_nothing() -> None:
    assert collected([(5, 1), (5, 1), (6, 2)]) == Repeated(pairs=(), total=0)
    assert collected([(5, 1), (5, 1), (5, 2)]) == Repeated(pairs=((1, 2),), total=1)


@pytest.mark.parametrize("held", [100, 10_000])
def test_the_first_repeats_are_named_and_all_are_counted(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "HELD", held)
    found = collected([(line % 7, line) for line in range(1, 1001)])
    assert found.total == 993
    assert [later for _, later in found.pairs] == list(range(8, 8 + repeats.NAMED))
    assert found.pairs[:2] == ((1, 8), (2, 9))


def test_no_more_than_a_part_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "HELD", 10)
    found = Repeats()
    for line in range(100):
        found.hashes.append(line)
        found.lines.append(line)
        found.spill()
        assert len(found.hashes) == len(found.lines) < 10
    assert found.found() == Repeated(pairs=(), total=0)
