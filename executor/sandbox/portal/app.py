"""The Starlette application of the vendor's back office."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from executor.sandbox.portal import actions, api, control, hold_pages, pages, rest
from executor.sandbox.portal.db import Clock, system_clock
from executor.sandbox.portal.i18n import texts
from executor.sandbox.portal.model import Account
from executor.sandbox.portal.registry import AMBIENT, FAULTS
from executor.sandbox.portal.services import Portal, Settings
from executor.sandbox.portal.web import (
    NotLoggedInError,
    RightsRevokedError,
    on_not_logged_in,
    on_rights_revoked,
)


def create_app(
    path: Path,
    settings: Settings,
    *,
    accounts: Iterable[Account] = (),
    ambient: Iterable[str] = (),
    clock: Clock = system_clock,
) -> Starlette:
    """Return the application over one SQLite file; its parts are at `app.state.portal`.

    Args:
        path: the SQLite file, created when missing.
        settings: language, control token, polling.
        accounts: log-ins to create or update.
        ambient: benign disturbances (`AMBIENT`) that are on from the start.
        clock: what the portal takes for the present.

    Raises:
        ValueError: unknown language or disturbance.
    """
    texts(settings.lang)
    portal = Portal(path, settings, FAULTS, clock)
    portal.accounts.register(accounts)
    for name in ambient:
        if name not in AMBIENT:
            raise ValueError(f"no ambient disturbance {name!r}: use {', '.join(AMBIENT)}")
        portal.faults.switch_off(name)
        portal.faults.switch_on(name)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        loop = asyncio.create_task(portal.jobs.run_forever())
        yield
        loop.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await loop

    app = Starlette(
        routes=_routes(),
        lifespan=lifespan,
        exception_handlers={
            NotLoggedInError: on_not_logged_in,
            RightsRevokedError: on_rights_revoked,
        },
    )
    app.state.portal = portal
    return app


def _health(_: Request) -> Response:
    return JSONResponse({"ok": True})


def _routes() -> list[Route | Mount]:
    return [
        Route("/login", pages.login_form),
        Route("/login", pages.log_in, methods=["POST"]),
        Route("/logout", pages.log_out, methods=["POST"]),
        Route("/", pages.home),
        Route("/bills", pages.bill_list),
        Route("/bills/rows", pages.bill_rows),
        Route("/bills/changes", pages.changes),
        Route("/bills/{bill_id}", pages.bill_detail),
        Route("/bills/{bill_id}/fragment", pages.bill_fragment),
        Route("/bills/{bill_id}/actions", actions.act, methods=["POST"]),
        Route("/bills/{bill_id}/hold", hold_pages.hold_page),
        Route("/bills/{bill_id}/hold", hold_pages.set_hold, methods=["POST"]),
        Route("/notices/{notice}/accept", actions.accept_notice, methods=["POST"]),
        Route("/settlement", pages.settlement_page),
        Route("/settlement/{name}", pages.settlement_download),
        Route("/api/me", api.me),
        Route("/api/bills", api.bills),
        Route("/api/bills/{bill_id}", api.bill),
        Route("/api/v1/session", rest.log_in, methods=["POST"]),
        Route("/api/v1/bills/{bill_id}", rest.bill),
        Route("/api/v1/bills/{bill_id}/actions", rest.act, methods=["POST"]),
        Route("/_control/state", control.state),
        Route("/_control/{command}", control.command, methods=["POST"]),
        Route("/_health", _health),
        Mount("/static", StaticFiles(packages=[("executor.sandbox.portal", "static")])),
    ]
