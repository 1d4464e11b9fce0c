"""A database that sorts by a language finds the same streams as one that sorts by bytes."""

from __future__ import annotations

import psycopg
import pytest

from domain import events as e
from domain.envelope import Draft, Envelope
from domain.ids import PrincipalId, StreamId, TenantId
from executor.runtime.system import SystemIds
from executor.store.log import open_record
from projections.reading import open_reader
from tests.support.postgres import cluster

ACME = TenantId("acme")


@pytest.mark.postgres
def test_streams_of_a_kind_are_found_in_a_database_of_another_collation() -> None:
    """There, a semicolon sorts before a colon: a redaction that isn't found would not be carried out."""
    server, ids = cluster(), SystemIds()
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE by_language TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'"
        )
    names = ("redaction:r1", "redactions:none", "retention:units", "deletion:d1", "task:t1", "run:r1")
    with open_record(server.url("by_language")) as log:
        for name in names:
            envelope = Envelope(
                event_id=ids.event_id(),
                tenant=ACME,
                stream=StreamId(name),
                version=1,
                principal=PrincipalId("person:li.na"),
                occurred_at_us=1,
                salt=ids.salt(),
            )
            fact = e.HoldReleased(hold_id="h", basis="b", by=PrincipalId("person:li.na"))
            log.append([Draft(envelope=envelope, event=fact)])
    with open_reader(server.url("by_language")) as reader:
        for kind in ("redaction", "retention", "deletion", "task", "run"):
            wanted = [name for name in names if name.startswith(f"{kind}:")]
            assert reader.streams(ACME, kind) == wanted
        assert reader.withheld(ACME) == 2
