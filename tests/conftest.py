"""What holds for every test.

Hypothesis runs without a deadline: time is measured in benchmarks, never asserted in tests.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

settings.register_profile(
    "proofreel", deadline=None, database=DirectoryBasedExampleDatabase(".cache/hypothesis")
)
settings.load_profile("proofreel")
