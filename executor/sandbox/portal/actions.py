"""The posts: one action on one bill, the batch endpoint, and the answer to a notice.

Rules of this module:

* Checks go from the outside in: session, rights, CSRF token, fields, bill, status. A fault strikes only a post
  that passed the first four; what the vendor refuses it refuses also when it is faulty.
* Every post that reached a session is written down with its answer, without its CSRF token. That log is the
  tests' ground truth of what arrived.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from executor.sandbox.portal.accounts import Viewer
from executor.sandbox.portal.book import BillFilter, Order, StatusRefusedError
from executor.sandbox.portal.model import Action, Bill, Status, minor_units
from executor.sandbox.portal.posting import Post, Reply, post_plainly
from executor.sandbox.portal.services import Portal
from executor.sandbox.portal.web import portal_of, target_of, viewer_of

Fields = Mapping[str, str]


async def act(request: Request) -> Response:
    """Take one action on one bill (`/bills/{id}/actions`), or on all that are pending (`/bills/all/actions`)."""
    fields = await _fields(request)
    reply = await run_in_threadpool(_act, request, fields)
    body = {"ok": reply.status_code == 200, "error": reply.reason}  # noqa: PLR2004 - HTTP OK
    if reply.bill_status is not None:
        body["status"] = reply.bill_status.value
    if reply.status_code == 401:  # noqa: PLR2004 - HTTP Unauthorized
        body = {"error": "not_logged_in", "login": "/login"}
    return JSONResponse(body, status_code=reply.status_code)


async def accept_notice(request: Request) -> Response:
    """Accept a notice: what the button of the unrelated dialog does."""
    fields = await _fields(request)
    return await run_in_threadpool(_accept, request, fields)


async def _fields(request: Request) -> Fields:
    form = await request.form()
    return {key: value for key, value in form.items() if isinstance(value, str)}


def _act(request: Request, fields: Fields) -> Reply:
    portal, viewer = portal_of(request), viewer_of(request)
    reply = refusal(viewer, fields)
    if reply is None:
        bill_id = request.path_params["bill_id"]
        reply = _all(portal, viewer) if bill_id == "all" else act_on_one(portal, viewer, bill_id, fields)
    write_down(portal, viewer, request.url.path, fields, reply.status_code)
    return reply


def _accept(request: Request, fields: Fields) -> Response:
    portal, viewer = portal_of(request), viewer_of(request)
    refused = refusal(viewer, fields)
    if refused is None:
        with portal.database.writing() as connection:
            connection.execute(
                "INSERT INTO consents (at, account, tenant, notice) VALUES (?, ?, ?, ?)",
                (portal.database.now(), viewer.account, viewer.tenant, request.path_params["notice"]),
            )
    code = refused.status_code if refused else 200
    write_down(portal, viewer, request.url.path, fields, code)
    return JSONResponse({"ok": refused is None}, status_code=code)


def refusal(viewer: Viewer, fields: Fields) -> Reply | None:
    """Return why the viewer may not post this at all, or None: rights and CSRF token."""
    if not viewer.can_write:
        return Reply(status_code=403, reason="read_only")
    if not hmac.compare_digest(fields.get("csrf", "").encode(), viewer.csrf.encode()):
        return Reply(status_code=403, reason="csrf")
    return None


def act_on_one(portal: Portal, viewer: Viewer, bill_id: str, fields: Fields) -> Reply:
    """Take one action on one bill of the viewer's tenant, faults included."""
    bill = portal.book.bill(viewer.tenant, bill_id)
    if bill is None:
        return Reply(status_code=404, reason="not_found")
    try:
        order = _order(viewer, bill, fields)
    except (KeyError, ValueError):
        return Reply(status_code=400, reason="bad_form")
    strikes = portal.faults.take("post", target_of(viewer, "", bill.id), most=1)
    posting = strikes[0].kind.post if strikes else None
    try:
        with portal.database.writing() as connection:
            post = Post(
                portal=portal,
                connection=connection,
                order=order,
                bill=bill,
                params=strikes[0].params if strikes else {},
            )
            reply: Reply = (posting or post_plainly)(post)
    except StatusRefusedError:
        return Reply(status_code=409, reason="bad_status", bill_status=bill.status)
    return reply


def _order(viewer: Viewer, bill: Bill, fields: Fields) -> Order:
    if fields["bill_id"] != bill.id:
        raise ValueError(fields["bill_id"])
    return Order(
        bill_id=bill.id,
        tenant=viewer.tenant,
        action=Action(fields["action"]),
        account=viewer.account,
        counterparty_id=fields["counterparty_id"],
        amount_minor=minor_units(fields["amount"], fields["currency"]),
        currency=fields["currency"],
        month=fields["month"],
    )


def _all(portal: Portal, viewer: Viewer) -> Reply:
    """Process every pending bill: the endpoint that a clerk's month-end screen once had."""
    wanted = BillFilter(status=Status.PENDING.value, size=10_000)
    with portal.database.writing() as connection:
        for bill in portal.book.page(viewer.tenant, wanted).bills:
            portal.book.book(
                connection,
                Order(
                    bill_id=bill.id,
                    tenant=viewer.tenant,
                    action=Action.PROCESS,
                    account=viewer.account,
                    counterparty_id=bill.counterparty_id,
                    amount_minor=bill.amount_minor,
                    currency=bill.currency,
                    month=bill.month,
                ),
            )
    return Reply(status_code=200)


def write_down(portal: Portal, viewer: Viewer, path: str, fields: Fields, status_code: int) -> None:
    """Keep a post and its answer, without its CSRF token."""
    kept = {key: value for key, value in fields.items() if key != "csrf"}
    with portal.database.writing() as connection:
        connection.execute(
            "INSERT INTO posts (at, account, path, fields, status_code) VALUES (?, ?, ?, ?, ?)",
            (
                portal.database.now(),
                viewer.account,
                path,
                json.dumps(kept, ensure_ascii=False, sort_keys=True),
                status_code,
            ),
        )
