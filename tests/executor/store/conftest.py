"""Every test that asks for ``url`` runs on both databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from executor.store.log import RecordLog, open_record
from tests.support.records import BACKENDS, Maker, fresh_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.postgres if name == "postgres" else ()) for name in BACKENDS]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database."""
    return fresh_url(request.param, tmp_path)


@pytest.fixture
def log(url: str) -> Iterator[RecordLog]:
    """An empty record."""
    with open_record(url) as opened:
        yield opened


@pytest.fixture
def maker() -> Maker:
    """Drafts for tenant ``acme``."""
    return Maker(seed=1)
