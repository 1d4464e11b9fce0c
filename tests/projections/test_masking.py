"""Withheld texts are found in every usual writing, and replaced wherever they stand."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.masking import Masks

NAME = "北辰贸易 Northstar"
MASKS = Masks({NAME: "[withheld 1]", "Li Na": "[withheld 2]"})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "gb18030"])
def test_a_text_is_found_in_any_encoding(encoding: str) -> None:
    assert MASKS.found_in(f"before {NAME} after".encode(encoding)) == "[withheld 1]"


@given(before=st.binary(max_size=9), after=st.binary(max_size=9), utf16=st.booleans())
def test_a_text_is_found_within_base64_and_hexadecimal(before: bytes, after: bytes, utf16: bool) -> None:  # noqa: FBT001
    data = before + NAME.encode("utf-16-le" if utf16 else "utf-8") + after
    for written in (base64.b64encode(data), base64.urlsafe_b64encode(data), data.hex().encode()):
        assert MASKS.found_in(b"x" + written) == "[withheld 1]"


def test_a_text_is_found_in_escaped_json_and_within_archives() -> None:
    assert MASKS.found_in(json.dumps({"a": NAME}).encode())
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", f"<t>{NAME}</t>" * 99)
    assert NAME.encode() not in file.getvalue()
    assert MASKS.found_in(file.getvalue()) == "[withheld 1]"
    assert MASKS.found_in(b"PK nothing of the kind") == ""
    assert MASKS.found_in("北辰 only a part".encode()) == ""


@dataclass(frozen=True)
class Inner:
    who: str
    count: int = 1


class Outer(msgspec.Struct, frozen=True):
    items: tuple[Inner, ...]
    by: dict[str, str]


def test_texts_are_replaced_in_whatever_they_stand() -> None:
    value = Outer(items=(Inner("to Li Na!"), Inner("nobody")), by={NAME: "Li Na"})
    assert MASKS.object(value) == Outer(
        items=(Inner("to [withheld 2]!"), Inner("nobody")), by={"[withheld 1]": "[withheld 2]"}
    )
    assert MASKS.plain({"a": [NAME, 1]}) == {"a": ["[withheld 1]", 1]}
    assert Masks().object(value) is value


def test_the_longer_text_is_replaced_first() -> None:
    masks = Masks({"Li Na": "[2]", "Li Nan": "[1]"})
    assert masks.text("Li Nan and Li Na") == "[1] and [2]"
