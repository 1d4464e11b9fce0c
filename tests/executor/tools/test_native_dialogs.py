"""Questions of the browser itself: dismissed, recorded, planned again, and answered once when identical."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Page

from domain import events as e
from executor.sandbox.portal.server import PortalThread
from executor.tools.browser_hands import BrowserHands
from tests.support.rungs import Works, works_on

pytestmark = pytest.mark.browser

NATIVE = """(question) => {
  const bill = document.querySelector('form.bill-form');
  let asked = 0;
  document.addEventListener('click', (event) => {
    const button = event.target.closest('button[data-action=process]');
    if (!button) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    asked += 1;
    if (confirm(question.replaceAll('{n}', String(asked)))) {
      const fields = new URLSearchParams(new FormData(bill));
      fields.set('action', 'process');
      fetch(bill.getAttribute('action'), {method: 'POST', body: fields})
        .then(() => { document.title = 'sent'; });
    }
  }, true);
}"""


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalThread]:
    with PortalThread(tmp_path_factory.mktemp("portal") / "portal.sqlite", counts={"acme": 16}) as running:
        yield running


@pytest.fixture(scope="module")
def taken() -> list[str]:
    return []


@pytest.fixture
def works(portal: PortalThread, tmp_path: Path, taken: list[str]) -> Iterator[Works]:
    portal.control.reset()
    with works_on(portal, tmp_path, ladder=["browser"], taken=taken, sources=["api"]) as made:
        action = made.workshop.target.recipe.actions["mark_processed"]
        steps = list(action.steps[:-2])
        steps.append(
            msgspec.structs.replace(action.steps[-2], writes=True, native_confirm=True, drawn=["bill_id"])
        )
        native = msgspec.structs.replace(action, steps=steps)
        recipe = msgspec.structs.replace(
            made.workshop.target.recipe,
            actions={**made.workshop.target.recipe.actions, "mark_processed": native},
        )
        object.__setattr__(made.workshop.target, "recipe", recipe)
        yield made


def asking(works: Works, question: str) -> None:
    """From now on every page of the vendor asks this before it marks a bill."""
    hands = works.workshop.hands()
    assert isinstance(hands, BrowserHands)
    page: Page = hands.tool.page
    script = f"window.addEventListener('DOMContentLoaded', () => ({NATIVE})({question!r}))"
    page.add_init_script(script)


def test_the_same_question_about_the_same_bill_is_answered_once(works: Works) -> None:
    bill: Mapping[str, Any] = works.bill()
    asking(works, f"Mark {bill['id']} as processed?")
    order = works.order(bill)
    outcome = works.run(order)
    assert (outcome.status, outcome.reason) == ("succeeded", "confirmed by api")
    assert works.truth(bill) == ("processed", 1, 1)
    marks = [fact for fact in works.facts(order, e.ActionProposed) if fact.label == "标记处理"]
    assert [fact.writes for fact in marks] == [False, True]


def test_another_question_the_second_time_is_dismissed_and_goes_to_a_person(works: Works) -> None:
    bill = works.bill()
    asking(works, f"Mark {bill['id']} as processed? ({{n}})")
    assert works.run(works.order(bill)).status == "taken_over"
    assert works.truth(bill) == ("pending", 0, 0)


def test_a_question_about_no_bill_is_not_answered(works: Works) -> None:
    bill = works.bill()
    asking(works, "Are you sure?")
    outcome = works.run(works.order(bill))
    assert (outcome.status, outcome.verdict) == ("taken_over", "needs_confirm_screen")
    assert works.truth(bill) == ("pending", 0, 0)


def test_a_page_that_asks_nothing_sends_nothing(works: Works) -> None:
    bill = works.bill()
    outcome = works.run(works.order(bill))
    assert (outcome.status, outcome.verdict) == ("taken_over", "needs_confirm_screen")
    assert works.truth(bill) == ("pending", 0, 0)
