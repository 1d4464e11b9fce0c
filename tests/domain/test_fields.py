"""Fields of an event: the rest is proved, and what is withheld can't be found by trying."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import fields
from domain.codec import encode
from domain.events import name_of
from tests.domain.samples import SAMPLES, draft_of

KEY = b"k" * 32
SEEN = next(sample for sample in SAMPLES if name_of(sample)[0] == "observation.recorded")


def body_of(sample: Any = SEEN) -> dict[str, Any]:  # noqa: ANN401 - any fact
    body: dict[str, Any] = orjson.loads(encode(draft_of(sample)))
    return body


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: name_of(sample)[0])
def test_what_is_shown_of_any_event_gives_the_root_of_the_whole(sample: Any) -> None:  # noqa: ANN401
    body = body_of(sample)
    whole, hashes, salts = fields.commit(body, KEY)
    hidden = {
        pointer for pointer, value in fields.leaves_of(body).items() if fields.may_be_withheld(pointer, value)
    }
    hidden |= {fields.SALT}
    shown = fields.render(body, hidden, hashes)
    kept = {pointer: salt for pointer, salt in salts.items() if pointer not in hidden}
    assert fields.root_of(shown, kept) == (whole, frozenset(hidden))
    assert (shown["id"], shown["stream"], shown["version"], shown["frames"]) == (
        body["id"],
        body["stream"],
        body["version"],
        body["frames"],
    )


def test_another_value_in_a_shown_field_gives_another_root() -> None:
    body = body_of()
    whole, hashes, salts = fields.commit(body, KEY)
    shown = fields.render(body, {"/data/title", fields.SALT}, hashes)
    shown["data"]["url"] = "http://elsewhere.example"
    assert fields.root_of(shown, salts)[0] != whole


def test_a_field_too_many_that_is_withheld_is_named() -> None:
    body = body_of()
    _, hashes, salts = fields.commit(body, KEY)
    shown = fields.render(body, {"/data/title", "/data/url", fields.SALT}, hashes)
    assert fields.root_of(shown, salts)[1] == {"/data/title", "/data/url", "/salt"}


def test_a_left_out_field_gives_another_root() -> None:
    body = body_of()
    whole, hashes, salts = fields.commit(body, KEY)
    shown = fields.render(body, {fields.SALT}, hashes)
    del shown["data"]["title"]
    assert fields.root_of(shown, salts)[0] != whole


def test_an_event_that_holds_a_mark_itself_is_refused() -> None:
    body = body_of()
    body["data"]["title"] = {fields.MARK: "0" * 64}
    with pytest.raises(ValueError, match="withheld"):
        fields.commit(body, KEY)


def test_what_says_who_acted_on_what_is_never_withheld() -> None:
    for pointer, value in (
        ("/principal", "person:li.na"),
        ("/data/approver", "person:li.na"),
        ("/data/bill_id", "CY202611-0007"),
        ("/data/verdict", "out_of_scope"),
        ("/data/planned_on", "0" * 64),
        ("/data/blobs/0", "1" * 64),
        ("/data/title", "ab"),
        ("/data/rows", 12),
    ):
        assert not fields.may_be_withheld(pointer, value), pointer
    assert fields.may_be_withheld("/data/title", "Bill of Li Na")
    assert fields.may_be_withheld("/data/found/extra/contact_id", "li.na@example.com")
    assert fields.may_be_withheld("/data/differences/handled.status", "paid to Li Na")
    assert fields.may_be_withheld("/data/intent/counterparty_id", "C-100-7")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), _JSON, max_size=4))
def test_unequal_events_are_taken_apart_unequally(body: dict[str, Any]) -> None:
    taken = fields.leaves_of(body)
    assert list(taken) == sorted(taken)
    assert fields.leaves_of({**body, "more": [body]}) != taken
