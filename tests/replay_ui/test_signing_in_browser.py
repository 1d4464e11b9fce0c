"""Signing in through a real OpenID provider, in a real Chromium, at a desk that its command serves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from domain import events as e
from domain.ids import PrincipalId, TenantId, access_stream
from projections.reading import open_reader
from replay_ui.oidc import CALLBACK
from tests.replay_ui.sample import DONE, OTHER_RUN, RUN, Sample, make
from tests.replay_ui.serving import free_port, served, settled
from tests.replay_ui.signing_in import (
    ENVIRONMENT,
    EVE,
    LI_NA,
    OMAR,
    STRANGER,
    UNVERIFIED,
    cookie,
    settings,
    written,
)
from tests.support.openid import Account, Provider, openid_provider

pytestmark = pytest.mark.browser
COOKIE = "_streamlit_user"


@dataclass(frozen=True)
class Place:
    """A desk with access control, and who signs people in there."""

    url: str
    provider: Provider
    sample: Sample


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("access")
    sample = make(folder)
    port = free_port()
    known = (
        LI_NA,
        OMAR,
        EVE,
        STRANGER,
        Account(UNVERIFIED.subject, "unverified@example.com", verified=False),
    )
    with openid_provider(*known) as provider:
        content = settings(f"http://127.0.0.1:{port}", provider.metadata_url)
        content["people"].append(
            {"claim": "unverified@example.com", "principal": "person:un", "roles": {"acme": ["auditor"]}}
        )
        options = ("--access", str(written(folder, content)), "--port", str(port))
        with served(sample, folder, *options, tenant="", **ENVIRONMENT) as (url, _):
            yield Place(url, provider, sample)


def sign_in(page: Page, place: Place, name: str) -> None:
    page.goto(place.url)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=name, exact=True).click()
    page.wait_for_url(f"{place.url}/**")
    settled(page)


def status(page: Page, url: str) -> int:
    return page.request.get(url, max_redirects=0).status


def test_a_stranger_sees_the_way_in_and_nothing_else(page: Page, place: Place) -> None:
    page.goto(f"{place.url}/replay?tenant=acme&run={RUN}")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert page.locator(".pr-player, .ds-sheet").count() == 0
    assert page.get_by_role("link").all_inner_texts() == ["Skip to main content"]
    assert "acme" not in page.locator("body").inner_text()
    for path in (f"/manifest/acme/{RUN}.json", "/bundles/acme.zip?kind=log", "/events/acme/x/1.json"):
        assert status(page, place.url + path) == 404


def test_a_listed_person_signs_in_sees_their_tenant_and_leaves_a_trace(page: Page, place: Place) -> None:
    sign_in(page, place, "li.na")
    expect(page.get_by_role("heading", name="Cases")).to_be_visible()
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Runs").click()
    expect(page.get_by_text("person:li.na")).to_be_visible()
    expect(page.get_by_text("approver · investigator")).to_be_visible()
    expect(page.get_by_text("Local single-user mode")).to_have_count(0)
    page.locator("tr.ds-opens", has_text="guarded").click()
    expect(page.locator(".pr-player")).to_have_attribute("data-state", "ready")
    page.goto(f"{place.url}/chain?bill={DONE}")
    expect(page.locator(".ds-heading h2").first).to_have_text(DONE)
    with open_reader(place.sample.store) as reader:
        stream = access_stream(PrincipalId("person:li.na"))
        opened = [item.event for item in reader.stream(TenantId("acme"), stream)]
    assert [(fact.kind, fact.subject) for fact in opened if isinstance(fact, e.EvidenceOpened)] == [
        ("run", RUN),
        ("bill", DONE),
    ]
    assert all(
        fact.account == f"{place.provider.url} 1" and fact.roles == ("approver", "investigator")
        for fact in opened
        if isinstance(fact, e.EvidenceOpened)
    )


def test_another_tenant_is_not_there_for_a_listed_person(page: Page, place: Place) -> None:
    sign_in(page, place, "eve")
    page.goto(f"{place.url}/replay?tenant=acme&run={RUN}")
    expect(page.get_by_text("There is no such tenant")).to_be_visible()
    assert status(page, f"{place.url}/manifest/acme/{RUN}.json") == 404
    assert status(page, f"{place.url}/manifest/globex/{OTHER_RUN}.json") == 200


def test_evidence_is_carried_away_by_auditors_only(page: Page, place: Place) -> None:
    bundle = f"{place.url}/bundles/acme.zip?kind=bill&name={DONE}"
    sign_in(page, place, "li.na")
    assert status(page, bundle) == 404
    page.context.clear_cookies()
    sign_in(page, place, "omar")
    assert status(page, bundle) == 200


@pytest.mark.parametrize("name", ["stranger", "unverified"])
def test_who_is_not_listed_or_not_vouched_for_sees_nothing(page: Page, place: Place, name: str) -> None:
    sign_in(page, place, name)
    assert page.locator(".ds-sheet").count() == 0
    assert status(page, f"{place.url}/manifest/acme/{RUN}.json") == 404
    if name == "stranger":
        expect(page.get_by_text("stranger@example.com is not listed")).to_be_visible()


def test_signing_out_ends_the_session_here_at_the_provider_and_for_copies(page: Page, place: Place) -> None:
    sign_in(page, place, "omar")
    copied = session(page.context)
    other = page.context.new_page()
    other.goto(f"{place.url}/chain")
    settled(other)
    before = len(place.provider.signed_out)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert len(place.provider.signed_out) == before + 1
    assert fetched(f"{place.url}/manifest/acme/{RUN}.json", copied) == 404
    other.get_by_role("button", name="Look again").click()
    expect(other.get_by_role("button", name="Sign in")).to_be_visible()
    assert other.locator(".ds-sheet").count() == 0


def test_a_cookie_that_the_desk_did_not_sign_is_nobody(page: Page, place: Place) -> None:
    forged = cookie(OMAR, secret="a guess at the secret, long enough", origin=place.url)
    page.context.add_cookies([{"name": COOKIE, "value": forged, "url": place.url}])
    page.goto(place.url)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert status(page, f"{place.url}/manifest/acme/{RUN}.json") == 404


def test_a_name_that_is_not_the_desks_is_turned_away(place: Place) -> None:
    assert fetched(f"{place.url}/", "", host="evil.example") == 403


def test_secrets_reach_no_page_and_no_event(page: Page, place: Place) -> None:
    sign_in(page, place, "omar")
    page.goto(f"{place.url}/replay?run={RUN}")
    settled(page)
    shown = page.content() + json.dumps(page.evaluate("[Object.entries(localStorage), document.cookie]"))
    with open_reader(place.sample.store) as reader:
        stored = b"".join(row.body for row in reader.rows(TenantId("acme")))
    for secret in ENVIRONMENT.values():
        assert secret not in shown
        assert secret.encode() not in stored
    assert COOKIE not in shown, "the session is out of reach of scripts"


def test_a_callback_without_its_state_signs_nobody_in(page: Page, place: Place) -> None:
    page.goto(f"{place.url}{CALLBACK}?code=guessed&state=guessed")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def session(context: BrowserContext) -> str:
    cookies = {item.get("name", ""): item.get("value", "") for item in context.cookies()}
    return "; ".join(f"{name}={value}" for name, value in cookies.items() if name.startswith(COOKIE))


def fetched(url: str, cookies: str, *, host: str = "") -> int:
    headers = {"Cookie": cookies} | ({"Host": host} if host else {})
    try:
        with urlopen(Request(url, headers=headers)) as answer:  # noqa: S310 - loopback
            return int(answer.status)
    except OSError as error:
        return int(getattr(error, "code", 0))
