"""The one place where the desk reads.

Rules enforced here:

- Pages and routes get plain, frozen rows of the projections; nobody else opens the record, the blobs or the stored
  views (``record``).
- A list is asked for by the part that is shown, so that a page costs the same however long the record is.
- What the desk concludes itself (the month end) rests on a chain that it has checked at that very position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from domain import events as e
from domain.ids import Sha256, TaskId, TenantId, settlement_stream, task_stream
from projections import canary, fsck
from projections.settlement.importer import read_settlement
from projections.settlement.profiles import load_profile
from projections.views.approvals import Approvals, Pending, pending
from projections.views.cases import CaseRow, Cases
from projections.views.common import verdict_of
from projections.views.dead_letters import DeadLetters, Letter, LettersRow, undelivered
from projections.views.evidence_chain import BillChain, EvidenceChain, chain
from projections.views.reconciliation import Reconciliation, reconcile
from projections.views.runs import RunRow, Runs
from projections.views.takeover_queue import Aged, TakeoverQueue, aged
from projections.views.tallies import Metrics
from projections.views.targets import TargetRow, Targets
from projections.views.task_states import TaskRow
from projections.views.timeline import Entry, Timeline, TimelineProjection, timeline
from replay_ui.figures import Figures, figures_of
from replay_ui.privacy import privacy_of
from replay_ui.record import Place, RecordDesk, Standing

if TYPE_CHECKING:
    from replay_ui.growth import Answer

__all__ = ["Desk", "Import", "Place", "Standing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One import of a settlement file."""

    position: int
    month: str
    file_name: str
    source: str
    profile: str
    principal: str
    at_us: int
    rows_read: int
    rows_accepted: int
    rows_refused: int
    blob: Sha256


class Desk(RecordDesk):
    """What the pages ask; see ``RecordDesk`` for what it is made of."""

    # Runs and tasks

    def runs(
        self,
        tenant: TenantId,
        *,
        mode: str = "",
        status: str = "",
        words: str = "",
        offset: int = 0,
        limit: int = -1,
    ) -> tuple[RunRow, ...]:
        """Runs, newest first, without what is known of each of their tasks."""
        if not self.catch_up(tenant):
            return ()
        rows = self.lookup.runs(tenant, mode=mode, status=status, words=words, offset=offset, limit=limit)
        return tuple(rows)

    def count_runs(self, tenant: TenantId, *, mode: str = "", status: str = "", words: str = "") -> int:
        """Number of runs."""
        if tenant not in self:
            return 0

        def made() -> int:
            return self.lookup.count_runs(tenant, mode=mode, status=status, words=words)

        return self.answer(("runs", mode, status, words), tenant, made).value

    def run(self, tenant: TenantId, run_id: str) -> RunRow | None:
        """One run."""
        return self._row(Runs(), tenant, run_id)

    def tasks_of_run(
        self, tenant: TenantId, run_id: str, *, offset: int = 0, limit: int = -1
    ) -> tuple[TaskRow, ...]:
        """Tasks with an event in a run, in order of the log."""
        if not self.catch_up(tenant):
            return ()
        return tuple(self.lookup.tasks_of_run(tenant, run_id, offset=offset, limit=limit))

    def tasks_of_bill(self, tenant: TenantId, bill: str) -> tuple[TaskRow, ...]:
        """Tasks about a bill, in order of the log."""
        return tuple(self.lookup.tasks(tenant, bill=bill)) if self.catch_up(tenant) else ()

    def tasks_by_status(self, tenant: TenantId) -> Mapping[str, int]:
        """Number of tasks by status."""
        if tenant not in self:
            return {}
        return self.answer("tasks", tenant, lambda: self.lookup.tasks_by_status(tenant)).value

    def objections(self, tenant: TenantId) -> int:
        """Steps that a guard objected to, over all runs."""
        if tenant not in self:
            return 0
        return self.answer("objections", tenant, lambda: self.lookup.objections(tenant)).value

    def timeline(self, tenant: TenantId, run_id: str) -> Timeline | None:
        """A run frame by frame; None when there is no such run."""

        def made() -> Timeline | None:
            return timeline(self._rows(TimelineProjection(), tenant, run_id))

        return self.answer(("timeline", run_id), tenant, made).value

    def frames(self, tenant: TenantId, run_id: str) -> Mapping[str, Entry]:
        """Frames of a run by their name; the first entry of each."""

        def made() -> Mapping[str, Entry]:
            line = self.timeline(tenant, run_id)
            return {entry.sha256: entry for entry in reversed(line.entries if line else ())}

        return self.answer(("frames", run_id), tenant, made).value

    def frame_index(self, tenant: TenantId, run_id: str, *, position: int, sha256: str = "") -> int | None:
        """Frame of the run to open for an event: its own, else the last one before it."""
        line = self.timeline(tenant, run_id)
        if line is None or not line.entries:
            return None
        before = 0
        for index, entry in enumerate(line.entries):
            if entry.position == position and sha256 in {"", entry.sha256}:
                return index
            if entry.position <= position:
                before = index
        return before

    # Bills

    def bills(self, tenant: TenantId, limit: int) -> tuple[str, ...]:
        """Bills that something happened to last, of the ``limit`` newest tasks."""
        return self.lookup.newest_bills(tenant, limit) if self.catch_up(tenant) else ()

    def chain(self, tenant: TenantId, bill: str) -> BillChain | None:
        """Everything on record about a bill; None when there is nothing."""
        return chain(self._rows(EvidenceChain(), tenant, bill), bill)

    def verdicts(self, tenant: TenantId, found: BillChain) -> dict[int, str]:
        """Verdict that each event of a chain passes, by position; events that pass none are left out."""
        tasks = found.tasks if tenant in self else ()
        streams = (self.reader.stream(tenant, task_stream(TaskId(task))) for task in tasks)
        return {
            recorded.row.position: verdict
            for stream in streams
            for recorded in stream
            if (verdict := verdict_of(recorded.event)) is not None
        }

    # People

    def queue(self, tenant: TenantId, *, now_us: int, closed: bool = False) -> tuple[Aged, ...]:
        """Tasks that wait for a person; ``closed`` adds those that no longer do."""
        return aged(
            self._rows(TakeoverQueue(), tenant, None if closed else "waiting"), now_us=now_us, closed=closed
        )

    def approvals(self, tenant: TenantId, *, now_us: int) -> tuple[Pending, ...]:
        """Requests that wait for a person's word."""
        return pending(self._rows(Approvals(), tenant, "open"), now_us=now_us)

    def count_waiting(self, tenant: TenantId) -> int:
        """How many approvals, takeovers and redactions wait for a person."""

        def made() -> int:
            asked = pending(self._rows(Approvals(), tenant, "open"), now_us=0)
            taken = self._rows(TakeoverQueue(), tenant, "waiting")
            withheld = [one for one in privacy_of(self, tenant).redactions if one.status == "requested"]
            return len(asked) + len(taken) + len(withheld)

        return self.answer("waiting", tenant, made).value

    def letters(self, tenant: TenantId) -> tuple[tuple[LettersRow, Letter], ...]:
        """Alerts that some channel has not had, oldest first."""
        rows = self.answer("letters", tenant, lambda: self._rows(DeadLetters(), tenant, "undelivered")).value
        return undelivered(rows)

    def cases(self, tenant: TenantId) -> tuple[CaseRow, ...]:
        """Kept differences of month ends, the newest month first."""
        rows = self.answer("cases", tenant, lambda: self._rows(Cases(), tenant)).value
        return tuple(sorted(rows, key=lambda row: (row.month, row.bill_id), reverse=True))

    # Figures

    def metrics(
        self, tenant: TenantId, *, since_us: int = 0, until_us: int | None = None, mode: str = ""
    ) -> Answer[Figures]:
        """The four metrics over the tasks opened in a period, and what they can be split by."""

        def made() -> Figures:
            rows = self._rows(Metrics(), tenant)
            return figures_of(rows, since_us=since_us, until_us=until_us, mode=mode)

        return self.answer(("metrics", since_us, until_us, mode), tenant, made)

    def targets(self, tenant: TenantId) -> Mapping[str, TargetRow]:
        """What people accepted for each metric."""
        rows = self.answer("targets", tenant, lambda: self._rows(Targets(), tenant)).value
        return {row.metric: row for row in rows}

    def proposals(self, tenant: TenantId, sample: canary.Canary) -> Answer[canary.Proposals]:
        """What a sample of a period proposes as targets.

        Raises:
            ConfigError: the period is empty or backwards, or the share is no share.
        """

        def made() -> canary.Proposals:
            through = self.end_of_evidence(tenant)
            return canary.propose(self._rows(Metrics(), tenant), sample, through_position=through)

        return self.answer(("canary", sample), tenant, made)

    # Month end

    def imports(self, tenant: TenantId) -> tuple[Import, ...]:
        """Imported settlement files, newest month and newest import first."""
        found = self.answer("imports", tenant, lambda: self._imports(tenant)).value
        return tuple(sorted(found, key=lambda item: (item.month, item.position), reverse=True))

    def month(self, tenant: TenantId, position: int) -> Answer[Reconciliation] | None:
        """The month of the file imported at ``position`` against the record; None when there is no such import.

        Raises:
            IntegrityError: the file's bytes are not what was imported.
            ConfigError: the file is withheld or deleted, or its profile is not available here.
        """
        chosen = next((item for item in self.imports(tenant) if item.position == position), None)
        if chosen is None:
            return None
        return self.answer(("month", position), tenant, lambda: self._reconciled(tenant, chosen))

    def reconciliation(self, tenant: TenantId, position: int) -> Reconciliation | None:
        """The result of ``month``."""
        found = self.month(tenant, position)
        return None if found is None else found.value

    def _imports(self, tenant: TenantId) -> tuple[Import, ...]:
        if tenant not in self:
            return ()
        months = [name.partition(":")[2] for name in self.reader.streams(tenant, "settlement")]
        return tuple(
            Import(
                position=recorded.row.position,
                month=fact.month,
                file_name=fact.file_name,
                source=fact.source,
                profile=fact.profile,
                principal=recorded.envelope.principal,
                at_us=recorded.envelope.occurred_at_us,
                rows_read=fact.rows_read,
                rows_accepted=fact.rows_accepted,
                rows_refused=fact.rows_refused,
                blob=fact.blob,
            )
            for month in months
            for recorded in self.reader.stream(tenant, settlement_stream(month))
            if isinstance(fact := recorded.event, e.SettlementImported)
        )

    def _reconciled(self, tenant: TenantId, chosen: Import) -> Reconciliation:
        profile, inforce = load_profile(chosen.profile), self.reader.withholding(tenant)
        what = f"the settlement file of {chosen.month}"
        inforce.require_document(chosen.blob, what, there=self.blobs.has(chosen.blob))
        file = read_settlement(self.blobs.get(chosen.blob), profile, chosen.month, file_name=chosen.file_name)
        file = inforce.masks.object(file)
        return reconcile(
            self.reader.events(tenant),
            file,
            tenant=tenant,
            month=chosen.month,
            chain_verified=fsck.check(self.reader, None, tenant).ok,
        )
