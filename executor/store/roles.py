"""Application roles on PostgreSQL: they select and append, for the tenants that they are given, and nothing else.

Rules: a role has no right to change or remove a row of the record, nor to insert one past the appending functions; rows
of other tenants are invisible to it (row-level security); which tenants it has is written by the owner in
``tenant_grant`` and bound to the role that logged in, not to a setting that a session could change.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from domain.errors import ConfigError
from executor.store.engine import open_engine, prepare
from executor.store.urls import store_url

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROLE: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_READ: Final = (
    "event, claim, claim_release, tenant_head, checkpoint, attestation, record_format, tenant_grant"
)
_APPEND: Final = (
    "proofreel_append_one(text, text, bigint, text, text, bytea, bigint),"
    " proofreel_append_all(text, text[], bigint[], text[], text[], bytea[], bigint,"
    " text, text, text, text, text, text, text)"
)


def grant_role(url: str, role: str, tenants: Sequence[str], *, write: bool = True) -> None:
    """Give an existing login role its rights for ``tenants``; without ``write`` it only reads.

    ``url`` is the owner's. Raises ``ConfigError`` on SQLite, where the file's own rights decide, and for a role that
    doesn't exist.
    """
    parsed = store_url(url)
    if parsed.get_backend_name() != "postgresql":
        raise ConfigError("SQLite has no roles", remedy="give rights on the file, or use PostgreSQL")
    if not _ROLE.fullmatch(role):
        raise ConfigError(
            f"{role!r} is no plain role name", remedy="use small letters, digits and underscores"
        )
    engine = open_engine(parsed)
    try:
        prepare(engine)
        with engine.connect() as connection:
            known = connection.execute(text("SELECT 1 FROM pg_roles WHERE rolname = :role"), {"role": role})
            if known.first() is None:
                raise ConfigError(f"there is no role {role}", remedy=f"create it: CREATE ROLE {role} LOGIN")
            for statement in _grants(role, write=write):
                connection.exec_driver_sql(statement)
            for tenant in tenants:
                connection.execute(
                    text("INSERT INTO tenant_grant VALUES (:role, :tenant) ON CONFLICT DO NOTHING"),
                    {"role": role, "tenant": tenant},
                )
    finally:
        engine.dispose()


def _grants(role: str, *, write: bool) -> list[str]:
    statements = [f"GRANT SELECT ON {_READ} TO {role}"]
    if write:
        statements += [
            f"GRANT INSERT ON checkpoint, attestation TO {role}",
            f"GRANT SELECT, INSERT, UPDATE ON tracking TO {role}",
            f"GRANT EXECUTE ON FUNCTION {_APPEND} TO {role}",
        ]
    return statements
