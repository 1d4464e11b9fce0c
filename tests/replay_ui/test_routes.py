"""Evidence routes: what they send, and to whom they don't exist."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.testclient import TestClient

from replay_ui.access import Access, LocalAccess
from replay_ui.asgi import layers
from replay_ui.openings import Openings
from replay_ui.player.manifest import CHUNK_SIZE, COLUMNS, Header
from replay_ui.roles import Viewer
from replay_ui.routes import Frame, FrameSource, evidence_routes
from tests.replay_ui.synthetic import SyntheticSource, draw, entry

N: Final = CHUNK_SIZE + 3
RUNS: Final = {("acme", "run-1"): N, ("globex", "run-1"): 70, ("globex", "run-9"): 3}


class _LoggedOut(LocalAccess):
    """Admits everybody to the log-in page, and nobody is logged in."""

    local_only = False

    def admits(self, connection: HTTPConnection) -> bool:
        return True

    def viewer(self, connection: HTTPConnection) -> Viewer | None:
        return None


@pytest.fixture(scope="module")
def source() -> SyntheticSource:
    return SyntheticSource(RUNS, corrupt=frozenset({5}))


def client_of(
    source: FrameSource, access: Access, openings: Openings | None = None, **options: object
) -> TestClient:
    app = Starlette(routes=evidence_routes(source, access, openings or Openings()), middleware=layers(access))
    settings: dict[str, object] = {"base_url": "http://127.0.0.1:8501", "client": ("127.0.0.1", 50000)}
    return TestClient(app, **(settings | options))  # type: ignore[arg-type]  # both are what it takes


@pytest.fixture
def client(source: SyntheticSource) -> Iterator[TestClient]:
    with client_of(source, LocalAccess({"acme"})) as opened:
        yield opened


def frame_url(index: int, tenant: str = "acme", run: str = "run-1") -> str:
    return f"/frames/{tenant}/{run}/{entry(index).sha256}"


def test_a_frame_is_sent_as_it_was_stored(client: TestClient) -> None:
    answer = client.get(frame_url(3))
    assert answer.status_code == 200
    assert answer.content == draw(3)
    assert hashlib.sha256(answer.content).hexdigest() == entry(3).sha256
    assert answer.headers["content-type"] == "image/png"
    assert "content-encoding" not in answer.headers


def test_a_frame_may_be_kept_for_ever_by_this_viewer_alone(client: TestClient) -> None:
    answer = client.get(frame_url(3))
    assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert answer.headers["etag"] == f'"{entry(3).sha256}"'
    again = client.get(frame_url(3), headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_evidence_opened_by_its_address_is_inert(client: TestClient) -> None:
    headers = client.get(frame_url(3)).headers
    assert "sandbox" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_what_claims_to_be_a_page_is_sent_as_octets(source: SyntheticSource) -> None:
    class Html(SyntheticSource):
        def frame(self, tenant: str, run: str, sha256: str) -> Frame | None:
            return Frame(b"<script>", "text/html")

    with client_of(Html({}), LocalAccess({"acme"})) as client:
        assert client.get(frame_url(0)).headers["content-type"] == "application/octet-stream"


def test_a_store_that_notices_changed_bytes_is_heard(client: TestClient) -> None:
    answer = client.get(frame_url(5))
    assert answer.status_code == 422
    assert answer.headers["cache-control"] == "private, no-store"


def test_the_header_says_how_long_the_run_is_and_where_it_was_stopped(client: TestClient) -> None:
    answer = client.get("/manifest/acme/run-1.json")
    header = msgspec.json.decode(answer.content, type=Header)
    assert (header.tenant, header.run, header.frames, header.chunk) == ("acme", "run-1", N, CHUNK_SIZE)
    assert [(stop.frame, stop.tone) for stop in header.stops] == [(9, "stopped"), (23, "failed")]
    assert answer.headers["cache-control"] == "private, no-cache"
    etag = answer.headers["etag"]
    assert client.get("/manifest/acme/run-1.json", headers={"If-None-Match": etag}).status_code == 304


def test_chunks_are_columns_and_cover_the_run(client: TestClient) -> None:
    chunks = [client.get(f"/manifest/acme/run-1/{k}.json").json() for k in (0, 1)]
    assert [chunk["n"] for chunk in chunks] == [CHUNK_SIZE, 3]
    assert set(chunks[0]["columns"]) == set(COLUMNS)
    assert all(len(column) == CHUNK_SIZE for column in chunks[0]["columns"].values())
    assert chunks[1]["columns"]["sha256"][2] == entry(CHUNK_SIZE + 2).sha256
    assert client.get("/manifest/acme/run-1/2.json").status_code == 404


def test_a_stored_event_is_sent_by_its_position(client: TestClient) -> None:
    assert client.get("/events/acme/run-1/102.json").json()["name"] == "action.executed"


@pytest.mark.parametrize(
    "path",
    [
        "/manifest/globex/run-1.json",
        "/manifest/globex/run-1/0.json",
        "/manifest/globex/run-9.json",
        "/manifest/acme/run-9.json",  # a run of the other tenant under the viewer's own name
        "/events/globex/run-1/100.json",
        frame_url(0, tenant="globex"),
        frame_url(60, tenant="acme", run="run-9"),
        "/manifest/nobody/run-1.json",
        "/frames/acme/run-1/" + "0" * 64,
        "/frames/acme/run-1/" + "A" * 64,
        "/frames/acme/run-1/%2e%2e%5c%2e%2e%5cetc",
        "/manifest/acme/run-1/-1.json",
        "/manifest/acme/run-1/0x0.json",
        "/manifest/acme/run-1/" + "9" * 400 + ".json",
        "/events/acme/run-1/99999.json",
    ],
)
def test_what_is_not_the_viewers_does_not_exist(client: TestClient, path: str) -> None:
    nothing = client.get("/manifest/acme/no-such-run.json")
    answer = client.get(path)
    assert (answer.status_code, answer.content) == (404, nothing.content)
    assert sorted(answer.headers.items()) == sorted(nothing.headers.items())


def test_an_etag_reveals_nothing_of_another_tenant(client: TestClient) -> None:
    tag = {"If-None-Match": f'"{entry(0).sha256}"'}
    assert client.get(frame_url(0, tenant="globex"), headers=tag).status_code == 404


def test_nobody_logged_in_sees_nothing(source: SyntheticSource) -> None:
    with client_of(source, _LoggedOut({"acme"})) as client:
        assert client.get(frame_url(3)).status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "null"},
    ],
)
def test_another_sites_page_gets_no_evidence(client: TestClient, headers: dict[str, str]) -> None:
    assert client.get(frame_url(3), headers=headers).status_code == 404


def test_only_reading_is_possible(client: TestClient) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert client.request(method, frame_url(3)).status_code == 405
