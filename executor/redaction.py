"""Makes what a redaction needs: the rendition that is shown instead, and the salts that prove it (X7).

Rules: salts come from a secret key file outside of the record, so that the same part has the same salt whenever it is
made again; salts of what is withheld never leave this module; whoever approves makes the parts again from the
original and compares.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image

from domain import fields, tiles
from domain.errors import CommandRefused, IntegrityError
from domain.values import Box

OPENING_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Parts:
    """What a request names: the root over everything, and the contents that are shown."""

    root: str
    rendition: bytes
    opening: bytes


def pixels_of(data: bytes, where: str) -> tiles.Pixels:
    """A stored screen's pixels as 8-bit RGB; ``IntegrityError`` when it is none."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            flat = image.convert("RGB")
            return tiles.Pixels(flat.width, flat.height, flat.tobytes())
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise IntegrityError("not a screen that can be read", where=where) from error


def frame_root(data: bytes, sha256: str, key: bytes) -> str:
    """Root over a screen's salted tiles."""
    return tiles.commit(pixels_of(data, f"blob {sha256}"), key, sha256)[0]


def frame_parts(data: bytes, sha256: str, regions: Sequence[Box], key: bytes) -> Parts:
    """Parts of a redacted screen; ``CommandRefused`` when the rectangles touch nothing of it."""
    pixels = pixels_of(data, f"blob {sha256}")
    hidden = tiles.hidden_by(pixels.width, pixels.height, regions)
    if not hidden:
        what = f"no rectangle lies on screen {sha256[:12]}… ({pixels.width} x {pixels.height})"
        raise CommandRefused("redaction.region", what, remedy="give x,y,width,height in its pixels")
    root, hashes, salts = tiles.commit(pixels, key, sha256)
    opening = {
        "format": OPENING_FORMAT,
        "kind": "frame",
        "leaves": {str(number): hashes[number].hex() for number in sorted(hidden)},
        "salts": {str(number): salt.hex() for number, salt in enumerate(salts) if number not in hidden},
    }
    return Parts(root, tiles.encode_png(tiles.covered(pixels, hidden)), _plain(opening))


def event_root(body: bytes, key: bytes) -> str:
    """Root over an event's salted fields."""
    return fields.commit(json.loads(body), key)[0]


def event_parts(body: bytes, hidden: Collection[str], key: bytes) -> Parts:
    """Parts of a redacted event; its own salt is withheld with every field.

    ``CommandRefused`` when a field isn't there or says what the event is.
    """
    raw: dict[str, Any] = json.loads(body)
    values = fields.leaves_of(raw)
    for pointer in sorted(set(hidden) - {fields.SALT}):
        if pointer not in values:
            what = f"event {raw['id']} ({raw['name']}) has no {pointer}"
            raise CommandRefused("redaction.field", what, remedy=f"it has: {', '.join(withholdable(raw))}")
        if not fields.may_be_withheld(pointer, values[pointer]):
            what = (
                f"{pointer} says what the event is or is bound to, or is too short to be withheld by itself"
            )
            remedy = f"withhold one of: {', '.join(withholdable(raw)) or 'none in this event'}"
            raise CommandRefused("redaction.field", what, remedy=remedy)
    root, hashes, salts = fields.commit(raw, key)
    withheld = {*hidden, fields.SALT}
    opening = {
        "format": OPENING_FORMAT,
        "kind": "event",
        "salts": {pointer: salt.hex() for pointer, salt in salts.items() if pointer not in withheld},
    }
    return Parts(root, _plain(fields.render(raw, withheld, hashes)), _plain(opening))


def withholdable(body: dict[str, Any]) -> list[str]:
    """Pointers of an event's fields that may be withheld."""
    values = fields.leaves_of(body)
    return [pointer for pointer, value in values.items() if fields.may_be_withheld(pointer, value)]


def _plain(value: object) -> bytes:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()
