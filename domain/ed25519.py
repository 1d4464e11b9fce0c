"""Checking Ed25519 signatures (RFC 8032), also where nothing but Python is installed.

``verify`` is the implementation of ``cryptography`` where that can be imported, else the arithmetic of RFC 8032
below, which takes milliseconds instead of microseconds: an auditor's single-file verifier needs no installation.
Only public data is handled here, so timing tells nobody anything; signing is never done with this arithmetic.
Both refuse a scalar that is not reduced, so a signature has one form.
"""

from __future__ import annotations

import hashlib

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:  # pragma: no cover - the single-file verifier on a bare Python
    Ed25519PublicKey = None  # type: ignore[assignment,misc]

PUBLIC_BYTES = 32
SIGNATURE_BYTES = 64

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_SQRT_M1 = pow(2, (_P - 1) // 4, _P)

_Point = tuple[int, int, int, int]
_IDENTITY: _Point = (0, 1, 1, 0)


def verify(public: bytes, signature: bytes, message: bytes) -> bool:
    """True if ``signature`` (64 bytes) of ``message`` was made with the key of ``public`` (32 bytes)."""
    if len(public) != PUBLIC_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    if Ed25519PublicKey is None:  # pragma: no cover - see above
        return verify_plainly(public, signature, message)
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def verify_plainly(public: bytes, signature: bytes, message: bytes) -> bool:
    """The same without a library (RFC 8032 section 5.1.7, without cofactor)."""
    if len(public) != PUBLIC_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    key = _decompress(public)
    scalar = int.from_bytes(signature[32:], "little")
    if key is None or scalar >= _L:
        return False
    digest = hashlib.sha512(signature[:32] + public + message).digest()
    challenge = int.from_bytes(digest, "little") % _L
    negated = (_P - key[0], key[1], key[2], _P - key[3])
    return _compress(_add(_multiply(scalar, _BASE), _multiply(challenge, negated))) == signature[:32]


def _add(first: _Point, second: _Point) -> _Point:
    """Sum of two points in extended coordinates (RFC 8032 section 5.1.4)."""
    a = (first[1] - first[0]) * (second[1] - second[0]) % _P
    b = (first[1] + first[0]) * (second[1] + second[0]) % _P
    c = 2 * first[3] * second[3] * _D % _P
    d = 2 * first[2] * second[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _multiply(scalar: int, point: _Point) -> _Point:
    result = _IDENTITY
    while scalar:
        if scalar & 1:
            result = _add(result, point)
        point = _add(point, point)
        scalar >>= 1
    return result


def _x_of(y: int, sign: int) -> int | None:
    """The x to a y on the curve, or None when there is none (RFC 8032 section 5.1.3)."""
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _SQRT_M1 % _P
    if (x * x - square) % _P or (x == 0 and sign):
        return None
    return _P - x if x & 1 != sign else x


def _decompress(data: bytes) -> _Point | None:
    number = int.from_bytes(data, "little")
    y, sign = number & ((1 << 255) - 1), number >> 255
    if y >= _P:
        return None
    x = _x_of(y, sign)
    return None if x is None else (x, y, 1, x * y % _P)


def _compress(point: _Point) -> bytes:
    inverse = pow(point[2], _P - 2, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


_BASE_Y = 4 * pow(5, _P - 2, _P) % _P
_BASE_X = _x_of(_BASE_Y, 0) or 0
_BASE: _Point = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)
