"""Files are imported whole: every row is accepted, refused with a reason, or part of the frame."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import ConfigError
from executor.sandbox.portal.model import Kind, LedgerLine
from executor.sandbox.portal.settlement import settlement_file
from projections.settlement.importer import SettlementReader, read_settlement, survey_settlement
from projections.settlement.lines import SettlementFile
from projections.settlement.profiles import load_profile, parse_profile

DATA = Path(__file__).parents[3] / "data" / "settlement"
PORTAL = load_profile("portal")


def _import(name: str, month: str | None = None) -> SettlementFile:
    return read_settlement((DATA / name).read_bytes(), PORTAL, month, file_name=name)


def _ledger(line: int, kind: Kind, amount_minor: int, currency: str) -> LedgerLine:
    return LedgerLine(
        line=line,
        bill_id=f"CY202611-{line:04d}",
        tenant="acme",
        counterparty_id="V1",
        counterparty='甲, "乙"\n公司',
        month="2026-11",
        kind=kind,
        amount_minor=amount_minor,
        currency=currency,
        at="2026-11-28T02:00:00.123Z",
        account="svc-acme",
        source="web",
    )


@pytest.mark.parametrize("name", ["portal-plain.csv", "portal-gb18030.csv", "portal-utf16.csv"])
def test_the_same_file_in_any_listed_encoding_gives_the_same_lines(name: str) -> None:
    file = _import(name)
    assert file.lines == _import("portal-plain.csv").lines
    assert [line.amount_minor for line in file.lines] == [143474, -2000, 98000, 12345, -500]
    assert [line.kind for line in file.lines] == ["process", "refund", "process", "process", "fee"]
    assert file.totals == {"CNY": 140974, "JPY": 98000, "KWD": 12345}
    assert file.lines[0].at_us == 1_795_831_201_000_000
    assert file.lines[0].counterparty == "深圳市华远物流有限公司"
    assert (file.month, file.findings, file.refused) == ("2026-11", (), ())
    assert (file.counts.read, file.counts.accepted, file.counts.other) == (12, 5, 7)


@pytest.mark.parametrize("lang", ["zh", "en", "ja", "ko"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "gb18030"])
def test_the_portals_own_file_is_read_in_each_language(lang: str, encoding: str) -> None:
    if (lang, encoding) == ("ko", "gb18030"):
        encoding = "utf-8"
    kinds = [
        (Kind.PROCESS, 123456, "CNY"),
        (Kind.REFUND, -5, "CNY"),
        (Kind.UNDO, -98, "JPY"),
        (Kind.FEE, -1, "CNY"),
    ]
    ledger = [_ledger(i, kind, amount, currency) for i, (kind, amount, currency) in enumerate(kinds, start=1)]
    data = settlement_file(
        ledger,
        tenant="acme",
        month="2026-11",
        exported_at="2026-12-01T01:00:00.000Z",
        lang=lang,
        encoding=encoding,
        backtick=True,
    )
    file = read_settlement(data, PORTAL)
    assert file.findings == ()
    assert [(x.bill_id, x.kind, x.amount_minor, x.currency) for x in file.lines] == [
        (x.bill_id, x.kind.value, x.amount_minor, x.currency) for x in ledger
    ]
    assert {x.account for x in file.lines} == {"svc-acme"}
    assert file.lines[1].line > file.lines[0].line + 1, "a line break inside a cell moves the lines after it"


def test_each_quirk_is_read_or_refused_with_line_column_value_and_reason() -> None:
    file = _import("portal-quirks.csv")
    accepted = {x.line - 6: (x.bill_id, x.amount_minor) for x in file.lines}
    assert accepted == {
        1: ("CY202611-0001", 143474),
        2: ("CY202611-0002", -2000),
        3: ("CY202611-0003", 98000),
        6: ("CY202611-0006", 1000),
        7: ("CY202611-0006", 1000),
        9: ("CY202611-0009", -1200),
        16: ("CY202611-0016", 1000),
    }
    refused = {r.line - 6: (r.column, r.reason) for r in file.refused}
    assert {n: column for n, (column, _) in refused.items()} == {
        4: "金额",
        5: "差异单号",
        8: "金额",
        10: "金额",
        11: "类型",
        12: "币种",
        13: "",
        14: "差异单号",
        15: "金额",
        17: "时间",
        18: "金额",
    }
    assert "ambiguous" in refused[4][1]
    assert "spreadsheet" in refused[5][1]
    assert file.refused[0].value == "-3.000"
    assert "CY202611-0004" in file.refused[0].cells
    assert file.counts.balanced
    assert file.counts.read == 6 + 18 + 1


def test_a_trailer_that_disagrees_is_a_finding_with_both_figures() -> None:
    findings = _import("portal-trailer-mismatch.csv").findings
    assert [(f.code, f.declared, f.found) for f in findings] == [
        ("count_mismatch", 5, 4),
        ("total_mismatch", 140974, 141474),
    ]
    assert all(f.line == 11 for f in findings)


def test_a_cut_file_says_so() -> None:
    file = _import("portal-cut.csv")
    assert [f.code for f in file.findings] == ["trailer_missing", "rows_refused"]
    assert file.refused[0].reason == "2 cells where the header has 10"


def test_decimal_commas_and_every_grouping_mark_are_read_by_their_profile() -> None:
    profile = load_profile(str(DATA / "european.yaml"))
    file = read_settlement((DATA / "european.csv").read_bytes(), profile)
    assert [line.amount_minor for line in file.lines] == [100_000_000, -11_070, 700_000, -300_000]
    assert file.refused[0].value == "1.00.000,00"
    assert file.encoding == "cp1252"


def test_foreign_bytes_refuse_their_row_and_no_other() -> None:
    data = (DATA / "portal-plain.csv").read_bytes().replace("深圳".encode(), b"\xff\xfe", 1)
    file = read_settlement(data, PORTAL)
    assert len(file.lines) == 4
    assert file.refused[0].reason == "bytes that are not utf-8-sig"


def test_a_repeated_line_id_is_a_finding_and_both_lines_count() -> None:
    text = (DATA / "portal-plain.csv").read_text("utf-8-sig").replace("000002", "000001")
    file = read_settlement(text.encode(), PORTAL)
    assert len(file.lines) == 5
    assert [(f.code, f.line) for f in file.findings] == [("repeated_line_id", 8)]


def test_a_file_of_another_month_is_a_finding() -> None:
    assert [f.code for f in _import("portal-plain.csv", "2026-10").findings] == ["month_mismatch"]


def test_a_file_without_the_header_is_refused_with_what_was_looked_for() -> None:
    with pytest.raises(ConfigError, match="no column line_id"):
        read_settlement(b"a,b,c\r\n1,2,3\r\n", PORTAL)


def test_an_unknown_key_in_a_profile_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text((DATA / "european.yaml").read_text("utf-8") + "delimeter: ','\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine\.yaml:17.*delimeter"):
        load_profile(str(path))


def test_a_profile_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = (DATA / "european.yaml").read_text("utf-8").replace('decimal: ","', 'decimal: "."')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="decimal mark"):
        load_profile(str(path))


@given(rows=st.lists(st.lists(st.text(max_size=12), max_size=12), max_size=12), quoted=st.booleans())
def test_whatever_the_rows_are_the_import_balances(rows: list[list[str]], *, quoted: bool) -> None:
    mark = '"' if quoted else ""
    body = "\r\n".join(",".join(f"{mark}{cell}{mark}" for cell in row) for row in rows)
    text = (DATA / "portal-plain.csv").read_text("utf-8-sig").partition("JS202611-000005")[0] + body
    file = read_settlement(text.encode("utf-8", "replace"), PORTAL)
    assert file.counts.balanced
    assert file.counts.accepted == len(file.lines)
    assert len(file.lines) >= 4


def test_an_id_that_stands_three_times_is_reported_with_each_later_line() -> None:
    text = (DATA / "portal-plain.csv").read_text("utf-8-sig")
    for other in ("000003", "000004"):
        text = text.replace(other, "000001")
    found = [f for f in read_settlement(text.encode(), PORTAL).findings if f.code == "repeated_line_id"]
    assert [f.what for f in found] == [
        "line 9 has the line id of line 7",
        "line 10 has the line id of line 7",
    ]


def test_a_file_in_an_encoding_that_the_profile_does_not_list_is_refused_with_a_hint() -> None:
    profile = msgspec.structs.replace(PORTAL, encodings=("utf-8",))
    with pytest.raises(ConfigError, match=r"not utf-8; it looks like gb"):
        read_settlement((DATA / "portal-gb18030.csv").read_bytes(), profile)


def test_wide_text_without_a_mark_is_read_when_the_profile_lists_it_and_refused_when_not() -> None:
    data = (DATA / "portal-plain.csv").read_text("utf-8-sig").encode("utf-16-le")
    profile = msgspec.structs.replace(PORTAL, encodings=("utf-8", "utf-16-le"))
    assert read_settlement(data, profile).lines == _import("portal-plain.csv").lines
    with pytest.raises(ConfigError):
        read_settlement(data, PORTAL)


def test_a_file_is_streamed_line_by_line_with_its_counts_at_the_end() -> None:
    with (DATA / "portal-plain.csv").open("rb") as stream:
        reader = SettlementReader(stream, PORTAL)
        first = next(iter(reader))
        assert (first.bill_id, reader.accepted) == ("CY202611-0001", 1)
    with (DATA / "portal-plain.csv").open("rb") as stream:
        reader = SettlementReader(stream, PORTAL)
        assert sum(1 for _ in reader) == reader.counts().accepted == 5


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("portal-*.csv")))
def test_a_survey_says_all_that_an_import_says_but_the_lines(name: str) -> None:
    data = (DATA / name).read_bytes()
    with (DATA / name).open("rb") as file:
        surveyed = survey_settlement(file, PORTAL, "2026-11", file_name=name)
    assert surveyed == replace(read_settlement(data, PORTAL, "2026-11", file_name=name), lines=())


def test_a_quote_that_never_closes_refuses_what_it_swallowed_and_says_that_the_trailer_is_gone() -> None:
    text = (DATA / "portal-plain.csv").read_text("utf-8-sig").replace("CY202611-0003", '"CY202611-0003')
    file = read_settlement(text.encode(), PORTAL)
    assert len(file.lines) == 2
    assert [f.code for f in file.findings] == ["trailer_missing", "rows_refused"]
    assert file.refused[0].line == 9


IN_AND_OUT = """
name: two-columns
title: A bank with one column for each direction
columns: {bill_id: [ref], amount_in: [in], amount_out: [out], at: [day], time: [clock]}
required: [bill_id]
default_kind: process
amounts: {signs: in_and_out}
currency: {default: CNY}
"""


def test_two_amount_columns_give_one_signed_amount_and_two_columns_one_time() -> None:
    profile = parse_profile(IN_AND_OUT, file="two-columns.yaml")
    rows = "ref,in,out,day,clock\nA,5.00,-,{0}:00\nB,,3.00,{0}:01\nC,1,2,{0}:02\n".format("2026-11-28,10:00")
    file = read_settlement(rows.encode(), profile)
    assert [(x.bill_id, x.amount_minor) for x in file.lines] == [("A", 500), ("B", -300)]
    assert file.lines[1].at_us - file.lines[0].at_us == 1_000_000
    assert file.refused[0].reason == "2 amounts where one is expected"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("signs: in_and_out", "signs: by_direction", "needs directions"),
        ("signs: in_and_out", "signs: by_kind", "needs kind_signs"),
        ("signs: in_and_out", "signs: as_written", "names no amount"),
        ("bill_id: [ref], ", "", "names no bill_id"),
        ("default_kind: process", "", "default_kind is needed"),
        ("required: [bill_id]", "required: [account]", "is not in columns"),
        ("title: A", "timezone: Mars/Base\ntitle: A", "unknown time zone"),
        ("title: A", "declared: ['(']\ntitle: A", "declared"),
        ("title: A", "title: [A", "not YAML"),
    ],
)
def test_a_profile_that_cannot_work_is_refused_before_a_file_is_read(old: str, new: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse_profile(IN_AND_OUT.replace(old, new), file="mine.yaml")


def test_a_profile_that_is_neither_ready_nor_a_file_is_refused_with_the_ready_ones() -> None:
    with pytest.raises(ConfigError, match=r"use one of alipay-personal, .*portal"):
        load_profile("no-such-vendor")
