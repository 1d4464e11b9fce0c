"""Every route of the desk, asked for another tenant's evidence with a session that is good for one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from domain import events as e
from domain.ids import TaskId, TenantId, task_stream
from executor.store.blobs import open_blobs
from projections.views.reconciliation import break_id
from replay_ui.asgi import layers
from replay_ui.bundles import bundle_routes
from replay_ui.data import Desk
from replay_ui.evidence import Evidence
from replay_ui.openings import Openings
from replay_ui.routes import evidence_routes
from tests.replay_ui import sample as sample_record
from tests.replay_ui.sample import DONE, DOUBLE, OTHER_RUN, RUN, SECRET_BILL, WATCHED, Sample, make
from tests.replay_ui.signing_in import EVE, LI_NA, OMAR, PLACE, STRANGER, access, cookie
from tests.support.events import Book
from tests.support.openid import Account

TRACE = b"PK\x05\x06" + b"\0" * 18
ACME, GLOBEX = TenantId("acme"), TenantId("globex")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The record, with the trace of a run beside its screens."""
    folder, plain = tmp_path_factory.mktemp("record"), sample_record.acme
    kept = tmp_path_factory.mktemp("kept")
    blob = open_blobs(str(kept)).put(TRACE, media_type="application/zip")

    def acme() -> Book:
        book = plain()
        fact = e.TraceAttached(blob=blob, tool="playwright 1.65.2", octets=len(TRACE), calls=7, masked=2)
        book.add(fact, stream=task_stream(TaskId("task-done")), run=RUN, task="task-done")
        return book

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_record, "acme", acme)
        made = make(folder)
    open_blobs(made.blobs).put(TRACE, media_type="application/zip")
    return made


@pytest.fixture
def routes(desk: Desk) -> list[Route]:
    who = access()
    return [*evidence_routes(Evidence(desk), who, Openings()), *bundle_routes(desk, who, Openings())]


@pytest.fixture
def http(routes: list[Route]) -> Iterator[TestClient]:
    with TestClient(Starlette(routes=routes, middleware=layers(access())), base_url=PLACE) as client:
        yield client


def real_addresses(desk: Desk) -> dict[str, str]:
    """Route → an address of acme's evidence that exists."""
    line = desk.timeline(ACME, RUN)
    (item,) = desk.imports(ACME)
    assert line is not None
    entry = line.entries[0]
    trace = next(
        one.row.position for one in desk.reader.events(ACME) if isinstance(one.event, e.TraceAttached)
    )
    difference = break_id(ACME, "2026-11", DOUBLE, "duplicate_in_file")
    return {
        "/manifest/{tenant}/{run}.json": f"/manifest/acme/{RUN}.json",
        "/manifest/{tenant}/{run}/{k}.json": f"/manifest/acme/{RUN}/0.json",
        "/frames/{tenant}/{run}/{sha256}": f"/frames/acme/{RUN}/{entry.sha256}",
        "/aligned/{tenant}/{run}/{other}.json": f"/aligned/acme/{RUN}/{WATCHED}.json",
        "/events/{tenant}/{run}/{position}.json": f"/events/acme/{RUN}/{entry.position}.json",
        "/traces/{tenant}/{run}/{position}.zip": f"/traces/acme/{RUN}/{trace}.zip",
        "/bundles/{tenant}/{file:int}/{difference}.zip": f"/bundles/acme/{item.position}/{difference}.zip",
        "/bundles/{tenant}.zip": f"/bundles/acme.zip?kind=bill&name={DONE}",
    }


def get(http: TestClient, path: str, account: Account | None) -> tuple[int, bytes]:
    headers = {} if account is None else {"Cookie": f"{USER_COOKIE_NAME}={cookie(account)}"}
    answer = http.get(path, headers=headers)
    return answer.status_code, answer.content


def test_every_route_has_an_address_that_is_tried(routes: list[Route], desk: Desk) -> None:
    assert {route.path for route in routes} == set(real_addresses(desk))


def test_those_who_may_read_the_evidence_get_it(http: TestClient, desk: Desk) -> None:
    for path in real_addresses(desk).values():
        assert get(http, path, OMAR)[0] == 200, path


@pytest.mark.parametrize("account", [EVE, STRANGER, None], ids=["of-another-tenant", "unlisted", "nobody"])
def test_no_route_gives_another_tenants_evidence_away(
    http: TestClient, desk: Desk, account: Account | None
) -> None:
    for path in real_addresses(desk).values():
        answer = get(http, path, account)
        assert answer == (404, b"Not found\n"), path
        made_up = re.sub(r"/acme(?=[/.])", "/no-such-tenant", path)
        assert get(http, made_up, account) == answer, "as if it did not exist"


def test_another_tenants_ids_under_ones_own_tenant_are_not_there(http: TestClient, desk: Desk) -> None:
    theirs = desk.timeline(GLOBEX, OTHER_RUN)
    assert theirs is not None
    entry = theirs.entries[0]
    for path in (
        f"/manifest/acme/{OTHER_RUN}.json",
        f"/manifest/acme/{OTHER_RUN}/0.json",
        f"/frames/acme/{OTHER_RUN}/{entry.sha256}",
        f"/events/acme/{OTHER_RUN}/{entry.position}.json",
        f"/events/acme/{OTHER_RUN}/1.json",
        f"/aligned/acme/{RUN}/{OTHER_RUN}.json",
        f"/aligned/acme/{OTHER_RUN}/{RUN}.json",
        f"/bundles/acme.zip?kind=bill&name={SECRET_BILL}",
        f"/bundles/acme.zip?kind=run&name={OTHER_RUN}",
        "/bundles/acme.zip?kind=task&name=task-globex",
    ):
        assert get(http, path, OMAR) == (404, b"Not found\n"), path


def test_reading_is_not_carrying_away(http: TestClient, desk: Desk) -> None:
    for route, path in real_addresses(desk).items():
        expected = 404 if route.startswith("/bundles") else 200
        assert get(http, path, LI_NA)[0] == expected, path


@pytest.mark.parametrize("kind", ["", "log-of", "tasks", "everything"])
def test_a_bundle_about_nothing_known_is_refused_with_the_place_to_go(http: TestClient, kind: str) -> None:
    status, content = get(http, f"/bundles/acme.zip?kind={kind}&name=x", OMAR)
    assert status == 422
    assert b"Export" in content
