"""A month's file that was issued again: how it differs; and what its original is kept as."""

from __future__ import annotations

from pathlib import Path

import pytest
from obstore.store import S3Store

from projections.settlement.formats import MEDIA_TYPES, READERS
from tests.executor.cli.conftest import Command
from tests.executor.store.test_blobs import _Place, place, s3
from tests.projections.settlement.test_formats import MT940, STRIPE
from tests.support.settlement import FileLine, month_bytes

__all__ = ["place", "s3"]

NOVEMBER = ("--month", "2026-11")
FIRST = (
    FileLine(bill="B1", line_id="A"),
    FileLine(bill="B2", line_id="B"),
    FileLine(bill="B3", line_id="C", account="acme-bot"),
)
SECOND = (
    FileLine(bill="B1", line_id="A"),
    FileLine(bill="B3", line_id="C", account="wang.li", amount_minor=12_050, at_us=1_793_000_160_000_000),
    FileLine(bill="B4", line_id="D", kind="refund", amount_minor=-12_000),
)


def bring(proofreel: Command, name: str, *lines: FileLine, profile: str = "portal") -> str:
    """Import a file; its hash."""
    Path(name).write_bytes(month_bytes(*lines))
    done = proofreel("settlement", "import", name, *NOVEMBER, "--profile", profile, "--json")
    assert done.code in {0, 1}
    return str(done.json["sha256"])


def test_a_corrected_issue_is_told_line_by_line(proofreel: Command, desk: Path) -> None:
    before, after = (bring(proofreel, f"{n}.csv", *lines) for n, lines in enumerate((FIRST, SECOND)))
    done = proofreel("settlement", "compare", *NOVEMBER)
    assert done.code == 1
    times = "time 2026-10-26 07:35:00 UTC → 2026-10-26 07:36:00 UTC"
    assert done.out.splitlines() == [
        f"1.csv ({after[:12]}) of 2026-11 after 0.csv ({before[:12]}): 1 added, 1 gone, 1 changed, 1 the same",
        "  total CNY: -239.50",
        "  + line 8: D, B4, refund, -120.00 CNY",
        "  - line 7: B, B2, process, 120.00 CNY",
        f"  ~ line 7: C, B3: amount 120.00 → 120.50 CNY, {times}, account acme-bot → wang.li",
    ]
    told = proofreel("settlement", "compare", *NOVEMBER, "--json")
    assert told.code == 1
    assert (told.json["earlier"]["sha256"], told.json["later"]["sha256"]) == (before, after)
    assert told.json["later"]["imported_by"] == "svc:acme-batch"
    assert [line["line_id"] for line in told.json["added"]] == ["D"]
    assert [line["line_id"] for line in told.json["removed"]] == ["B"]
    assert [(pair["earlier"]["account"], pair["later"]["account"]) for pair in told.json["changed"]] == [
        ("acme-bot", "wang.li")
    ]
    assert (told.json["kept"], told.json["total_minor_change"], told.json["same_bytes"]) == (
        1,
        {"CNY": -23_950},
        False,
    )


def test_issues_are_chosen_by_their_hashes_and_by_their_profile(proofreel: Command, desk: Path) -> None:
    one = bring(proofreel, "1.csv", *FIRST)
    two = bring(proofreel, "2.csv", *SECOND)
    three = bring(proofreel, "3.csv", *FIRST, FileLine(bill="B9", line_id="Z"))

    def compared(*arguments: str) -> tuple[str, str]:
        found = proofreel("settlement", "compare", *NOVEMBER, "--json", *arguments).json
        return found["earlier"]["sha256"], found["later"]["sha256"]

    assert compared() == (two, three)
    assert compared("--later", two[:6]) == (one, two)
    assert compared("--earlier", one) == (one, three)
    assert compared("--earlier", three[:10].upper(), "--later", one) == (three, one)


def test_the_same_lines_in_other_bytes_differ_in_nothing(proofreel: Command, desk: Path) -> None:
    bring(proofreel, "1.csv", *FIRST)
    bring(proofreel, "2.csv", *reversed(FIRST))
    done = proofreel("settlement", "compare", *NOVEMBER)
    assert done.code == 0
    assert "no line says anything else" in done.out
    same = proofreel("settlement", "compare", *NOVEMBER, "--json").json
    assert (same["same_bytes"], same["kept"]) == (False, 3)


def test_refused_rows_of_either_issue_are_told(proofreel: Command, desk: Path) -> None:
    bring(proofreel, "1.csv", *FIRST)
    bring(proofreel, "2.csv", *FIRST[:2], FileLine(bill="B3", line_id="C", raw_amount="twelve"))
    done = proofreel("settlement", "compare", *NOVEMBER)
    assert "!! 1 rows of the file after were refused" in done.out
    assert "of the file before were" not in done.out


def test_a_long_list_is_cut_for_people_and_whole_in_json(proofreel: Command, desk: Path) -> None:
    bring(proofreel, "1.csv", *FIRST)
    more = [FileLine(bill=f"N{number}", line_id=f"N{number}") for number in range(25)]
    bring(proofreel, "2.csv", *FIRST, *more)
    shown = proofreel("settlement", "compare", *NOVEMBER).out
    assert shown.count("  + line") == 20
    assert "5 more; --json lists all" in shown
    assert len(proofreel("settlement", "compare", *NOVEMBER, "--json").json["added"]) == 25


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((), "no other file of 2026-11"),
        (("--later", "abcdef"), "names no file of 2026-11"),
        (("--earlier", "12"), "give at least 6 digits of one of"),
    ],
)
def test_an_issue_that_is_not_there_is_told_with_what_there_is(
    proofreel: Command, desk: Path, arguments: tuple[str, ...], word: str
) -> None:
    bring(proofreel, "1.csv", *FIRST)
    done = proofreel("settlement", "compare", *NOVEMBER, *arguments)
    assert done.code == 2
    assert word in done.word


def test_files_read_with_different_profiles_are_no_issues_of_one(proofreel: Command, desk: Path) -> None:
    one = bring(proofreel, "1.csv", *FIRST)
    Path("2.csv").write_text(STRIPE, "utf-8")
    proofreel("settlement", "import", "2.csv", *NOVEMBER, "--profile", "stripe-balance")
    assert "no other file" in proofreel("settlement", "compare", *NOVEMBER).word
    told = proofreel("settlement", "compare", *NOVEMBER, "--earlier", one)
    assert told.code == 2
    assert "different profiles: portal and stripe-balance" in told.word


def test_a_month_without_a_file_says_how_to_get_one(proofreel: Command, desk: Path) -> None:
    bring(proofreel, "1.csv", *FIRST)
    done = proofreel("settlement", "compare", "--month", "2026-10")
    assert done.code == 2
    assert "settlement fetch --month 2026-10" in done.word


@pytest.mark.parametrize("place", ["s3"], indirect=True)
@pytest.mark.parametrize(
    ("profile", "data", "media_type"),
    [
        ("portal", month_bytes(*FIRST), "text/csv"),
        ("mt940", MT940.encode(), "text/plain"),
        ("camt", b"<Document/>", "application/xml"),
    ],
)
def test_an_original_is_kept_as_what_it_is(
    proofreel: Command, desk: Path, place: _Place, profile: str, data: bytes, media_type: str
) -> None:
    Path("november").write_bytes(data)
    proofreel("settlement", "import", "november", *NOVEMBER, "--profile", profile, "--blobs", place.url)
    bucket = S3Store("frames", client_options={"allow_http": True})
    (path,) = [str(item["path"]) for page in bucket.list() for item in page]
    assert bucket.get(path).attributes["Content-Type"] == media_type


def test_every_format_has_a_media_type() -> None:
    assert MEDIA_TYPES.keys() == READERS.keys()
    assert MEDIA_TYPES["xlsx"].startswith("application/vnd.openxmlformats")
