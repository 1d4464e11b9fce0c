"""The bundle about one difference: to those who may read the tenant, and verifiable without us."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from domain.ids import TenantId
from projections.exports.verify import verify
from projections.views.reconciliation import break_id
from replay_ui.bundles import bundle_routes
from replay_ui.data import Desk
from replay_ui.growth import Answers
from replay_ui.openings import Openings
from tests.replay_ui.sample import DOUBLE, Everyone

ACME = TenantId("acme")
BREAK = break_id(ACME, "2026-11", DOUBLE, "duplicate_in_file")


def client(desk: Desk, *tenants: str) -> TestClient:
    return TestClient(Starlette(routes=bundle_routes(desk, Everyone(*tenants), Openings())))


def address(desk: Desk) -> str:
    (item,) = desk.imports(ACME)
    return f"/bundles/acme/{item.position}/{BREAK}.zip"


def test_a_downloaded_bundle_verifies(desk: Desk, tmp_path: Path) -> None:
    answer = client(desk, "acme").get(address(desk))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["cache-control"] == "private, no-store"
    file = tmp_path / "evidence.zip"
    file.write_bytes(answer.content)
    head = desk.reader.head(ACME)
    assert head is not None
    assert verify(file, expect_root=head.root.hex()).ok
    assert BREAK.encode() in answer.content


def test_nothing_of_the_bundle_stays_behind(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert client(desk, "acme").get(address(desk)).status_code == 200
    assert list(tmp_path.glob("proofreel-*")) == []


def test_another_tenants_bundle_does_not_exist(desk: Desk) -> None:
    stranger = client(desk, "globex")
    refused, unknown = stranger.get(address(desk)), stranger.get("/bundles/nobody/1/0.zip")
    assert refused.status_code == unknown.status_code == 404
    assert refused.content == unknown.content


def test_a_page_elsewhere_can_not_fetch_one(desk: Desk) -> None:
    foreign = {"origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"}
    assert client(desk, "acme").get(address(desk), headers=foreign).status_code == 404


@pytest.mark.parametrize(
    "path", ["/bundles/acme/1/{0}.zip", "/bundles/acme/{1}/0000.zip", "/bundles/acme/x/y.zip"]
)
def test_a_difference_that_is_not_there_is_not_found(desk: Desk, path: str) -> None:
    (item,) = desk.imports(ACME)
    assert client(desk, "acme").get(path.format(BREAK, item.position)).status_code == 404


def test_a_file_that_was_changed_is_no_basis_for_a_bundle(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = address(desk)
    monkeypatch.setattr(desk.blobs, "get", type(desk.blobs)(Path("/nowhere")).get)  # type: ignore[call-arg]
    desk._answers = Answers()  # noqa: SLF001 - what was concluded before the change
    answer = client(desk, "acme").get(place)
    assert answer.status_code == 422
    assert "missing" in answer.text
