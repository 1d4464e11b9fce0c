"""Security headers of every answer.

Rules enforced here:

- Nothing is loaded from anywhere else: pictures of an audited page must not be able to call home, and an
  investigation must not show in a third party's log.
- Script runs only out of files that this server serves, plus the one inline script of Streamlit's own
  page, which is named by its hash, read from the installed file. Styles are inline, because Streamlit's
  style engine (emotion) writes them at run time.
- Nobody else may frame the desk (clickjacking of an approval).
- A header that a route sets itself is stricter and stays.
- Where browsers reach the desk over TLS, cookies travel over nothing else (RFC 6265, 4.1.2.5; RFC 6797).
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit
from starlette.datastructures import MutableHeaders

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_INLINE_SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)
INERT_CSP: Final = "default-src 'none'; sandbox; frame-ancestors 'none'"
"""For evidence that is opened by its address: it is data, whatever its bytes say."""


def inline_script_hashes(html: str) -> tuple[str, ...]:
    """CSP source of each inline script of a page (CSP Level 3, 6.7.3)."""
    return tuple(
        f"'sha256-{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}'"
        for body in _INLINE_SCRIPT.findall(html)
    )


def content_security_policy() -> str:
    """Policy of the desk's pages, for the Streamlit that is installed."""
    page = Path(streamlit.__file__).parent / "static" / "index.html"
    hashes = " ".join(inline_script_hashes(page.read_text(encoding="utf-8")))
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' 'wasm-unsafe-eval' {hashes}".rstrip(),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        )
    )


class SecurityHeaders:
    """ASGI layer that adds the headers to every answer."""

    def __init__(self, app: ASGIApp, *, secure: bool = False) -> None:
        self._app = app
        self._secure = secure
        self._headers: Final = (
            ("Content-Security-Policy", content_security_policy()),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "SAMEORIGIN"),
            ("Referrer-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the headers on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers:
                    headers.setdefault(name, value)
                if self._secure:
                    _only_over_tls(headers)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _only_over_tls(headers: MutableHeaders) -> None:
    """Mark each cookie of the answer, and have the browser come back over TLS only."""
    cookies = headers.getlist("set-cookie")
    del headers["set-cookie"]
    for cookie in cookies:
        marked = any(part.strip().casefold() == "secure" for part in cookie.split(";"))
        headers.append("set-cookie", cookie if marked else f"{cookie}; Secure")
    headers.setdefault("Strict-Transport-Security", "max-age=31536000")
