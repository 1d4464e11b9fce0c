"""Who may look, and through which door.

Rules enforced here:

- Without configured access there is one user, on this machine: the server binds to loopback, and a request
  counts only if it comes from a loopback peer, directly, under a loopback name. The name is checked because
  a web page elsewhere can point its own name at 127.0.0.1 (DNS rebinding) and would then be same-origin
  with the desk. A forwarded request is refused because behind a proxy every peer looks local.
- A WebSocket is opened only by our own pages: browsers send cookies with cross-site WebSockets and don't
  apply CORS to them. What changes something (any method but a reading one) comes from our own pages too.
- With configured access (``oidc``) the desk may be served to a network, and who looks is asked on every request.
- What a viewer may not read doesn't exist for them; routes answer 404, never 403.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse

from domain.errors import ConfigError
from replay_ui.roles import Viewer

if TYPE_CHECKING:
    from collections.abc import Container

    from starlette.types import ASGIApp, Receive, Scope, Send

_FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110, 9.2.1)."""
_TURNED_AWAY: Final = "This desk is not served to you: use its own name, directly.\n"
_CLOSE_POLICY: Final = 1008
"""WebSocket close code "policy violation" (RFC 6455, 7.4.1)."""


class Access(Protocol):
    """Decides on connections; the desk has no other way to learn who looks."""

    @property
    def local_only(self) -> bool:
        """Whether the desk must stay on the loopback interface."""

    @property
    def secure(self) -> bool:
        """Whether browsers reach the desk over TLS, so that cookies travel over nothing else."""

    def admits(self, connection: HTTPConnection) -> bool:
        """Whether the connection may reach the desk at all, its log-in page included."""

    def account(self, connection: HTTPConnection) -> str:
        """Who is signed in, for the identity provider; empty for nobody, and where there is no provider."""

    def viewer(self, connection: HTTPConnection) -> Viewer | None:
        """Who looks, or None where nobody is logged in."""


class LocalAccess:
    """The single user of this machine, over loopback only.

    Args:
        tenants: tenants of the record. Asked on every request, so a live view of them works.
        name: how the user is named on record.
    """

    local_only = True
    secure = False

    def __init__(self, tenants: Container[str], *, name: str = "person:local") -> None:
        self._viewer = Viewer(name, tenants)

    def admits(self, connection: HTTPConnection) -> bool:
        """A loopback peer, under a loopback name, with nothing in between."""
        peer = connection.client
        return (
            peer is not None
            and is_loopback(peer.host)
            and is_loopback(host_name(connection.headers.get("host", "")))
            and not any(name in connection.headers for name in _FORWARDED)
        )

    def account(self, connection: HTTPConnection) -> str:  # noqa: ARG002 - part of Access
        """Nobody signs in here."""
        return ""

    def viewer(self, connection: HTTPConnection) -> Viewer | None:
        """The local user, where the connection is theirs."""
        return self._viewer if self.admits(connection) else None


def host_name(authority: str) -> str:
    """Name or address out of a ``Host`` header, without port and brackets; empty where it is malformed."""
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a name or address means this machine, without asking DNS."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_bind(host: str, access: Access) -> None:
    """Refuse to serve an unprotected desk to a network.

    Raises:
        ConfigError: ``host`` is no loopback address and no access is configured.
    """
    if access.local_only and not is_loopback(host):
        raise ConfigError(
            f"the desk has no access control and can't be served on {host}",
            remedy="bind to 127.0.0.1, or configure access with --access",
        )


def same_origin(connection: HTTPConnection) -> bool:
    """Whether a browser says that one of our own pages makes this request.

    A client that is no browser sends neither header and passes: it holds no cookies of a victim.
    """
    origin = connection.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != connection.headers.get("host"):
        return False
    return connection.headers.get("sec-fetch-site", "none") in {"same-origin", "none"}


class Door:
    """Outermost ASGI layer: whatever ``access`` doesn't admit reaches neither Streamlit nor our routes."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the connection on, or end it."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        admitted = self._access.admits(connection)
        if scope["type"] == "websocket":
            if admitted and same_origin(connection):
                await self._app(scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": _CLOSE_POLICY})
        elif admitted and (scope["method"] in _READING or same_origin(connection)):
            await self._app(scope, receive, send)
        else:
            await PlainTextResponse(_TURNED_AWAY, 403)(scope, receive, send)
