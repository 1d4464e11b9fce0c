"""The page on which a person puts a bill on hold, or lifts a hold."""

from __future__ import annotations

from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from executor.sandbox.portal.actions import refusal, write_down
from executor.sandbox.portal.book import bump
from executor.sandbox.portal.web import html, portal_of, viewer_of

MAX_NOTE: Final = 200
SEE_OTHER, BAD_REQUEST, NOT_FOUND = 303, 400, 404


def hold_page(request: Request) -> Response:
    """Show who holds a bill, with the form that places or lifts a hold."""
    viewer, portal = viewer_of(request), portal_of(request)
    bill = portal.book.bill(viewer.tenant, request.path_params["bill_id"])
    if bill is None:
        return html("missing.html", request, viewer=viewer, status_code=NOT_FOUND)
    hold = portal.holds.current([bill.id]).get(bill.id)
    return html("hold.html", request, viewer=viewer, bill=bill, hold=hold, log=portal.holds.log(bill.id))


async def set_hold(request: Request) -> Response:
    """Place a hold (`do=place`, with a `note`) or lift it (`do=lift`), and go back to the bill."""
    form = await request.form()
    fields = {key: value for key, value in form.items() if isinstance(value, str)}
    return await run_in_threadpool(_set_hold, request, fields)


def _set_hold(request: Request, fields: dict[str, str]) -> Response:
    viewer, portal = viewer_of(request), portal_of(request)
    bill = portal.book.bill(viewer.tenant, request.path_params["bill_id"])
    refused = refusal(viewer, fields)
    done, note = fields.get("do", ""), fields.get("note", "").strip()[:MAX_NOTE]
    if refused is not None or bill is None or done not in {"place", "lift"}:
        code = refused.status_code if refused is not None else NOT_FOUND if bill is None else BAD_REQUEST
        write_down(portal, viewer, request.url.path, fields, code)
        return html("missing.html", request, viewer=viewer, status_code=code)
    with portal.database.writing() as connection:
        if done == "place":
            portal.holds.place(connection, bill.id, viewer.account, note)
        else:
            portal.holds.lift(connection, bill.id, viewer.account)
        bump(connection, viewer.tenant)
    write_down(portal, viewer, request.url.path, fields, SEE_OTHER)
    return RedirectResponse(f"/bills/{bill.id}", status_code=SEE_OTHER)
