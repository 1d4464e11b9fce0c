"""The portal on a loopback port: in a process of its own, or in a thread for tests.

Rules of this module:

* It listens on 127.0.0.1 only.
* Passwords and the control token reach the process over its standard input: never over arguments, the
  environment or a file, where others could read them.
* The process ends when that input closes, so a killed parent leaves no server behind.
* Waiting for the start and for the end is bounded.
"""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx
import uvicorn

from executor.sandbox.portal.app import create_app
from executor.sandbox.portal.client import ControlClient, PortalClient
from executor.sandbox.portal.db import Database
from executor.sandbox.portal.model import Account
from executor.sandbox.portal.seed import USUAL_COUNTS, seed, usual_accounts
from executor.sandbox.portal.services import Settings
from executor.sandbox.portal.truth import PortalTruth

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0
_STEP_SECONDS: Final = 0.02


class PortalStartError(Exception):
    """The portal did not come up in time, or ended at once."""


def listening_socket(port: int) -> socket.socket:
    """Return a bound socket on 127.0.0.1; port 0 takes a free one."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    return made


def uvicorn_server(app: Any) -> uvicorn.Server:  # noqa: ANN401 - any ASGI application
    """Return a quiet server for the application."""
    config = uvicorn.Config(app, log_level="error", access_log=False, ws="none", timeout_graceful_shutdown=1)
    return uvicorn.Server(config)


class _Portal(ABC):
    """What both ways of running share: the database, the log-ins, the clients. A context manager."""

    def __init__(
        self,
        db: Path,
        *,
        accounts: Iterable[Account] | None = None,
        counts: Mapping[str, int] = USUAL_COUNTS,
        seed_number: int = 2026,
        lang: str = "zh",
        ambient: Iterable[str] = (),
        port: int = 0,
        strict: bool = False,
    ) -> None:
        """Prepare a portal over the file `db`; it is filled with bills when it has none.

        Args:
            db: the SQLite file.
            accounts: log-ins; the usual ones with random passwords when None.
            counts: bills for each tenant.
            seed_number: decides which bills.
            lang: the language of the pages.
            ambient: benign disturbances from the start.
            port: 0 takes a free one.
            strict: refuse to book an action twice, as a careful vendor would.
        """
        self.db = db
        self.bill_ids = seed(Database(db), counts, number=seed_number)
        chosen = usual_accounts() if accounts is None else tuple(accounts)
        self.accounts = {account.name: account for account in chosen}
        self.truth = PortalTruth(db)
        self.url = ""
        self._port = port
        self._ambient = tuple(ambient)
        self._settings = Settings(control_token=secrets.token_urlsafe(16), lang=lang, strict=strict)
        self._control: ControlClient | None = None

    @property
    def control(self) -> ControlClient:
        """The client that sets faults; the portal must have been started."""
        if self._control is None:
            self._control = ControlClient(self.url, self._settings.control_token)
        return self._control

    def client(self, account: str, *, lang: str | None = None) -> PortalClient:
        """Return a person's client, logged in."""
        return PortalClient(self.url, account, self.accounts[account].password, lang=lang)

    @abstractmethod
    def start(self) -> None:
        """Start to serve; return when the portal answers.

        Raises:
            PortalStartError: it does not come up.
        """

    @abstractmethod
    def _end(self) -> None:
        """End the process or the thread."""

    def stop(self) -> None:
        """Stop to serve. The database stays."""
        if self._control is not None:
            self._control.close()
            self._control = None
        self._end()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class PortalServer(_Portal):
    """The portal in a process of its own."""

    _process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int | None:
        """The process, or None when it does not run."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the process; return when the portal answers."""
        with tempfile.TemporaryDirectory(prefix="portal-") as folder:
            ready = Path(folder) / "ready.json"
            command = [
                sys.executable,
                "-m",
                __package__ or "",
                "--db",
                str(self.db),
                "--port",
                str(self._port),
            ]
            command += ["--lang", self._settings.lang, "--ready-file", str(ready), "--stdin-config"]
            command += ["--strict"] if self._settings.strict else []
            command += [part for name in self._ambient for part in ("--ambient", name)]
            # A session of its own: Ctrl-C at the terminal is for the parent, which then closes the input.
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command, stdin=subprocess.PIPE, text=True, start_new_session=True
            )
            if self._process.stdin is None:
                raise PortalStartError("the portal's process has no standard input")
            self._process.stdin.write(config_line(self._settings.control_token, self.accounts.values()))
            self._process.stdin.flush()
            try:
                self._wait(ready)
            except PortalStartError:
                self._end()
                raise

    def _wait(self, ready: Path) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process is not None and self._process.poll() is not None:
                raise PortalStartError(f"the portal ended at once with exit code {self._process.returncode}")
            if ready.exists():
                self.url = json.loads(ready.read_text(encoding="utf-8"))["url"]
                wait_healthy(self.url, deadline)
                return
            time.sleep(_STEP_SECONDS)
        raise PortalStartError(f"the portal did not start within {START_SECONDS:.0f} seconds")

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_SECONDS)


class PortalThread(_Portal):
    """The portal in a thread of this process."""

    _server: uvicorn.Server | None = None
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread; return when the portal answers."""
        app = create_app(self.db, self._settings, accounts=self.accounts.values(), ambient=self._ambient)
        bound = listening_socket(self._port)
        self.url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        self._server = uvicorn_server(app)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [bound]}, name="portal", daemon=True
        )
        self._thread.start()
        wait_healthy(self.url, time.monotonic() + START_SECONDS)

    def _end(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(STOP_SECONDS)
        self._server = self._thread = None


def config_line(token: str, accounts: Iterable[Account]) -> str:
    """Return the line that a portal process reads from its standard input: its secrets as JSON."""
    return (
        json.dumps(
            {
                "control_token": token,
                "accounts": [
                    {
                        "name": account.name,
                        "password": account.password,
                        "tenant": account.tenant,
                        "role": account.role.value,
                        "display": account.display,
                    }
                    for account in accounts
                ],
            }
        )
        + "\n"
    )


def wait_healthy(url: str, deadline: float) -> None:
    """Wait until the portal answers, at most until the monotonic time `deadline`.

    Raises:
        PortalStartError: it does not.
    """
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/_health", timeout=2, trust_env=False).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(_STEP_SECONDS)
    raise PortalStartError(f"the portal at {url} does not answer")
