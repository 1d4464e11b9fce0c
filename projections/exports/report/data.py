"""What a report is made of: rows of the desk's views of each tenant, and the period that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from domain.errors import ConfigError
from domain.ids import TenantId
from projections.views import metrics as metric_view
from projections.views.metrics import Trial
from projections.views.reconciliation import Reconciliation
from projections.views.runs import RunRow
from projections.views.tallies import DAY_US, Tally
from projections.views.targets import TargetRow

DECEMBER = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """What is reported on: ``[since_us, until_us)`` in microseconds since 1970 (UTC); None for no end."""

    label: str
    since_us: int = 0
    until_us: int | None = None
    mode: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantData:
    """Rows of the views of one tenant, and how far they go."""

    tenant: TenantId
    events: int
    """Events of its log."""
    root: str
    """Root of the log's Merkle tree, hexadecimal."""
    chain: str
    """``verified``, ``broken`` or ``not checked``, as whoever checked it says."""
    tallies: tuple[Tally, ...]
    runs: tuple[RunRow, ...]
    targets: tuple[TargetRow, ...]
    month: Reconciliation | None = None


def month_period(month: str, mode: str = "") -> Period:
    """Period of a month ``YYYY-MM`` (UTC).

    Raises:
        ConfigError: it is no month.
    """
    try:
        begin = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    except ValueError as error:
        raise ConfigError(f"{month!r} is no month", remedy="give YYYY-MM") from error
    end = begin.replace(
        year=begin.year + (begin.month == DECEMBER), month=1 if begin.month == DECEMBER else begin.month + 1
    )
    return Period(label=month, since_us=_us(begin), until_us=_us(end), mode=mode)


def _us(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)).days * DAY_US


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """A tenant's data with what falls into the period."""

    data: TenantData
    chosen: tuple[Tally, ...]
    """Tasks opened in the period, in order."""
    trials: tuple[Trial, ...]

    @property
    def tenant(self) -> TenantId:
        """Whose."""
        return self.data.tenant


def selected(data: TenantData, period: Period) -> Selected:
    """What falls into the period."""
    opened = sorted((tally for tally in data.tallies if tally.opened), key=lambda tally: tally.opened)
    chosen = metric_view.select(opened, since_us=period.since_us, until_us=period.until_us, mode=period.mode)
    return Selected(data=data, chosen=tuple(chosen), trials=metric_view.trials_of(chosen, opened))
