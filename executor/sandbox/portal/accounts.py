"""Log-ins and sessions.

Rules of this module:

* A password is stored as scrypt (RFC 7914) with its own salt; a session token as its SHA-256.
* Sessions live in the database, so they can be ended while a page is open.
* An account whose rights were withdrawn keeps its sessions: it may ask, and is told no.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from executor.sandbox.portal.db import Database
from executor.sandbox.portal.model import Account, Role

SCRYPT_N = 2**14
"""Cost of one hash: 16 MiB and about 50 ms, the figure of RFC 7914 for interactive log-ins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """The account behind a request."""

    account: str
    display: str
    tenant: str
    role: Role
    csrf: str
    revoked: bool

    @property
    def can_write(self) -> bool:
        """Whether the buttons work for this account."""
        return self.role is not Role.READBACK and not self.revoked


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=SCRYPT_N, r=8, p=1)


def _token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Accounts:
    """The portal's accounts and their sessions."""

    def __init__(self, database: Database) -> None:
        """Keep them in the given database."""
        self._database = database

    def register(self, accounts: Iterable[Account]) -> None:
        """Create the accounts, or give existing ones a new password, tenant and role."""
        for account in accounts:
            salt = secrets.token_bytes(16)
            row = (
                account.name,
                account.tenant,
                account.role.value,
                account.display or account.name,
                salt,
                _scrypt(account.password, salt),
            )
            with self._database.writing() as connection:
                connection.execute(
                    "INSERT INTO accounts (name, tenant, role, display, salt, hash) VALUES (?, ?, ?, ?, ?, ?) "
                    "ON CONFLICT (name) DO UPDATE SET tenant = excluded.tenant, role = excluded.role, "
                    "display = excluded.display, salt = excluded.salt, hash = excluded.hash",
                    row,
                )

    def log_in(self, name: str, password: str) -> str | None:
        """Return the token of a new session, or None when name or password is wrong."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT salt, hash FROM accounts WHERE name = ?", (name,)).fetchone()
        salt, expected = (row["salt"], row["hash"]) if row else (b"\0" * 16, b"")
        # Hash even for an unknown name: the time must not tell which names exist.
        if not hmac.compare_digest(_scrypt(password, salt), expected):
            return None
        token = secrets.token_urlsafe(32)
        with self._database.writing() as connection:
            connection.execute(
                "INSERT INTO sessions (token_hash, account, csrf, created_at) VALUES (?, ?, ?, ?)",
                (_token_hash(token), name, secrets.token_urlsafe(16), self._database.now()),
            )
        return token

    def viewer(self, token: str) -> Viewer | None:
        """Return the account behind a session token, or None when the session is over."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT a.name, a.display, a.tenant, a.role, a.revoked, s.csrf "
                "FROM sessions s JOIN accounts a ON a.name = s.account WHERE s.token_hash = ?",
                (_token_hash(token),),
            ).fetchone()
        if row is None:
            return None
        return Viewer(
            account=row["name"],
            display=row["display"],
            tenant=row["tenant"],
            role=Role(row["role"]),
            csrf=row["csrf"],
            revoked=bool(row["revoked"]),
        )

    def log_out(self, token: str) -> None:
        """End one session."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE token_hash = ?", (_token_hash(token),))

    def expire(self, account: str | None = None) -> int:
        """End all sessions of an account (of everybody when None); return how many there were."""
        with self._database.writing() as connection:
            return end_sessions(connection, account)

    def revoke(self, account: str | None = None) -> None:
        """Withdraw the rights of an account (of everybody when None)."""
        with self._database.writing() as connection:
            withdraw_rights(connection, account)

    def restore(self) -> None:
        """Give everybody their rights back."""
        with self._database.writing() as connection:
            connection.execute("UPDATE accounts SET revoked = 0")


def end_sessions(connection: sqlite3.Connection, account: str | None) -> int:
    """End the sessions of an account, or all of them, inside the caller's transaction."""
    cursor = connection.execute(
        "DELETE FROM sessions WHERE :name IS NULL OR account = :name", {"name": account}
    )
    return cursor.rowcount


def withdraw_rights(connection: sqlite3.Connection, account: str | None) -> None:
    """Withdraw the rights of an account, or of all, inside the caller's transaction."""
    connection.execute(
        "UPDATE accounts SET revoked = 1 WHERE :name IS NULL OR name = :name", {"name": account}
    )
