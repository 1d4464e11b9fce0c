"""A moment in a row is volatile, with its date or without; a date alone is data."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from executor.guards.target_gate import TargetGate
from executor.guards.world import IsolatedWorld
from executor.tools.base import SiteRules

pytestmark = pytest.mark.browser

ROW = (
    "<table style='table-layout:fixed;width:600px'>"
    "<tr id=bill><td>CY1</td><td id=at>{at}</td><td><button>Pay</button></td></tr></table>"
)


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("2026-11-19 23:50:23", "4 秒前", True),
        ("2026/11/19 23:50", "3 minutes ago", True),
        ("2026年11月19日 23:50", "2026年11月20日 08:01", True),
        ("23:50:23", "23:50:24", True),
        ("2026-11-19", "2026-11-20", False),
        ("2026-11 23:50", "2026-12 23:50", False),
    ],
)
def test_only_a_moment_may_change_in_the_row_that_is_clicked(
    page: Page, before: str, after: str, *, same: bool
) -> None:
    gate = TargetGate(IsolatedWorld(page, SiteRules(origins=())))
    page.goto("data:text/html;charset=utf-8," + ROW.format(at=before))
    target = gate.observe(page.locator("button"))
    assert target is not None
    page.evaluate("text => { document.querySelector('#at').textContent = text; }", after)

    refused = gate.arm(target)

    assert (refused is None) is same
