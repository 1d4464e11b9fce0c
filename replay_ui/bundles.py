"""The routes that hand out evidence bundles: about one difference of a month, or about what is asked for.

Rules enforced here:

- Checked against the viewer's tenants as the other routes are, and against their right to carry evidence away: where
  either is missing, there is no bundle (404).
- That a bundle is carried away is on record before its first byte leaves.
- The bundle is written to a temporary file and streamed from there, however many screens it has; the file is gone
  after the answer.
- The difference with its causes goes into the bundle as the desk shows it, out of the same reconciliation.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from domain.errors import ConfigError, ProofreelError
from domain.ids import RunId, TaskId, TenantId
from projections.exports.bundle import Extras, write_bundle
from projections.exports.select import Scope, scope_of
from projections.exports.vouchers import collect_vouchers
from replay_ui.access import same_origin

if TYPE_CHECKING:
    from starlette.requests import Request

    from projections.views.reconciliation import Break
    from replay_ui.access import Access
    from replay_ui.data import Desk
    from replay_ui.openings import Openings


@dataclass(frozen=True, slots=True)
class Order:
    """What a bundle is about, with the conclusion that goes into it."""

    scope: Scope
    case: Mapping[str, Any] | None = None


_HEADERS = {"Cache-Control": "private, no-store", "Vary": "Cookie", "X-Content-Type-Options": "nosniff"}


def bundle_routes(desk: Desk, access: Access, openings: Openings) -> list[Route]:
    """The bundles behind ``access``.

    ``/bundles/{tenant}/{position of the import}/{difference}.zip`` and ``/bundles/{tenant}.zip?kind=…&name=…`` with the
    kinds of ``projections.exports.select``: ``bill``, ``task``, ``run``, ``month``, ``log``.
    """

    def of_difference(request: Request, tenant: TenantId) -> Order | None:
        found = difference(desk, tenant, request.path_params["file"], request.path_params["difference"])
        return None if found is None else Order(scope_of(bill=found.bill), msgspec.to_builtins(found))

    def asked_for(request: Request, _tenant: TenantId) -> Order | None:
        asked = request.query_params
        return Order(scope_named(asked.get("kind", ""), asked.get("name", "")))

    def guarded(ordered: Callable[[Request, TenantId], Order | None]) -> Callable[[Request], Response]:
        def endpoint(request: Request) -> Response:
            viewer = access.viewer(request)
            tenant = TenantId(request.path_params["tenant"])
            if viewer is None or not same_origin(request) or not viewer.may("export", tenant):
                return _gone()
            try:
                order = ordered(request, tenant)
                if order is None or tenant not in desk:
                    return _gone()
                if not on_record(desk, tenant, order.scope):
                    return _gone()  # only what there is, is opened
                openings.note(viewer, tenant, "bundle", f"{order.scope.kind} {order.scope.name}".strip())
                return _answer(desk, tenant, order)
            except ProofreelError as error:
                return PlainTextResponse(f"{error}\n", 422, headers=_HEADERS)

        return endpoint

    return [
        Route("/bundles/{tenant}/{file:int}/{difference}.zip", guarded(of_difference)),
        Route("/bundles/{tenant}.zip", guarded(asked_for)),
    ]


def scope_named(kind: str, name: str) -> Scope:
    """What a bundle is asked for by its address.

    Raises:
        ConfigError: there is no such kind, or the name is missing.
    """
    match kind:
        case "log":
            return scope_of(log=True)
        case "bill" if name:
            return scope_of(bill=name)
        case "run" if name:
            return scope_of(run=RunId(name))
        case "month" if name:
            return scope_of(month=name)
        case "task" if name:
            return scope_of(tasks=[TaskId(name)])
        case _:
            raise ConfigError(
                f"{kind!r} of {name!r} is nothing that a bundle is about", remedy="use the page Export"
            )


def on_record(desk: Desk, tenant: TenantId, scope: Scope) -> bool:
    """Whether there is anything that a bundle could be about, by what is looked up quickly."""
    match scope.kind:
        case "bill":
            cases = any(case.bill_id == scope.name for case in desk.cases(tenant))
            return bool(desk.tasks_of_bill(tenant, scope.name)) or cases
        case "run":
            return desk.run(tenant, scope.name) is not None
        case "month":
            return any(item.month == scope.name for item in desk.imports(tenant))
        case "task" | "tasks":
            names = scope.name.split(",")
            return bool(desk.catch_up(tenant)) and len(desk.lookup.tasks(tenant, ids=names)) == len(names)
        case "log":
            return bool(desk.catch_up(tenant))


def difference(desk: Desk, tenant: TenantId, file: int, name: str) -> Break | None:
    """A difference by its number, or None."""
    result = desk.reconciliation(tenant, file)
    return None if result is None else next((found for found in result.breaks if found.id == name), None)


def _answer(desk: Desk, tenant: TenantId, order: Order) -> Response:
    with tempfile.NamedTemporaryFile(prefix="proofreel-", suffix=".zip", delete=False) as file:
        path = Path(file.name)
    try:
        info = write_bundle(
            path,
            desk.reader,
            desk.blobs,
            tenant=tenant,
            scope=order.scope,
            case=order.case,
            extras=_vouched(desk, tenant),
        )
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    gone = BackgroundTask(path.unlink, missing_ok=True)
    return FileResponse(
        path, media_type="application/zip", filename=f"{info.name}.zip", headers=_HEADERS, background=gone
    )


def _vouched(desk: Desk, tenant: TenantId) -> Extras:
    """The newest checkpoint with all that was said about it, if no evidence came after it.

    What came after may be that somebody opened evidence; the bundle then speaks of the log up to the checkpoint.
    """
    vouchers = collect_vouchers(desk.reader, tenant)
    newest = max((kept.size for kept in desk.reader.checkpoints(tenant)), default=0)
    if newest < desk.end_of_evidence(tenant):
        return Extras()
    return Extras(checkpoint=vouchers.checkpoint, stamp=vouchers.stamp)


def _gone() -> Response:
    return PlainTextResponse("Not found\n", 404, headers=_HEADERS)
