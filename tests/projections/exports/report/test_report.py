"""A report says what the desk says, each figure can be counted again, and no format runs anything out of the data."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet as pq
import pytest

from domain.errors import ConfigError
from domain.ids import TenantId
from executor.cli.month_commands import reconciled
from projections.blobs import open_blob_reader
from projections.exports.report import FORMATS, Period, Report, TenantData, compose, files, month_period
from projections.exports.report import page as page_module
from projections.exports.report import workbook as workbook_module
from projections.exports.report.flat import csv_bytes, parquet_bytes
from projections.exports.report.page import html_bytes
from projections.exports.report.tables import Cell, Table, columns, shown
from projections.exports.report.workbook import xlsx_bytes
from projections.fold import run_together
from projections.reading import open_reader
from projections.views.metrics import NAMES
from projections.views.runs import Runs
from projections.views.tallies import Metrics
from projections.views.targets import Targets
from tests.replay_ui.sample import Sample, make

ACME = TenantId("acme")
ALL = Period(label="all")
FORMULAS = (
    "=1+1",
    "+1",
    "-2",
    "@SUM(A1)",
    "\t=1",
    '=HYPERLINK("http://evil.example","x")',
    "<script>alert(1)</script>",
)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return make(tmp_path_factory.mktemp("record"))


def data_of(sample: Sample, tenant: str = "acme", month: str | None = "2026-11") -> TenantData:
    name = TenantId(tenant)
    with open_reader(sample.store) as reader:
        tallies, runs, targets = run_together((Metrics(), Runs(), Targets()), reader.events(name))
        head = reader.head(name)
        assert head is not None
        found = reconciled(reader, open_blob_reader(sample.blobs), name, month) if month else None
    return TenantData(
        tenant=name,
        events=head.size,
        root=head.root.hex(),
        chain="verified",
        tallies=tuple(tallies.values()),
        runs=tuple(runs.values()),
        targets=tuple(targets.values()),
        month=found,
    )


@pytest.fixture(scope="module")
def report(sample: Sample) -> Report:
    return compose([data_of(sample), data_of(sample, "globex", None)], ALL)


def of_tenant(table: Table, tenant: str) -> list[dict[str, Cell]]:
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    return [row for row in rows if row["tenant"] == tenant]


def test_the_metrics_are_those_of_the_desk(sample: Sample, report: Report) -> None:
    desk = sample.desk()
    for tenant in ("acme", "globex"):
        shown_there = desk.metrics(TenantId(tenant)).value.report
        for row, name in zip(of_tenant(report.table("metrics"), tenant), NAMES, strict=True):
            metric = shown_there.of(name)
            assert row["metric"] == name
            assert row["hit_events"] == metric.numerator
            assert row["trial_events"] == metric.denominator
            assert row["undecided_events"] == metric.undecided
            assert (row["hits"], row["trials"]) == (len(metric.numerator), len(metric.denominator))
            assert row["rate_permille"] == (metric.rate.permille if metric.rate else None)
    desk.close()


def test_the_runs_are_those_of_the_desk(sample: Sample, report: Report) -> None:
    desk = sample.desk()
    shown_there = {run.run_id: run for run in desk.runs(ACME)}
    rows = of_tenant(report.table("runs"), "acme")
    assert {row["run"] for row in rows} == set(shown_there)
    for row in rows:
        run = shown_there[str(row["run"])]
        assert (row["steps"], row["ok"], row["stuck"]) == (run.steps, run.steps_ok, run.stuck_length)
        assert row["success_permille"] == run.success_permille
    desk.close()


def test_the_month_is_that_of_the_desk(sample: Sample, report: Report) -> None:
    desk = sample.desk()
    (imported,) = desk.imports(ACME)
    month = desk.reconciliation(ACME, imported.position)
    assert month is not None
    rows = of_tenant(report.table("breaks"), "acme")
    assert [row["difference"] for row in rows] == [found.id for found in month.breaks]
    for row, total in zip(of_tenant(report.table("totals"), "acme"), month.totals, strict=True):
        assert row["difference_minor"] == total.breaks_minor
        assert int(str(row["attributed_minor"])) + int(str(row["residual_minor"])) == total.breaks_minor
    causes = of_tenant(report.table("causes"), "acme")
    assert {row["cause"] for row in causes} == {f.cause for b in month.breaks for f in b.findings}
    desk.close()


def test_every_figure_can_be_counted_again_from_the_listed_events(report: Report) -> None:
    for tenant in ("acme", "globex"):
        trials = of_tenant(report.table("trials"), tenant)
        for row in of_tenant(report.table("metrics"), tenant):
            own = [trial for trial in trials if trial["metric"] == row["metric"]]
            assert tuple(trial["position"] for trial in own) == row["trial_events"]
            assert tuple(trial["position"] for trial in own if trial["counted"]) == row["hit_events"]
        for row in of_tenant(report.table("slices"), tenant):
            own = [t for t in trials if t["metric"] == row["metric"] and t[str(row["by"])] == row["value"]]
            assert (len(own), sum(bool(trial["counted"]) for trial in own)) == (row["trials"], row["hits"])
        steps = of_tenant(report.table("steps"), tenant)
        for row in of_tenant(report.table("verdicts"), tenant):
            own = [step for step in steps if step["verdict"] == row["verdict"]]
            assert tuple(sorted(int(str(step["position"])) for step in own)) == row["step_events"]
        days = of_tenant(report.table("days"), tenant)
        assert sum(int(str(day["steps"])) for day in days) == len(steps)


def test_what_is_counted_names_the_events_that_show_it(sample: Sample, report: Report) -> None:
    with open_reader(sample.store) as reader:
        names = {recorded.row.position: recorded.name for recorded in reader.events(ACME)}
    wanted = {"mis_operation": "action.attempted", "completion": "task.opened", "takeover": "task.opened"}
    counted = [row for row in of_tenant(report.table("trials"), "acme") if row["counted"]]
    assert counted
    for row in counted:
        assert names[int(str(row["position"]))] == wanted[str(row["metric"])]
        assert row["reasons"]
        evidence = row["evidence"]
        assert isinstance(evidence, tuple)
        assert evidence
        assert all(position in names for position in evidence)


def test_a_period_without_tasks_is_empty_and_says_so(sample: Sample) -> None:
    found = compose([data_of(sample, month=None)], month_period("2020-02"))
    assert {row["note"] for row in of_tenant(found.table("metrics"), "acme")} == {
        "not enough data (0 of at least 5)"
    }
    assert found.table("trials").rows == ()
    assert b"Nothing in this period." in html_bytes(found)


def test_a_month_is_a_month() -> None:
    december = month_period("2026-12")
    assert december.until_us is not None
    assert (december.until_us - december.since_us) == 31 * 86_400_000_000
    for wrong in ("2026-13", "2026", "november", "2026-11-01"):
        with pytest.raises(ConfigError, match="no month"):
            month_period(wrong)


def test_the_same_record_gives_the_same_bytes(sample: Sample) -> None:
    first = dict(files(compose([data_of(sample)], ALL)))
    again = dict(files(compose([data_of(sample)], ALL)))
    assert first == again
    assert {Path(name).suffix for name in first} == {".html", ".xlsx", ".csv", ".parquet"}
    with zipfile.ZipFile(io.BytesIO(first["report.xlsx"])) as book:
        assert {entry.date_time[0] for entry in book.infolist()} == {1980}


def test_only_the_formats_asked_for_are_made(report: Report) -> None:
    assert [name for name, _ in files(report, ["html"])] == ["report.html"]
    assert len(list(files(report, ["csv"]))) == len(report.tables)
    assert set(FORMATS) == {"html", "xlsx", "csv", "parquet"}


def hostile() -> Table:
    rows = tuple((text, number, (number, 7), None) for number, text in enumerate(FORMULAS))
    specs = columns("text", "number:count", "events:positions", "nothing:permille")
    return Table(name="hostile", title="=1+1", about="<b>", columns=specs, rows=rows)


def of_one(table: Table) -> Report:
    return Report(title="=title()", subtitle="<i>", tables=(table,))


def sheets(data: bytes) -> Iterator[Any]:
    yield from openpyxl.load_workbook(io.BytesIO(data)).worksheets


def test_no_cell_of_the_workbook_is_a_formula_or_a_link() -> None:
    data = xlsx_bytes(of_one(hostile()))
    (sheet,) = sheets(data)
    cells = [cell for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert {cell.data_type for cell in cells} == {"s", "n"}
    assert [sheet.cell(row, 1).value for row in range(2, len(FORMULAS) + 2)] == list(FORMULAS)
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        parts = [book.read(name) for name in book.namelist() if name.startswith("xl/worksheets")]
    assert parts
    assert not any(b"<f" in part or b"hyperlink" in part for part in parts)


def test_the_workbook_holds_the_figures_as_numbers(report: Report) -> None:
    by_name = {sheet.title: sheet for sheet in sheets(xlsx_bytes(report))}
    assert list(by_name) == [table.name for table in report.tables]
    metrics = report.table("metrics")
    for number, row in enumerate(metrics.rows, 2):
        rate = row[metrics.place("rate_permille")]
        found = by_name["metrics"].cell(number, metrics.place("rate_permille") + 1).value
        assert found == (None if rate is None else int(str(rate)) / 1000)
    breaks = report.table("breaks")
    amount = breaks.place("amount_minor")
    found = [by_name["breaks"].cell(number, amount + 1).value for number in range(2, len(breaks.rows) + 2)]
    assert found == [int(str(row[amount])) / 100 for row in breaks.rows]


def test_a_table_longer_than_a_sheet_goes_on_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook_module, "SHEET_ROWS", 4)
    found = list(sheets(xlsx_bytes(of_one(hostile()))))
    assert [sheet.title for sheet in found] == ["hostile", "hostile 2", "hostile 3"]
    texts = [sheet.cell(row, 1).value for sheet in found for row in range(2, sheet.max_row + 1)]
    assert texts == list(FORMULAS)


def test_a_list_of_events_too_long_for_a_cell_says_that_it_was_cut() -> None:
    long = Table(
        name="long", title="", about="", columns=columns("events:positions"), rows=((tuple(range(10_000)),),)
    )
    (sheet,) = sheets(xlsx_bytes(of_one(long)))
    text = sheet.cell(2, 1).value
    assert len(text) <= 32_767
    assert text.endswith("(cut: whole in CSV and Parquet)")
    assert parsed(csv_bytes(long))[1][0].split() == [str(number) for number in range(10_000)]


def parsed(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def test_csv_is_harmless_in_a_spreadsheet_and_numbers_stay_numbers() -> None:
    rows = parsed(csv_bytes(hostile()))
    assert rows[0] == ["text", "number", "events", "nothing"]
    for row, text in zip(rows[1:], FORMULAS, strict=True):
        assert row[0] == (text if text.startswith("<") else f"'{text}")
    assert rows[3] == ["'-2", "2", "2 7", ""]


def test_parquet_keeps_text_and_types_untouched(report: Report) -> None:
    found = pq.read_table(io.BytesIO(parquet_bytes(hostile())))
    assert found.column("text").to_pylist() == list(FORMULAS)
    assert found.column("events").to_pylist()[3] == [3, 7]
    about = pq.read_table(io.BytesIO(parquet_bytes(report.table("about"))))
    assert str(about.schema.field("from").type) == "timestamp[us, tz=UTC]"
    assert about.column("events").to_pylist() == [
        row[report.table("about").place("events")] for row in report.table("about").rows
    ]


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "action"}]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_runs_nothing_and_asks_nobody(report: Report) -> None:
    for source in (report, of_one(hostile())):
        page = Page()
        page.feed(html_bytes(source).decode())
        assert not {"script", "img", "iframe", "link", "object"} & set(page.tags)
        assert all(address.startswith("#") for address in page.addresses)
    assert "<script>alert(1)</script>" in page.text


def test_the_pages_figures_open_to_their_events(report: Report) -> None:
    html = html_bytes(report).decode()
    metrics = report.table("metrics")
    trials = metrics.rows[0][metrics.place("trial_events")]
    assert isinstance(trials, tuple)
    pattern = rf"<summary>{len(trials)} events</summary><div>{' '.join(map(str, trials))}</div>"
    assert re.search(pattern, html)


def test_a_long_table_is_cut_on_the_page_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "LISTED", 3)
    html = html_bytes(of_one(hostile())).decode()
    assert f"{len(FORMULAS) - 3} more rows are in the CSV, XLSX and Parquet files" in html
    assert "@SUM(A1)" not in html


def test_amounts_are_shown_in_the_digits_of_their_currency() -> None:
    specs = columns("currency", "amount_minor:minor:currency")
    rows = (("JPY", -1200), ("CNY", -1200), ("KWD", -1200))
    table = Table(name="t", title="", about="", columns=specs, rows=rows)
    assert [shown(table, row, 1) for row in rows] == ["-1200", "-12.00", "-1.200"]


def test_a_row_of_another_width_is_no_row() -> None:
    with pytest.raises(AssertionError):
        Table(name="t", title="", about="", columns=columns("one", "two"), rows=(("1",),))
    with pytest.raises(ValueError, match="no kind of column"):
        columns("one:colour")
