"""The vendor's REST interface for integrations: log-in for a token, one bill, one action.

Rules of this module:

* The same accounts, tenant walls and posting as the pages; the faults of a post strike here too.
* A token is a session: ending the account's sessions ends it.
* While `rest_withdrawn` is on, the vendor knows none of these paths: a plain 404 without a word.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from executor.sandbox.portal import api
from executor.sandbox.portal.accounts import Viewer
from executor.sandbox.portal.actions import act_on_one, write_down
from executor.sandbox.portal.faults import Target
from executor.sandbox.portal.model import Role
from executor.sandbox.portal.posting import Reply
from executor.sandbox.portal.web import NotLoggedInError, RightsRevokedError, portal_of, target_of

MAX_BODY_BYTES = 16_384


async def log_in(request: Request) -> Response:
    """Give a bearer token for account and password."""
    fields = await _json(request)
    return await run_in_threadpool(_log_in, request, fields)


def bill(request: Request) -> Response:
    """Return one bill with its history and its ledger lines, for the token's account."""
    viewer = _viewer(request)
    if _withdrawn(request, target_of(viewer, "")):
        return _unknown()
    found = portal_of(request).book.bill(viewer.tenant, request.path_params["bill_id"])
    if found is None:
        return JSONResponse({"error": "not_found"}, status_code=404)
    return api.bill_answer(request, viewer, found)


async def act(request: Request) -> Response:
    """Take one action on one bill; the body has the fields of the page's form as JSON text."""
    fields = await _json(request)
    return await run_in_threadpool(_act, request, fields)


async def _json(request: Request) -> dict[str, str] | None:
    body = await request.body()
    if len(body) > MAX_BODY_BYTES:
        return None
    try:
        data: Any = json.loads(body)
    except ValueError:
        return None
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        return None
    return data


def _log_in(request: Request, fields: dict[str, str] | None) -> Response:
    portal = portal_of(request)
    account = (fields or {}).get("account", "")
    if _withdrawn(request, Target(tenant="", account=account, role=Role.SERVICE, bill_ids=())):
        return _unknown()
    if fields is None or set(fields) != {"account", "password"}:
        return JSONResponse({"error": "bad_request"}, status_code=400)
    token = portal.accounts.log_in(account, fields["password"])
    if token is None:
        return JSONResponse({"error": "not_logged_in"}, status_code=401)
    return JSONResponse({"token": token, "account": account}, status_code=201)


def _act(request: Request, fields: dict[str, str] | None) -> Response:
    portal, viewer = portal_of(request), _viewer(request)
    bill_id = request.path_params["bill_id"]
    if _withdrawn(request, target_of(viewer, "", bill_id)):
        return _unknown()
    if not viewer.can_write:
        reply = Reply(status_code=403, reason="read_only")
    elif fields is None:
        reply = Reply(status_code=400, reason="bad_form")
    else:
        reply = act_on_one(portal, viewer, bill_id, fields)
    write_down(portal, viewer, request.url.path, fields or {}, reply.status_code)
    body = {"status": reply.bill_status.value} if reply.bill_status else {}
    if reply.reason:
        body["error"] = reply.reason
    return JSONResponse(body, status_code=reply.status_code)


def _viewer(request: Request) -> Viewer:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    viewer = portal_of(request).accounts.viewer(token) if scheme.lower() == "bearer" else None
    if viewer is None:
        raise NotLoggedInError
    if viewer.revoked:
        raise RightsRevokedError
    return viewer


def _withdrawn(request: Request, target: Target) -> bool:
    return portal_of(request).faults.active("rest", target)


def _unknown() -> Response:
    return PlainTextResponse("Not Found", status_code=404)
