"""The pages that people see: log-in, home, list, detail, settlement.

Rules of this module:

* A bill of another tenant is answered exactly like a bill that does not exist.
* Faults of a page are armed when the page is drawn, and travel inside it; what is fired later comes with
  the page's own polling.
"""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from executor.sandbox.portal import page_faults
from executor.sandbox.portal.accounts import Viewer
from executor.sandbox.portal.book import BillFilter, BillPage
from executor.sandbox.portal.faults import ANY_BILL, Strike
from executor.sandbox.portal.model import Bill, Status
from executor.sandbox.portal.settlement import settlement_file
from executor.sandbox.portal.web import (
    LANG_COOKIE,
    SESSION_COOKIE,
    draw,
    html,
    lang_of,
    page_config,
    portal_of,
    redesigned,
    target_of,
    viewer_of,
)


def login_form(request: Request) -> Response:
    """Show the log-in."""
    message = "login_expired" if "expired" in request.query_params else ""
    return html("login.html", request, viewer=None, message=message, next=_local_path(request.query_params))


async def log_in(request: Request) -> Response:
    """Start a session and go where the person wanted to go."""
    form = await request.form()
    name, password = str(form.get("username", "")), str(form.get("password", ""))
    token = await run_in_threadpool(portal_of(request).accounts.log_in, name, password)
    wanted = _local_path(form)
    if token is None:
        return html("login.html", request, viewer=None, message="login_failed", next=wanted, status_code=401)
    response = RedirectResponse(wanted, status_code=303)
    response.set_cookie(SESSION_COOKIE, token, httponly=True, samesite="lax")
    response.set_cookie(LANG_COOKIE, lang_of(request), samesite="lax")
    return response


def log_out(request: Request) -> Response:
    """End the session."""
    portal_of(request).accounts.log_out(request.cookies.get(SESSION_COOKIE, ""))
    response = RedirectResponse("/login", status_code=303)
    response.delete_cookie(SESSION_COOKIE)
    return response


def home(request: Request) -> Response:
    """Show how many bills wait."""
    viewer = viewer_of(request)
    return html("home.html", request, viewer=viewer, counts=portal_of(request).book.counts(viewer.tenant))


def bill_list(request: Request) -> Response:
    """Show the list of bills that match the filter, newest first."""
    portal, viewer = portal_of(request), viewer_of(request)
    wanted = bill_filter(request)
    version = portal.book.version(viewer.tenant)
    page = portal.book.page(viewer.tenant, wanted)
    new_design = redesigned(request, viewer, "list", *(bill.id for bill in page.bills))
    effects = _arm(request, viewer, "list", page.bills)
    config = page_config(
        request,
        new_design=new_design,
        page="list",
        version=version,
        cursor=_cursor(request),
        effects=effects,
    )
    return html(
        "bills.html",
        request,
        viewer=viewer,
        new_design=new_design,
        page=page,
        holds=portal.holds.current(bill.id for bill in page.bills),
        wanted=wanted,
        months=portal.book.months(viewer.tenant),
        statuses=tuple(Status),
        config=config,
    )


def bill_rows(request: Request) -> Response:
    """Return the rows alone, for a list page that noticed a change."""
    viewer = viewer_of(request)
    page: BillPage = portal_of(request).book.page(viewer.tenant, bill_filter(request))
    new_design = redesigned(request, viewer, "list", *(bill.id for bill in page.bills))
    template = "rows_new.html" if new_design else "rows.html"
    holds = portal_of(request).holds.current(bill.id for bill in page.bills)
    return HTMLResponse(draw(template, request, viewer=viewer, new_design=new_design, page=page, holds=holds))


def bill_detail(request: Request) -> Response:
    """Show one bill with everything that was done to it."""
    viewer = viewer_of(request)
    bill = _bill(request, viewer)
    if bill is None:
        return html("missing.html", request, viewer=viewer, status_code=404)
    new_design = redesigned(request, viewer, "detail", bill.id)
    config = page_config(
        request,
        new_design=new_design,
        page="detail",
        bill=bill.id,
        version=portal_of(request).book.version(viewer.tenant),
        cursor=_cursor(request),
        effects=_arm(request, viewer, "detail", (bill,)),
    )
    values = _detail_values(request, bill)
    return html("detail.html", request, viewer=viewer, new_design=new_design, config=config, **values)


def bill_fragment(request: Request) -> Response:
    """Return the detail pane alone, for a page that posted something."""
    viewer = viewer_of(request)
    bill = _bill(request, viewer)
    if bill is None:
        return JSONResponse({"error": "not_found"}, status_code=404)
    new_design = redesigned(request, viewer, "detail", bill.id)
    template = "card_new.html" if new_design else "card.html"
    values = _detail_values(request, bill)
    return HTMLResponse(draw(template, request, viewer=viewer, new_design=new_design, **values))


def changes(request: Request) -> Response:
    """Tell an open page what happened since it was drawn: the bills' version and the page events."""
    portal, viewer = portal_of(request), viewer_of(request)
    asked = request.query_params.get("cursor", "")
    cursor = int(asked) if asked.isascii() and asked.isdigit() else 0
    here = request.query_params.get("bill", "")
    page = request.query_params.get("page", "detail")
    with portal.database.reading() as connection:
        rows = connection.execute("SELECT * FROM page_events WHERE id > ? ORDER BY id", (cursor,)).fetchall()
    effects: list[dict[str, Any]] = []
    for row in rows:
        given = json.loads(row["params"])
        kind, params = portal.faults.kind(row["name"], given)
        bill = portal.book.bill(viewer.tenant, here if row["bill_id"] == ANY_BILL else row["bill_id"])
        wanted = params["tenant"] in ("", viewer.tenant) and params["account"] in ("", viewer.account)
        if kind.effect and bill and wanted and page in kind.pages:
            sight = page_faults.Sight(portal=portal, bill=bill, params=params)
            now = {"delay_ms": int(given.get("delay_ms", 0)), "trigger": params["trigger"]}
            effects.append({**kind.effect(sight), **now})
    return JSONResponse(
        {
            "version": portal.book.version(viewer.tenant),
            "cursor": rows[-1]["id"] if rows else cursor,
            "effects": effects,
        },
        headers={"Cache-Control": "no-store"},
    )


def settlement_page(request: Request) -> Response:
    """List the months whose settlement file can be downloaded."""
    viewer = viewer_of(request)
    return html(
        "settlement.html", request, viewer=viewer, months=portal_of(request).book.months(viewer.tenant)
    )


def settlement_download(request: Request) -> Response:
    """Return one month's settlement file. `?encoding=gbk` and `?backtick=1` as other vendors make them."""
    viewer = viewer_of(request)
    name = request.path_params["name"]
    matched = re.fullmatch(r"(\d{4}-(?:0[1-9]|1[0-2]))\.csv", name)
    encoding = request.query_params.get("encoding", "utf-8")
    if matched is None or encoding not in ("utf-8", "gbk"):
        return html("missing.html", request, viewer=viewer, status_code=404)
    portal, month = portal_of(request), matched.group(1)
    content = settlement_file(
        portal.book.ledger(viewer.tenant, month=month),
        tenant=viewer.tenant,
        month=month,
        exported_at=portal.database.now(),
        lang=lang_of(request),
        encoding="utf-8-sig" if encoding == "utf-8" else "gb18030",
        backtick="backtick" in request.query_params,
    )
    disposition = f'attachment; filename="settlement-{viewer.tenant}-{month}.csv"'
    charset = "utf-8" if encoding == "utf-8" else "gbk"
    return Response(
        content,
        headers={"Content-Type": f"text/csv; charset={charset}", "Content-Disposition": disposition},
    )


def bill_filter(request: Request) -> BillFilter:
    """Return what the filter form asks for."""
    asked = request.query_params

    def number(name: str, usual: int, most: int) -> int:
        text = asked.get(name, "")
        return max(1, min(int(text), most)) if text.isascii() and text.isdigit() else usual

    return BillFilter(
        bill_id=asked.get("bill_id", "").strip(),
        counterparty=asked.get("counterparty", "").strip(),
        month=asked.get("month", ""),
        status=asked.get("status", ""),
        page=number("page", 1, 10_000),
        size=number("size", portal_of(request).settings.page_size, 200),
    )


def _bill(request: Request, viewer: Viewer) -> Bill | None:
    return portal_of(request).book.bill(viewer.tenant, request.path_params["bill_id"])


def _detail_values(request: Request, bill: Bill) -> dict[str, Any]:
    book = portal_of(request).book
    return {
        "bill": bill,
        "hold": portal_of(request).holds.current([bill.id]).get(bill.id),
        "history": book.history(bill.id),
        "postings": book.ledger(bill.tenant, bill_id=bill.id),
    }


def _local_path(values: Any) -> str:  # noqa: ANN401 - query or form
    wanted = str(values.get("next") or "/")
    return wanted if wanted.startswith("/") and not wanted.startswith(("//", "/\\")) else "/"


def _cursor(request: Request) -> int:
    with portal_of(request).database.reading() as connection:
        return int(connection.execute("SELECT coalesce(max(id), 0) FROM page_events").fetchone()[0])


def _arm(request: Request, viewer: Viewer, page: str, bills: tuple[Bill, ...]) -> list[dict[str, Any]]:
    if not bills:
        return []
    portal = portal_of(request)
    by_id = {bill.id: bill for bill in bills}
    effects = []
    for strike in portal.faults.take("page", target_of(viewer, page, *by_id)):
        bill = by_id.get(strike.bill_id, bills[0])
        effect = _strike_page(request, viewer, bill, strike)
        if effect is not None:
            effects.append(effect)
    return effects


def _strike_page(request: Request, viewer: Viewer, bill: Bill, strike: Strike) -> dict[str, Any] | None:
    portal, params = portal_of(request), strike.params
    delay_ms = int(params.get("delay_ms", 0))
    if strike.kind.effect is not None:
        sight = page_faults.Sight(portal=portal, bill=bill, params=params)
        return {**strike.kind.effect(sight), "delay_ms": delay_ms, "trigger": params["trigger"]}
    if strike.kind.act is not None:
        with portal.database.writing() as connection:
            strike.kind.act(
                page_faults.Strikeable(
                    portal=portal,
                    connection=connection,
                    tenant=viewer.tenant,
                    account=viewer.account,
                    bill_id=bill.id,
                    params=params,
                    delay_ms=delay_ms,
                )
            )
    return None
