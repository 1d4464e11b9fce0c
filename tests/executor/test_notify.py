"""Alerts reach people over real channels, and a channel that fails is on record."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from executor.notify import PAUSES_S, Notifier, configured
from tests.support.site import Answer, Site, running_site


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as running:
        yield running


def test_an_alert_reaches_the_log_the_webhook_and_the_command(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = tmp_path / "alert.json"
    command = [sys.executable, "-c", f"import sys; open({str(kept)!r}, 'w').write(sys.stdin.read())"]
    with caplog.at_level(logging.WARNING, "proofreel.alerts"):
        fact = configured(f"{site.url}/hook", command).alert(
            "takeover", "high", "read it", task="t1", bill="B1"
        )
    assert fact.delivered == {"log": "ok", "webhook": "ok", "command": "ok"}
    wanted = {"kind": "takeover", "severity": "high", "message": "read it", "task": "t1", "bill": "B1"}
    ((path, body),) = site.posts
    assert (path, json.loads(body)) == ("/hook", wanted)
    assert json.loads(kept.read_text(encoding="utf-8")) == wanted
    assert "takeover [high] read it" in caplog.text


def test_a_failing_channel_silences_no_other_and_is_on_record(site: Site) -> None:
    site.answers["/hook"] = Answer(500)
    fact = configured(f"{site.url}/hook", [sys.executable, "-c", "raise SystemExit(3)"]).alert(
        "forbidden", "high", "no rights"
    )
    assert fact.delivered == {
        "log": "ok",
        "webhook": "HTTPStatusError, 3 tries",
        "command": "CalledProcessError, 3 tries",
    }
    assert (fact.kind, fact.severity, fact.message) == ("forbidden", "high", "no rights")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/hook", "nonsense", "ftp://127.0.0.1/"])
def test_a_webhook_that_can_not_be_reached_is_on_record(url: str) -> None:
    delivered = configured(url, ["/nonexistent/command"]).alert("takeover", "low", "x").delivered
    assert delivered["log"] == "ok"
    assert "ok" not in (delivered["webhook"], delivered["command"])


def test_what_a_channel_s_error_says_is_not_recorded() -> None:
    def leaky(_: Mapping[str, str]) -> None:
        message = "token=s3cr3t"
        raise RuntimeError(message)

    fact = Notifier({"leaky": leaky}).alert("takeover", "low", "x")
    assert fact.delivered["leaky"] == "RuntimeError, 3 tries"


def test_without_configuration_the_log_alone_is_told() -> None:
    assert configured("", []).alert("takeover", "low", "x").delivered == {"log": "ok"}


def test_a_channel_that_fails_once_is_tried_again_and_has_had_it() -> None:
    pauses: list[float] = []
    told: list[str] = []

    def flaky(alert: Mapping[str, str]) -> None:
        told.append(alert["message"])
        if len(told) == 1:
            raise TimeoutError

    fact = Notifier({"flaky": flaky}, sleep=pauses.append).alert("takeover", "low", "x")
    assert (fact.delivered["flaky"], told, pauses) == ("ok", ["x", "x"], [PAUSES_S[0]])


def test_only_the_named_channels_are_tried_again() -> None:
    told: list[str] = []
    notifier = Notifier({"one": lambda _: told.append("one"), "two": lambda _: told.append("two")})
    fact = notifier.alert("takeover", "low", "x", only=["two", "gone"])
    assert (fact.delivered, told) == ({"two": "ok", "gone": "not configured"}, ["two"])
