"""What all handlers share: the portal behind a request, who asks, in which language, and drawing a page.

Rules of this module:

* Who asks is decided once: `viewer_of` gives an account whose session lives and whose rights stand, or
  raises. Pages are then sent to the log-in; scripts and the read interface get 401 or 403 as JSON.
* Times are stored in UTC and shown in the vendor's own zone (UTC+8), as such systems do.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any, Final, cast
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from executor.sandbox.portal.accounts import Viewer
from executor.sandbox.portal.faults import Target
from executor.sandbox.portal.i18n import HTML_LANG, LANGUAGES, Translator
from executor.sandbox.portal.model import Status, money
from executor.sandbox.portal.services import REDESIGNED_UI_VERSION, UI_VERSION, Portal

SESSION_COOKIE: Final = "vendor_sid"
LANG_COOKIE: Final = "vendor_lang"
_BEIJING: Final = timezone(timedelta(hours=8))
_SCRIPT_PATHS: Final = ("/api/", "/bills/changes", "/bills/rows")
_SCRIPT_ENDINGS: Final = ("/actions", "/fragment", "/accept")


class NotLoggedInError(Exception):
    """No session, or one that is over."""


class RightsRevokedError(Exception):
    """The session lives, the account's rights were withdrawn."""


def local_time(text: str) -> str:
    """Return a stored UTC time as the screens show it."""
    return datetime.fromisoformat(text).astimezone(_BEIJING).strftime("%Y-%m-%d %H:%M:%S")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("executor.sandbox.portal"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["local"] = local_time
    environment.filters["money"] = partial(money, grouped=True)
    return environment


_ENVIRONMENT: Final = _environment()


def portal_of(request: Request) -> Portal:
    """Return the portal that serves the request."""
    return cast("Portal", request.app.state.portal)


def viewer_of(request: Request) -> Viewer:
    """Return who asks.

    Raises:
        NotLoggedInError: there is no session, or it is over.
        RightsRevokedError: the account's rights were withdrawn.
    """
    viewer = portal_of(request).accounts.viewer(request.cookies.get(SESSION_COOKIE, ""))
    if viewer is None:
        raise NotLoggedInError
    if viewer.revoked:
        raise RightsRevokedError
    return viewer


def lang_of(request: Request) -> str:
    """Return the language: `?lang=`, else the cookie, else what the portal was started with."""
    for candidate in (request.query_params.get("lang"), request.cookies.get(LANG_COOKIE)):
        if candidate in LANGUAGES:
            return candidate
    return portal_of(request).settings.lang


def target_of(viewer: Viewer, page: str, *bill_ids: str) -> Target:
    """Return what a fault could strike."""
    return Target(
        tenant=viewer.tenant, account=viewer.account, role=viewer.role, bill_ids=bill_ids, page=page
    )


def redesigned(request: Request, viewer: Viewer, page: str, *bill_ids: str) -> bool:
    """Return whether the page is drawn in the new design."""
    return portal_of(request).faults.active("render", target_of(viewer, page, *bill_ids))


def draw(
    template: str,
    request: Request,
    *,
    viewer: Viewer | None,
    new_design: bool = False,
    **values: Any,  # noqa: ANN401 - template values
) -> str:
    """Return a template's text."""
    lang = lang_of(request)
    return _ENVIRONMENT.get_template(template).render(
        t=Translator(lang, new_design),
        html_lang=HTML_LANG[lang],
        viewer=viewer,
        new_design=new_design,
        path=request.url.path,
        ui_version=REDESIGNED_UI_VERSION if new_design else UI_VERSION,
        now=portal_of(request).database.now(),
        **values,
    )


def html(
    template: str,
    request: Request,
    *,
    viewer: Viewer | None,
    new_design: bool = False,
    status_code: int = 200,
    **values: Any,  # noqa: ANN401 - template values
) -> Response:
    """Return a whole page. A language asked for in the address is kept for the session."""
    text = draw(template, request, viewer=viewer, new_design=new_design, **values)
    response = HTMLResponse(text, status_code=status_code, headers={"Cache-Control": "no-store"})
    if request.query_params.get("lang") in LANGUAGES:
        response.set_cookie(LANG_COOKIE, request.query_params["lang"], samesite="lax")
    return response


def page_config(request: Request, *, new_design: bool, **values: Any) -> str:  # noqa: ANN401 - JSON values
    """Return the JSON that the page's script starts from, safe inside a script element."""
    t = Translator(lang_of(request), new_design)
    words = ("confirm", "cancel", "confirm_title", "confirm_text", "counterparty", "amount", "month", "done")
    more = (
        "failed",
        "permission_title",
        "permission_text",
        "relogin",
        "notice_title",
        "notice_text",
        "agree",
    )
    reasons = ("bad_status", "read_only", "csrf", "bad_form", "gateway", "batch")
    config = {
        "poll_ms": portal_of(request).settings.poll_ms,
        "new_design": new_design,
        "texts": {
            **{
                word: t(word)
                for word in (*words, *more, "later", "banner_text", "ad_text", "toast_notice", "ago")
            },
            **{f"reason_{reason}": t(f"reason_{reason}") for reason in reasons},
            **{f"status_{status}": t(f"status_{status}") for status in Status},
        },
        **values,
    }
    return json.dumps(config, ensure_ascii=False).replace("<", "\\u003c")


def _wants_json(request: Request) -> bool:
    path = request.url.path
    return path.startswith(_SCRIPT_PATHS) or path.endswith(_SCRIPT_ENDINGS)


async def on_not_logged_in(request: Request, _: Exception) -> Response:
    """Send a person to the log-in, tell a script 401."""
    if _wants_json(request):
        return JSONResponse({"error": "not_logged_in", "login": "/login"}, status_code=401)
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    was_logged_in = "&expired=1" if SESSION_COOKIE in request.cookies else ""
    return RedirectResponse(f"/login?next={quote(here)}{was_logged_in}", status_code=303)


async def on_rights_revoked(request: Request, _: Exception) -> Response:
    """Show a person the permission dialog, tell a script 403."""
    if _wants_json(request):
        return JSONResponse({"error": "permission_changed"}, status_code=403)
    return html("permission.html", request, viewer=None, status_code=403)
