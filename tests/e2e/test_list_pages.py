"""A bill that a long list shows on a later page is found there; one that is on no page is a person's matter."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser

from domain import events as e
from executor.sandbox.portal.server import PortalThread
from tests.support.batches import Place, secrets_of
from tests.support.chromium import running_browser

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PAGE_SIZE = 20
NEXT = "下一页"


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalThread]:
    path = tmp_path_factory.mktemp("pages") / "portal.db"
    with PortalThread(path, counts={"acme": 80, "globex": 4}) as running, secrets_of(running):
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


def on_page(portal: PortalThread, page: int) -> Mapping[str, Any]:
    """A pending bill that the list of its month shows on that page, counted from one."""
    with portal.client("wang.li") as person:
        for month in sorted({bill["month"] for bill in person.bills(size=100)}):
            shown = person.bills(month=month, size=100)[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
            for bill in shown:
                if bill["status"] == "pending" and bill["currency"] == "CNY":
                    return bill
    raise AssertionError(f"no month has a pending bill on page {page}")


def turned(place: Place) -> int:
    """How often a page of the list was turned, as a step that is on record."""
    return sum(isinstance(fact, e.ActionProposed) and fact.label == NEXT for fact in place.facts())


@pytest.mark.parametrize("page", [1, 2])
def test_a_bill_is_found_on_whatever_page_the_list_shows_it(
    portal: PortalThread, browser: Browser, tmp_path: Path, page: int
) -> None:
    place = Place(folder=tmp_path, portal=portal, bill=on_page(portal, page))
    place.write(ladder=["browser"], sources=["api", "detail"], tools={})
    (outcome,) = place.again(browser).outcomes
    assert outcome.status == "succeeded", outcome
    assert turned(place) == page - 1
    place.assert_settled()


@pytest.mark.parametrize("most", [20, 1])
def test_a_bill_on_no_page_goes_to_a_person_with_the_number_of_pages(
    portal: PortalThread, browser: Browser, tmp_path: Path, most: int
) -> None:
    place = Place(folder=tmp_path, portal=portal, bill=on_page(portal, 2))
    place.write(ladder=["browser"], sources=["api", "detail"], tools={})
    shipped = importlib.resources.files("executor.recipes").joinpath("vendor-portal.yaml")
    recipe = shipped.read_text(encoding="utf-8")
    recipe = recipe.replace("tr[data-bill-id=", "tr[data-number=")
    recipe = recipe.replace("label: next}", f"label: next, most: {most}}}")
    (tmp_path / "other.yaml").write_text(recipe, encoding="utf-8")
    content = yaml.safe_load(place.config.read_text(encoding="utf-8"))
    content["target"]["recipe"] = "other.yaml"
    place.config.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    (outcome,) = place.again(browser).outcomes
    assert (outcome.status, outcome.verdict) == ("taken_over", "page_changed")
    with portal.client("wang.li") as person:
        pages = -(-len(person.bills(month=place.bill["month"], size=100)) // PAGE_SIZE)
    assert pages > 2, "more than the limit of one lets be seen"
    assert outcome.reason.endswith(f"{min(pages, most + 1)} pages of it")
    assert not portal.truth.posts(f"/bills/{place.bill['id']}/actions")
