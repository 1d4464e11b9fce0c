"""What the pages of one served desk share: the data, who may look, and what people may do.

Rules enforced here:

- One process serves one desk; ``open_desk`` is called once, before the first page runs.
- Who looks is asked of ``Access`` for the very connection of the page, as it is for the routes; a tenant that the
  viewer may not read is as if it did not exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st
from starlette.requests import HTTPConnection

from domain.errors import ConfigError
from domain.ids import TenantId
from replay_ui.access import Access
from replay_ui.data import Desk
from replay_ui.openings import Openings
from replay_ui.operator_actions import OperatorActions

if TYPE_CHECKING:
    from replay_ui.roles import Viewer


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The desk that this process serves."""

    desk: Desk
    access: Access
    actions: OperatorActions | None = None
    openings: Openings = field(default_factory=Openings)


_OPENED: list[Opened] = []


def open_desk(
    desk: Desk, access: Access, actions: OperatorActions | None = None, openings: Openings | None = None
) -> None:
    """Make ``desk`` the one that pages of this process show."""
    _OPENED[:] = [Opened(desk=desk, access=access, actions=actions, openings=openings or Openings())]


def opened() -> Opened:
    """The desk that is served.

    Raises:
        ConfigError: none was opened; the page was started by itself.
    """
    if not _OPENED:
        raise ConfigError("no record is opened", remedy="start the desk with 'proofreel serve'")
    return _OPENED[0]


def connection() -> HTTPConnection:
    """The connection of this page.

    Streamlit names no address for a peer on loopback; the door has let the connection in already.
    """
    context = st.context
    scope = {
        "type": "websocket",
        "headers": [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in context.headers.items()],
        "client": (context.ip_address or "127.0.0.1", 0),
    }
    return HTTPConnection(scope)


def viewer() -> Viewer | None:
    """Who looks at this page; asked anew each time, so that a session that is over shows nothing more."""
    return opened().access.viewer(connection())


def account() -> str:
    """Who is signed in, for the identity provider; empty for nobody."""
    return opened().access.account(connection())


def readable_tenants(who: Viewer) -> list[TenantId]:
    """Tenants of the desk that this viewer may read."""
    return [name for name in opened().desk.tenants() if who.may_read(name)]
