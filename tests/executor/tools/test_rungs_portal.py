"""The rungs without a screen on the vendor's real interfaces; the portal's own file is the truth."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from domain import events as e
from executor.approvals import answer
from executor.compensation import compensate
from executor.runtime.recovery import task_stream_of
from executor.sandbox import story
from executor.sandbox.portal.server import PortalThread
from tests.executor.sandbox.conftest import until
from tests.support.rungs import Works, works_on
from tests.support.workbench import PERSON

Open = Callable[..., AbstractContextManager[Works]]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalThread]:
    path = tmp_path_factory.mktemp("portal") / "portal.sqlite"
    with PortalThread(path, counts={"acme": 80, "globex": 4}) as portal:
        yield portal


@pytest.fixture(scope="module")
def taken() -> list[str]:
    return []


@pytest.fixture
def portal(running: PortalThread) -> PortalThread:
    running.control.reset()
    return running


@pytest.fixture
def opened(portal: PortalThread, tmp_path: Path, taken: list[str]) -> Open:
    return partial(works_on, portal, tmp_path, taken=taken)


def stdio(portal: PortalThread) -> dict[str, Any]:
    """The vendor's MCP server as a process on its standard input and output."""
    command = [sys.executable, "-m", "executor.sandbox.mcp_server", "--portal", portal.url]
    command += ["--account", "svc-acme", "--secret-env", story.SECRETS["svc-acme"]]
    return {"mcp": {"command": command, "env": [story.SECRETS["svc-acme"]]}}


@pytest.fixture(params=["api", "mcp"])
def rung(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def works(opened: Open, portal: PortalThread, rung: str) -> Iterator[Works]:
    with opened(ladder=[rung], tools=stdio(portal) if rung == "mcp" else None) as made:
        yield made


# First, while the list's first page has bills that no test has taken.
@pytest.mark.browser
def test_the_browser_performs_what_no_interface_can_any_more(opened: Open, portal: PortalThread) -> None:
    portal.control.switch_on("rest_withdrawn")
    with opened(ladder=["api", "browser"]) as works:
        bill = works.bill()
        order = works.order(bill)
        assert works.run(order).status == "succeeded"
        assert works.facts(order, e.ActionProposed)[-1].rung == "browser"
        assert works.findings(order, "ladder") == [
            "browser (api: /api/v1/session answers 404 without a token)"
        ]
        assert works.truth(bill) == ("processed", 1, 1)


def test_a_write_by_call_succeeds_when_other_accounts_see_it(works: Works, rung: str) -> None:
    bill = works.bill()
    order = works.order(bill)
    outcome = works.run(order)
    assert (outcome.status, outcome.reason) == ("succeeded", "confirmed by api,list")
    assert works.truth(bill) == ("processed", 1, 1)
    (proposed,) = works.facts(order, e.ActionProposed)
    assert (proposed.rung, proposed.kind, proposed.writes) == (rung, "call", True)
    assert works.findings(order, "ladder") == [rung]
    (seen,) = works.facts(order, e.ObservationRecorded)
    assert seen.account == "svc-acme"
    assert {fact.account for fact in works.facts(order, e.ReadbackConfirmed)} == {"readback-acme"}
    assert len(works.facts(order, e.CompensationRegistered)) == 1


def test_the_password_and_the_token_are_nowhere_in_the_record(works: Works, tmp_path: Path) -> None:
    bill = works.bill()
    works.run(works.order(bill))
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("record.db*"))
    assert bill["id"].encode() in stored
    assert works.portal.accounts["svc-acme"].password.encode() not in stored
    assert b"Bearer" not in stored


def test_a_call_that_says_done_and_does_nothing_is_handed_over(works: Works) -> None:
    bill = works.bill()
    works.portal.control.switch_on("fake_success", bill["id"])
    order = works.order(bill)
    assert works.run(order).status == "taken_over"
    assert works.truth(bill) == ("pending", 0, 0)


def test_a_call_whose_answer_is_lost_is_read_back_and_never_repeated(works: Works) -> None:
    bill = works.bill()
    works.portal.control.switch_on("commit_then_504", bill["id"])
    order = works.order(bill)
    assert works.run(order).status == "succeeded"
    assert works.truth(bill) == ("processed", 1, 1)
    assert len(works.facts(order, e.ActionOutcomeUnknown)) == 1


def test_an_order_with_another_amount_is_stopped_before_anything_is_sent(works: Works) -> None:
    bill = works.bill()
    order = works.order({**bill, "amount_minor": bill["amount_minor"] + 1})
    outcome = works.run(order)
    assert (outcome.status, outcome.verdict) == ("taken_over", "intent_mismatch")
    assert works.truth(bill) == ("pending", 0, 0)
    assert works.facts(order, e.ActionAttempted) == []


def test_a_bill_in_a_state_that_the_action_does_not_start_from_is_stopped(works: Works) -> None:
    bill = works.bill()
    outcome = works.run(works.order(bill, "refund"))
    assert (outcome.status, outcome.verdict) == ("taken_over", "precondition_failed")
    assert works.truth(bill) == ("pending", 0, 0)


def test_a_bill_that_a_colleague_holds_is_not_written_to(works: Works, portal: PortalThread) -> None:
    bill = works.bill()
    with portal.client("wang.li") as person:
        person.hold(bill["id"], "check the account")
    order = works.order(bill)
    outcome = works.run(order)
    assert (outcome.status, outcome.verdict) == ("taken_over", "precondition_failed")
    assert "is held by wang.li (check the account)" in outcome.reason
    assert works.facts(order, e.ActionAttempted) == []
    assert portal.truth.hold(bill["id"]) is not None


def test_a_hold_that_the_save_overwrote_is_found_with_both_who_placed_and_who_saved(
    works: Works, portal: PortalThread
) -> None:
    bill = works.bill()
    portal.control.switch_on("lost_update", bill["id"])
    order = works.order(bill)
    outcome = works.run(order)
    assert (outcome.status, works.truth(bill)) == ("taken_over", ("processed", 1, 1))
    assert "hold wang.li (check the bank account first) → gone, saved over by svc-acme" in outcome.reason
    (wrong,) = works.facts(order, e.ReadbackMismatched)
    assert (wrong.source, list(wrong.differences)) == ("api", ["hold"])
    assert portal.truth.hold(bill["id"]) is None


def test_a_hold_placed_between_the_last_look_and_the_save_reaches_a_person(
    works: Works, portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    bill = works.bill()
    order = works.order(bill)
    kit = works.workshop.kit()
    append = kit.log.append

    def held(drafts: Any, **more: Any) -> Any:  # noqa: ANN401 - passed through
        if any(isinstance(draft.event, e.ActionAttempted) for draft in drafts):
            with portal.client("wang.li") as person:
                person.hold(bill["id"], "wait")
        return append(drafts, **more)

    monkeypatch.setattr(kit.log, "append", held)
    outcome = works.run(order)
    assert outcome.status == "taken_over"
    assert "hold nobody → wang.li (wait), placed before svc-acme wrote" in outcome.reason


def test_withdrawn_rights_end_the_task_at_once(works: Works, portal: PortalThread) -> None:
    bill = works.bill()
    portal.control.switch_on("permission_dialog", bill["id"], on="post")
    order = works.order(bill)
    outcome = works.run(order)
    portal.control.reset()
    assert (outcome.status, outcome.verdict) == ("failed", "forbidden")
    assert works.truth(bill) == ("pending", 0, 0)
    assert [fact.kind for fact in works.facts(order, e.AlertRaised)] == ["forbidden"]


def test_a_refund_waits_for_a_person_runs_once_and_is_undone_by_the_same_rung(
    works: Works, rung: str
) -> None:
    bill = works.bill("processed")
    order = works.order(bill, "refund")
    kit = works.workshop.kit()
    assert works.run(order).status == "awaiting_approval"
    assert works.truth(bill)[0] == "processed"
    answer(task_stream_of(kit, order.task_id), PERSON, "grant", note="", now_us=kit.clock.now_us())
    assert works.run(order).status == "succeeded"
    stream = task_stream_of(kit, order.task_id)
    done = compensate(kit, stream, works.workshop.hands, requested_by=PERSON.principal, reason="a drill")
    assert done.restored
    assert works.truth(bill) == ("processed", 3, 3)
    assert {fact.rung for fact in works.facts(order, e.ActionProposed)} == {rung}


def test_a_withdrawn_interface_gives_way_to_the_next_rung(opened: Open, portal: PortalThread) -> None:
    portal.control.switch_on("rest_withdrawn")
    with opened(ladder=["api", "mcp"], tools=stdio(portal)) as works:
        bill = works.bill()
        order = works.order(bill)
        assert works.run(order).status == "succeeded"
        assert works.truth(bill) == ("processed", 1, 1)
        (found,) = works.findings(order, "ladder")
        assert found == "mcp (api: /api/v1/session answers 404 without a token)"


def test_a_lost_last_rung_goes_to_a_person_and_nothing_is_guessed(opened: Open, portal: PortalThread) -> None:
    portal.control.switch_on("rest_withdrawn")
    tools = {"mcp": {"command": [sys.executable, "-c", "raise SystemExit(1)"]}}
    with opened(ladder=["api", "mcp"], tools=tools) as works:
        bill = works.bill()
        outcome = works.run(works.order(bill))
        assert (outcome.status, outcome.verdict) == ("taken_over", "page_changed")
        assert outcome.reason.startswith("expected a usable rung, found api: ")
        assert "; mcp: the MCP server can't be reached" in outcome.reason
        assert works.truth(bill) == ("pending", 0, 0)


def test_an_interface_that_is_withdrawn_under_the_call_certainly_had_no_effect(
    opened: Open, portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(ladder=["api", "mcp"], tools=stdio(portal)) as works:
        bill = works.bill()
        order = works.order(bill)
        kit = works.workshop.kit()
        append = kit.log.append

        def withdrawn(drafts: Any, **more: Any) -> Any:  # noqa: ANN401 - passed through
            if any(isinstance(draft.event, e.ActionAttempted) for draft in drafts):
                portal.control.switch_on("rest_withdrawn")
            return append(drafts, **more)

        monkeypatch.setattr(kit.log, "append", withdrawn)
        assert works.run(order).status == "succeeded"
        assert [fact.rung for fact in works.facts(order, e.ActionProposed)] == ["api", "mcp"]
        assert [fact.verdict for fact in works.facts(order, e.ActionFailed)] == ["page_changed"]
        assert works.truth(bill) == ("processed", 1, 1)


@contextmanager
def serving(portal: PortalThread) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The vendor's MCP server over streamable HTTP: its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variable = story.SECRETS["svc-acme"]
    command = [*stdio(portal)["mcp"]["command"], "--http", str(port)]
    secrets = {variable: portal.accounts["svc-acme"].password}
    process = subprocess.Popen(command, env={**os.environ, **secrets}, stderr=subprocess.DEVNULL)
    try:
        until(lambda: _listens(port))
        yield f"http://127.0.0.1:{port}/mcp", process
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def test_tools_over_http_do_the_same(opened: Open, portal: PortalThread) -> None:
    with serving(portal) as (url, _), opened(ladder=["mcp"], tools={"mcp": {"url": url}}) as works:
        bill = works.bill()
        assert works.run(works.order(bill)).status == "succeeded"
        assert works.truth(bill) == ("processed", 1, 1)


def test_a_server_that_dies_under_the_call_leaves_the_outcome_to_readback(
    opened: Open, portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        serving(portal) as (url, server),
        opened(ladder=["mcp", "api"], tools={"mcp": {"url": url}}) as works,
    ):
        bill = works.bill()
        order = works.order(bill)
        kit = works.workshop.kit()
        append = kit.log.append

        def killed(drafts: Any, **more: Any) -> Any:  # noqa: ANN401 - passed through
            if any(isinstance(draft.event, e.ActionAttempted) for draft in drafts):
                server.kill()
                server.wait()
            return append(drafts, **more)

        monkeypatch.setattr(kit.log, "append", killed)
        assert works.run(order).status == "taken_over"
        assert len(works.facts(order, e.ActionOutcomeUnknown)) == 1
        assert [fact.rung for fact in works.facts(order, e.ActionProposed)] == ["mcp"]
        assert works.truth(bill) == ("pending", 0, 0)


def test_tools_with_other_arguments_than_configured_are_not_called(
    opened: Open, portal: PortalThread
) -> None:
    code = (
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer(name='changed')\n"
        "@server.tool()\n"
        "def get_bill(number: str) -> dict[str, str]:\n"
        "    return {'id': number}\n"
        "server.run('stdio')\n"
    )
    changed = [sys.executable, "-c", code]
    with opened(ladder=["mcp"], tools={"mcp": {"command": changed}}) as works:
        bill = works.bill()
        outcome = works.run(works.order(bill))
        assert (outcome.status, outcome.verdict) == ("taken_over", "page_changed")
        assert outcome.reason == "tool get_bill takes other arguments than configured: bill_id, number"
