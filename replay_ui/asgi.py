"""The desk as one ASGI application: Streamlit's pages and our evidence routes behind one door.

Rules enforced here:

- Order of the layers, from outside: headers on every answer, then the door, then Streamlit and our routes.
- One worker. Streamlit keeps a session in the memory of the process that its WebSocket reached.
- Served by uvicorn on a socket of ours, not by ``streamlit run``, whose sockets lack TCP_NODELAY: 44 ms
  instead of 0.4 ms for a frame over a kept connection.
- ``X-Forwarded-For`` is not believed: it would let a remote peer call itself local.
- A run of a page doesn't end with a search for garbage through all that the process holds: answers about a long record
  are many objects, and every page would pay for them. Python looks by itself when there is reason to.
- Streamlit tells nobody anything: no statistics, no static folder, no file watcher; and it lets no program press the
  buttons of a page (its agent API), because a decision is a person's.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn
from starlette.middleware import Middleware
from streamlit import config
from streamlit.starlette import App

from domain.errors import ConfigError
from replay_ui.access import Door, check_bind
from replay_ui.headers import SecurityHeaders
from replay_ui.oidc import OidcAccess
from replay_ui.openings import Openings
from replay_ui.routes import FrameSource, evidence_routes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.routing import Route
    from streamlit.runtime.secrets import SecretsValue

    from replay_ui.access import Access

__all__ = ["FrameSource", "create_app", "listener", "serve"]

PAGES: Final = Path(__file__).with_name("app.py")
"""The script that Streamlit runs for the desk."""

_STREAMLIT: Final[dict[str, object]] = {
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "minimal",
    "runner.magicEnabled": False,
    "runner.postScriptGC": False,
    "server.enableAgentApi": False,
    "server.enableStaticServing": False,
    "server.fileWatcherType": "none",
    "server.headless": True,
    "server.runOnSave": False,
    "theme.base": "light",
    "theme.baseFontSize": 14,
    "theme.baseRadius": "7px",
    "theme.primaryColor": "#1f57b8",
    "theme.textColor": "#1b2130",
    "theme.linkColor": "#1f57b8",
    "theme.secondaryBackgroundColor": "#f3f5f9",
    "theme.borderColor": "#dfe3ea",
    "theme.font": "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', sans-serif",
}


def layers(access: Access) -> list[Middleware]:
    """What every request passes before it reaches a page or a route."""
    return [Middleware(SecurityHeaders, secure=access.secure), Middleware(Door, access=access)]


def create_app(
    source: FrameSource,
    access: Access,
    *,
    openings: Openings | None = None,
    pages: Path = PAGES,
    more: Sequence[Route] = (),
) -> App:
    """The desk over ``source``, for whom ``access`` lets in; ``pages`` is the Streamlit script.

    ``openings`` puts on record who opens what. ``more`` are further routes; each checks the viewer's tenants itself,
    as ours do.
    """
    for option, value in _STREAMLIT.items():
        config.set_option(option, value)
    secrets: dict[str, SecretsValue] = {}
    if isinstance(access, OidcAccess):
        section = access.sign_in()
        config.set_option("server.cookieSecret", section["cookie_secret"])
        config.set_option("browser.serverAddress", access.public_host)
        secrets["auth"] = dict(section)
    routes = [*evidence_routes(source, access, openings or Openings()), *more]
    return App(pages, routes=routes, middleware=layers(access), secrets=secrets)


def listener(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one.

    It names its protocol, because asyncio sets TCP_NODELAY only on sockets that do.

    Raises:
        ConfigError: the address can't be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"can't serve on {host}:{port}: {error.strerror}",
            remedy="choose another with --port; 0 takes a free one",
        ) from error
    return bound


def serve(
    app: App,
    access: Access,
    *,
    host: str = "127.0.0.1",
    port: int = 8501,
    ready: Callable[[str], None] = lambda _url: None,
) -> None:
    """Serve until interrupted; ``ready`` is told the address once connections are taken.

    Raises:
        ConfigError: ``host`` would show a desk without access control to a network, or it can't be had.
    """
    check_bind(host, access)
    with listener(host, port) as bound:
        server = _Server(
            uvicorn.Config(
                app,
                workers=1,
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
            ),
            lambda: ready(f"http://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"),
        )
        server.run(sockets=[bound])


class _Server(uvicorn.Server):
    """uvicorn's server, which tells when it takes connections."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()
