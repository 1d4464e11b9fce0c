"""Which of the profile's encodings a file is really in.

Rules: a byte order mark wins; else the profile's encodings are tried in order, strictly, over the whole file; when
none fits, the first is used and rows with foreign bytes are refused one by one. A detector suggests in the error
text, it never decides.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

from charset_normalizer import from_bytes

from domain.errors import ConfigError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHUNK = 1 << 20
_SAMPLE = 1 << 16


def choose_encoding(stream: BinaryIO, encodings: Sequence[str]) -> tuple[str, bool]:
    """Encoding, and whether all of the file is in it; leaves the stream at its start."""
    stream.seek(0)
    head = stream.read(4)
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, decodes(stream, encoding)
    for encoding in encodings:
        if decodes(stream, encoding):
            return encoding, True
    if encodings[0].lower().startswith(("utf-16", "utf-32")):
        raise ConfigError(
            f"the file is not in {' or '.join(encodings)}",
            remedy=f"name its encoding in the profile; it looks like {suggest_encoding(stream)}",
        )
    return encodings[0], False


def decodes(stream: BinaryIO, encoding: str) -> bool:
    """True if every byte of the stream is valid in ``encoding`` and gives no NUL (a sign of UTF-16 read as bytes)."""
    stream.seek(0)
    try:
        decoder = codecs.getincrementaldecoder(encoding)("strict")
        wide = encoding.lower().startswith(("utf-16", "utf-32"))
        while chunk := stream.read(_CHUNK):
            text = decoder.decode(chunk)
            # Only in wide encodings has another character a byte of 0; bytes are searched faster.
            if "\0" in text if wide else b"\0" in chunk:
                return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    except LookupError as error:
        raise ConfigError(
            f"unknown encoding {encoding!r}", remedy="use a name that Python knows, such as gb18030"
        ) from error
    finally:
        stream.seek(0)
    return True


@contextmanager
def open_text(stream: BinaryIO, encoding: str, *, clean: bool) -> Iterator[io.TextIOWrapper]:
    """Text of the stream with line ends untouched; foreign bytes become lone surrogates when it isn't clean.

    The stream stays the caller's: it is not closed with the text.
    """
    stream.seek(0)
    wide = encoding.startswith(("utf-16", "utf-32"))
    errors = "strict" if clean else ("replace" if wide else "surrogateescape")
    text = io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline="")
    try:
        yield text
    finally:
        if not stream.closed:
            text.detach()


def suggest_encoding(stream: BinaryIO) -> str:
    """What a detector takes the first 64 KiB for: a hint for a person."""
    stream.seek(0)
    best = from_bytes(stream.read(_SAMPLE)).best()
    stream.seek(0)
    return best.encoding if best else "no text at all"
