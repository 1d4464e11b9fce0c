"""What holds for every test.

Hypothesis runs without a deadline: time is measured in benchmarks, never asserted in tests.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator

settings.register_profile(
    "proofreel", deadline=None, database=DirectoryBasedExampleDatabase(".cache/hypothesis")
)
settings.load_profile("proofreel")

_MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def own_main_module() -> Iterator[None]:
    """The program's own main module, also after a page of the desk ran as one.

    Processes that a later test starts import the main module by its path, and a page's is a file that is gone.
    """
    yield
    sys.modules["__main__"] = _MAIN
