"""Tables of ``lookup``: disposable rows beside the stored views in SQLite, with the indexes they are asked by."""

from __future__ import annotations

import sqlalchemy as sa

METADATA = sa.MetaData()


def _tenant() -> sa.Column[str]:
    return sa.Column("tenant", sa.String(200), primary_key=True)


PLACES = sa.Table(
    "desk_places",
    METADATA,
    _tenant(),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("version", sa.String(40), nullable=False),
)
"""Event up to which the rows of a tenant are true."""

TASKS = sa.Table(
    "desk_tasks",
    METADATA,
    _tenant(),
    sa.Column("task_id", sa.String(200), primary_key=True),
    sa.Column("bill", sa.String(400), nullable=False),
    sa.Column("effect_key", sa.String(400), nullable=False),
    sa.Column("status", sa.String(40), nullable=False),
    sa.Column("first_position", sa.BigInteger, nullable=False),
    sa.Column("last_position", sa.BigInteger, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Index("desk_tasks_bill", "tenant", "bill", "first_position"),
    sa.Index("desk_tasks_key", "tenant", "effect_key"),
    sa.Index("desk_tasks_status", "tenant", "status"),
    sa.Index("desk_tasks_newest", "tenant", "last_position", "bill"),
)

TASK_RUNS = sa.Table(
    "desk_task_runs",
    METADATA,
    _tenant(),
    sa.Column("run_id", sa.String(200), primary_key=True),
    sa.Column("first_position", sa.BigInteger, primary_key=True),
    sa.Column("task_id", sa.String(200), nullable=False),
    sqlite_with_rowid=False,
)
"""Tasks with an event in a run; a position belongs to one task."""

RUNS = sa.Table(
    "desk_runs",
    METADATA,
    _tenant(),
    sa.Column("run_id", sa.String(200), primary_key=True),
    sa.Column("mode", sa.String(40), nullable=False),
    sa.Column("status", sa.String(40), nullable=False),
    sa.Column("started_at_us", sa.BigInteger, nullable=False),
    sa.Column("objections", sa.BigInteger, nullable=False),
    sa.Column("words", sa.Text, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Index("desk_runs_newest", "tenant", sa.text("started_at_us DESC"), "run_id"),
    sa.Index("desk_runs_objections", "tenant", "objections"),
)

ACTORS = sa.Table(
    "desk_actors",
    METADATA,
    _tenant(),
    sa.Column("principal", sa.String(200), primary_key=True),
    sa.Column("kind", sa.String(8), primary_key=True),
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Index("desk_actors_newest", "tenant", "principal", "position"),
    sqlite_with_rowid=False,
)
"""Who had a hand in which task or run, and where last."""

HASHES = sa.Table(
    "desk_hashes",
    METADATA,
    _tenant(),
    sa.Column("head", sa.BigInteger, primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True),
    sqlite_with_rowid=False,
)
"""First eight bytes of a hash, less 2^63, and an event that may be known by it."""
