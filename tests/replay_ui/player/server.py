"""The desk over a made-up run, as a process of its own: ``python -m tests.replay_ui.player.server``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from replay_ui.access import LocalAccess
from replay_ui.asgi import create_app, serve
from tests.replay_ui.synthetic import SyntheticSource

TAMPERED: Final = 13
LOST: Final = 17
CORRUPT: Final = 18
RUNS: Final = {("acme", "run-1"): 40, ("acme", "single"): 1, ("acme", "empty"): 0, ("globex", "run-1"): 8}


def main(long_run: int = 0) -> None:
    """Serve until ended; prints the address on its first line."""
    runs = RUNS | ({("acme", "long"): long_run} if long_run else {})
    source = SyntheticSource(
        runs, tampered=frozenset({TAMPERED}), lost=frozenset({LOST}), corrupt=frozenset({CORRUPT})
    )
    access = LocalAccess({"acme"})
    app = create_app(source, access, pages=Path(__file__).with_name("page.py"))
    serve(app, access, port=0, ready=lambda url: print(url, flush=True))  # noqa: T201 - read by the test


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
