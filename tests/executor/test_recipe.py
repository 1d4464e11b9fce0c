"""A target's recipe: complete in every language, and refused when it contradicts itself."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from domain.errors import ConfigError
from executor.recipe import Recipe, load_recipe
from tests.support.vendor import VendorBill
from tests.support.workbench import make_intent

Write = Callable[[dict[str, Any]], Path]


@pytest.fixture
def content() -> dict[str, Any]:
    text = (files("executor.recipes") / "vendor-portal.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(content: dict[str, Any]) -> Path:
        path = tmp_path / "target.yaml"
        path.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8")
        return path

    return written


def refused(path: Path, says: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load_recipe(path.name, beside=path.parent)
    assert says in str(refusal.value)
    assert refusal.value.file == str(path)
    assert refusal.value.remedy


def test_a_recipe_is_read_by_path_or_by_the_name_of_one_that_ships(
    content: dict[str, Any], write: Write
) -> None:
    path = write(content)
    assert (
        load_recipe(str(path)) == load_recipe("vendor-portal") == load_recipe(path.name, beside=path.parent)
    )


def test_an_unknown_recipe_is_refused_with_those_that_ship(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no recipe 'portal'.*vendor-portal"):
        load_recipe("portal", beside=tmp_path)


@pytest.mark.parametrize("language", ["zh", "en", "ja", "ko"])
def test_every_step_of_the_shipped_recipe_is_complete_in_every_language(language: str) -> None:
    recipe = load_recipe("vendor-portal")
    intent = make_intent(VendorBill("CY202611-0007"))
    for name, action in recipe.actions.items():
        steps = [
            recipe.step(section, intent, language=language, irreversible=action.irreversible)
            for section in action.steps
            if not section.goto
        ]
        assert steps[-1].writes, name
        assert steps[-1].needs_confirm, name
        assert [step.irreversible for step in steps] == [False] * (len(steps) - 1) + [action.irreversible]
        assert all("{" not in selector for step in steps for selector in step.selectors)
        assert all(step.label for step in steps if step.destructive)
    assert set(recipe.statuses[language].values()) == {"pending", "processed", "refunded"}


def test_what_the_shipped_recipe_can_do_it_can_undo() -> None:
    rules = load_recipe("vendor-portal").rules()
    assert {name for name, rule in rules.items() if rule.compensation} == {"mark_processed", "refund"}
    assert rules["refund"].irreversible
    assert rules["refund"].residual_effects
    assert all("computer_use" not in rule.rungs for rule in rules.values() if rule.irreversible)


def _steps(content: dict[str, Any]) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = content["actions"]["mark_processed"]["steps"]
    return steps


def _drop_the_write(content: dict[str, Any]) -> None:
    _steps(content)[-1]["writes"] = False


def _write_twice(content: dict[str, Any]) -> None:
    _steps(content)[-2]["writes"] = True


def _go_on_after_the_write(content: dict[str, Any]) -> None:
    _steps(content).append({"goto": "/bills"})


def _write_by_going(content: dict[str, Any]) -> None:
    _steps(content)[-1] = {"goto": "/bills/{bill_id}/done", "writes": True}


def _undo_by_nothing_known(content: dict[str, Any]) -> None:
    content["actions"]["mark_processed"]["compensation"] = "unmark"


def _go_and_do(content: dict[str, Any]) -> None:
    _steps(content)[0]["do"] = "click"


def _neither_go_nor_do(content: dict[str, Any]) -> None:
    _steps(content)[0] = {"selectors": ["#a"]}


def _lose_a_label(content: dict[str, Any]) -> None:
    del content["labels"]["ko"]["mark"]


def _lose_the_label_of_the_next_page(content: dict[str, Any]) -> None:
    del content["labels"]["ja"]["next"]


def _lose_a_status(content: dict[str, Any]) -> None:
    del content["statuses"]["ja"]["返金済み"]


def _lose_a_language(content: dict[str, Any]) -> None:
    del content["statuses"]["en"]


def _hide_the_amount(content: dict[str, Any]) -> None:
    del content["read"]["detail_selectors"]["amount"]


def _name_nothing_known(content: dict[str, Any]) -> None:
    _steps(content)[-2]["selectors"] = ["#row-{bill}"]


def _leave_a_brace_open(content: dict[str, Any]) -> None:
    _steps(content)[-2]["selectors"] = ["#row-{bill_id"]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_drop_the_write, "must end with its one writing step"),
        (_write_twice, "must end with its one writing step"),
        (_go_on_after_the_write, "must end with its one writing step"),
        (_write_by_going, "must end with its one writing step"),
        (_undo_by_nothing_known, "unknown action 'unmark'"),
        (_go_and_do, "exactly one of goto and do"),
        (_neither_go_nor_do, "exactly one of goto and do"),
        (_lose_a_label, "which ko lacks"),
        (_lose_the_label_of_the_next_page, "label 'next', which ja lacks"),
        (_lose_a_status, "statuses of ja lack refunded"),
        (_lose_a_language, "statuses of en lack"),
        (_hide_the_amount, "detail_selectors lacks amount"),
        (_name_nothing_known, "placeholder 'bill'"),
        (_leave_a_brace_open, "placeholder"),
    ],
)
def test_a_contradiction_is_refused(
    content: dict[str, Any], write: Write, spoil: Callable[[dict[str, Any]], None], says: str
) -> None:
    spoil(content)
    refused(write(content), says)


def test_an_unknown_key_is_refused_with_its_line(content: dict[str, Any], write: Write) -> None:
    _steps(content)[1]["selector"] = "#a"
    path = write(content)
    with pytest.raises(ConfigError, match="unknown key 'selector'") as refusal:
        load_recipe(path.name, beside=path.parent)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert "selector: " in lines[refusal.value.line - 1]


def test_stored_fields_are_compared_with_the_intent_and_with_what_was_there_before() -> None:
    recipe: Recipe = load_recipe("vendor-portal")
    intent = make_intent(VendorBill("CY202611-0007", amount_minor=143_474))
    assert recipe.exact_values(intent, {"counterparty_id": "V1"}) == {
        "handled.amount_minor": "143474",
        "handled.currency": "CNY",
        "handled.month": "2026-11",
        "handled.counterparty_id": "V1",
    }
    assert "handled.counterparty_id" not in recipe.exact_values(intent, {})
    assert recipe.request_rule({"counterparty_id": "V1", "status": "pending"}).known == {
        "counterparty_id": "V1"
    }
