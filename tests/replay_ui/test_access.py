"""The door: who reaches the desk at all."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit import config

from domain.errors import ConfigError
from replay_ui.access import LocalAccess, check_bind, host_name, is_loopback
from replay_ui.asgi import create_app, layers, listener
from replay_ui.headers import SecurityHeaders, content_security_policy, inline_script_hashes
from tests.replay_ui.synthetic import SyntheticSource

LOCAL: Final = ("127.0.0.1", 50000)


async def _socket(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text("open")
    await websocket.close()


def _page(_request: Request) -> PlainTextResponse:
    return PlainTextResponse("desk")


def client(peer: tuple[str, int] = LOCAL, host: str = "127.0.0.1:8501") -> TestClient:
    app = Starlette(
        routes=[Route("/", _page), WebSocketRoute("/_stcore/stream", _socket)],
        middleware=layers(LocalAccess({"acme"})),
    )
    return TestClient(app, base_url=f"http://{host}", client=peer)


@pytest.mark.parametrize("host", ["127.0.0.1:8501", "localhost:8501", "[::1]:8501", "127.0.0.1"])
def test_this_machine_is_let_in_under_its_loopback_names(host: str) -> None:
    assert client(host=host).get("/").text == "desk"


@pytest.mark.parametrize(
    "host",
    ["rebound.example:8501", "localhost.evil.example", "192.168.1.4:8501", "127.0.0.1.nip.io", "0.0.0.0"],  # noqa: S104 - refused
)
def test_a_name_pointed_at_loopback_is_refused(host: str) -> None:
    answer = client(host=host).get("/")
    assert answer.status_code == 403
    assert answer.text != "desk"


@pytest.mark.parametrize("peer", ["192.168.1.4", "10.0.0.1", "2001:db8::1", "testclient"])
def test_another_machine_is_refused(peer: str) -> None:
    assert client(peer=(peer, 40000)).get("/").status_code == 403


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host"])
def test_a_forwarded_request_is_refused_because_every_peer_would_look_local(header: str) -> None:
    assert client().get("/", headers={header: "127.0.0.1"}).status_code == 403


def test_a_missing_host_is_refused() -> None:
    assert client().get("/", headers={"Host": ""}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9999", "null"])
def test_a_websocket_from_another_site_is_closed(origin: str) -> None:
    with (
        pytest.raises(WebSocketDisconnect) as refused,
        client().websocket_connect("/_stcore/stream", headers={"Origin": origin}),
    ):
        pass
    assert refused.value.code == 1008


def test_a_websocket_of_our_own_page_opens() -> None:
    url = "ws://127.0.0.1:8501/_stcore/stream"
    headers = {"Origin": "http://127.0.0.1:8501", "Host": "127.0.0.1:8501"}
    with client().websocket_connect(url, headers=headers) as opened:
        assert opened.receive_text() == "open"


def test_a_viewer_may_read_what_the_record_holds_now() -> None:
    tenants = {"acme"}
    access = LocalAccess(tenants)
    scope = {"type": "http", "client": LOCAL, "headers": [(b"host", b"localhost:8501")]}
    viewer = access.viewer(HTTPConnection(scope))
    assert viewer is not None
    assert not viewer.may_read("globex")
    tenants.add("globex")
    assert viewer.may_read("globex")


def test_a_desk_without_access_control_stays_on_loopback() -> None:
    access = LocalAccess({"acme"})
    for host in ("127.0.0.1", "localhost", "::1"):
        check_bind(host, access)
    for host in ("0.0.0.0", "::", "192.168.1.4", "desk.example"):  # noqa: S104 - refused
        with pytest.raises(ConfigError, match=r"bind to 127\.0\.0\.1"):
            check_bind(host, access)


def test_a_port_in_use_is_named_with_the_remedy() -> None:
    with listener("127.0.0.1", 0) as bound:
        bound.listen()
        with pytest.raises(ConfigError, match="choose another with --port"):
            listener("127.0.0.1", bound.getsockname()[1])
        assert bound.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize(
    ("check", "text"),
    [(host_name, "[::1"), (host_name, "a:b:c"), (is_loopback, "127.0.0.1."), (is_loopback, "")],
)
def test_malformed_names_are_not_loopback(check: Callable[[str], object], text: str) -> None:
    assert not is_loopback(str(check(text)))


def test_every_answer_carries_the_headers() -> None:
    for answer in (client().get("/"), client().get("/nothing"), client(host="evil.example").get("/")):
        assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"


def test_the_policy_allows_no_inline_script_but_streamlits_own_by_hash() -> None:
    directives = dict(part.split(" ", 1) for part in content_security_policy().split("; "))
    assert "'unsafe-inline'" not in directives["script-src"]
    assert "'unsafe-eval'" not in directives["script-src"]
    assert "'sha256-" in directives["script-src"]
    assert not [source for value in directives.values() for source in value.split() if "//" in source]


def test_an_inline_script_is_named_by_the_hash_that_browsers_compute() -> None:
    # Example of the CSP Level 2 recommendation, 7.16.2.
    assert inline_script_hashes("<script>alert('Hello, world.');</script>") == (
        "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='",
    )


def _signed_in(_request: Request) -> PlainTextResponse:
    answer = PlainTextResponse("desk")
    answer.set_cookie("_streamlit_user", "x", httponly=True)
    answer.set_cookie("other", "y", secure=True)
    return answer


@pytest.mark.parametrize("secure", [True, False])
def test_behind_tls_cookies_travel_over_nothing_else(secure: bool) -> None:  # noqa: FBT001 - a column
    app = Starlette(routes=[Route("/", _signed_in)], middleware=[Middleware(SecurityHeaders, secure=secure)])
    headers = TestClient(app).get("/").headers
    cookies = headers.get_list("set-cookie")
    assert [cookie.lower().count("secure") for cookie in cookies] == [int(secure), 1]
    assert ("strict-transport-security" in headers) is secure


@pytest.mark.parametrize("origin", ["http://evil.example", "null"])
def test_what_changes_something_does_not_come_from_another_site(origin: str) -> None:
    http = client()
    assert http.post("/", headers={"Origin": origin}).status_code == 403
    assert http.delete("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert http.post("/", headers={"Origin": "http://127.0.0.1:8501"}).status_code == 405


def test_no_program_presses_the_buttons_of_a_page() -> None:
    create_app(SyntheticSource({}), LocalAccess({"acme"}))
    assert config.get_option("server.enableAgentApi") is False


def test_a_page_does_not_end_with_a_search_for_garbage_in_all_that_is_held() -> None:
    create_app(SyntheticSource({}), LocalAccess({"acme"}))
    assert config.get_option("runner.postScriptGC") is False
