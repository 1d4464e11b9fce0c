"""Playwright's own trace viewer, served from the installed package, with one trace to open in it."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import playwright

VIEWER = Path(playwright.__file__).parent / "driver" / "package" / "lib" / "vite" / "traceViewer"


@contextmanager
def viewing(trace: bytes) -> Iterator[str]:
    """Address under which the viewer shows the trace, until the end of the block."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/trace.zip":
                super().do_GET()
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(trace)))
            self.end_headers()
            self.wfile.write(trace)

    handler = functools.partial(Handler, directory=str(VIEWER))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield f"{address}/index.html?trace={address}/trace.zip"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
