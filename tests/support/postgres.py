"""A real PostgreSQL cluster for tests, started from the installed server's own binaries.

Rules: the cluster lives in a temporary folder, listens on a free loopback port and ends with the process that
started it; without binaries a test fails with the remedy, it is never skipped. The server refuses to run as root,
so root starts it as another user.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from functools import cache
from pathlib import Path

import psycopg

REMEDY = "no PostgreSQL server binaries found; remedy: apt-get install postgresql"


def _binaries() -> Path:
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True
    )
    on_path = shutil.which("initdb")
    candidates = [*found, *([Path(on_path).parent] if on_path else [])]
    for folder in candidates:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise RuntimeError(REMEDY)


def _user() -> tuple[int, int] | None:
    """Ids to run the server under; None to stay what we are."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    message = "root can't run PostgreSQL and there is no user 'postgres' or 'nobody'"
    raise RuntimeError(message)


class Cluster:
    """One server process and its folder; ``url(name)`` makes a fresh database."""

    def __init__(self, *, fsync: bool = False) -> None:
        """With ``fsync`` the disk is waited for, as benchmarks need it; a killed process loses nothing without."""
        self._fsync = "on" if fsync else "off"
        self._bin = _binaries()
        self._owner = os.getpid()
        self._ids = _user()
        self._folder = Path(tempfile.mkdtemp(prefix="proofreel-pg-"))
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        if self._ids:
            os.chown(self._folder, *self._ids)
        self._run(
            "initdb", "-D", str(self._data), "-U", "proofreel", "-A", "trust", "-E", "UTF8", "--locale=C"
        )
        self.start()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def _run(self, tool: str, *arguments: str) -> None:
        uid, gid = self._ids or (None, None)
        done = subprocess.run(
            [str(self._bin / tool), *arguments],
            check=False,
            capture_output=True,
            user=uid,
            group=gid,
            extra_groups=[] if self._ids else None,
            cwd=self._folder,
        )
        if done.returncode:
            raise RuntimeError(f"{tool}: {done.stderr.decode(errors='replace')}")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = (
            f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories= "
            f"-c max_connections=100 -c fsync={self._fsync} -c synchronous_commit=on"
        )
        self._run(
            "pg_ctl",
            "-D",
            str(self._data),
            "-l",
            str(self._folder / "log"),
            "-o",
            options,
            "-w",
            "-t",
            "60",
            "start",
        )

    def move_table(self, database: str, table: str, folder: Path) -> None:
        """Keep a table in a folder on another disk."""
        place = folder / "tablespace"
        place.mkdir()
        if self._ids:
            os.chown(place, *self._ids)
        with psycopg.connect(self.dsn(database), autocommit=True) as session:
            session.execute(f"CREATE TABLESPACE elsewhere LOCATION '{place}'".encode())
            session.execute(f"ALTER TABLE {table} SET TABLESPACE elsewhere".encode())

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: ``fast`` closes sessions, ``immediate`` is a crash."""
        self._run("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "-t", "60", "stop")

    def kill(self) -> None:
        """SIGKILL the postmaster and every session, as a crash of the machine would."""
        pid = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        everyone = (pid, *map(int, children))
        for process in everyone:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        while any(_alive(process) for process in everyone):
            time.sleep(0.01)
        (self._data / "postmaster.pid").unlink()

    def url(self, name: str | None = None, *, user: str = "proofreel") -> str:
        """URL of a fresh database, or of the named one."""
        if name is None:
            name = f"t{uuid.uuid4().hex}"
            with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
                connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return f"postgresql+psycopg://{user}@127.0.0.1:{self.port}/{name}"

    def dsn(self, name: str, *, user: str = "proofreel") -> str:
        """The same for psycopg itself."""
        return f"host=127.0.0.1 port={self.port} user={user} dbname={name}"

    def close(self) -> None:
        """Stop the server and remove its folder; a forked child leaves both alone."""
        if os.getpid() != self._owner:
            return
        with contextlib.suppress(RuntimeError):
            self.stop("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    """True for a process that still runs; a dead one that nobody waited for doesn't count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@cache
def cluster() -> Cluster:
    """The cluster of this process, started at its first use."""
    made = Cluster()
    atexit.register(made.close)
    return made
