"""Packs the verifier into one file that runs on a bare Python: ``python verify.pyz BUNDLE.zip``.

An auditor needs no installation and no trust in a package index; the file holds readable sources only, and is the
same bytes for the same release. Signatures are then checked with plain arithmetic (``domain.ed25519``).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from projections.exports.zipwriter import replacing

DOMAIN = (
    "chain.py",
    "ed25519.py",
    "errors.py",
    "fields.py",
    "ids.py",
    "log_format.py",
    "merkle.py",
    "notes.py",
    "tiles.py",
    "values.py",
)
"""Modules that the verifier imports, directly or not."""
_MAIN = b"import sys\n\nfrom projections.exports.verify.__main__ import main\n\nsys.exit(main())\n"
_SHEBANG = b"#!/usr/bin/env python3\n"
_EMPTY = ("domain/__init__.py", "projections/__init__.py", "projections/exports/__init__.py")


def write_verifier(path: Path) -> None:
    """Write the single-file verifier; ``WorldError`` when the file can't be written."""
    with replacing(path) as file:
        file.write(_SHEBANG)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, data in sorted(_sources()):
                info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                info.create_system = 3
                info.external_attr = 0o100644 << 16
                archive.writestr(info, data)


def _sources() -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _MAIN
    for name in _EMPTY:
        yield name, b""
    for name in DOMAIN:
        yield f"domain/{name}", resources.files("domain").joinpath(name).read_bytes()
    for source in _modules(resources.files("projections.exports.verify")):
        yield f"projections/exports/verify/{source.name}", source.read_bytes()


def _modules(folder: Traversable) -> Iterator[Traversable]:
    return (item for item in folder.iterdir() if item.name.endswith(".py"))
