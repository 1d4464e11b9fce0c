"""A page run in memory, and what it handed to its components."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from streamlit.testing.v1 import AppTest

from domain.errors import CommandRefused
from domain.events import TargetAccepted
from projections.views.reconciliation import Reconciliation
from replay_ui.operator_actions import AskedRedaction


def script(path: str, language: str) -> None:
    from replay_ui.app import PAGES, framed  # noqa: PLC0415 - the body becomes a script of its own
    from replay_ui.i18n import Words  # noqa: PLC0415 - the same

    framed(path, Words(language), PAGES[path][2])


@dataclass
class Heard:
    """Operator actions that write down what they were asked for."""

    calls: list[tuple[object, ...]] = field(default_factory=list)
    refuse: bool = False
    able: dict[str, list[str]] = field(default_factory=dict)
    went: dict[str, str] = field(default_factory=lambda: {"webhook": "ok"})

    def people(self, tenant: str, right: str = "") -> Sequence[str]:
        if right:
            return self.able.get(right, [])
        return ["person:li.na", "svc:acme-batch"] if tenant == "acme" else []

    def answer(
        self,
        tenant: str,
        task: str,
        *,
        approval: str,
        verdict: Literal["grant", "deny"],
        person: str,
        note: str,
    ) -> None:
        if self.refuse:
            raise CommandRefused("approval.right", "may not approve")
        self.calls.append((tenant, task, approval, verdict, person, note))

    def sign_off(self, tenant: str, case: str, *, digest: str, person: str, note: str) -> None:
        self.calls.append((tenant, case, digest, person, note))

    def note_case(self, tenant: str, case: str, *, person: str, text: str) -> None:
        self.calls.append(("note", tenant, case, person, text))

    def reopen_case(self, tenant: str, case: str, *, person: str, reason: str) -> None:
        self.calls.append(("reopen", tenant, case, person, reason))

    def keep_case(self, tenant: str, result: Reconciliation, case: str, *, person: str) -> None:
        self.calls.append(("keep", tenant, result.month, case, person))

    def ask_redaction(self, tenant: str, asked: AskedRedaction, *, person: str) -> None:
        self.calls.append(("ask", tenant, asked, person))

    def answer_redaction(
        self, tenant: str, redaction: str, *, verdict: Literal["approve", "deny"], person: str, note: str
    ) -> None:
        self.calls.append(("answer", tenant, redaction, verdict, person, note))

    def take(self, tenant: str, task: str, *, person: str) -> None:
        self.calls.append((tenant, task, person))

    def tell_again(self, tenant: str, task: str, *, position: int, person: str) -> Mapping[str, str]:
        if self.refuse:
            raise CommandRefused("alert.changed", "it was tried in the meantime")
        self.calls.append((tenant, task, position, person))
        return self.went

    def accept_target(self, tenant: str, fact: TargetAccepted, *, person: str) -> None:
        self.calls.append((tenant, fact, person))

    def resolve(self, tenant: str, task: str, *, resolution: str, person: str, note: str) -> None:
        self.calls.append((tenant, task, resolution, person, note))


def show(path: str, language: str = "en", **query: str) -> AppTest:
    page = AppTest.from_function(script, kwargs={"path": path, "language": language}, default_timeout=60)
    for name, value in query.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def data(page: AppTest) -> list[dict[str, Any]]:
    """Everything that the page handed to its components."""
    return [json.loads(element.proto.json) for element in page.get("bidi_component")]


def said(page: AppTest) -> str:
    return json.dumps(data(page), ensure_ascii=False)


def links(page: AppTest) -> set[str]:
    found = set()
    stack: list[Any] = list(data(page))
    while stack:
        item = stack.pop()
        stack.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        if isinstance(item, dict) and item.get("href"):
            found.add(item["href"])
    return found


def thumbs(items: list[dict[str, Any]]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    stack: list[Any] = list(items)
    while stack:
        item = stack.pop()
        stack.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        if isinstance(item, dict) and "src" in item:
            found.append(item)
    return found


def rows_of(page: AppTest) -> list[Any]:
    rows: list[Any] = next(
        block["rows"] for item in data(page) for block in item["blocks"] if block["kind"] == "table"
    )
    return rows


def note_of(page: AppTest) -> Any:  # noqa: ANN401 - Streamlit's test elements have no common type
    return next(field for field in page.text_input if field.label == "Note")
