"""Every simulation that asks for ``url`` runs on both databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.records import BACKENDS, fresh_url

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.postgres if name == "postgres" else ()) for name in BACKENDS]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database."""
    return fresh_url(request.param, tmp_path)
