"""``python -m tests.benchmarks [NAME…]``: runs the benchmarks of that name, all of them by default.

Each is a module of this package with a ``main()`` that prints its table; to add one is to add the module.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Sequence

import tests.benchmarks


def known() -> list[str]:
    """Names of the benchmarks, in alphabetical order."""
    modules = [found.name for found in pkgutil.iter_modules(tests.benchmarks.__path__)]
    return [name for name in modules if not name.startswith("_") and hasattr(_module(name), "main")]


def _module(name: str) -> object:
    return importlib.import_module(f"tests.benchmarks.{name}")


def run(names: Sequence[str]) -> int:
    """Run benchmarks in the order given; 2 when a name is unknown."""
    there = known()
    unknown = [name for name in names if name not in there]
    if unknown:
        print(f"there is no benchmark {unknown[0]}: use {', '.join(there)}", file=sys.stderr)
        return 2
    for name in names or there:
        getattr(_module(name), "main")()  # noqa: B009 - every module of the list has one
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
