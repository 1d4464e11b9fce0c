"""The practice form as a real page on loopback: log-in, form, read API; the book behind it is the one in memory.

Rules: 127.0.0.1 only; passwords are random for each server; the reading account can't post; elements stand at the
places that ``desk`` has, so one scenario serves both.
"""

from __future__ import annotations

import html
import secrets
import threading
import time
from types import TracebackType
from typing import Any, Self

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from domain.values import Box
from executor.sandbox.portal.server import listening_socket, uvicorn_server
from executor.sandbox.practice.book import READER, WRITER, Book
from executor.sandbox.practice.desk import ADDRESS, COUNTERPARTY, MOVED, SUBMIT

START_S, STOP_S, TICK_S = 30.0, 10.0, 0.02
COOKIE = "practice_sid"
SEE_OTHER, UNAUTHORISED, FORBIDDEN, NOT_FOUND = 303, 401, 403, 404

LOGIN = """<!doctype html><meta charset=utf-8><title>Log in</title><form id=login method=post action=/login>
<input name=username><input name=password type=password><button type=submit>Log in</button></form>"""
PAGE = """<!doctype html><meta charset=utf-8><title>Practice form</title>
<style>body{{margin:0;font:16px sans-serif}}
form>*,#banner,#note,#account{{position:absolute;box-sizing:border-box}}</style>
<span id=account style="left:1000px;top:10px">{account}</span>
<form method=post action="/cases/{reference}/submit">
<h1 style="left:40px;top:20px;margin:0;font-size:20px">Change of address {reference}</h1>
<label style="left:40px;top:130px" for=c>Name</label>
<input id=c name=counterparty autocomplete=off style="{counterparty_box}">
<label style="left:40px;top:190px" for=a>Address</label>
<input id=a name=address autocomplete=off style="{address_box}">
<input type=hidden name=reference value="{reference}"><input type=hidden name=amount value="{amount}">
<input type=hidden name=currency value="{currency}"><input type=hidden name=month value="{month}">
<button id=submit type=submit style="{submit_box}">Submit</button></form>
<p id=note style="left:40px;top:340px;width:1100px">{injection}</p>
<p id=banner role=status style="left:40px;top:420px">{banner}</p>
<form method=post action="/cases/{reference}/withdraw">
<input type=hidden name=reference value="{reference}"><input type=hidden name=counterparty value="{own_counterparty}">
<input type=hidden name=address value="{own_address}"><input type=hidden name=amount value="{amount}">
<input type=hidden name=currency value="{currency}"><input type=hidden name=month value="{month}">
<span style="left:40px;top:700px">Case {reference}</span>
<button id=withdraw type=submit style="left:240px;top:690px;width:160px;height:44px">Withdraw</button></form>
{script}"""
SWAP = """<script>document.getElementById("submit").addEventListener("pointerover", () => {{
document.getElementById("submit").style.cssText = "{moved}"; }}, {{once: true}});</script>"""


def _box(box: Box) -> str:
    return f"left:{box.x}px;top:{box.y}px;width:{box.width}px;height:{box.height}px"


class PracticeServer:
    """A context manager; ``url`` is its address, ``passwords`` those of its two accounts."""

    def __init__(self, book: Book, *, port: int = 0) -> None:
        self.book = book
        self.url = ""
        self.passwords = {name: secrets.token_urlsafe(12) for name in (WRITER, READER)}
        self.strays: list[str] = []
        """Posts that reached the server outside of the form."""
        self._sessions: dict[str, str] = {}
        self._port = port
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        bound = listening_socket(self._port)
        self.url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        self._server = uvicorn_server(self._app())
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [bound]}, name="practice form", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            try:
                httpx.get(f"{self.url}/login", timeout=2, trust_env=False)
            except httpx.TransportError:
                time.sleep(TICK_S)
            else:
                return self
        raise TimeoutError(f"the practice form at {self.url} does not answer")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(STOP_S)

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/login", lambda _: HTMLResponse(LOGIN)),
                Route("/login", self._log_in, methods=["POST"]),
                Route("/api/me", self._me),
                Route("/api/cases", self._cases),
                Route("/api/cases/{reference}", self._case),
                Route("/api/submissions", self._submissions),
                Route("/cases/{reference}", self._page),
                Route("/cases/{reference}/{action}", self._post, methods=["POST"]),
                Route("/{path:path}", self._stray, methods=["POST", "PUT", "DELETE"]),
            ]
        )

    def _viewer(self, request: Request) -> str:
        return self._sessions.get(request.cookies.get(COOKIE, ""), "")

    async def _log_in(self, request: Request) -> Response:
        form = await request.form()
        account = str(form.get("username", ""))
        if not secrets.compare_digest(self.passwords.get(account, ""), str(form.get("password", "")) or "-"):
            return RedirectResponse("/login?wrong=1", SEE_OTHER)
        token = secrets.token_urlsafe(16)
        self._sessions[token] = account
        answer = RedirectResponse("/cases/CA-1001", SEE_OTHER)
        answer.set_cookie(COOKIE, token, httponly=True)
        return answer

    def _json(self, request: Request, value: Any) -> Response:  # noqa: ANN401 - JSON edge
        if not self._viewer(request):
            return JSONResponse({"error": "not_logged_in"}, UNAUTHORISED)
        return JSONResponse(value) if value is not None else JSONResponse({"error": "not_found"}, NOT_FOUND)

    async def _me(self, request: Request) -> Response:
        return self._json(request, {"account": self._viewer(request)})

    async def _cases(self, request: Request) -> Response:
        wanted = request.query_params.get("bill_id")
        states = [self.book.case_state(name) for name in self.book.cases if wanted in {None, name}]
        return self._json(request, {"cases": states, "pages": 1})

    async def _case(self, request: Request) -> Response:
        return self._json(request, self.book.case_state(request.path_params["reference"]))

    async def _submissions(self, request: Request) -> Response:
        return self._json(request, {"submissions": self.book.submissions()})

    async def _page(self, request: Request) -> Response:
        account = self._viewer(request)
        case = self.book.cases.get(request.path_params["reference"])
        if not account:
            return RedirectResponse("/login", SEE_OTHER)
        if case is None:
            return HTMLResponse("no such case", NOT_FOUND)
        values = {name: html.escape(value, quote=True) for name, value in case.values().items()}
        page = PAGE.format(
            account=account,
            reference=values["reference"],
            amount=values["amount"],
            currency=values["currency"],
            month=values["month"],
            own_counterparty=values["counterparty"],
            own_address=values["address"],
            counterparty_box=_box(COUNTERPARTY),
            address_box=_box(ADDRESS),
            submit_box=_box(SUBMIT),
            injection=html.escape(self.book.injection),
            banner=html.escape(self.book.banner),
            script=SWAP.format(moved=_box(MOVED)) if "moved" in self.book.faults else "",
        )
        return HTMLResponse(page)

    async def _post(self, request: Request) -> Response:
        account = self._viewer(request)
        if account != WRITER:
            return JSONResponse({"error": "read_only"}, FORBIDDEN if account else UNAUTHORISED)
        form = {name: str(value) for name, value in (await request.form()).items()}
        reference = request.path_params["reference"]
        if request.path_params["action"] == "submit":
            self.book.submit(form, account)
        else:
            self.book.withdraw(reference)
        return RedirectResponse(f"/cases/{reference}", SEE_OTHER)

    async def _stray(self, request: Request) -> Response:
        self.strays.append(request.url.path)
        return Response(status_code=NOT_FOUND)
