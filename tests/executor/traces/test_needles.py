"""Known secrets are found however they are written, and nothing else is taken for one."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.traces.needles import MASK, SHORTEST, Needles, forms

SECRET = 'pa"ss & w/örd+1'


@given(
    secret=st.text(
        st.characters(codec="utf-8", exclude_characters=MASK), min_size=SHORTEST, max_size=40
    ).filter(lambda text: bool(text.strip())),
    before=st.binary(max_size=7),
    after=st.binary(max_size=7),
)
def test_a_secret_is_found_in_base64_wherever_it_begins(secret: str, before: bytes, after: bytes) -> None:
    text = base64.b64encode(before + secret.encode() + after).decode()
    needles = Needles([secret])
    assert needles.is_in(text.encode())
    assert needles.clean(text)[1] >= 1
    assert needles.is_in(base64.urlsafe_b64encode(before + secret.encode() + after))


@pytest.mark.parametrize(
    "text",
    [
        f"typed {SECRET} there",
        json.dumps({"note": SECRET}),
        json.dumps(json.dumps({"note": SECRET}, ensure_ascii=False), ensure_ascii=False),
        f"/next?to={quote(SECRET, safe='')}#x",
        f"note={quote_plus(SECRET)}&other=1",
        quote(SECRET, safe="").replace("%22", "%22".lower()),
        '<b title="pa&quot;ss &amp; w/örd+1">',
        SECRET.encode().hex(),
    ],
)
def test_a_secret_is_masked_in_every_way_of_writing_it(text: str) -> None:
    cleaned, count = Needles([SECRET]).clean(text)
    assert count == 1
    assert not [form for form in forms(SECRET) if form in cleaned]


def test_a_short_secret_is_masked_where_it_is_the_whole_text_only() -> None:
    needles = Needles(["42"])
    assert needles.clean(" 42 ") == (MASK, 1)
    assert needles.clean("bill 4211") == ("bill 4211", 0)


def test_what_is_secret_by_its_name_is_masked_whatever_it_is() -> None:
    needles = Needles([], names=["iban"])
    text = (
        'GET /a?page=2&access_token=abc&iban=DE44 {"password": "x y", "iban":"DE 1", "pin": 12, "bill":"7"}'
    )
    assert needles.clean(text)[0] == (
        f"GET /a?page=2&access_token={MASK}&iban={MASK} "
        f'{{"password": "{MASK}", "iban":"{MASK}", "pin": "{MASK}", "bill":"7"}}'
    )
    assert set(needles.named_in(text)) >= {"abc", "DE44", "x y", "DE 1", "12"}


def test_a_user_in_an_address_is_masked() -> None:
    assert Needles([]).clean("http://anna:word@portal.example/x")[0] == f"http://{MASK}@portal.example/x"


def test_no_secrets_find_nothing() -> None:
    needles = Needles(["", "  ", MASK])
    assert needles.clean("anything at all") == ("anything at all", 0)
    assert not needles.is_in(b"anything at all")
