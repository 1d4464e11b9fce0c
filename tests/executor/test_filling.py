"""Whatever an order's id looks like, it is found as itself and nothing else: in pages, in addresses, in requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page, sync_playwright

from domain.errors import ConfigError
from domain.values import Intent
from executor.filling import MAX_ID, css_text, in_path, in_selector, is_css, segments, wrong_with_id
from executor.guards.request_rules import expected_path, judge_request, read_request
from executor.orders import load_batch
from executor.recipe import load_recipe
from executor.tools.chromium import choose_chromium, launch

RECIPE = load_recipe("vendor-portal")
HOSTILE = (
    "'] button, tr[data-bill-id='other",
    'a"] >> button >> "b',
    "\\",
    "back\\'slash",
    "line\nbreak",
    "tab\tand\rreturn\f",
    "[brackets](and){braces}",
    "CY202611\u20110007",  # a hyphen that is none
    "\u0421Y202611-0007",  # a Cyrillic letter that looks like C
    "7 starts with a digit",
    "-",
    "--x",
    "差异单 0007",
    "a/../b",
    "%2F",
    "{bill_id}",
    "*",
    "a,b",
    "<b>&amp;",
    "\x01\x7f\x9f",
    "\u2028\u202e",
    "😀",
    "x" * MAX_ID,
)
IDS = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=MAX_ID
    ).filter(lambda text: not wrong_with_id(text)),
    st.text("'\"\\[](){}<>=,.:#*~^$|>+ \n\r\t-_aA1/%&", min_size=1, max_size=12).filter(
        lambda text: not wrong_with_id(text)
    ),
)


def intent_of(bill_id: str) -> Intent:
    return Intent(
        bill_id=bill_id,
        action="mark_processed",
        counterparty="Northwind",
        amount_minor=100,
        currency="CNY",
        month="2026-11",
        expected_status="processed",
    )


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = launch(playwright, choose_chromium(playwright))
        yield browser.new_page()
        browser.close()


SHOW = """ids => {
  document.body.replaceChildren(...ids.map(id => {
    const row = document.createElement("tr"), button = document.createElement("button");
    row.setAttribute("data-bill-id", id);
    row.id = id;
    button.setAttribute("data-action", "detail");
    row.append(button);
    return row;
  }));
}"""
OF = "buttons => buttons.map(button => button.parentElement.getAttribute('data-bill-id'))"


@pytest.mark.browser
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bill_id=IDS, others=st.lists(IDS, max_size=3))
@example(bill_id=HOSTILE[0], others=["other"])
@example(bill_id=HOSTILE[1], others=["b"])
@example(bill_id=HOSTILE[7], others=["CY202611-0007"])
def test_the_recipes_selector_finds_the_row_of_this_bill_and_no_other(
    page: Page, bill_id: str, others: list[str]
) -> None:
    page.evaluate(SHOW, [*(other for other in others if other != bill_id), bill_id])
    section = next(
        step for step in RECIPE.actions["mark_processed"].steps if step.selectors and step.label == "detail"
    )
    step = RECIPE.step(section, intent_of(bill_id), language="zh", irreversible=False)
    for selector in (*step.selectors, in_selector('tr[data-bill-id="{b}"] > button', {"b": bill_id})):
        assert page.eval_on_selector_all(selector, OF) == [bill_id]
    by_name = in_selector("#{b} > button", {"b": bill_id})
    assert page.eval_on_selector_all(by_name, OF) == [bill_id]


@given(bill_id=IDS)
def test_an_address_has_the_id_as_one_part_and_gives_it_back(bill_id: str) -> None:
    path = in_path("/bills/{bill_id}/actions", bill_id=bill_id)
    assert urlsplit(f"http://vendor.example{path}").path == path
    assert segments(path) == ("", "bills", bill_id, "actions")


@given(bill_id=IDS, other=IDS)
def test_a_request_passes_by_the_bill_it_names_however_a_browser_encodes_it(bill_id: str, other: str) -> None:
    rule = RECIPE.request_rule({})
    usual = expected_path(rule, intent_of(bill_id))
    as_browsers_do = usual.replace("%27", "'").replace("%28", "(").replace("%29", ")").replace("%21", "!")
    for path, passes in (
        (usual, True),
        (as_browsers_do, True),
        (expected_path(rule, intent_of(other)), False),
    ):
        if passes or other != bill_id:
            request = read_request("POST", f"http://vendor.example{path}", "", b"")
            found = judge_request(request, rule, intent_of(bill_id), before=0)
            assert (f"POST {usual}" in found.expected) != passes


@given(bill_id=st.text(min_size=1))
def test_an_escaped_text_holds_nothing_that_ends_a_string_or_begins_another_part(bill_id: str) -> None:
    assert not set(css_text(bill_id)) & set("'\"[](){}<>=,.:#*~^$|>+;/\n\r\t\f@!%&?`")


def test_selectors_of_other_engines_are_told_apart() -> None:
    assert all(is_css(text) for text in ("tr[data-id='{b}']", "#x .y > button", ".a:has-text('{b}')"))
    other = ("text={b}", "xpath=//tr", "//tr", "tr >> text={b}", '"{b}"', "role=button")
    assert not any(is_css(text) for text in other)


def test_a_recipe_that_puts_an_order_s_text_where_it_can_not_be_escaped_is_refused(tmp_path: Path) -> None:
    text = (Path("executor/recipes") / "practice-form.yaml").read_text(encoding="utf-8")
    path = tmp_path / "recipe.yaml"
    path.write_text(text.replace('["#submit"]', '["text={bill_id}"]'), encoding="utf-8")
    with pytest.raises(ConfigError, match="can't be escaped; write it as CSS"):
        load_recipe(str(path))


@pytest.mark.parametrize("bill", ["", ".", "..", "x" * (MAX_ID + 1), "a\0b"])
def test_an_id_that_fits_no_place_is_refused_when_the_batch_is_read(tmp_path: Path, bill: str) -> None:
    path = tmp_path / "batch.yaml"
    quoted = bill.replace("\0", "\\0")
    path.write_text(
        "batch: b\ntenant: acme\norders:\n"
        f'  - {{bill: "{quoted}", action: mark_processed, counterparty: N, amount: "1.00", currency: CNY,'
        ' month: "2026-11"}\n',
        encoding="utf-8",
    )
    with pytest.raises(ConfigError, match=r"order 1 \(.*\) names a bill whose id "):
        load_batch(path, dict(RECIPE.rules()))
