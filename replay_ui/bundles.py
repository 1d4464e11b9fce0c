"""The route that hands out an evidence bundle about one difference of a month.

Rules enforced here:

- Checked against the viewer's tenants as the other routes are: what a viewer may not read doesn't exist (404).
- The bundle is written to a temporary file and streamed from there, however many screens it has; the file is gone
  after the answer.
- The difference with its causes goes into the bundle as the desk shows it, out of the same reconciliation.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from domain.errors import ProofreelError
from domain.ids import TenantId
from projections.exports.bundle import Extras, write_bundle
from projections.exports.select import scope_of
from replay_ui.access import same_origin

if TYPE_CHECKING:
    from starlette.requests import Request

    from projections.views.reconciliation import Break
    from replay_ui.access import Access
    from replay_ui.data import Desk

_HEADERS = {"Cache-Control": "private, no-store", "Vary": "Cookie", "X-Content-Type-Options": "nosniff"}


def bundle_routes(desk: Desk, access: Access) -> list[Route]:
    """``/bundles/{tenant}/{position of the import}/{difference}.zip`` behind ``access``."""

    def endpoint(request: Request) -> Response:
        viewer = access.viewer(request)
        tenant = TenantId(request.path_params["tenant"])
        if viewer is None or not same_origin(request) or not viewer.may_read(tenant):
            return _gone()
        try:
            found = difference(desk, tenant, request.path_params["file"], request.path_params["difference"])
            return _gone() if found is None else _answer(desk, tenant, found)
        except ProofreelError as error:
            return PlainTextResponse(f"{error}\n", 422, headers=_HEADERS)

    return [Route("/bundles/{tenant}/{file:int}/{difference}.zip", endpoint)]


def difference(desk: Desk, tenant: TenantId, file: int, name: str) -> Break | None:
    """A difference by its number, or None."""
    result = desk.reconciliation(tenant, file)
    return None if result is None else next((found for found in result.breaks if found.id == name), None)


def _answer(desk: Desk, tenant: TenantId, found: Break) -> Response:
    with tempfile.NamedTemporaryFile(prefix="proofreel-", suffix=".zip", delete=False) as file:
        path = Path(file.name)
    try:
        info = write_bundle(
            path,
            desk.reader,
            desk.blobs,
            tenant=tenant,
            scope=scope_of(bill=found.bill),
            case=msgspec.to_builtins(found),
            extras=Extras(checkpoint=_checkpoint(desk, tenant)),
        )
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    gone = BackgroundTask(path.unlink, missing_ok=True)
    return FileResponse(
        path, media_type="application/zip", filename=f"{info.name}.zip", headers=_HEADERS, background=gone
    )


def _checkpoint(desk: Desk, tenant: TenantId) -> str | None:
    """A signed checkpoint of the whole log, where there is one; an older one would leave the newest events out."""
    head = desk.reader.head(tenant)
    kept = desk.reader.checkpoints(tenant)
    return kept[-1].note if kept and head is not None and kept[-1].size == head.size else None


def _gone() -> Response:
    return PlainTextResponse("Not found\n", 404, headers=_HEADERS)
