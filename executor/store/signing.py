"""Signed checkpoints of a tenant's log (C2SP tlog-checkpoint), and the key that signs them.

Rules: the private key is a file of its own, readable by its owner alone, never in the store and never in a message;
what is signed was derived from the rows first and continues the last checkpoint, so that a signer doesn't vouch for
a rewritten log by mistake. The signature's name is the checkpoint's origin, as C2SP asks: ``KEY/TENANT``.
"""

from __future__ import annotations

import base64
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import IntegrityError as RowExists

from domain import notes
from domain.errors import ConfigError, IntegrityError
from domain.ids import TenantId
from domain.log_format import checkpoint_text
from domain.merkle import root_of
from executor.store import schema
from executor.store.engine import explain
from executor.store.tree import derive_tree

if TYPE_CHECKING:
    from pathlib import Path

    from domain.ports import Clock
    from executor.store.log import RecordLog

_PREFIX: Final = "PRIVATE+KEY+"
_SEED_BYTES: Final = 32


@dataclass(frozen=True, slots=True, repr=False)
class SigningKey:
    """A named private key; it has no text form, so that it can't be printed by accident."""

    name: str
    private: Ed25519PrivateKey

    def origin(self, tenant: TenantId) -> str:
        """Origin of a tenant's checkpoints: the key's name, a slash, the tenant percent-encoded."""
        return f"{self.name}/{quote(tenant, safe='')}"

    def verifier(self, tenant: TenantId) -> notes.VerifierKey:
        """What others check a tenant's checkpoints with."""
        return notes.verifier_key(self.origin(tenant), self.private.public_key())

    def verifier_of_witness(self) -> notes.VerifierKey:
        """What others check this key's cosignatures with, where it is a witness's."""
        return notes.verifier_key(self.name, self.private.public_key(), algorithm=notes.COSIGNATURE)


def make_key(path: Path, name: str) -> SigningKey:
    """Make a key and keep it in a new file with mode 0600.

    Raises ``ConfigError`` when the file exists (a key that signed something must not be lost) or the name is bad.
    """
    private = Ed25519PrivateKey.generate()
    try:
        key_id = notes.verifier_key(name, private.public_key()).key_id.hex()
    except ValueError as error:
        raise ConfigError(str(error), remedy="use a name like desk.example.com") from error
    seed = base64.b64encode(bytes((notes.ED25519,)) + private.private_bytes_raw()).decode()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise ConfigError(
            f"{path} exists", remedy="name another file; a key in use is never replaced"
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}", remedy="name a file in a folder that exists"
        ) from error
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"{_PREFIX}{name}+{key_id}+{seed}\n")
        file.flush()
        os.fsync(file.fileno())
    return SigningKey(name, private)


def load_key(path: Path) -> SigningKey:
    """Read a key; ``ConfigError`` when others may read the file or it holds no key. Its content is never shown."""
    remedy = "make a key with 'proofreel keys init'"
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        content = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read as a key", remedy=remedy) from error
    if mode & 0o077:
        raise ConfigError(f"{path} may be read by others (mode {mode:04o})", remedy=f"chmod 600 {path}")
    name, _, rest = content.removeprefix(_PREFIX).partition("+")
    key_id, _, encoded = rest.partition("+")
    try:
        data = base64.b64decode(encoded, validate=True)
    except ValueError:
        data = b""
    if not content.startswith(_PREFIX) or len(data) != 1 + _SEED_BYTES or data[0] != notes.ED25519:
        raise ConfigError(f"{path} holds no signing key", remedy=remedy)
    key = SigningKey(name, Ed25519PrivateKey.from_private_bytes(data[1:]))
    if notes.verifier_key(name, key.private.public_key()).key_id.hex() != key_id:
        raise ConfigError(f"{path} is damaged: name and key don't belong together", remedy=remedy)
    return key


def sign_checkpoint(log: RecordLog, tenant: TenantId, key: SigningKey, clock: Clock) -> str:
    """Sign the present head of a tenant's log, keep the note and return it.

    The same size is signed once: its note is returned again. Raises ``ConfigError`` for an empty log and
    ``IntegrityError`` when the rows don't give the head's root, or don't continue the last checkpoint.
    """
    head = _head(log, tenant)
    if head is None or head[0] == 0:
        raise ConfigError(f"tenant {tenant} has no events to vouch for", remedy="record something first")
    size, stored_root = head
    last = last_checkpoint(log, tenant)
    if last is not None and last[0] == size:
        return last[1]
    sizes = (size,) if last is None else (last[0], size)
    roots = derive_tree(log, tenant, sizes)
    if roots.get(size) != stored_root:
        raise IntegrityError("the rows don't give the head's root", where=f"log of {tenant}")
    if last is not None:
        before = notes.parse_checkpoint(notes.split_note(last[1])[0])
        if roots.get(last[0]) != before.root:
            what = f"the first {last[0]} events are not those of the last checkpoint"
            raise IntegrityError(what, where=f"log of {tenant}")
    origin = key.origin(tenant)
    note = notes.sign_note(checkpoint_text(origin, size, stored_root), origin, key.private)
    return _keep(log, tenant, size, note, clock.now_us())


def tenants_of(log: RecordLog) -> list[TenantId]:
    """Tenants that have a log, sorted."""
    column = schema.tenant_head.c.tenant
    return [TenantId(row[0]) for row in log.fetch(select(column).order_by(column))]


def last_checkpoint(log: RecordLog, tenant: TenantId) -> tuple[int, str] | None:
    """Size and note of the newest checkpoint, or None."""
    table = schema.checkpoint
    rows = log.fetch(
        select(table.c.size, table.c.note)
        .where(table.c.tenant == tenant)
        .order_by(table.c.size.desc())
        .limit(1)
    )
    return (rows[0][0], rows[0][1]) if rows else None


def _head(log: RecordLog, tenant: TenantId) -> tuple[int, bytes] | None:
    table = schema.tenant_head
    rows = log.fetch(select(table.c.size, table.c.frontier).where(table.c.tenant == tenant))
    if not rows:
        return None
    try:
        return rows[0][0], root_of(*rows[0])
    except ValueError as error:
        raise IntegrityError(f"the head is damaged: {error}", where=f"log of {tenant}") from error


def _keep(log: RecordLog, tenant: TenantId, size: int, note: str, now_us: int) -> str:
    row = {"tenant": tenant, "size": size, "note": note, "signed_at_us": now_us}
    try:
        with log.engine.connect() as connection:
            connection.execute(schema.checkpoint.insert(), row)
    except RowExists:
        last = last_checkpoint(log, tenant)
        return last[1] if last is not None and last[0] == size else note
    except DBAPIError as error:
        raise explain(error) from error
    return note


def keep_attestation(
    log: RecordLog, tenant: TenantId, size: int, *, kind: str, signer: str, content: bytes, now_us: int
) -> None:
    """Keep what a witness or an authority said about the checkpoint of ``size``; the first word stands."""
    row = {
        "tenant": tenant,
        "size": size,
        "kind": kind,
        "signer": signer,
        "content": content,
        "received_at_us": now_us,
    }
    try:
        with log.engine.connect() as connection:
            connection.execute(schema.attestation.insert(), row)
    except RowExists:
        return
    except DBAPIError as error:
        raise explain(error) from error
