"""The sheet: shows blocks, and says which link was followed.

Rules enforced here:

- The frontend is served from its own folder, so that ``script-src 'self'`` holds.
- A link is a real one (it can be copied and opened in a tab), and following it in place keeps the session: the path
  that was followed comes back and is checked against the desk's pages before anything is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

from replay_ui.components.blocks import to_plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamlit.components.v2.types import ComponentRenderer

    from replay_ui.components.blocks import Block

_PACKAGE: Final = "proofreel_desk"
_NAME: Final = "sheet"
_COMPONENT: Final = f"{_PACKAGE}.{_NAME}"
_ROOT: Final = Path(__file__).parent
_FOLLOWED: Final = "_followed"
MAX_PATH: Final = 4000
"""Characters of a path that is followed."""


def _renderer() -> ComponentRenderer:
    """Mounting command, registered on the runtime that executes this script (see ``player.component``)."""
    manager = get_bidi_component_manager()
    if manager.get_component_asset_root(_COMPONENT) is None:
        config = ComponentConfig(name=_NAME, asset_dir="frontend")
        manager.register_from_manifest(
            ComponentManifest(name=_PACKAGE, version="1", components=[config]), package_root=_ROOT
        )
    return st.components.v2.component(
        _COMPONENT, html='<div class="ds-sheet"></div>', css="sheet.css", js="sheet.js"
    )


def sheet(blocks: Iterable[Block], *, key: str) -> None:
    """Show blocks; a followed link is opened at the next run of the desk (``take_followed``)."""

    def followed() -> None:
        state = st.session_state.get(key)
        path = state.get("go") if isinstance(state, Mapping) else None
        if isinstance(path, str):
            follow(path)

    _renderer()(key=key, data={"blocks": to_plain(blocks)}, on_go_change=followed)


def follow(path: str) -> None:
    """Open a path of the desk at its next run, as if a link to it had been followed."""
    st.session_state[_FOLLOWED] = path


def take_followed() -> tuple[str, dict[str, str]] | None:
    """Page and parameters of the link that was followed since the last run, once; None where none was."""
    path = st.session_state.pop(_FOLLOWED, None)
    return None if path is None else parse_path(path)


def parse_path(path: str) -> tuple[str, dict[str, str]] | None:
    """Page and parameters out of a path on this server; None for anything else."""
    parts = urlsplit(path) if len(path) <= MAX_PATH else None
    if parts is None or parts.scheme or parts.netloc or not parts.path.startswith("/"):
        return None
    return parts.path.strip("/"), dict(parse_qsl(parts.query))
