"""Blocks carry texts and paths of this server, in the formats that people read."""

from __future__ import annotations

import json

import pytest

from domain.errors import ConfigError
from replay_ui.components import blocks as b
from replay_ui.components.sheet import MAX_PATH, parse_path
from replay_ui.i18n import Words


@pytest.mark.parametrize(
    "address", ["https://elsewhere.example/", "//elsewhere", "/\\elsewhere", "javascript:x"]
)
def test_an_address_elsewhere_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="no path on this server"):
        b.Span(text="x", href=address)
    with pytest.raises(ConfigError):
        b.Thumb(src=address, href="/")
    with pytest.raises(ConfigError):
        b.row(b.text("x"), href=address)


def test_a_path_keeps_what_was_given_and_leaves_the_empty_out() -> None:
    path = b.page_path("chain", tenant="acme", bill="A/1 & 2", event=7, show="", run=None)
    assert path == "/chain?tenant=acme&bill=A%2F1+%26+2&event=7"
    assert parse_path(path) == ("chain", {"tenant": "acme", "bill": "A/1 & 2", "event": "7"})
    assert b.page_path("") == "/"


@pytest.mark.parametrize(
    "path", ["http://elsewhere/chain", "//elsewhere/chain", "chain", "/" + "x" * MAX_PATH]
)
def test_a_followed_path_elsewhere_leads_nowhere(path: str) -> None:
    assert parse_path(path) is None


@pytest.mark.parametrize(
    ("amount", "currency", "signed", "shown"),
    [
        (143_474, "CNY", False, "1,434.74 CNY"),
        (-5, "CNY", True, "−0.05 CNY"),
        (5, "CNY", True, "+0.05 CNY"),
        (0, "CNY", True, "0.00 CNY"),
        (1_234_567, "JPY", False, "1,234,567 JPY"),
        (-1_234, "KWD", False, "−1.234 KWD"),
    ],
)
def test_money_has_its_currencys_digits(amount: int, currency: str, signed: bool, shown: str) -> None:  # noqa: FBT001
    assert b.money(amount, currency, signed=signed) == shown


def test_a_time_says_its_zone() -> None:
    assert b.when(1_793_000_000_250_000) == "2026-10-26 07:33:20 UTC"
    assert b.clock(1_793_000_000_250_000) == "07:33:20.250"
    assert b.when(None) == b.when(0) == "–"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(45, "45 s"), (62, "1 min 2 s"), (11_520, "3 h 12 min"), (-187_200, "2 d 4 h")]
)
def test_a_duration_has_its_two_largest_units(seconds: int, shown: str) -> None:
    assert b.span_of_time(seconds * 1_000_000, Words("en").units()) == shown


@pytest.mark.parametrize(
    ("language", "shown"),
    [("zh", "3 小时 12 分"), ("ja", "3 時間 12 分"), ("ko", "3시간 12분"), ("en", "3 h 12 min")],
)
def test_a_duration_speaks_the_readers_language(language: str, shown: str) -> None:
    assert b.span_of_time(11_520_000_000, Words(language).units()) == shown


def test_what_is_at_its_default_does_not_travel() -> None:
    plain = json.loads(json.dumps(b.to_plain([b.Lines(items=((b.text("only text"),),))])))
    assert plain == [{"kind": "lines", "items": [[{"text": "only text"}]]}]


def test_a_countdown_says_now_what_the_page_goes_on_saying() -> None:
    left, late = (
        b.countdown(62_000_000, "{time} left", "{time} late", units=Words("en").units()),
        b.countdown(-1, "{time} left", "{time} late", units=Words("en").units()),
    )
    assert (left.text, left.look, left.left_ms) == ("1 min 2 s left", "number", 62_000)
    assert (late.text, late.look, late.tone, late.left_ms) == ("0 s late", "chip", "failed", -1)
