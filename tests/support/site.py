"""A small web site on a loopback port for tests of the guards: pages from ``pages/``, and a log of what arrived."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PAGES = Path(__file__).parent / "pages"


@dataclass(frozen=True)
class Answer:
    """What a path answers."""

    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Site:
    """The running site."""

    url: str
    answers: dict[str, Answer] = field(default_factory=dict)
    """Path → answer, ahead of the pages."""
    posts: list[tuple[str, str]] = field(default_factory=list)
    """Path and body of each POST that really arrived."""
    asked: list[str] = field(default_factory=list)
    """Paths of all GETs."""
    held: threading.Event = field(default_factory=threading.Event)
    """Set: answers to POSTs may go out."""

    def clear(self) -> None:
        """Forget what arrived and all special answers."""
        self.answers.clear()
        self.posts.clear()
        self.asked.clear()
        self.held.set()


def _handler(site: Callable[[], Site]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:  # noqa: ANN401 - the base class's signature
            return

        def _send(self, answer: Answer) -> None:
            body = answer.body.encode()
            self.send_response(answer.status)
            usual = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
            for name, value in (usual | answer.headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            site().asked.append(path)
            page = PAGES / path.lstrip("/")
            if path in site().answers:
                self._send(site().answers[path])
            elif page.is_file():
                self._send(Answer(body=page.read_text(encoding="utf-8")))
            else:
                self._send(Answer(status=404))

        def do_POST(self) -> None:
            path = urlsplit(self.path).path
            body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            site().posts.append((path, body))
            site().held.wait(10)
            self._send(site().answers.get(path, Answer(body="ok")))

    return Handler


@contextmanager
def running_site() -> Iterator[Site]:
    """Serve until the end of the block."""
    holder: list[Site] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(lambda: holder[0]))
    server.daemon_threads = True
    site = Site(url=f"http://127.0.0.1:{server.server_address[1]}")
    site.held.set()
    holder.append(site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
