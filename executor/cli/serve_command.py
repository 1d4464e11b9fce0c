"""``proofreel serve``: the desk over a record, and the door for what people decide there."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import tempfile
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from domain.errors import CommandRefused, ConfigError
from domain.events import TakeoverResolved, TargetAccepted
from domain.ids import EventId, Sha256, TaskId, TenantId, task_stream
from domain.policy import Identity
from executor.approvals import answer
from executor.casework import Casework, keep, note, reopen, sign_off
from executor.cli.common import (
    config_option,
    configured,
    json_option,
    one_tenant,
    places,
    print_json,
    progress_bar,
    store_options,
    tenant_option,
)
from executor.cli.redact_commands import opened_redactions
from executor.config import Config
from executor.notify import configured as notifier_of
from executor.openings import RecordedOpenings
from executor.redactions import Redactions
from executor.runtime.streams import TaskStream
from executor.runtime.system import SystemClock, SystemIds
from executor.store.log import RecordLog, open_record
from executor.takeover import resolve, take, tell_again
from executor.targets import accept_target
from executor.yaml_source import load_yaml

if TYPE_CHECKING:
    import sqlalchemy as sa
    from rich.progress import TaskID

    from projections.views.reconciliation import Reconciliation
    from replay_ui.access import Access
    from replay_ui.data import Desk
    from replay_ui.operator_actions import AskedRedaction

OpenRedactions = Callable[[str], AbstractContextManager[tuple[Redactions, Identity]]]
"""Opens the configured tenant's redactions for a person."""
Resolution = Literal["effect_present", "effect_absent", "done_by_hand", "undone_by_hand", "nothing_to_do"]
MAX_PORT = 65535


class RecordedDecisions:
    """The desk's ``OperatorActions``: each decision is recorded as the configured person's, or refused.

    One record is open for all of them. The rules are those of the commands ``approvals`` and ``takeover``.
    """

    def __init__(self, config: Config, log: RecordLog, redactions: OpenRedactions | None = None) -> None:
        self._config = config
        self._log = log
        self._redactions = redactions

    def people(self, tenant: str, right: str = "") -> Sequence[str]:
        """Configured people who may act for the tenant, those with the right if one is named."""
        return [
            person.principal
            for person in self._config.people
            if tenant in person.tenants and (not right or right in person.actions)
        ]

    def answer(
        self,
        tenant: str,
        task: str,
        *,
        approval: str,
        verdict: Literal["grant", "deny"],
        person: str,
        note: str,
    ) -> None:
        """Grant or deny exactly the request that the person saw."""
        stream = self._stream(tenant, task, person)
        request = stream.state.request
        if request is not None and request.approval_id != approval:
            raise CommandRefused(
                "approval.changed", "another request has taken its place", remedy="look at the new one first"
            )
        answer(stream, self._config.person(person), verdict, note=note, now_us=SystemClock().now_us())

    def sign_off(self, tenant: str, case: str, *, digest: str, person: str, note: str) -> None:
        """Accept exactly the conclusion that the person saw."""
        work = Casework(self._log, ids=SystemIds(), clock=SystemClock(), tenant=TenantId(tenant))
        sign_off(work, case, self._config.person(person), digest, note=note)

    def note_case(self, tenant: str, case: str, *, person: str, text: str) -> None:
        """Keep the person's note on a case."""
        work = Casework(self._log, ids=SystemIds(), clock=SystemClock(), tenant=TenantId(tenant))
        note(work, case, self._config.person(person), text)

    def reopen_case(self, tenant: str, case: str, *, person: str, reason: str) -> None:
        """Take a sign-off away; the person says why."""
        work = Casework(self._log, ids=SystemIds(), clock=SystemClock(), tenant=TenantId(tenant))
        reopen(work, case, self._config.person(person), reason)

    def keep_case(self, tenant: str, result: Reconciliation, case: str, *, person: str) -> None:
        """Keep the difference as the person's case; one that is kept already is told what was concluded now."""
        from projections.settlement.cases import casework

        who = self._config.person(person)
        work = Casework(self._log, ids=SystemIds(), clock=SystemClock(), tenant=TenantId(tenant))
        told = {one.break_id: one for one in casework(result, {case: work.load(case)}, by=who.principal)}
        if case not in {found.id for found in result.breaks}:
            raise CommandRefused(
                "case.gone", f"the month has no difference {case}", remedy="look at it again"
            )
        keep(work, case, told[case].commands, who)

    def ask_redaction(self, tenant: str, asked: AskedRedaction, *, person: str) -> None:
        """Ask for what the person marked."""
        with self._withholding(tenant, person) as (work, who):
            if asked.kind == "frame":
                work.ask_frame(who, Sha256(asked.subject), asked.regions, asked.basis)
            else:
                work.ask_event(who, EventId(asked.subject), asked.fields, asked.basis)

    def answer_redaction(
        self, tenant: str, redaction: str, *, verdict: Literal["approve", "deny"], person: str, note: str
    ) -> None:
        """Allow or refuse the request; the rendition is made again and compared before it is allowed."""
        with self._withholding(tenant, person) as (work, who):
            work.answer(who, redaction, verdict, note=note)

    def _withholding(self, tenant: str, person: str) -> AbstractContextManager[tuple[Redactions, Identity]]:
        if self._redactions is None or tenant != self._config.tenant:
            what = f"redactions of {tenant} can't be asked for or answered here"
            raise ConfigError(what, remedy="serve the desk with the configuration of that tenant")
        return self._redactions(person)

    def take(self, tenant: str, task: str, *, person: str) -> None:
        """Own the task."""
        stream = self._stream(tenant, task, person)
        take(stream, stream.principal)

    def tell_again(self, tenant: str, task: str, *, position: int, person: str) -> Mapping[str, str]:
        """Try the alert again that the person saw, on the channels that have not had it."""
        from projections.fold import run_keys
        from projections.views.dead_letters import DeadLetters, undelivered

        stream = self._stream(tenant, task, person)
        events = self._log.stream(TenantId(tenant), task_stream(TaskId(task)))
        found = undelivered(run_keys(DeadLetters(), events).values())
        letter = next((letter for _, letter in found if letter.position == position), None)
        if letter is None:
            raise CommandRefused(
                "alert.changed",
                "it was tried or delivered in the meantime",
                remedy="look at the alerts again",
            )
        alert = tell_again(
            stream,
            notifier_of(self._config.notify.webhook, self._config.notify.command),
            kind=letter.kind,
            severity=letter.severity,
            message=letter.message,
            channels=tuple(letter.failed),
        )
        return alert.delivered

    def accept_target(self, tenant: str, fact: TargetAccepted, *, person: str) -> None:
        """Accept the target that the person saw proposed, or their own with its reason."""
        who = self._config.person(person)
        accept_target(
            self._log, fact, ids=SystemIds(), clock=SystemClock(), tenant=TenantId(tenant), person=who
        )

    def resolve(self, tenant: str, task: str, *, resolution: Resolution, person: str, note: str) -> None:
        """Close the takeover."""
        stream = self._stream(tenant, task, person)
        resolve(stream, TakeoverResolved(owner=stream.principal, resolution=resolution, note=note))

    def _stream(self, tenant: str, task: str, person: str) -> TaskStream:
        who = self._config.person(person)
        if tenant not in who.tenants:
            raise CommandRefused("person.tenant", f"{person} does not act for tenant {tenant}")
        stream = TaskStream(
            self._log,
            ids=SystemIds(),
            clock=SystemClock(),
            tenant=TenantId(tenant),
            task_id=TaskId(task),
            run_id=None,
            principal=who.principal,
        )
        if stream.load().status == "new":
            raise ConfigError(f"there is no task {task}", remedy="see 'proofreel tasks'")
        return stream


@click.command(epilog="Example: proofreel serve --config proofreel.yaml --port 8501")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to bind; beyond loopback only with --access.",
)
@click.option(
    "--port",
    type=click.IntRange(0, MAX_PORT),
    default=8501,
    show_default=True,
    help="Port; 0 takes a free one.",
)
@click.option(
    "--views",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep the stored views here, to start faster next time; by default they are temporary.",
)
@click.option(
    "--access",
    "access_path",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Who may sign in through which OpenID provider, and do what. Without it: one local user.",
)
@config_option
@store_options
@tenant_option
@json_option
def serve(
    host: str,
    port: int,
    views: Path | None,
    access_path: Path | None,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    tenant: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Serve the desk: replay, month end, evidence chains, queue and metrics.

    With --access people sign in, each sees their tenants, and what they open is recorded. Without it the desk serves
    this machine only.
    """
    from projections.blobs import open_blob_reader
    from projections.reading import open_reader
    from replay_ui.access import check_bind
    from replay_ui.asgi import create_app
    from replay_ui.asgi import serve as run_server
    from replay_ui.bundles import bundle_routes
    from replay_ui.data import Desk
    from replay_ui.evidence import Evidence
    from replay_ui.openings import Openings
    from replay_ui.session import open_desk

    where = places(store, blobs, config_path)
    config = configured(config_path) if config_path.exists() else None
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(open_reader(where.store))
        known = reader.tenants()
        only = None if tenant is None else {one_tenant(tenant, known)}
        desk = Desk(
            reader, open_blob_reader(where.blobs), stack.enter_context(view_database(views)), tenants=only
        )
        access = who_may(access_path, desk)
        actions, openings = None, Openings()
        people = config is not None and bool(config.people)
        if people or access_path is not None:
            log = stack.enter_context(open_record(where.store))
            if config is not None and people:
                opened = partial(opened_redactions, config_path, store, blobs)
                actions = RecordedDecisions(config, log, opened)
            if access_path is not None:
                openings = Openings(RecordedOpenings(log, ids=SystemIds(), clock=SystemClock()))
        check_bind(host, access)
        open_desk(desk, access, actions, openings)
        routes = bundle_routes(desk, access, openings)
        app = create_app(Evidence(desk), access, openings=openings, more=routes)
        stack.enter_context(stopping_cleanly())
        build_views(desk)
        run_server(app, access, host=host, port=port, ready=lambda url: announce(url, known, as_json=as_json))
    return 0


def build_views(desk: Desk) -> None:
    """Bring the stored views up to the record before anybody waits for a page; a long record takes its time once."""
    with progress_bar() as bar:
        for tenant in desk.tenants():
            line = bar.add_task(f"views of {tenant}", total=desk.reader.positions(tenant))

            def progress(events: int, line: TaskID = line) -> None:
                bar.advance(line, events)

            desk.catch_up(tenant, progress)


def who_may(path: Path | None, tenants: Container[str]) -> Access:
    """Access as configured, else the single user of this machine.

    Raises:
        ConfigError: the configuration is wrong, or what signing in needs is not installed.
    """
    from replay_ui.access import LocalAccess
    from replay_ui.oidc import AccessSettings, OidcAccess

    if path is None:
        return LocalAccess(tenants)
    if importlib.util.find_spec("authlib") is None:
        raise ConfigError("signing in needs Authlib", remedy="pip install 'proofreel[oidc]'")
    return OidcAccess(load_yaml(path, AccessSettings), os.environ)


@contextlib.contextmanager
def stopping_cleanly() -> Iterator[None]:
    """Ctrl-C and a request to terminate end the desk in the same orderly way: what is open is closed."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def view_database(kept: Path | None) -> Iterator[sa.Engine]:
    """Database of the stored views; a temporary one goes with the desk."""
    import sqlalchemy as sa

    with contextlib.ExitStack() as stack:
        path = kept
        if path is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="proofreel-views-"))
            path = Path(folder) / "views.db"
        engine = sa.create_engine(f"sqlite:///{path}")
        stack.callback(engine.dispose)
        yield engine


def announce(url: str, tenants: Sequence[str], *, as_json: bool) -> None:
    """Say where the desk is."""
    if as_json:
        print_json({"url": url, "tenants": tenants})
    else:
        click.echo(f"desk at {url} (stop with Ctrl-C)")
