"""The read interface: JSON for readback. It has no way to write.

Rules of this module:

* The same sessions and the same tenant walls as the pages.
* What is stored is what is shown; no fault of a page or a post changes an answer here.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from executor.sandbox.portal.accounts import Viewer
from executor.sandbox.portal.holds import hold_entry_json, hold_json
from executor.sandbox.portal.i18n import Translator
from executor.sandbox.portal.model import Bill, HistoryEntry, Hold, LedgerLine, money
from executor.sandbox.portal.pages import bill_filter
from executor.sandbox.portal.services import REDESIGNED_UI_VERSION, UI_VERSION
from executor.sandbox.portal.web import lang_of, portal_of, redesigned, viewer_of


def me(request: Request) -> Response:
    """Tell whose session this is. 401: none; 403: its rights were withdrawn."""
    viewer = viewer_of(request)
    new_design = redesigned(request, viewer, "list") or redesigned(request, viewer, "detail")
    return JSONResponse(
        {
            "account": viewer.account,
            "display": viewer.display,
            "tenant": viewer.tenant,
            "role": viewer.role.value,
            "ui_version": REDESIGNED_UI_VERSION if new_design else UI_VERSION,
        }
    )


def bills(request: Request) -> Response:
    """Return the bills that match the same filter as the list page, newest first."""
    viewer = viewer_of(request)
    page = portal_of(request).book.page(viewer.tenant, bill_filter(request))
    t = Translator(lang_of(request))
    holds = portal_of(request).holds.current(bill.id for bill in page.bills)
    return JSONResponse(
        {
            "bills": [bill_json(bill, t, holds.get(bill.id)) for bill in page.bills],
            "total": page.total,
            "page": page.page,
            "pages": page.pages,
        }
    )


def bill(request: Request) -> Response:
    """Return one bill with its history and its ledger lines."""
    viewer = viewer_of(request)
    found = portal_of(request).book.bill(viewer.tenant, request.path_params["bill_id"])
    if found is None:
        return JSONResponse({"error": "not_found"}, status_code=404)
    return bill_answer(request, viewer, found)


def bill_answer(request: Request, viewer: Viewer, found: Bill) -> Response:
    """Return the answer about one bill that the viewer may see."""
    book, holds = portal_of(request).book, portal_of(request).holds
    body = bill_json(found, Translator(lang_of(request)), holds.current([found.id]).get(found.id))
    body["holds"] = [hold_entry_json(entry) for entry in holds.log(found.id)]
    body["history"] = [_history_json(entry) for entry in book.history(found.id)]
    body["postings"] = [_posting_json(line) for line in book.ledger(viewer.tenant, bill_id=found.id)]
    return JSONResponse(body)


def bill_json(found: Bill, t: Translator, hold: Hold | None) -> dict[str, Any]:
    """Return a bill as the interface gives it."""
    handled = found.handled
    return {
        "id": found.id,
        "tenant": found.tenant,
        "counterparty_id": found.counterparty_id,
        "counterparty": found.counterparty,
        "month": found.month,
        "amount_minor": found.amount_minor,
        "amount": found.amount,
        "currency": found.currency,
        "status": found.status.value,
        "status_label": t(f"status_{found.status}"),
        "created_at": found.created_at,
        "updated_by": found.updated_by,
        "updated_at": found.updated_at,
        "hold": hold_json(hold),
        "handled": None
        if handled is None
        else {
            "counterparty_id": handled.counterparty_id,
            "amount_minor": handled.amount_minor,
            "amount": money(handled.amount_minor, handled.currency),
            "currency": handled.currency,
            "month": handled.month,
        },
    }


def _history_json(entry: HistoryEntry) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "at": entry.at,
        "account": entry.account,
        "action": entry.action.value,
        "from": entry.from_status.value,
        "to": entry.to_status.value,
    }


def _posting_json(line: LedgerLine) -> dict[str, Any]:
    return {
        "line_id": line.line_id,
        "type": line.kind.value,
        "amount_minor": line.amount_minor,
        "amount": line.amount,
        "currency": line.currency,
        "month": line.month,
        "counterparty_id": line.counterparty_id,
        "at": line.at,
        "account": line.account,
    }
