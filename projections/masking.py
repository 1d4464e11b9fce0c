"""Withheld texts wherever they stand: put a name in their place, or find them in bytes that are about to leave.

A text's name is the same wherever it stood, so that what was equal stays equal and comparisons come out as before.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

ENCODINGS: Final = ("utf-8", "utf-16-le", "utf-16-be", "gb18030", "big5", "shift_jis", "euc-kr")
"""Encodings that vendors' files come in."""
MAX_MEMBER_BYTES: Final = 64 << 20
"""Of a file within an archive (a workbook, a trace) that is searched."""


@dataclass(frozen=True)
class Masks:
    """Withheld texts with their names; falsy when there are none."""

    names: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """True if there is any."""
        return bool(self.names)

    @cached_property
    def _needles(self) -> tuple[tuple[bytes, str], ...]:
        return tuple((needle, name) for value, name in self.names.items() for needle in {*writings(value)})

    @cached_property
    def _longest_first(self) -> tuple[str, ...]:
        return tuple(sorted(self.names, key=len, reverse=True))

    @cached_property
    def _written(self) -> tuple[bytes, ...]:
        return tuple(json.dumps(value, ensure_ascii=False)[1:-1].encode() for value in self.names)

    def stand_in(self, body: bytes) -> bool:
        """True if any of them may stand in an event's stored bytes."""
        return any(needle in body for needle in self._written)

    def text(self, text: str) -> str:
        """The text with names in place of what is withheld, longest first."""
        for value in self._longest_first:
            if value in text:
                text = text.replace(value, self.names[value])
        return text

    def plain(self, value: Any) -> Any:  # noqa: ANN401 - plain data of any shape
        """Texts in plain data; keys of objects are texts too."""
        if not self.names:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.plain(key): self.plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.plain(item) for item in value)
        return value

    def object(self, value: T) -> T:
        """Texts in a dataclass or struct, and in what it is made of; the same object when there is none."""
        return self._made(value) if self.names else value

    def _made(self, value: Any) -> Any:  # noqa: ANN401 - any value of ours
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._made(key): self._made(item) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            items = [self._made(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            changed = {
                item.name: made
                for item in dataclasses.fields(value)
                if item.init and (made := self._made(old := getattr(value, item.name))) is not old
            }
            return dataclasses.replace(value, **changed) if changed else value
        if isinstance(value, msgspec.Struct):
            names = value.__struct_fields__
            return msgspec.structs.replace(
                value, **{name: self._made(getattr(value, name)) for name in names}
            )
        return value

    def found_in(self, data: bytes) -> str:
        """Name of a withheld text that stands in ``data``, in any of the usual writings; empty for none."""
        for needle, name in self._needles:
            if needle in data:
                return name
        return "" if not data.startswith(b"PK") else self._found_in_archive(data)

    def _found_in_archive(self, data: bytes) -> str:
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for member in archive.infolist():
                    if member.file_size > MAX_MEMBER_BYTES:
                        continue
                    if name := self.found_in(archive.read(member)):
                        return name
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError):
            return ""
        return ""


def writings(text: str) -> Iterator[bytes]:
    """Bytes that a text may stand as: encodings, JSON's escapes, hexadecimal, base64 at each of its three places."""
    yield json.dumps(text)[1:-1].encode()
    yield json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    yield text.encode("unicode_escape")
    for encoding in ENCODINGS:
        try:
            data = text.encode(encoding)
        except UnicodeEncodeError:
            continue
        yield data
        if encoding.startswith("utf"):
            yield data.hex().encode()
            yield data.hex().upper().encode()
            for skip in range(3):
                coded = base64.b64encode(bytes(skip) + data)
                inner = coded[(0, 2, 3)[skip] : len(coded) - (0, 3, 2)[(skip + len(data)) % 3]]
                if len(inner) > 3:  # noqa: PLR2004 - less than one group says nothing
                    yield inner
                    yield inner.replace(b"+", b"-").replace(b"/", b"_")
