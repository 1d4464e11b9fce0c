"""The control interface: faults on and off at run time, from another process.

Rules of this module:

* Every request carries the token that the portal was created with, in `X-Control-Token`.
* What the registry does not know is refused with 400 and a sentence.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from executor.sandbox.portal.faults import ANY_BILL, UnknownFaultError
from executor.sandbox.portal.page_faults import Strikeable
from executor.sandbox.portal.services import Portal
from executor.sandbox.portal.web import portal_of

Command = Callable[[Portal, dict[str, Any]], dict[str, Any]]


def _faults(portal: Portal, body: dict[str, Any]) -> dict[str, Any]:
    number = portal.faults.switch_on(
        str(body["name"]),
        str(body.get("bill_id", ANY_BILL)),
        times=body.get("times"),
        skip=int(body.get("skip", 0)),
        **body.get("params", {}),
    )
    return {"id": number, "faults": portal.faults.listing()}


def _off(portal: Portal, body: dict[str, Any]) -> dict[str, Any]:
    portal.faults.switch_off(body.get("name"), body.get("bill_id"))
    return {"faults": portal.faults.listing()}


def _fire(portal: Portal, body: dict[str, Any]) -> dict[str, Any]:
    """Let a page or server fault happen now: to every open page, or to the account or tenant named."""
    name, bill_id = str(body["name"]), str(body.get("bill_id", ANY_BILL))
    given = body.get("params", {})
    kind, params = portal.faults.kind(name, given)
    if kind.act is None and kind.effect is None:
        raise UnknownFaultError(f"{name} strikes a post: switch it on instead of firing it")
    with portal.database.writing() as connection:
        if kind.effect is not None:
            connection.execute(
                "INSERT INTO page_events (name, bill_id, params) VALUES (?, ?, ?)",
                (name, bill_id, json.dumps(given)),
            )
        if kind.act is not None:
            row = connection.execute("SELECT tenant FROM bills WHERE id = ?", (bill_id,)).fetchone()
            tenant = str(params["tenant"]) or (row["tenant"] if row else "")
            for name_of_tenant in [tenant] if tenant else portal.book.tenants():
                kind.act(
                    Strikeable(
                        portal=portal,
                        connection=connection,
                        tenant=name_of_tenant,
                        account=str(params["account"]),
                        bill_id="" if bill_id == ANY_BILL else bill_id,
                        params=params,
                        delay_ms=0,
                    )
                )
    return {"fired": name}


def _reset(portal: Portal, _: dict[str, Any]) -> dict[str, Any]:
    """Switch all faults off, forget what the vendor would do later, give everybody their rights back."""
    portal.faults.switch_off()
    portal.jobs.cancel()
    portal.accounts.restore()
    return {"faults": []}


def _expire(portal: Portal, body: dict[str, Any]) -> dict[str, Any]:
    return {"ended": portal.accounts.expire(body.get("account"))}


COMMANDS: dict[str, Command] = {
    "faults": _faults,
    "off": _off,
    "fire": _fire,
    "reset": _reset,
    "expire": _expire,
}


async def command(request: Request) -> Response:
    """Carry out one command of `COMMANDS`."""
    if not _allowed(request):
        return JSONResponse({"error": "control token missing or wrong"}, status_code=403)
    known = COMMANDS.get(request.path_params["command"])
    if known is None:
        return JSONResponse({"error": f"commands are {', '.join(COMMANDS)}"}, status_code=404)
    raw = await request.body()
    try:
        answer = await run_in_threadpool(known, portal_of(request), json.loads(raw or b"{}"))
    except (KeyError, TypeError, ValueError) as error:
        return JSONResponse({"error": str(error)}, status_code=400)
    return JSONResponse(answer)


def state(request: Request) -> Response:
    """Tell which faults are on, how often each struck, and how many jobs wait."""
    if not _allowed(request):
        return JSONResponse({"error": "control token missing or wrong"}, status_code=403)
    portal = portal_of(request)
    registry = [
        {"name": kind.name, "description": kind.description, "on": kind.on, "benign": kind.benign}
        for kind in portal.faults.kinds.values()
    ]
    return JSONResponse(
        {"faults": portal.faults.listing(), "pending_jobs": portal.jobs.pending(), "registry": registry}
    )


def _allowed(request: Request) -> bool:
    given = request.headers.get("X-Control-Token", "").encode()
    return hmac.compare_digest(given, portal_of(request).settings.control_token.encode())
