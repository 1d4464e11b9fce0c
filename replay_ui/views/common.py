"""What every page uses: the view it is called with, filters in the URL, paging, chips.

Rules enforced here:

- A filter lives in the URL and nowhere else, so that a page can be shared and opened again as it was.
- A table shows at most ``PAGE_ROWS`` rows; the rest is a page further.
- A verdict, a state and a cause have one colour each, wherever they appear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote

import streamlit as st

from domain.ids import TenantId
from replay_ui.components.blocks import Block, Line, Note, Span, Thumb, chip, page_path, text
from replay_ui.data import Desk
from replay_ui.growth import Answer
from replay_ui.i18n import Words
from replay_ui.openings import Openings
from replay_ui.operator_actions import OperatorActions
from replay_ui.player import run_urls
from replay_ui.roles import Right, Viewer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from domain.events.access import Opened
    from domain.values import FrameRef
    from replay_ui.components.blocks import Tone

V = TypeVar("V")

PAGE_ROWS: Final = 100
CHOICES: Final = 200
"""Options of a list to choose from; older ones are found by a search or a link."""
CASES, RUNS, REPLAY, MONTH, CHAIN, QUEUE = "", "runs", "replay", "month", "chain", "queue"
METRICS, INTEGRITY, EXPORT, SEARCH, ALERTS = "metrics", "integrity", "export", "search", "alerts"
"""Paths of the pages; the desk opens with what waits."""

_STATUS: Final[Mapping[str, Tone]] = {
    "succeeded": "ok",
    "confirmed": "ok",
    "compensated": "ok",
    "resolved": "ok",
    "failed": "failed",
    "refuted": "failed",
    "compensation_failed": "failed",
    "unknown": "unknown",
    "attempted": "unknown",
    "executed": "unknown",
    "declared_done": "unknown",
    "taken_over": "stopped",
    "awaiting_approval": "stopped",
    "blocked": "stopped",
    "refused": "stopped",
    "already_in_progress": "stopped",
    "reopened": "stopped",
    "escalated": "stopped",
    "finished": "ok",
}
CAUSE_TONES: Final[Mapping[str, Tone]] = {"proven": "ok", "supported": "stopped", "undecidable": "unknown"}
SEVERITY_TONES: Final[Mapping[str, Tone]] = {
    "critical": "failed",
    "high": "failed",
    "medium": "stopped",
    "low": "none",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a page is called with."""

    desk: Desk
    tenant: TenantId
    words: Words
    now_us: int
    """The moment that ages and due times are told for, microseconds since 1970 (UTC)."""
    actions: OperatorActions | None
    viewer: Viewer
    openings: Openings

    def may(self, right: Right) -> bool:
        """Whether the viewer has a right at this tenant."""
        return self.viewer.may(right, self.tenant)

    def opens(self, kind: Opened, subject: str) -> None:
        """Put on record that the viewer is about to see ``subject``; call it before showing anything of it.

        Raises:
            ProofreelError: it could not be recorded; the page must not go on.
        """
        self.openings.note(self.viewer, self.tenant, kind, subject)

    def as_of(self, answer: Answer[V]) -> tuple[Block, ...]:
        """How far an answer sees, where that is not the end of the record."""
        if answer.newest:
            return ()
        note = Note(text=self.words("as_of", end=f"{answer.end:,}"), detail=self.words("as_of_do"))
        return (note,)

    def path(self, page: str, /, **parameters: str | int | None) -> str:
        """Path of a page for this tenant."""
        return page_path(page, tenant=self.tenant, **parameters)

    def frame_path(self, run: str, position: int, sha256: str = "") -> str:
        """Path of the replay at the frame of an event."""
        return self.path(REPLAY, run=run, at=position, sha=sha256)

    def event_path(self, bill: str, position: int) -> str:
        """Path of the chain of a bill at one event."""
        return self.path(CHAIN, bill=bill, event=position)

    def status(self, code: str, *, count: int | None = None) -> Span:
        """Chip of a task's or a run's state."""
        word = self.words.of("status", code)
        return chip(word if count is None else f"{word} {count}", _STATUS.get(code, "none"), tip=code)

    def verdict(self, code: str, *, count: int | None = None) -> Span:
        """Chip of a guard's verdict."""
        word = self.words.of("verdict", code)
        return chip(
            word if count is None else f"{word} {count}", "ok" if code == "pass" else "stopped", tip=code
        )

    def cause_verdict(self, code: str) -> Span:
        """Chip of how sure a cause is."""
        return chip(self.words.of("sure", code), CAUSE_TONES.get(code, "none"), tip=code)

    def thumbs(self, run: str, position: int, frames: Sequence[FrameRef]) -> tuple[Thumb, ...]:
        """Frames of an event in small, leading to the replay."""
        if not run:
            return ()
        return tuple(
            Thumb(
                src=f"{run_urls(self.tenant, run).frames}/{frame.sha256}",
                href=self.frame_path(run, position, frame.sha256),
                caption=self.words.of("role", frame.role),
            )
            for frame in frames
        )

    def stored(self, run: str, position: int) -> Span:
        """Link to an event as it is stored; plain text for one that belongs to no run."""
        label = f"#{position}"
        if not run:
            return text(label, "mono")
        href = f"{run_urls(self.tenant, run).events}/{position}.json"
        return text(label, "mono", href=href, new=True, tip=self.words("stored_event"))


def chosen(parameter: str, options: Sequence[V], default: V, *, code: Callable[[V], str] = str) -> V:
    """Option that the URL names, else the default."""
    asked = st.query_params.get(parameter)
    return next((option for option in options if code(option) == asked), default)


def choice(
    label: str,
    parameter: str,
    options: Sequence[V],
    *,
    show: Callable[[V], str],
    default: V | None = None,
    code: Callable[[V], str] = str,
    quiet: bool = False,
) -> V:
    """A select box whose value is a parameter of the URL; the default leaves the URL clean."""
    fallback = options[0] if default is None else default
    key = f"filter-{parameter}"

    def changed() -> None:
        picked = st.session_state[key]
        reset("page", "event", "break", "frame", "task", "redaction")
        if picked == fallback and default is None:
            st.query_params.pop(parameter, None)
        else:
            st.query_params[parameter] = code(picked)

    st.session_state[key] = chosen(parameter, options, fallback, code=code)
    picked: V = st.selectbox(
        label,
        options,
        key=key,
        format_func=show,
        on_change=changed,
        label_visibility="collapsed" if quiet else "visible",
    )
    return picked


def search(label: str, parameter: str, *, exact: bool = False) -> str:
    """A field of text whose value is a parameter of the URL; in lower case for comparing, unless ``exact``."""
    key = f"search-{parameter}"

    def changed() -> None:
        reset("page")
        value = str(st.session_state[key]).strip()
        if value:
            st.query_params[parameter] = value
        else:
            st.query_params.pop(parameter, None)

    st.session_state[key] = st.query_params.get(parameter, "")
    st.text_input(label, key=key, on_change=changed, type="search", max_chars=400, placeholder=" ")
    asked = st.query_params.get(parameter, "").strip()
    return asked if exact else asked.casefold()


def reset(*parameters: str) -> None:
    """Take parameters out of the URL."""
    for parameter in parameters:
        st.query_params.pop(parameter, None)


def number(parameter: str) -> int | None:
    """Whole number that the URL gives, or None."""
    asked = st.query_params.get(parameter, "")
    return int(asked) if asked.isascii() and asked.isdigit() and len(asked) <= len(str(2**53)) else None


def paged(
    view: View, page: str, rows: Sequence[V], *, rows_a_page: int = PAGE_ROWS
) -> tuple[Sequence[V], Line]:
    """Rows of the page that the URL names, and the line that leads to the others (empty for one page)."""
    start, pager = paging(view, page, len(rows), rows_a_page=rows_a_page)
    return rows[start : start + rows_a_page], pager


def paging(view: View, page: str, total: int, *, rows_a_page: int = PAGE_ROWS) -> tuple[int, Line]:
    """First row of the page that the URL names, and the line that leads to the others (empty for one page)."""
    pages = max(-(-total // rows_a_page), 1)
    here = min(max(number("page") or 1, 1), pages)
    start = (here - 1) * rows_a_page
    if pages == 1:
        return 0, ()
    kept: dict[str, str | int | None] = {
        name: value for name, value in st.query_params.items() if name not in {"page", "tenant"}
    }
    words = view.words
    last = min(start + rows_a_page, total)
    line = [text(words("rows_of", first=start + 1, last=last, total=total), "quiet")]
    for label, target in ((words("earlier"), here - 1), (words("later"), here + 1)):
        if 1 <= target <= pages:
            line.append(text(label, href=view.path(page, **(kept | {"page": target}))))
    return start, tuple(line)


def quoted(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")
