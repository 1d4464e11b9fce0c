"""Executors over a vendor in memory, with a real record in the test's own folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.vendor import FakeVendor
from tests.support.workbench import Bench, benches, usual_vendor


@pytest.fixture
def vendor() -> FakeVendor:
    return usual_vendor()


@pytest.fixture
def make_bench(tmp_path: Path, vendor: FakeVendor) -> Iterator[Callable[..., Bench]]:
    with benches(tmp_path, vendor) as make:
        yield make


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()
