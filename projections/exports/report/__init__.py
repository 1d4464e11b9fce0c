"""Reports for people who answer for figures: HTML, XLSX, CSV and Parquet out of the desk's own answers.

``compose`` says what is in a report, ``files`` gives it its formats. The same record and period give the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal, get_args

from projections.exports.report.contents import compose
from projections.exports.report.data import Period, TenantData, month_period
from projections.exports.report.flat import csv_bytes, parquet_bytes
from projections.exports.report.page import html_bytes
from projections.exports.report.tables import Report
from projections.exports.report.workbook import xlsx_bytes

__all__ = ["FORMATS", "Format", "Period", "Report", "TenantData", "compose", "files", "month_period"]

Format = Literal["html", "xlsx", "csv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)


def files(report: Report, formats: Collection[Format] = FORMATS) -> Iterator[tuple[str, bytes]]:
    """Files of a report, one after the other: relative path and bytes."""
    if "html" in formats:
        yield "report.html", html_bytes(report)
    if "xlsx" in formats:
        yield "report.xlsx", xlsx_bytes(report)
    for table in report.tables:
        if "csv" in formats:
            yield f"csv/{table.name}.csv", csv_bytes(table)
        if "parquet" in formats:
            yield f"parquet/{table.name}.parquet", parquet_bytes(table)
