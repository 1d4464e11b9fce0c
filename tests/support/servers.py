"""Real servers on loopback for tests: an ASGI application under uvicorn, a time-stamping authority."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.applications import Starlette


@contextlib.contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """Base URL of ``app`` while the context lasts."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            message = "the server did not start"
            raise RuntimeError(message)
        thread.join(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


_CONFIG = """
[ca]
distinguished_name = name
prompt = no
[name]
CN = Test time stamping root
[root_ext]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
[tsa_ext]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
[tsa]
default_tsa = tsa_config
[tsa_config]
serial = {folder}/serial
crypto_device = builtin
signer_cert = {folder}/tsa.pem
certs = {folder}/root.pem
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ordering = yes
tsa_name = no
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


class Authority:
    """A time-stamping authority out of ``openssl ts``; ``root`` is the certificate that a verifier trusts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root.pem"
        self.lock = threading.Lock()
        (folder / "tsa.cnf").write_text(_CONFIG.format(folder=folder))
        (folder / "serial").write_text("01\n")
        self._openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "root.key", "-out", "root.pem",
            "-days", "30", "-config", "tsa.cnf", "-section", "ca", "-extensions", "root_ext",
        )  # fmt: skip
        self._openssl(
            "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", "tsa.key", "-out", "tsa.csr",
            "-subj", "/CN=Test time stamping authority", "-config", "tsa.cnf", "-section", "ca",
        )  # fmt: skip
        self._openssl(
            "x509", "-req", "-in", "tsa.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial",
            "-out", "tsa.pem", "-days", "30", "-extfile", "tsa.cnf", "-extensions", "tsa_ext",
        )  # fmt: skip

    def _openssl(self, *arguments: str) -> bytes:
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, check=False, capture_output=True)
        if done.returncode:
            raise RuntimeError(done.stderr.decode(errors="replace"))
        return done.stdout

    def reply(self, query: bytes) -> bytes:
        """A signed response to a request."""
        with self.lock:
            (self.folder / "query.tsq").write_bytes(query)
            self._openssl(
                "ts", "-reply", "-config", "tsa.cnf", "-section", "tsa_config",
                "-queryfile", "query.tsq", "-out", "reply.tsr",
            )  # fmt: skip
            return (self.folder / "reply.tsr").read_bytes()

    def verifies(self, response: bytes, data: bytes) -> bool:
        """What ``openssl ts -verify`` says of a response over ``data``."""
        (self.folder / "check.tsr").write_bytes(response)
        (self.folder / "check.txt").write_bytes(data)
        done = subprocess.run(
            ["openssl", "ts", "-verify", "-data", "check.txt", "-in", "check.tsr", "-CAfile", "root.pem"],
            cwd=self.folder,
            check=False,
            capture_output=True,
        )
        return done.returncode == 0

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """URL that answers RFC 3161 requests while the context lasts."""
        authority = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                query = self.rfile.read(int(self.headers["content-length"]))
                answer = authority.reply(query)
                self.send_response(200)
                self.send_header("content-type", "application/timestamp-reply")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Tests print nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_address[1]}/tsa"
            finally:
                server.shutdown()
                thread.join()
