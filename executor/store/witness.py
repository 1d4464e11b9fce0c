"""A witness: it cosigns a log's checkpoints as long as each continues the one before (C2SP tlog-witness).

Rules: it knows the logs by their keys beforehand; it remembers the last size and root of each durably *before* it
answers; it refuses a checkpoint that is older, that forks, or whose proof doesn't hold. Run by somebody else than the
operator, it is what catches an operator who rewrites the whole log, or a database that was set back.

Request: ``old SIZE``, proof hashes in base64, an empty line, the checkpoint. Answers: 200 with the cosignature line,
400 not a request, 403 no good signature, 404 unknown log, 409 another last size (its body), 422 bad proof.
"""

from __future__ import annotations

import base64
import contextlib
import sqlite3
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from domain import notes
from domain.errors import IntegrityError
from domain.merkle import HASH_BYTES, verify_consistency

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from domain.ports import Clock
    from executor.store.signing import SigningKey

MAX_REQUEST_BYTES: Final = 64 * 1024
MAX_PROOF: Final = 63
"""Hashes of a proof at most, as C2SP has it."""
SIZE_TYPE: Final = "text/x.tlog.size"


class _Refused(Exception):
    def __init__(self, status: int, text: str, media_type: str = "text/plain") -> None:
        self.response = PlainTextResponse(text, status_code=status, media_type=media_type)
        super().__init__(text)


class WitnessState:
    """Last size and root of each log, in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with contextlib.closing(self._connect()) as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS seen (origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL)"
            )

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def advance(self, checkpoint: notes.Checkpoint, old: int, proof: Sequence[bytes]) -> None:
        """Move on to ``checkpoint``, durably, or refuse."""
        with contextlib.closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            row = connection.execute(
                "SELECT size, root FROM seen WHERE origin = ?", (checkpoint.origin,)
            ).fetchone()
            last_size, last_root = row or (0, b"")
            _require_continuation(checkpoint, old, proof, last_size, last_root)
            connection.execute(
                "INSERT INTO seen VALUES (?, ?, ?) ON CONFLICT (origin) DO UPDATE"
                " SET size = excluded.size, root = excluded.root",
                (checkpoint.origin, checkpoint.size, checkpoint.root),
            )
            connection.execute("COMMIT")


def _require_continuation(
    checkpoint: notes.Checkpoint, old: int, proof: Sequence[bytes], last_size: int, last_root: bytes
) -> None:
    if old > checkpoint.size:
        raise _Refused(400, "the old size is beyond the checkpoint\n")
    if old != last_size:
        raise _Refused(409, f"{last_size}\n", SIZE_TYPE)
    if old == checkpoint.size and old and checkpoint.root != last_root:
        raise _Refused(409, f"{last_size}\n", SIZE_TYPE)
    if old == 0:
        if proof:
            raise _Refused(422, "nothing to prove from an empty log\n")
        return
    if not verify_consistency(old, checkpoint.size, proof, last_root, checkpoint.root):
        raise _Refused(422, "the checkpoint does not continue the last one\n")


def parse_request(body: bytes) -> tuple[int, list[bytes], str]:
    """Old size, proof and note of a request; ``ValueError`` when it is none."""
    head, separator, note = body.decode().partition("\n\n")
    lines = head.split("\n")
    word, _, size = lines[0].partition(" ")
    if not separator or word != "old" or not size.isascii() or not size.isdigit() or str(int(size)) != size:
        message = "a request begins with 'old SIZE'"
        raise ValueError(message)
    proof = [base64.b64decode(line, validate=True) for line in lines[1:]]
    if len(proof) > MAX_PROOF or any(len(item) != HASH_BYTES for item in proof):
        message = f"a proof has at most {MAX_PROOF} hashes of {HASH_BYTES} bytes"
        raise ValueError(message)
    return int(size), proof, note


def format_request(old: int, proof: Sequence[bytes], note: str) -> bytes:
    """The same, as it is sent."""
    lines = [f"old {old}", *(base64.b64encode(item).decode() for item in proof)]
    return ("\n".join(lines) + "\n\n" + note).encode()


def witness_app(
    state: WitnessState, key: SigningKey, logs: Sequence[notes.VerifierKey], clock: Clock
) -> Starlette:
    """The witness as an ASGI application; ``logs`` are the keys of the logs that it watches."""
    known = {log.name: log for log in logs}

    def cosignature(body: bytes) -> Response:
        try:
            old, proof, note = parse_request(body)
            text, _ = notes.split_note(note)
            checkpoint = notes.parse_checkpoint(text)
        except (ValueError, IntegrityError) as error:
            raise _Refused(400, f"{error}\n") from error
        log = known.get(checkpoint.origin)
        if log is None:
            raise _Refused(404, "this log is not known here\n")
        try:
            notes.open_note(note, [log])
        except IntegrityError as error:
            raise _Refused(403, "the log's signature is missing or wrong\n") from error
        state.advance(checkpoint, old, proof)
        signed = notes.cosign(note, key.name, key.private, at_s=clock.now_us() // 1_000_000)
        return PlainTextResponse(signed.removeprefix(note))

    async def add_checkpoint(request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MAX_REQUEST_BYTES:
                return PlainTextResponse("too large\n", status_code=413)
        try:
            return await run_in_threadpool(cosignature, bytes(body))
        except _Refused as refused:
            return refused.response

    return Starlette(routes=[Route("/add-checkpoint", add_checkpoint, methods=["POST"])])
