"""The contracts that import-linter does not bring refuse what they are there to refuse."""

import grimp
import pytest
from importlinter import Contract, ContractCheck

from tools.import_contracts import OutermostContract, StandAloneContract

Imports = dict[str, list[str]]


def graph_of(imports: Imports) -> grimp.ImportGraph:
    graph = grimp.ImportGraph()
    for importer, imported in imports.items():
        graph.add_module(importer)
        for module in imported:
            graph.add_import(
                importer=importer, imported=module, line_number=1, line_contents=f"import {module}"
            )
    return graph


def check(contract: type[Contract], imports: Imports, **options: str | list[str]) -> ContractCheck:
    return contract(name="under test", session_options={}, contract_options=options).check(
        graph_of(imports), verbose=False
    )


def check_verifier(imports: Imports) -> ContractCheck:
    return check(StandAloneContract, imports, module="desk.verify", allowed=["domain", "cryptography"])


def check_wiring(imports: Imports) -> ContractCheck:
    return check(OutermostContract, imports, modules=["executor.cli", "executor.wiring"])


def test_a_module_that_stands_alone_may_use_allowed_packages_and_the_standard_library() -> None:
    kept = check_verifier(
        {"desk.verify": ["domain.merkle", "cryptography", "json"], "domain.merkle": ["hashlib"]}
    )
    assert kept.kept
    assert not kept.warnings


@pytest.mark.parametrize("stranger", ["rich", "desk.views", "domainlike"])
def test_a_module_that_stands_alone_may_use_nothing_else(stranger: str) -> None:
    broken = check_verifier({"desk.verify": ["json", stranger]})
    assert not broken.kept
    assert broken.metadata["chains"] == [("desk.verify", stranger)]


def test_a_stranger_reached_through_an_allowed_package_is_found_with_its_chain() -> None:
    broken = check_verifier({"desk.verify": ["domain.codec"], "domain.codec": ["orjson"]})
    assert broken.metadata["chains"] == [("desk.verify", "domain.codec", "orjson")]


def test_a_module_that_does_not_exist_yet_is_a_warning() -> None:
    check_result = check_verifier({"desk.views": ["rich"]})
    assert check_result.kept
    assert len(check_result.warnings) == 1


def test_the_composing_modules_may_import_one_another() -> None:
    result = check_wiring(
        {"executor.cli.run": ["executor.wiring"], "executor.cli": [], "executor.wiring": []}
    )
    assert result.kept


def test_no_other_module_may_import_a_composing_module() -> None:
    result = check_wiring({"executor.loop": ["executor.wiring"], "executor.cli": [], "executor.wiring": []})
    assert not result.kept
    assert result.metadata["chains"] == [("executor.loop", "executor.wiring")]
