"""A month end over stored views: a million lines without reading millions of events again.

Rules: the result is the one that ``reconcile`` gives over the whole record (a property test compares them on generated
months); a bill agrees here only if it has one plain effect and one booked line that says the same, and everything else
is judged from its events by the same code; what needs more than that (a difference on a bill that is called like an
ordinary word of a request) goes the plain way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final, Protocol, overload

import msgspec
import sqlalchemy as sa

from domain.codec import read
from domain.envelope import Recorded, StoredRow
from domain.ids import EffectKey, PrincipalId, RunId, StreamId, TaskId, TenantId, task_stream
from projections.materialize import catch_up, rebuild
from projections.settlement.agreeing import Compared, Side, bills_of, compare, meet, words_of
from projections.settlement.casefile import Casebook, RunCase, bill_key, sort_record
from projections.settlement.effects import (
    ASTRAY,
    MONTH_VIEWS,
    BillTask,
    BillTasks,
    Effect,
    Effects,
    RunEnds,
    RunsSeen,
    odd_group,
)
from projections.settlement.lines import SettlementFile, SettlementLine
from projections.settlement.pages import PAGES, Columns, Identity, read_columns
from projections.tables import METADATA, ROWS
from projections.views.common import bill_of_key
from projections.views.reconciliation import (
    CurrencyTotals,
    ExpectedLine,
    MatchedLine,
    Reconciliation,
    found_line,
    reconcile,
    settle,
)

_ORIGIN: Final = sa.Table(
    "effect_origin",
    METADATA,
    sa.Column("tenant", sa.String(200), primary_key=True),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("entry", sa.LargeBinary, nullable=False),
)
"""Up to which event of which log the views were brought last."""
_PAGE: Final = 50_000
_MANY = 200
_SHARE: Final = 500
"""Bills that stand twice, so many and one in so many, above which pages are looked after."""
_KEYS: Final = 400
"""Keys of one statement."""


class MonthRecord(Protocol):
    """What is read of the record itself; ``projections.reading.RecordReader`` is the real one."""

    def tenants(self) -> Sequence[TenantId]:
        """Every tenant that has a log."""
        ...

    def events(self, tenant: TenantId, after: int = 0) -> Iterator[Recorded]:
        """Events in order of position."""
        ...

    def stream(self, tenant: TenantId, stream: StreamId, after: int = 0) -> Iterator[Recorded]:
        """Events of one stream in order of version."""
        ...

    def rows(self, tenant: TenantId, after: int = 0, limit: int | None = None) -> Iterator[StoredRow]:
        """Stored rows in order of position."""
        ...


class AgreedLines(Sequence[MatchedLine]):
    """Pairs that agree, in order of bill; made when they are looked at, because a month has a million."""

    def __init__(
        self, compared: Compared, lines: Sequence[SettlementLine], judged: Sequence[MatchedLine]
    ) -> None:
        self._compared = compared
        self._lines = lines
        self._judged = judged
        self._order: list[tuple[str, int, int]] = []
        self._identities: list[Identity] = []

    def __len__(self) -> int:
        """Number of pairs; costs nothing."""
        return len(self._compared.lines) + len(self._judged)

    @overload
    def __getitem__(self, index: int) -> MatchedLine: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[MatchedLine, ...]: ...

    def __getitem__(self, index: int | slice) -> MatchedLine | tuple[MatchedLine, ...]:
        """One pair, or several."""
        if not self._order:
            self._sort()
        if isinstance(index, slice):
            return tuple(self._pair(*place) for place in self._order[index])
        return self._pair(*self._order[index])

    def _sort(self) -> None:
        found = self._compared
        pairs = zip(found.lines.tolist(), found.effects.tolist(), strict=True)
        order = [(found.bills.bill(line), line, effect) for line, effect in pairs]
        order += [(bill_key(pair.expected.bill), place, -1) for place, pair in enumerate(self._judged)]
        self._order = sorted(order)
        self._identities = list(found.columns.identities())

    def _pair(self, _: str, place: int, effect: int) -> MatchedLine:
        if effect < 0:
            return self._judged[place]
        columns, line, who = self._compared.columns, self._lines[place], self._identities[effect]
        _, currency, counterparty = columns.tails[int(columns.tail_codes[effect])].split("\0")
        expected = ExpectedLine(
            bill=who.bill_id,
            kind=line.kind,
            amount_minor=line.amount_minor,
            currency=currency,
            counterparty=counterparty,
            effect_key=EffectKey(who.key),
            basis="confirmed" if who.confirmed else "executed",
            undoing=False,
            tasks=(TaskId(who.task),),
        )
        return MatchedLine(expected=expected, found=found_line(line))

    def __eq__(self, other: object) -> bool:
        """True for a sequence of the same pairs."""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


def reconcile_stored(
    record: MonthRecord,
    views: sa.Engine,
    file: SettlementFile,
    *,
    tenant: TenantId,
    month: str,
    chain_verified: bool,
) -> Reconciliation:
    """``reconcile`` over the views in ``views``, which are brought up to the end of the tenant's log first.

    Raises:
        IntegrityError: the record has a gap or can't be decoded.
    """
    end = follow(record, views, tenant)
    return month_end(record, views, file, tenant=tenant, month=month, end=end, chain_verified=chain_verified)


def follow(record: MonthRecord, views: sa.Engine, tenant: TenantId) -> int:
    """Bring the views to the end of the log; returns that position.

    Views that were made from another log than this one are built again: a link of the chain says which log it was.
    """
    METADATA.create_all(views)
    with views.begin() as connection:
        known = connection.execute(sa.select(_ORIGIN).where(_ORIGIN.c.tenant == tenant)).first()
        row = next(record.rows(tenant, known.position - 1, 1), None) if known and known.position else None
        strange = known is not None and (row.entry_hash if row else b"") != known.entry
        if strange:
            connection.execute(sa.delete(PAGES).where(PAGES.c.tenant == tenant))
    build = rebuild if strange else catch_up
    end = build(record, views, tenant, MONTH_VIEWS)
    last = next(record.rows(tenant, end - 1, 1)).entry_hash if end else b""
    with views.begin() as connection:
        connection.execute(sa.delete(_ORIGIN).where(_ORIGIN.c.tenant == tenant))
        connection.execute(sa.insert(_ORIGIN).values(tenant=tenant, position=end, entry=last))
    return end


def month_end(
    record: MonthRecord,
    views: sa.Engine,
    file: SettlementFile,
    *,
    tenant: TenantId,
    month: str,
    end: int,
    chain_verified: bool,
) -> Reconciliation:
    """The same over views that are true for position ``end``."""
    with views.begin() as connection, ThreadPoolExecutor(1) as beside:
        stored = _Stored(connection, tenant)
        # numpy sorts and compares while Python looks at the lines.
        columns = stored.columns(month, end)
        sorting = beside.submit(Side.of, columns.bills)
        bills = bills_of(file.lines)
        columns, side = stored.settled(columns, sorting.result(), month, end)
        usable = bills is not None
        if bills is not None:
            meeting = beside.submit(meet, bills, columns, side)
            words, odd = words_of(file.lines), stored.odd(month)
            compared = compare(file, meeting.result(), words, columns, odd, stored.strayed)
            runs = stored.runs()
            usable = all(compared.suspects.isdisjoint(run.quiet) for run in runs)
            tasks = stored.tasks_of(compared.suspects) if usable else []
    if not usable:
        return reconcile(
            record.events(tenant), file, tenant=tenant, month=month, chain_verified=chain_verified
        )
    book = _sorted(record, tenant, tasks, end)
    book.runs = StoredRuns(record, tenant, runs)
    book.accounts = _accounts(runs)
    book.events, book.whole = end, True
    totals: dict[str, int] = {}
    for line in compared.rest:
        if line.booked:
            totals[line.currency] = totals.get(line.currency, 0) + line.amount_minor
    rest = replace(file, lines=compared.rest, totals=totals)
    judged = settle(book, rest, month=month, chain_verified=chain_verified)
    return replace(
        judged,
        matched=AgreedLines(compared, file.lines, judged.matched),
        totals=_with_agreed(judged.totals, file.totals, totals),
    )


class _Stored:
    """Reads the stored views of one tenant."""

    def __init__(self, connection: sa.Connection, tenant: TenantId) -> None:
        self._connection = connection
        self._tenant = tenant

    def bodies(self, view: Effects | BillTasks | RunsSeen, *groups: str) -> list[bytes]:
        """Stored rows of some groups, undecoded."""
        found: list[bytes] = []
        for start in range(0, len(groups), _KEYS):
            chosen = sa.select(ROWS.c.body).where(
                ROWS.c.view == view.name,
                ROWS.c.version == view.version,
                ROWS.c.tenant == self._tenant,
                ROWS.c.grouped.in_(groups[start : start + _KEYS]),
            )
            for page in self._connection.execute(chosen).scalars().partitions(_PAGE):
                found.extend(page)
        return found

    def columns(self, month: str, end: int) -> Columns:
        """Plain effects of the month."""
        return read_columns(self._connection, self._tenant, month, end=end)

    def settled(self, columns: Columns, side: Side, month: str, end: int) -> tuple[Columns, Side]:
        """The same, read again where many tasks have moved on since their page was made."""
        if side.twins <= max(_MANY, len(columns.bills) // _SHARE):
            return columns, side
        columns = read_columns(self._connection, self._tenant, month, end=end, counted=True)
        return columns, Side.of(columns.bills)

    def odd(self, month: str) -> set[str]:
        """Bills of the month's effects that are judged from their events, and bills that their keys name."""
        bills: set[str] = set()
        for effect in (*self._effects(odd_group(month)), *self._effects(ASTRAY)):
            if effect.month == month:
                bills |= {effect.bill, bill_key(bill_of_key(EffectKey(effect.key)))}
        return bills

    def strayed(self, bills: set[str]) -> list[str]:
        """Bills of tasks, of any month, whose requests or guards name one of these."""
        return [effect.bill for effect in self._effects(ASTRAY) if not bills.isdisjoint(effect.others)]

    def _effects(self, group: str) -> list[Effect]:
        decoder = msgspec.json.Decoder(Effect)
        return [decoder.decode(body) for body in self.bodies(Effects(), group)]

    def tasks_of(self, bills: set[str]) -> list[TaskId]:
        """Tasks about these bills, of any month."""
        decoder = msgspec.json.Decoder(BillTask)
        return [TaskId(decoder.decode(body).task) for body in self.bodies(BillTasks(), *sorted(bills))]

    def runs(self) -> list[RunEnds]:
        """All runs, in order of their first event that is known."""
        decoder = msgspec.json.Decoder(RunEnds)
        return [decoder.decode(body) for body in self.bodies(RunsSeen(), "")]


class StoredRuns(Mapping[RunId, RunCase]):
    """Runs of the tenant; what is recorded of one is read when a rule asks for it."""

    def __init__(self, record: MonthRecord, tenant: TenantId, runs: Sequence[RunEnds]) -> None:
        self._record = record
        self._tenant = tenant
        ordered = sorted((run for run in runs if run.run_id), key=lambda run: run.first)
        self._ends = {RunId(run.run_id): run for run in ordered}
        self._read: dict[RunId, RunCase] = {}

    def __len__(self) -> int:
        """Number of runs."""
        return len(self._ends)

    def __iter__(self) -> Iterator[RunId]:
        """Names in order of the runs' first events."""
        return iter(self._ends)

    def __getitem__(self, run_id: RunId) -> RunCase:
        """The run; ``KeyError`` when there is none."""
        if run_id not in self._read:
            ends = self._ends[run_id]
            self._read[run_id] = RunCase(
                run_id=run_id,
                started=self._at(ends.started),
                ended=self._at(ends.ended),
                last=self._at(ends.last),
            )
        return self._read[run_id]

    def _at(self, position: int) -> Recorded | None:
        if not position:
            return None
        return read(next(self._record.rows(self._tenant, position - 1, 1)))


def _accounts(runs: Sequence[RunEnds]) -> dict[str, set[PrincipalId]]:
    accounts: dict[str, set[PrincipalId]] = {}
    for run in runs:
        for account, principal in run.accounts:
            accounts.setdefault(account, set()).add(PrincipalId(principal))
    return accounts


def _sorted(record: MonthRecord, tenant: TenantId, tasks: Sequence[TaskId], end: int) -> Casebook:
    """The tasks' own events in order of the log; what came after ``end`` is left for the next time."""
    found = [
        recorded
        for task in dict.fromkeys(tasks)
        for recorded in record.stream(tenant, task_stream(task))
        if recorded.row.position <= end
    ]
    found.sort(key=lambda recorded: recorded.row.position)
    return sort_record(found, tenant)


def _with_agreed(
    judged: Sequence[CurrencyTotals], whole: Mapping[str, int], part: Mapping[str, int]
) -> tuple[CurrencyTotals, ...]:
    """Totals of what was judged, and what agrees on both sides."""
    known = {total.currency: total for total in judged}
    totals = []
    for currency in sorted({*whole, *known}):
        agreed = whole.get(currency, 0) - part.get(currency, 0)
        total = known.get(currency) or CurrencyTotals(
            currency=currency,
            file_minor=0,
            expected_minor=0,
            breaks_minor=0,
            attributed_minor=0,
            residual_minor=0,
        )
        totals.append(
            replace(
                total,
                file_minor=total.file_minor + agreed,
                expected_minor=total.expected_minor + agreed,
            )
        )
    return tuple(totals)
