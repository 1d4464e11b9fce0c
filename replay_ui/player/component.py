"""The player as a Streamlit component: one function for the pages.

Rules enforced here:

- The page hands over addresses and numbers only. Frames and manifests travel over our own routes, which
  check the tenant on every request, never through Streamlit's media store (it serves to anybody).
- The frontend is served from its own folder, so that ``script-src 'self'`` holds.
- What comes back from the browser is checked before a page sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast, get_args

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

from replay_ui.player.following import Memory, Seen, begin, follow
from replay_ui.player.labels import complete
from replay_ui.player.manifest import CHUNK_SIZE
from replay_ui.player.urls import frame_to_query

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

_PACKAGE: Final = "proofreel"
_NAME: Final = "player"
_COMPONENT: Final = f"{_PACKAGE}.{_NAME}"
_ROOT: Final = Path(__file__).parent

Verified = Literal["match", "differs", "missing", "unchecked", "withheld", "deleted"]
"""What the browser found when it hashed the bytes that it shows."""
_VERIFIED: Final[frozenset[str]] = frozenset(get_args(Verified))


class Region(NamedTuple):
    """A rectangle of a frame, in whole pixels of it."""

    x: int
    y: int
    width: int
    height: int


class PlayerState(NamedTuple):
    """What the viewer looks at, as last told by the browser (a quarter second after it came to rest)."""

    frame: int | None
    """Index of the frame, from 0; None until the first frame was shown."""
    sha256: str
    """Name of the frame, empty before."""
    verified: Verified | None
    """None while unknown."""
    region: Region | None = None
    """Part of this frame that the viewer marked."""


def _renderer() -> ComponentRenderer:
    """Mounting command of the component, registered on the runtime that executes this script.

    Streamlit finds packaged components by scanning installed distributions for a ``pyproject.toml`` inside
    the package. An editable installation has none, so the folder is declared by hand: the same call for
    both, and one way to be tested.
    """
    manager = get_bidi_component_manager()
    if manager.get_component_asset_root(_COMPONENT) is None:
        config = ComponentConfig(name=_NAME, asset_dir="frontend")
        manager.register_from_manifest(
            ComponentManifest(name=_PACKAGE, version="1", components=[config]), package_root=_ROOT
        )
    return st.components.v2.component(
        _COMPONENT, html='<div class="pr-player"></div>', css="player.css", js="main.js"
    )


class Beside(NamedTuple):
    """The player that another one moves with."""

    run: str
    """Its ``run_manifest_url``."""
    url: str
    """Where the alignment from its run to one's own is (``urls.aligned_url``)."""
    ask: bool
    """Begin where the other one is, not the other way round."""


def state_of(value: object, n: int) -> PlayerState:
    """Checked state out of what the browser sent; anything malformed counts as nothing sent."""
    if not isinstance(value, dict):
        return PlayerState(None, "", None)
    told = cast("dict[str, object]", value)
    frame, sha256, verified = told.get("frame"), told.get("sha256"), told.get("verified")
    if not isinstance(frame, int) or isinstance(frame, bool) or not 0 <= frame < n:
        return PlayerState(None, "", None)
    return PlayerState(
        frame,
        sha256 if isinstance(sha256, str) else "",
        cast("Verified", verified) if isinstance(verified, str) and verified in _VERIFIED else None,
    )


def seen_of(value: object, n: int) -> Seen:
    """Where the browser said that the viewer is, and which wish it knew."""
    said = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    url = said.get("url")
    return Seen(
        state_of(value, n).frame,
        _whole(said.get("nonce")),
        _whole(said.get("told")),
        url if isinstance(url, str) else None,
    )


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def player(  # noqa: PLR0913 - the page names each of them
    *,
    run_manifest_url: str,
    frames_url: str,
    n: int,
    chunk: int = CHUNK_SIZE,
    seek: int | None = None,
    query_param: str | None = None,
    events_url: str = "",
    labels: Mapping[str, str] | None = None,
    link: Mapping[str, str] | None = None,
    beside: Beside | None = None,
    language: str = "",
    regions: bool = False,
    key: str,
) -> PlayerState:
    """Show the frame player for one run and return where the viewer is.

    Args:
        run_manifest_url: address of the manifest without ``.json`` (see ``urls.run_urls``).
        frames_url: address under which frames are found by their SHA-256.
        n: number of frames of the run.
        chunk: frames in a chunk, as the header says.
        seek: index of the frame to open. The player moves when this changes from one run of the page to the
            next; don't pass its own state back.
        query_param: name of a parameter of the page's URL, such as ``frame``, that opens a frame and then
            follows the viewer. It counts from 1. Where it is absent, ``seek`` opens the first one.
        events_url: address of stored events by position; empty hides "Stored event".
        labels: translations by the keys of ``labels.ENGLISH``.
        link: query parameters that a shared link carries besides the frame, such as ``{"run": run}``.
        beside: the player that this one moves with; each of the two names the other.
        language: which the manifest is asked for in, such as ``zh``; empty for the record's own.
        regions: whether the viewer can mark a part of a frame; it comes back with the state.
        key: identity of this player on the page; two runs side by side need two.

    Raises:
        ConfigError: ``labels`` has a key that the player doesn't have.
    """
    if query_param is not None:
        asked = st.query_params.get(query_param)
    else:
        asked = None if seek is None else frame_to_query(seek)
    memory_key = f"{key}:seek"
    memory = st.session_state.get(memory_key, Memory())
    seen = seen_of(_at(st.session_state.get(key)), n)
    turn = begin(memory, asked, seen, default=seek if query_param else None, n=n)
    data: dict[str, Any] = {
        "manifest": run_manifest_url,
        "frames": frames_url,
        "events": events_url,
        "n": n,
        "chunk": chunk,
        "seek": turn.open_at,
        "nonce": turn.memory.nonce,
        "link": dict(link or {}),
        "linkFrame": query_param or "frame",
        "labels": complete(labels),
        "language": language,
        "regions": regions,
        "follow": None if beside is None else beside._asdict(),
    }
    result = _renderer()(key=key, data=data, on_at_change=_noop, on_region_change=_noop)
    after = turn.memory
    if query_param is not None:
        after = follow(after, seen_of(_at(result), n))
        if after.asked is not None and after.asked != asked:
            st.query_params[query_param] = after.asked
    st.session_state[memory_key] = after
    state = state_of(_at(result), n)
    return state._replace(region=region_of(_at(result, "region"), state) if regions else None)


def region_of(value: object, state: PlayerState) -> Region | None:
    """Checked rectangle out of what the browser sent, if it is one of the frame that is shown."""
    if not isinstance(value, dict):
        return None
    told = cast("dict[str, object]", value)
    box = told.get("box")
    if told.get("sha256") != state.sha256 or not isinstance(box, list) or len(box) != len(Region._fields):
        return None
    if not all(isinstance(part, int) and not isinstance(part, bool) and part >= 0 for part in box):
        return None
    region = Region(*box)
    return region if region.width and region.height else None


def _at(result: object, name: str = "at") -> object:
    """The reported position out of a component's state, whatever stands there; or what has another name."""
    return result.get(name) if isinstance(result, Mapping) else None


def _noop() -> None:
    """Streamlit keeps a component's state only when a callback is declared for it."""
