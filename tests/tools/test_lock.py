"""The lock pins everything by hash and says nothing about the machine that made it."""

import re
import tomllib

import pytest

from tools import lock

PINS = lock.LOCK.read_text(encoding="utf-8")


def entries() -> dict[str, str]:
    found = re.findall(r"^([a-z0-9.-]+)==(\S+).*\\\n((?:    --hash=.*\n?)+)", PINS, flags=re.MULTILINE)
    return {name: hashes for name, _version, hashes in found}


def test_every_pin_of_the_lock_has_a_hash() -> None:
    names = set(re.findall(r"^([a-z0-9.-]+)==", PINS, flags=re.MULTILINE))
    assert names
    assert names == set(entries())


def test_every_dependency_of_the_project_is_in_the_lock() -> None:
    project = tomllib.loads((lock.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    required = [*project["dependencies"], *(one for extra in extras for one in extra)]
    names = {re.split(r"[\[<>=~!;@ ]", requirement)[0].lower() for requirement in required}
    assert names <= set(entries())


def test_the_lock_names_no_index_and_no_path() -> None:
    assert lock.impurities(PINS) == []


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://index.example/simple",
        "--extra-index-url https://index.example/simple",
        "--find-links wheels",
        "-e .",
        "# made at /home/somebody",
        "package @ https://files.example/package.whl",
        "package @ file:///wheels/package-1==1.whl",
        "package>=1",
    ],
)
def test_a_line_that_is_no_pin_is_found(line: str) -> None:
    assert lock.impurities(f"orjson==3.13.0 \\\n    --hash=sha256:00\n{line}\n") == [line]
