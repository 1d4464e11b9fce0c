"""Double clicks and drags through the gate: both ends must still be what was observed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page

from executor.guards.page import GuardedPage, guarded_page
from executor.tools.base import Settle, SiteRules
from tests.support.site import Site

pytestmark = pytest.mark.browser
QUICK = Settle(quiet_ms=40)
BOARD = """() => {
  document.body.innerHTML = `
    <style>.box { width: 120px; height: 60px; margin: 30px; border: 1px solid; user-select: none; }</style>
    <div class=box id=card role=button>INV-4114</div>
    <div class=box id=paid role=button>Paid</div>
    <div class=box id=trash role=button>Trash</div>
    <p id=log></p>`;
  window.said = [];
  const say = (text) => { said.push(text); document.querySelector('#log').textContent = said.join(' '); };
  for (const box of document.querySelectorAll('.box')) {
    box.addEventListener('mousedown', () => say(`down:${box.id}`));
    box.addEventListener('mouseup', () => say(`up:${box.id}`));
    box.addEventListener('dblclick', () => say(`double:${box.id}`));
    box.addEventListener('dragover', (e) => e.preventDefault());
    box.addEventListener('drop', () => say(`drop:${box.id}`));
  }
}"""
DRAGGABLE = "() => { document.querySelector('#card').draggable = true; }"
SWAP = """() => document.querySelector('#card').addEventListener('mousedown', () => {
  const paid = document.querySelector('#paid'), trash = document.querySelector('#trash');
  paid.id = 'other'; paid.textContent = 'Trash'; trash.id = 'paid'; trash.textContent = 'Paid';
})"""


@contextmanager
def board(page: Page, site: Site, *scripts: str) -> Iterator[GuardedPage]:
    rules = SiteRules(origins=(site.url,))
    with guarded_page(page, rules=rules, sink=lambda _: None, mode="guarded", settle=QUICK) as guarded:
        guarded.goto("/form.html")
        for script in (BOARD, *scripts):
            page.evaluate(script)
        yield guarded


def said(page: Page) -> list[str]:
    found: list[str] = page.evaluate("() => said")
    return found


def test_a_double_click_reaches_its_element_twice(page: Page, site: Site) -> None:
    with board(page, site) as guarded:
        report = guarded.double_click("#card", label="INV-4114")
    assert report.performed.status == "executed"
    assert said(page) == ["down:card", "up:card", "down:card", "up:card", "double:card"]


def test_the_second_click_does_not_land_on_what_the_first_one_brought(page: Page, site: Site) -> None:
    swap = """() => document.querySelector('#card').addEventListener('click', () => {
      const veil = document.createElement('button');
      veil.textContent = 'Delete all';
      veil.style = 'position: fixed; left: 0; top: 0; width: 100%; height: 100%';
      veil.onmousedown = () => said.push('down:veil');
      document.body.append(veil);
    })"""
    with board(page, site, swap) as guarded:
        report = guarded.double_click("#card", label="INV-4114")
    assert report.performed.check is not None
    assert report.performed.check.verdict == "target_changed"
    assert "down:veil" not in said(page)


def test_a_drag_ends_on_the_element_that_was_meant(page: Page, site: Site) -> None:
    with board(page, site) as guarded:
        report = guarded.drag("#card", "#paid", label="INV-4114")
    assert report.performed.status == "executed"
    assert said(page) == ["down:card", "up:paid"]


def test_a_drag_of_the_browser_s_own_is_dropped_on_the_element_that_was_meant(page: Page, site: Site) -> None:
    with board(page, site, DRAGGABLE) as guarded:
        report = guarded.drag("#card", "#paid", label="INV-4114")
    assert report.performed.status == "executed"
    assert said(page) == ["down:card", "drop:paid"]


def test_a_drag_whose_end_became_another_element_is_put_back(page: Page, site: Site) -> None:
    with board(page, site, SWAP) as guarded:
        report = guarded.drag("#card", "#paid", label="INV-4114")
    assert report.performed.status == "blocked"
    assert report.performed.check is not None
    assert report.performed.check.verdict == "target_changed"
    assert said(page) == ["down:card", "up:card"]


def test_a_drag_to_nowhere_does_not_begin(page: Page, site: Site) -> None:
    with board(page, site) as guarded:
        report = guarded.drag("#card", "#nowhere", label="INV-4114")
    assert report.performed.status == "failed"
    assert said(page) == []
