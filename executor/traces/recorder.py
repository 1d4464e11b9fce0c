"""Records the trace of one guarded page while a task is worked on, and hands it out without its secrets (B12).

Rules: off unless configured, because it costs time; nothing but the scrubbed trace ever leaves; the recording is of the
browser's context, so a context that is being traced by somebody else is not touched; the screens in it are our own,
masked at capture.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page

from domain.errors import ConfigError, WorldError
from executor.guards.world import IsolatedWorld, WorldGone
from executor.tools.base import Frame, SiteRules
from executor.traces.scrub import Screen, Scrubbed, scrub
from executor.traces.snapshots import Marks

MAX_SCREENS: Final = 200
MAX_SECRETS: Final = 5_000
BATCH_CHARACTERS: Final = 8 << 20


class TraceRecorder:
    """One page's trace, begun and ended by whoever works on a task."""

    def __init__(self, page: Page, world: IsolatedWorld, rules: SiteRules) -> None:
        self._page = page
        self._world = world
        self._rules = rules
        self._typed: set[str] = set()
        """Secrets that went through our hands, also before the recording began."""
        self._seen: set[str] = set()
        self._screens: list[Screen] = []
        self.is_on = False

    def knows(self, secret: str) -> None:
        """This was typed and is secret; it may come back in what is recorded later."""
        self._typed.add(secret)

    def begin(self) -> None:
        """Start recording.

        Raises:
            ConfigError: the context is being traced already, by somebody else.
            WorldError: the page is gone.
        """
        try:
            self._page.context.tracing.start(screenshots=False, snapshots=True, sources=False)
        except PlaywrightError as error:
            if "already" in error.message:
                raise ConfigError(
                    "the browser's context is being traced already",
                    remedy="stop that trace, or record with trace='never'",
                ) from None
            raise WorldError("the trace can't be begun: the page is gone") from None
        self._screens.clear()
        self._seen.clear()
        self.is_on = True

    def saw(self, frame: Frame) -> None:
        """Take in one capture, and what secret fields hold now."""
        if not self.is_on:
            return
        if len(self._screens) < MAX_SCREENS:
            now_ms = time.time() * 1000
            screen = Screen(data=frame.data, width=frame.width, height=frame.height, at_ms=now_ms)
            self._screens.append(screen)
        self._ask()

    def _ask(self) -> None:
        for place in self._world.places():
            with contextlib.suppress(WorldGone):
                self._seen.update(self._world.call("secretTexts", place=place)[:MAX_SECRETS])

    def end(self, *, keep: bool) -> Scrubbed | None:
        """Stop recording; with ``keep``, the trace without its secrets.

        Raises:
            WorldError: the page and its trace are gone.
            IntegrityError: the trace can't be understood, or something secret can't be taken out of it.
        """
        if not self.is_on:
            return None
        self.is_on = False
        try:
            if not keep:
                self._page.context.tracing.stop()
                return None
            with contextlib.suppress(PlaywrightError, WorldError):
                self._ask()
            raw = self._stop()
        except PlaywrightError:
            if keep:
                raise WorldError("the trace is gone with its page") from None
            return None
        return scrub(
            raw,
            secrets=self._typed | self._seen,
            names=self._rules.secret_fields,
            marker=None if self._page.is_closed() else self._mark,
            screens=tuple(self._screens),
        )

    def _stop(self) -> bytes:
        """The trace as it is, secrets and all: it is on disk for a moment, in a folder that only we can read."""
        with tempfile.TemporaryDirectory(prefix="proofreel-") as folder:
            path = Path(folder) / "trace.zip"
            self._page.context.tracing.stop(path=path)
            return path.read_bytes()

    def _mark(self, frames: Sequence[Sequence[Any]]) -> Sequence[Marks]:
        source = (files("executor.traces") / "mark.js").read_text(encoding="utf-8")
        return [self._world.apply(source, [snapshots])[0] for snapshots in frames]
