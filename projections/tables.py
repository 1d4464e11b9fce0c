"""Tables of the stored views: disposable rows, and the position that they are true for.

Rules enforced here:

* One row table for all views, keyed by view, version, tenant and key; the body is the row's JSON. Two releases that
  know different versions of a view never read each other's rows.
* ``position`` says up to which event of the tenant's log the rows are true; both change in one transaction.

Nothing in here is evidence: dropping both tables loses nothing but the time to build them again.
"""

from __future__ import annotations

import sqlalchemy as sa

METADATA = sa.MetaData()

POSITIONS = sa.Table(
    "view_positions",
    METADATA,
    sa.Column("view", sa.String(64), primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("tenant", sa.String(200), primary_key=True),
    sa.Column("position", sa.BigInteger, nullable=False),
)

ROWS = sa.Table(
    "view_rows",
    METADATA,
    sa.Column("view", sa.String(64), primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("tenant", sa.String(200), primary_key=True),
    sa.Column("key", sa.String(400), primary_key=True),
    sa.Column("grouped", sa.String(400), nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Index("view_rows_grouped", "view", "version", "tenant", "grouped"),
)
