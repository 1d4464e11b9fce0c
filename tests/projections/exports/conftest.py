"""One record and one honest bundle for all tests of the exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from projections.exports.bundle import Extras
from tests.projections.exports.forging import Forger
from tests.projections.exports.made import KEY, Made, case_of, export, make, seal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def made() -> Made:
    return make()


@pytest.fixture(scope="session")
def bundle(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Signed and sealed, about bill B1."""
    path = tmp_path_factory.mktemp("bundle") / "b1.zip"
    extras = Extras(checkpoint=made.checkpoint(), keys=[KEY], seal=seal)
    export(made, path, case=case_of(made), extras=extras)
    return path


@pytest.fixture(scope="session")
def plain(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without any signature."""
    path = tmp_path_factory.mktemp("bundle") / "plain.zip"
    export(made, path, case=case_of(made))
    return path


@pytest.fixture
def forger(bundle: Path) -> Forger:
    return Forger(bundle)
