"""One portal for all tests of this folder; every test takes bills that no other test has touched."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from executor.sandbox.portal.client import PortalClient
from executor.sandbox.portal.server import PortalThread

WAIT_SECONDS = 20.0


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; fail when it never does."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail("what was waited for did not come")
        time.sleep(0.02)


@pytest.fixture(scope="session")
def running_portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalThread]:
    path = tmp_path_factory.mktemp("portal") / "portal.sqlite"
    with PortalThread(path, counts={"acme": 120, "globex": 8}) as portal:
        yield portal


@pytest.fixture(scope="session")
def untouched(running_portal: PortalThread) -> list[str]:
    return list(running_portal.bill_ids["acme"])


@pytest.fixture
def portal(running_portal: PortalThread) -> PortalThread:
    running_portal.control.reset()
    return running_portal


@pytest.fixture
def bill(portal: PortalThread, untouched: list[str]) -> str:
    """Give a pending CNY bill of acme."""
    while portal.truth.bill(untouched[-1]).currency != "CNY":
        untouched.pop()
    return untouched.pop()


@pytest.fixture
def person(portal: PortalThread) -> Iterator[PortalClient]:
    with portal.client("wang.li") as client:
        yield client


@pytest.fixture
def service(portal: PortalThread) -> Iterator[PortalClient]:
    with portal.client("svc-acme") as client:
        yield client
