"""``sealed:`` URLs: blobs, keyring, key and tenant in one text, so that whoever opens blobs needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import cast
from urllib.parse import parse_qs, urlencode

from domain.errors import ConfigError
from executor.runtime.system import SystemClock
from executor.store.blobs import open_blobs
from executor.store.sealed import Keyring, SealedBlobs, SealedPlaces
from executor.store.secret_key import load_secret


def sealed_url(blobs: str, *, ring: Path, key: Path, tenant: str, writes: bool) -> str:
    """The URL; it holds paths and no secret."""
    parts = {"blobs": blobs, "ring": str(ring), "key": str(key), "tenant": tenant, "writes": str(int(writes))}
    return f"sealed:{urlencode(parts)}"


def open_sealed(url: str) -> SealedBlobs:
    """The blobs behind a ``sealed:`` URL; ``ConfigError`` when it is malformed or the key can't be read."""
    try:
        parts = {
            name: values[0] for name, values in parse_qs(url.partition(":")[2], strict_parsing=True).items()
        }
        inner, ring, key = parts["blobs"], Path(parts["ring"]), Path(parts["key"])
        tenant, writes = parts["tenant"], parts["writes"] == "1"
    except (KeyError, ValueError) as error:
        remedy = "let the configuration name it"
        raise ConfigError("a URL of sealed blobs is malformed", remedy=remedy) from error
    plain = open_blobs(inner)
    return SealedBlobs(
        plain,
        cast("SealedPlaces", plain),
        Keyring(ring, load_secret(key)),
        tenant=tenant,
        clock=SystemClock(),
        writes=writes,
    )
