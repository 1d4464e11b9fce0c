"""What can't be put together is refused before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from domain.errors import ConfigError, WorldError
from executor.config import load_config
from executor.sandbox.story import SECRETS, write_config
from executor.wiring import Workshop, open_target

Open = Callable[..., Workshop]


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    for variable in SECRETS.values():
        monkeypatch.setenv(variable, "correct horse battery staple")

    def make(**sections: dict[str, Any]) -> Workshop:
        path = write_config(tmp_path / "proofreel.yaml", origin="http://127.0.0.1:9", language="zh")
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        for name, values in sections.items():
            content[name] = {**content[name], **values}
        path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
        target = open_target(load_config(path), path)
        return Workshop(target, store=f"sqlite:///{tmp_path / 'record.db'}", blobs=str(tmp_path / "blobs"))

    return make


def test_a_language_that_the_recipe_lacks_is_refused_with_those_it_has(workshop: Open) -> None:
    with pytest.raises(ConfigError, match=r"no labels for language 'fr'.*en, ja, ko, zh"):
        workshop(target={"language": "fr"})


def test_the_settlement_file_is_a_source_beside_another(workshop: Open) -> None:
    with workshop(write_policy={"readback_sources": ["api", "settlement_file"]}) as made:
        assert [source.source for source in made.kit().readbacks] == ["api", "settlement_file"]


def test_the_kit_has_the_configured_sources_in_their_order_and_reads_as_another_account(
    workshop: Open,
) -> None:
    with workshop(write_policy={"readback_sources": ["list", "api", "detail"]}) as made:
        kit = made.kit()
        assert [source.source for source in kit.readbacks] == ["list", "api", "detail"]
        assert {source.account for source in kit.readbacks} == {"readback-acme"}
        assert made.kit() is kit


def test_no_part_of_a_workshop_shows_a_password(workshop: Open) -> None:
    with workshop() as made:
        shown = f"{made.target!r} {made.target} {made.kit()!r} {made.setting!r}"
    assert "battery" not in shown


class _Refused:
    """Hands whose log-in fails."""

    def __init__(self) -> None:
        self.closed = False

    def log_in(self) -> None:
        raise WorldError("not logged in")

    def close(self) -> None:
        self.closed = True


def test_hands_whose_log_in_failed_are_closed_and_never_used(
    workshop: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[_Refused] = []

    def refused(_: Workshop) -> _Refused:
        made.append(_Refused())
        return made[-1]

    monkeypatch.setattr(Workshop, "_new_hands", refused)
    with workshop() as shop:
        for _ in range(2):
            with pytest.raises(WorldError, match="not logged in"):
                shop.hands()
    assert [hands.closed for hands in made] == [True, True]
