"""The practice form and a scripted model as real servers, and a configuration that joins them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from executor.sandbox.model_server.dialogue import ProviderName
from executor.sandbox.model_server.scenario import Scenario
from executor.sandbox.model_server.server import ModelServer
from executor.sandbox.practice.app import PracticeServer
from executor.sandbox.practice.book import CASE, READER, WRITER, Book

GOAL = f"Send the change of address {CASE.reference}: the new address is {CASE.address}."


@dataclass(frozen=True)
class ModelSite:
    """Both servers, and the arguments of a run."""

    form: PracticeServer
    model: ModelServer
    config: Path
    environment: dict[str, str]

    def arguments(self, provider: ProviderName, *more: str, action: str = "submit_change") -> list[str]:
        """Of ``proofreel run``."""
        return [
            *("run", "--goal", GOAL, "--provider", provider, "--bill", CASE.reference, "--action", action),
            *("--config", str(self.config), "--json", "--max-calls", "12", *more),
        ]


def write_config(path: Path, origin: str) -> Path:
    content = {
        "version": 1,
        "tenant": "acme",
        "identity": {
            "principal": "svc:practice",
            "tenants": ["acme"],
            "actions": ["submit_change", "withdraw"],
        },
        "target": {
            "name": "practice form",
            "origin": origin,
            "recipe": "practice-form",
            "language": "en",
            "service": {"account": WRITER, "secret_env": "PRACTICE_WRITER"},
            "readback": {"account": READER, "secret_env": "PRACTICE_READER"},
        },
        "record": {"store": "sqlite:///record.db", "blobs": "blobs"},
        "write_policy": {"readback_sources": ["api"], "readback_deadline_ms": 1500},
    }
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


@contextmanager
def model_site(folder: Path, scenario: Scenario, book: Book) -> Iterator[ModelSite]:
    """Serve until the end of the block."""
    with PracticeServer(book) as form, ModelServer(scenario) as model:
        environment = {
            "PRACTICE_WRITER": form.passwords[WRITER],
            "PRACTICE_READER": form.passwords[READER],
        }
        for provider in ("openai", "anthropic", "gemini"):
            environment |= model.environment(provider)
        yield ModelSite(form, model, write_config(folder / "proofreel.yaml", form.url), environment)
