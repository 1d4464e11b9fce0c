"""Two kinds of import contract that import-linter does not bring.

The rules they enforce:

- The bundle verifier must run, and be read, without the rest of the product. A list of forbidden
  libraries would let the next one through; `stand_alone` lists the allowed ones.
- What composes the product must stay outermost: a module that imported the wiring could reach through it
  what it may not import itself.

A module under contract may not exist yet. That is a warning, not a breach, so that a contract can be
written before its module is.
"""

import sys
from typing import cast

import grimp
from importlinter import Contract, ContractCheck, fields, output


class StandAloneContract(Contract):
    """Every import chain that starts at `module` stays within `allowed` packages and the standard library.

    Options:
        module: The module or package under contract.
        allowed: Packages that it may reach. What an allowed package of another project imports is that
            project's affair; what one of ours imports is followed.
    """

    type_name = "stand_alone"

    module = fields.StringField()
    allowed = fields.SetField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - given signature
        """Return whether the contract is kept, with one import chain for each module out of bounds."""
        module = cast("str", self.module)
        allowed = cast("set[str]", self.allowed)
        output.verbose_print(verbose, f"Following all imports of {module}...")
        if module not in graph.modules:
            return ContractCheck(kept=True, warnings=[_missing(module)])
        reached = graph.find_upstream_modules(module, as_package=True)
        strangers = sorted(name for name in reached if not _may_reach(name, {module, *allowed}))
        chains = [_chain(graph, module, stranger) for stranger in strangers]
        return ContractCheck(kept=not strangers, metadata={"chains": chains})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the chains that lead out of bounds, one a line."""
        _print_chains(check)


class OutermostContract(Contract):
    """No module outside `modules` imports any of them.

    Options:
        modules: Modules or packages that compose the others; they may import one another.
    """

    type_name = "outermost"

    modules = fields.SetField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - given signature
        """Return whether the contract is kept, with each import from outside as a chain of two."""
        modules = cast("set[str]", self.modules)
        present = sorted(modules & graph.modules)
        output.verbose_print(verbose, f"Looking for importers of {', '.join(present)}...")
        chains = [
            (importer, module)
            for module in present
            for importer in sorted(graph.find_modules_that_directly_import(module, as_package=True))
            if not _within(importer, modules)
        ]
        warnings = [_missing(module) for module in sorted(modules - graph.modules)]
        return ContractCheck(kept=not chains, warnings=warnings, metadata={"chains": chains})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the imports from outside, one a line."""
        _print_chains(check)


def _missing(module: str) -> str:
    return f"{module} does not exist yet: nothing was checked for it."


def _within(name: str, packages: set[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _may_reach(name: str, packages: set[str]) -> bool:
    root = name.partition(".")[0]
    return root in sys.stdlib_module_names or _within(name, packages)


def _chain(graph: grimp.ImportGraph, start: str, end: str) -> tuple[str, ...]:
    chain = graph.find_shortest_chain(importer=start, imported=end, as_packages=True)
    return chain if chain is not None else (start, end)


def _print_chains(check: ContractCheck) -> None:
    for chain in check.metadata["chains"]:
        output.print_error(" -> ".join(chain), bold=False)
    output.new_line()
