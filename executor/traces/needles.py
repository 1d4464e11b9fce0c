"""Finding known secrets wherever they stand in a trace: as they are, escaped, in addresses, in Base64.

Rules: a secret of at least four characters is looked for inside other text, a shorter one only where it is the whole
text (a two-digit code would otherwise eat half the trace); what is secret by its name is taken out beside that,
whatever its value; secrets are never part of a message.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus, unquote_plus

from executor.guards.script import PRIVATE_NAMES

MASK: Final = "•"
SHORTEST: Final = 4
"""Characters from which a secret is looked for inside other text."""
_SECRET_NAME: Final = re.compile(PRIVATE_NAMES, re.IGNORECASE)
_PAIR: Final = re.compile(r"""(?P<name>[\w.\-\[\]%]+)=(?P<value>[^&;#\s"'<>]*)""")
_MEMBER: Final = re.compile(
    r"""(?P<name>"[^"\\]{1,80}")(?P<gap>\s*:\s*)(?P<value>"(?:[^"\\]|\\.)*"|-?\d[\d.]*)"""
)
_USER: Final = re.compile(r"(?<=://)[^/@\s\"'<>]*@")


def is_private(name: str, also: Iterable[str] = ()) -> bool:
    """Is what bears this name secret, whatever its value?"""
    return bool(_SECRET_NAME.search(name)) or name in also


def forms(secret: str) -> Iterator[str]:
    """The ways in which a secret may be written."""
    once = json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]
    inner = (
        *once,
        *(json.dumps(form, ensure_ascii=False)[1:-1] for form in once),
    )  # JSON kept as a text of JSON
    percent = quote(secret, safe=""), quote_plus(secret), quote(secret, safe="!'()*~-._")
    yield from (secret, *inner, html.escape(secret), html.escape(secret, quote=False))
    yield secret.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;").replace("'", "&#39;")
    yield from percent
    yield from (re.sub("%..", lambda code: code[0].lower(), one) for one in percent)
    raw = secret.encode()
    yield raw.hex()
    yield raw.hex().upper()
    for skipped in range(3):
        shifted = base64.b64encode(b"\0" * skipped + raw).decode().rstrip("=")
        # Only the digits that the secret alone decides: those at its edges depend on what stands beside it.
        first, last = -(-skipped * 8 // 6), (skipped + len(raw)) * 8 // 6
        middle = shifted[first:last]
        if len(middle) >= SHORTEST:
            yield middle
            yield middle.replace("+", "-").replace("/", "_")


class Needles:
    """Known secrets, and the names that make a value secret."""

    def __init__(self, secrets: Iterable[str], *, names: Iterable[str] = ()) -> None:
        self._names = frozenset(names)
        known = {secret for secret in secrets if secret.strip() and set(secret) != {MASK}}
        self._short = frozenset(secret for secret in known if len(secret) < SHORTEST)
        written = {form for secret in known - self._short for form in forms(secret)}
        ordered = sorted(written, key=len, reverse=True)
        self._found = re.compile("|".join(map(re.escape, ordered))) if ordered else None
        self._octets = tuple(form.encode() for form in ordered)

    def clean(self, text: str) -> tuple[str, int]:
        """The text with masks where something secret stood, and how many such places there were."""
        if text.strip() in self._short:
            return MASK, 1
        count = 0
        if self._found is not None:
            text, count = self._found.subn(MASK, text)
        text, more = self._by_name(text)
        return text, count + more

    def is_in(self, data: bytes) -> bool:
        """Does any known secret stand in these bytes?"""
        return any(form in data for form in self._octets)

    def named_in(self, text: str) -> Iterator[str]:
        """Values that are secret by the name beside them: in addresses, forms and JSON."""
        for pair in _PAIR.finditer(text):
            if is_private(pair["name"], self._names) and pair["value"]:
                yield pair["value"]
                yield unquote_plus(pair["value"])
        for member in _MEMBER.finditer(text):
            if is_private(member["name"].strip('"'), self._names):
                yield member["value"].strip('"')
                yield str(json.loads(member["value"], strict=False)) if _is_json(member["value"]) else ""

    def _by_name(self, text: str) -> tuple[str, int]:
        count = 0

        def masked(make: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
            def replace(found: re.Match[str]) -> str:
                nonlocal count
                value = found["value"].strip('"')
                if not value or value == MASK or not is_private(found["name"].strip('"'), self._names):
                    return found[0]
                count += 1
                return make(found)

            return replace

        text = _PAIR.sub(masked(lambda found: f"{found['name']}={MASK}"), text)
        text = _MEMBER.sub(masked(lambda found: f'{found["name"]}{found["gap"]}"{MASK}"'), text)
        text, users = _USER.subn(f"{MASK}@", text)
        return text, count + users


def _is_json(text: str) -> bool:
    try:
        json.loads(text, strict=False)
    except ValueError:
        return False
    return True
