"""The model's rung of the ladder on the real portal, in all three protocols; the portal's own file is the truth."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from playwright.sync_api import Page

from domain import events as e
from domain.errors import ConfigError
from executor.config import ModelSection
from executor.models.registry import PROVIDERS
from executor.orders import load_batch
from executor.sandbox import story
from executor.sandbox.model_server.dialogue import ProviderName
from executor.sandbox.model_server.scenario import Move, Scenario, ScriptTurn
from executor.sandbox.model_server.server import ModelServer
from executor.sandbox.portal.server import PortalThread
from tests.support.rungs import Works, works_on

pytestmark = pytest.mark.browser
IDLE = Scenario(name="idle", turns=[ScriptTurn(say="Nothing to do.")])
NAMES: tuple[ProviderName, ...] = ("openai", "anthropic", "gemini")


@pytest.fixture(scope="module")
def environment() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, environment: pytest.MonkeyPatch
) -> Iterator[PortalThread]:
    path = tmp_path_factory.mktemp("vision") / "portal.sqlite"
    with PortalThread(path, counts={"acme": 40, "globex": 4}) as portal:
        for account, variable in story.SECRETS.items():
            environment.setenv(variable, portal.accounts[account].password)
        yield portal


@pytest.fixture(scope="module")
def server(environment: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(IDLE) as model:
        for provider in NAMES:
            for name, value in model.environment(provider).items():
                environment.setenv(name, value)
        yield model


@pytest.fixture
def model(server: ModelServer) -> ModelServer:
    server.scenario = IDLE
    for kept in server.dialogues.values():
        kept.clear()
    return server


@pytest.fixture(scope="module")
def taken() -> list[str]:
    return []


@pytest.fixture(scope="module")
def seat(
    running: PortalThread, server: ModelServer, tmp_path_factory: pytest.TempPathFactory, taken: list[str]
) -> Iterator[Works]:
    """An executor whose only rung is the model's; one browser for the tests of the module."""
    tools = seeing("openai", max_calls=3)
    folder = tmp_path_factory.mktemp("seat")
    with works_on(running, folder, ladder=["computer_use"], taken=taken, tools=tools) as works:
        yield works


@pytest.fixture
def works(seat: Works) -> Works:
    seat.portal.control.reset()
    return seat


@pytest.fixture(scope="module")
def presses(seat: Works) -> list[Move]:
    """Where a person presses: the button on a bill's page, then the one of the question that it asks."""
    portal = seat.portal
    context = seat.workshop.browser().new_context(
        viewport={"width": 1280, "height": 800}, locale="zh-CN", device_scale_factor=1
    )
    page = context.new_page()
    page.goto(f"{portal.url}/login")
    page.fill("[name=username]", "wang.li")
    page.fill("[name=password]", portal.accounts["wang.li"].password)
    page.click("#login-form button[type=submit]")
    page.goto(f"{portal.url}/bills/{seat.bill()['id']}")
    mark = middle(page, ".panel button[data-action=process]")
    page.click(".panel button[data-action=process]")
    sure = middle(page, "[role=dialog] .dialog-buttons button.primary")
    context.close()
    return [mark, sure]


def seeing(provider: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - the configuration's own words
    return {"computer_use": {"provider": provider, **more}}


def middle(page: Page, selector: str) -> Move:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return Move(do="click", x=int(box["x"] + box["width"] / 2), y=int(box["y"] + box["height"] / 2))


def marking(presses: list[Move]) -> Scenario:
    return Scenario(name="mark", turns=[ScriptTurn(moves=[move]) for move in presses])


def test_a_write_by_sight_has_the_same_claim_way_back_and_readback(
    works: Works, model: ModelServer, presses: list[Move]
) -> None:
    bill = works.bill()
    model.scenario = marking(presses)
    order = works.order(bill)
    outcome = works.run(order)
    assert (outcome.status, outcome.reason) == ("succeeded", "confirmed by api,list"), outcome
    assert works.truth(bill) == ("processed", 1, 1)
    assert {fact.rung for fact in works.facts(order, e.ActionProposed)} == {"computer_use"}
    (write,) = [fact for fact in works.facts(order, e.ActionAttempted) if fact.writes]
    (claimed,) = works.facts(order, e.TaskClaimed)
    assert write.effect_key == claimed.effect_key
    assert len(works.facts(order, e.CompensationRegistered)) == 1
    assert {fact.account for fact in works.facts(order, e.ReadbackConfirmed)} == {"readback-acme"}
    assert works.findings(order, "ladder") == ["computer_use"]
    assert [fact.provider for fact in works.facts(order, e.ModelRequested)] == ["openai"] * 2
    (talk,) = model.dialogues["openai"]
    assert talk.complaints == []
    assert f"Mark difference bill {bill['id']} as processed" in str(talk.heard[0])


def test_each_bill_has_a_page_and_a_talk_of_its_own(
    works: Works, model: ModelServer, presses: list[Move]
) -> None:
    model.scenario = marking(presses)
    for _ in range(2):
        assert works.run(works.order(works.bill())).status == "succeeded"
        assert works.workshop.browser().contexts == []  # nothing of one bill stays open for the next
    first, second = model.dialogues["openai"]
    assert first.complaints == second.complaints == []


def test_what_cannot_be_undone_is_never_put_before_a_model(works: Works, model: ModelServer) -> None:
    bill = works.bill("processed")
    outcome = works.run(works.order(bill, "refund"))
    assert (outcome.status, outcome.verdict) == ("refused", "denied_by_policy")
    assert model.requests == 0
    assert works.truth(bill)[0] == "processed"


def test_a_model_that_only_says_it_is_done_leaves_the_bill_to_a_person(
    works: Works, model: ModelServer
) -> None:
    bill = works.bill()
    outcome = works.run(works.order(bill))
    assert (outcome.status, model.requests) == ("taken_over", 1)
    assert "nothing was written" in outcome.reason
    assert works.truth(bill) == ("pending", 0, 0)


def test_a_fake_success_is_caught_by_readback_like_on_any_other_rung(
    works: Works, model: ModelServer, presses: list[Move]
) -> None:
    bill = works.bill()
    model.scenario = marking(presses)
    works.portal.control.switch_on("fake_success", bill["id"])
    assert works.run(works.order(bill)).status == "taken_over"
    assert works.portal.truth.posts(f"/bills/{bill['id']}/actions") != []
    assert works.truth(bill) == ("pending", 0, 0)


def test_the_calls_to_the_model_have_an_end(works: Works, model: ModelServer) -> None:
    bill = works.bill()
    model.scenario = Scenario(name="looks", turns=[ScriptTurn(moves=[Move(do="screenshot")], repeat=0)])
    assert works.run(works.order(bill)).status == "taken_over"
    assert model.requests == 3
    assert works.truth(bill) == ("pending", 0, 0)


@pytest.mark.parametrize(
    ("provider", "ladder", "found"),
    [
        ("gemini", ["computer_use"], "computer_use"),
        (
            "anthropic",
            ["api", "computer_use"],
            "computer_use (api: /api/v1/session answers 404 without a token)",
        ),
    ],
)
def test_a_batch_on_the_command_line_goes_down_to_the_model(
    works: Works,
    model: ModelServer,
    presses: list[Move],
    tmp_path: Path,
    provider: ProviderName,
    ladder: list[str],
    found: str,
) -> None:
    works.portal.control.switch_on("rest_withdrawn")
    bill = works.bill()
    model.scenario = marking(presses)
    tools = seeing(provider, price="3.00/15.00")
    with works_on(works.portal, tmp_path, ladder=ladder, taken=[], tools=tools) as made:
        batch = story.write_batch(tmp_path / "one.yaml", "one", [story.order(bill, "mark_processed")])
        command = [sys.executable, "-m", "executor.cli", "run", str(batch), "--json"]
        command += ["--config", str(tmp_path / "proofreel.yaml")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        (order,) = load_batch(batch, dict(made.workshop.target.rules)).orders
        assert (done.returncode, works.truth(bill)) == (0, ("processed", 1, 1)), done.stdout + done.stderr
        assert made.findings(order, "ladder") == [found]
        assert {fact.cost_micros for fact in made.facts(order, e.ModelResponded)} == {4_200}
    assert model.dialogues[provider][0].complaints == []
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert model.key not in done.stdout + done.stderr
    assert model.key.encode() not in stored


def test_a_ladder_with_a_model_that_nobody_named_is_refused_with_what_to_give(
    works: Works, tmp_path: Path, taken: list[str]
) -> None:
    with (
        pytest.raises(
            ConfigError, match=r"give tools\.computer_use\.provider \(openai, anthropic or gemini\)"
        ),
        works_on(works.portal, tmp_path, ladder=["api", "computer_use"], taken=taken),
    ):
        pass


def test_a_missing_key_is_named_before_anything_runs(
    works: Works, model: ModelServer, tmp_path: Path, taken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COMPUTER_API_KEY")
    tools = seeing("openai")
    with (
        works_on(works.portal, tmp_path, ladder=["api", "computer_use"], taken=taken, tools=tools) as made,
        pytest.raises(ConfigError, match="set COMPUTER_API_KEY"),
    ):
        made.workshop.kit()


def test_the_configuration_knows_the_providers_that_there_are() -> None:
    assert set(get_type_hints(ModelSection)["provider"].__args__) == set(PROVIDERS) == set(NAMES)
