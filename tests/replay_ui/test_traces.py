"""The browser's trace of a task: handed out to its own run, as it was stored, and linked from the bill's chain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from domain import events as e
from domain.ids import TenantId
from executor.store.blobs import open_blobs
from replay_ui.access import LocalAccess
from replay_ui.data import Desk
from replay_ui.evidence import Evidence
from replay_ui.session import open_desk
from tests.replay_ui import sample
from tests.replay_ui.sample import Everyone
from tests.replay_ui.test_routes import client_of
from tests.replay_ui.views.showing import links, said, show
from tests.support.events import Book

TRACE = b"PK\x05\x06" + b"\0" * 18
BILL = "B1"


@dataclass(frozen=True)
class Traced:
    """A desk over a record with one trace, and where the trace is named."""

    desk: Desk
    position: int
    blobs: str

    @property
    def url(self) -> str:
        """Its address."""
        return f"/traces/acme/{sample.RUN}/{self.position}.zip"


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traced]:
    folder = tmp_path / "kept"
    folder.mkdir()
    name = open_blobs(str(folder)).put(TRACE, media_type="application/zip")
    positions: list[int] = []

    def acme() -> Book:
        book = Book("acme")
        task = sample.done(book.run(sample.RUN), "task-done", BILL)
        fact = e.TraceAttached(blob=name, tool="playwright 1.65.2", octets=len(TRACE), calls=7, masked=2)
        positions.append(task.add(fact).row.position)
        return book

    monkeypatch.setattr(sample, "acme", acme)
    made = sample.make(tmp_path)
    open_blobs(made.blobs).put(TRACE, media_type="application/zip")
    desk = made.desk()
    yield Traced(desk, positions[0], made.blobs)
    desk.close()


def test_a_trace_is_downloaded_as_it_was_stored(traced: Traced) -> None:
    with client_of(Evidence(traced.desk), LocalAccess({"acme"})) as client:
        answer = client.get(traced.url)
        assert (answer.status_code, answer.content) == (200, TRACE)
        assert answer.headers["content-type"] == "application/zip"
        assert answer.headers["content-disposition"] == f'attachment; filename="trace-{traced.position}.zip"'
        assert "sandbox" in answer.headers["content-security-policy"]
        for other in (traced.url.replace("acme", "globex"), traced.url.replace(sample.RUN, "run-other")):
            assert client.get(other).status_code == 404
        for number in ("1", "x", "99999"):
            assert client.get(f"/traces/acme/{sample.RUN}/{number}.zip").status_code == 404
    with client_of(Evidence(traced.desk), LocalAccess({"globex"})) as client:
        assert client.get(traced.url).status_code == 404


def test_a_trace_with_other_bytes_is_not_handed_out(traced: Traced) -> None:
    for path in Path(traced.blobs).rglob("*"):
        if path.is_file() and path.read_bytes() == TRACE:
            path.chmod(0o600)
            path.write_bytes(b"changed")
    with client_of(Evidence(traced.desk), LocalAccess({"acme"})) as client:
        assert client.get(traced.url).status_code == 422


def test_the_chain_of_the_bill_leads_to_it(traced: Traced) -> None:
    chain = traced.desk.chain(TenantId("acme"), BILL)
    assert chain is not None
    (write,) = chain.writes
    assert write.trace_position == traced.position
    open_desk(traced.desk, Everyone("acme"))
    page = show("chain", bill=BILL)
    assert traced.url in links(page)
    assert "playwright show-trace" in said(page)
