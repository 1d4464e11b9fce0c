"""The short way through a row gives what the careful way gives, for every file there is and for odd ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.settlement import importer
from projections.settlement.importer import read_settlement
from projections.settlement.lines import SettlementFile
from projections.settlement.profiles import load_profile
from projections.settlement.straight import straight

DATA = Path(__file__).parents[3] / "data" / "settlement"
PORTAL = load_profile("portal")
CELL = st.one_of(
    st.sampled_from(
        ["", "1.00", "-1.00", "--1.00", "1,000.00", "CNY", "JPY", "处理", "已入账", "2026-11-31 00:00:00"]
    ),
    st.from_regex(r"[A-Z0-9E+.-]{1,8}", fullmatch=True),
)
GOOD = [
    "JS202611-000001",
    "CY202611-0001",
    "V1",
    "甲",
    "处理",
    "1.00",
    "CNY",
    "2026-11-28 10:00:00",
    "a",
    "已入账",
]


def _carefully(data: bytes) -> SettlementFile:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importer, "straight", lambda *_: lambda _row: None)
        return read_settlement(data, PORTAL)


@pytest.mark.parametrize("path", sorted(DATA.glob("portal-*.csv")), ids=lambda path: path.name)
def test_both_ways_read_a_file_alike(path: Path) -> None:
    data = path.read_bytes()
    assert read_settlement(data, PORTAL) == _carefully(data)


@given(st.lists(st.tuples(st.integers(0, 9), CELL), max_size=3))
def test_both_ways_read_an_odd_row_alike(changes: list[tuple[int, str]]) -> None:
    cells = list(GOOD)
    for place, value in changes:
        cells[place] = value
    head = (DATA / "portal-plain.csv").read_text("utf-8-sig").partition("JS202611-000001")[0]
    data = (head + ",".join(f'"{cell}"' for cell in cells)).encode()
    assert read_settlement(data, PORTAL) == _carefully(data)


def test_the_short_way_is_really_taken() -> None:
    taken = 0

    def counting(*parts: object) -> object:
        read = straight(*parts)  # type: ignore[arg-type]

        def one(row: object) -> object:
            nonlocal taken
            line = read(row)  # type: ignore[arg-type]
            taken += line is not None
            return line

        return one

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importer, "straight", counting)
        read_settlement((DATA / "portal-plain.csv").read_bytes(), PORTAL)
    assert taken == 3, "yen, dinar and their decimals take the careful way"
