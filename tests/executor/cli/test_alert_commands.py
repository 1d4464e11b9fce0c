"""``proofreel alerts``: a channel that was down, and up again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from executor.notify import Notifier, to_webhook
from executor.runtime.recovery import task_stream_of
from tests.executor.cli.conftest import Command
from tests.support.site import Answer, Site, running_site
from tests.support.vendor import FakeVendor
from tests.support.workbench import BILL, benches


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as running:
        yield running


@pytest.fixture
def unheard(desk: Path, site: Site, vendor: FakeVendor) -> Iterator[str]:
    """A task in a person's queue whose alert the webhook has not taken."""
    path = desk / "proofreel.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["notify"] = {"webhook": f"{site.url}/hook"}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    site.answers["/hook"] = Answer(500)
    with benches(desk, vendor) as make:
        bench = make()
        hook = {"webhook": to_webhook(f"{site.url}/hook")}
        bench.kit = replace(bench.kit, notifier=Notifier(hook, sleep=lambda _: None))
        vendor.switch_on(BILL, "fake_success")
        order = bench.order(BILL)
        assert bench.run(order).status == "taken_over"
        site.posts.clear()
        yield order.task_id
        assert task_stream_of(bench.kit, order.task_id).state.status == "taken_over"


def test_an_alert_that_was_not_delivered_is_listed_with_its_task(proofreel: Command, unheard: str) -> None:
    done = proofreel("alerts", "list", "--json")
    (letter,) = done.json["undelivered"]
    assert (done.code, letter["task_id"], letter["alert"]["kind"]) == (1, unheard, "takeover")
    assert letter["alert"]["failed"] == {"webhook": "HTTPStatusError, 3 tries"}


def test_a_channel_that_is_up_again_gets_it_and_the_list_is_empty(
    proofreel: Command, unheard: str, site: Site
) -> None:
    site.answers["/hook"] = Answer(200)
    done = proofreel("alerts", "resend", "--json")
    assert (done.code, done.json["tried"], done.json["left"]) == (0, 1, 0)
    assert [path for path, _ in site.posts] == ["/hook"]
    assert unheard in str(site.posts)
    assert proofreel("alerts", "list").code == 0
    assert proofreel("alerts", "resend", "--json").json["tried"] == 0


def test_a_channel_that_is_still_down_keeps_it_on_the_list(proofreel: Command, unheard: str) -> None:
    assert proofreel("alerts", "resend").code == 1
    assert unheard in proofreel("alerts", "list", "--json").out
