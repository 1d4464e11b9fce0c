"""A target's recipe: how its pages, forms and read sources are reached, as YAML and not as code (B2).

A recipe names, for each business action, its steps with selectors in order of preference, the confirmation it must
meet, the request that may leave, its compensation, and what stays after undoing. Texts are looked up by language, so
one recipe serves the Chinese, English, Japanese and Korean portal. Unknown keys are refused with file and line.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec

from domain.errors import ConfigError
from domain.policy import ActionRule, ReadbackSource, RungName
from domain.values import Intent, Verdict
from executor.filling import in_selector
from executor.holds import HoldMap
from executor.readback import JsonMap
from executor.recipe_checks import refuse_contradictions
from executor.tools.base import (
    FieldMap,
    IntentField,
    LoginForm,
    Probe,
    RequestRule,
    SiteRules,
    Step,
    StepKind,
)
from executor.tools.calls import CallRung
from executor.yaml_source import load_yaml


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all sections."""


class LoginSection(_Strict, frozen=True, kw_only=True):
    """The log-in page, for the browser (selectors) and for HTTP readback (field names)."""

    path: str
    account_selector: str
    secret_selector: str
    submit_selector: str
    account_field: str
    secret_field: str
    done_selector: str = ""


class SiteSection(_Strict, frozen=True, kw_only=True):
    """What guards must know of the site; see ``SiteRules``."""

    login: LoginSection
    probe_path: str
    probe_account_field: str = ""
    account_selector: str = ""
    toast_selector: str = "[role=status],[role=alert]"
    mask_selectors: list[str] = []
    secret_fields: list[str] = []
    volatile_selectors: list[str] = []
    free_posts: list[str] = []


class FieldsSection(_Strict, frozen=True, kw_only=True):
    """Which fields and texts carry the business intent; see ``FieldMap``."""

    form: dict[str, IntentField]
    form_selector: str = ""
    drawn: tuple[IntentField, ...] = ("bill_id",)
    drawn_selectors: dict[IntentField, str] = {}
    amount_unit: Literal["decimal", "minor"] = "decimal"


class RequestSection(_Strict, frozen=True, kw_only=True):
    """The one request that a writing step may send; see ``RequestRule``."""

    method: str = "POST"
    path: str
    required: list[str] = []
    ignored: list[str] = []
    known: list[str] = []
    """Body fields whose value an independent source gives (keys of the read API)."""


class PagesSection(_Strict, frozen=True, kw_only=True):
    """How a list that has more than one page is turned while a step's target is on none so far."""

    selectors: list[str]
    """The way to the next page; gone on the last one."""
    label: str
    """Key of ``labels``."""
    most: int = 20
    """Pages turned for one step, at most."""


class StepSection(_Strict, frozen=True, kw_only=True):
    """One step; exactly one of ``goto`` and ``do``."""

    goto: str = ""
    do: StepKind | None = None
    selectors: list[str] = []
    label: str = ""
    """Key of ``labels``."""
    onto: list[str] = []
    """Where a drag ends."""
    text: str = ""
    writes: bool = False
    destructive: bool = False
    needs_confirm: bool = False
    native_confirm: bool = False
    """The browser itself asks (``confirm()``) before this step writes. It is asked once with nothing allowed to leave
    and dismissed; planned again, the same question about the same bill is answered with yes, once."""
    drawn: list[IntentField] | None = None
    """Intent fields that must be readable around this target, where they differ from the usual ones."""
    bind: bool = True
    """False for steps whose target carries no bill (a search field)."""
    pages: PagesSection | None = None
    """For a target in a list: each page turned is a step of its own."""


class VisionSection(_Strict, frozen=True, kw_only=True):
    """The action as a model is asked for it: the ``computer_use`` rung. ``{bill_id}`` is filled in."""

    goal: str = ""
    """In words, also with ``{counterparty}`` and ``{month}``; the action's name when empty."""
    start: str = ""
    """Path to open first; that of the first step when empty."""


class ActionSection(_Strict, frozen=True, kw_only=True):
    """One business action."""

    code: str
    """The target's own word for it, as its requests carry it."""
    target_status: str
    irreversible: bool = False
    compensation: str = ""
    residual_effects: list[str] = []
    rungs: tuple[RungName, ...] = ("browser",)
    new_ledger_lines: int = 1
    precondition: list[str] = []
    """Statuses from which it may start; empty: any but its own."""
    readback: tuple[ReadbackSource, ...] = ()
    """Sources that decide about it; empty: all that the policy lists."""
    vision: VisionSection | None = None
    steps: list[StepSection]


class ApiSection(_Strict, frozen=True, kw_only=True):
    """The target's own write interface: the ``api`` rung."""

    login_path: str
    account_field: str = "account"
    secret_field: str = "password"  # noqa: S105 - a field's name
    token_field: str = "token"  # noqa: S105 - a field's name
    read_path: str
    """With ``{bill_id}``; answers with the keys of ``read.keys``."""
    method: str = "POST"
    path: str
    """With ``{bill_id}`` and ``{action}`` (the target's own word)."""
    fields: dict[str, IntentField]
    known: list[str] = []
    """Fields whose value an independent source gives (keys of the read API)."""
    idempotency_header: str = ""


class McpSection(_Strict, frozen=True, kw_only=True):
    """The target's tools for models, called without one: the ``mcp`` rung."""

    read_tool: str
    read_argument: str = "bill_id"
    tool: str
    fields: dict[str, IntentField]
    known: list[str] = []
    key_argument: str = ""
    """Argument that carries the effect's key, for tools that refuse a repetition by it."""
    account_key: str = ""
    """Key of the read tool's answer that names the session's account."""
    error_key: str = "error"
    errors: dict[str, Verdict] = {}
    """Error word of the tools → what it means; only words that certainly had no effect stand here."""
    missing: str = "not_found"
    """Error word for a bill that isn't there."""


class ReadSection(_Strict, frozen=True, kw_only=True):
    """Read sources of the target."""

    api_path: str
    list_path: str
    list_rows: str = "bills"
    keys: dict[str, str] = {}
    hold: HoldMap | None = None
    """Where answers show that a colleague holds the bill; a held bill is not written to."""
    exact: dict[str, IntentField] = {}
    """Stored fields (dotted keys of the read API) that must equal a part of the intent after a write."""
    exact_known: dict[str, str] = {}
    """Stored fields that must equal another field as it was before the write (both dotted keys)."""
    detail_path: str = ""
    detail_selectors: dict[str, str] = {}
    settlement_path: str = ""
    """With ``{month}``."""
    settlement_profile: str = ""
    """How the settlement file is read: the name or path of a profile."""
    settlement_initial: str = "pending"
    """Status of a bill that the file has no line about."""


class Recipe(_Strict, frozen=True, kw_only=True):
    """The whole file."""

    name: str
    statuses: dict[str, dict[str, str]] = {}
    """Language → drawn status text → status code."""
    labels: dict[str, dict[str, str]]
    """Language → key → text on the target."""
    site: SiteSection
    fields: FieldsSection
    request: RequestSection
    api: ApiSection | None = None
    mcp: McpSection | None = None
    read: ReadSection
    actions: dict[str, ActionSection]

    def rules(self) -> Mapping[str, ActionRule]:
        """What the policy must know of each action."""
        return {
            name: ActionRule(
                action=name,
                target_status=section.target_status,
                irreversible=section.irreversible,
                compensation=section.compensation,
                residual_effects=tuple(section.residual_effects),
                rungs=tuple(section.rungs),
            )
            for name, section in self.actions.items()
        }

    def site_rules(self, origin: str) -> SiteRules:
        """For the guards."""
        site = self.site
        return SiteRules(
            origins=(origin,),
            login_path=site.login.path,
            probe=Probe(url=f"{origin}{site.probe_path}", account_field=site.probe_account_field),
            account_selector=site.account_selector,
            toast_selector=site.toast_selector,
            mask_selectors=tuple(site.mask_selectors),
            secret_fields=tuple(site.secret_fields),
            volatile_selectors=tuple(site.volatile_selectors),
            free_posts=tuple(site.free_posts),
        )

    def login_form(self, origin: str) -> LoginForm:
        """For the browser."""
        login = self.site.login
        return LoginForm(
            url=f"{origin}{login.path}",
            account_selector=login.account_selector,
            secret_selector=login.secret_selector,
            submit_selector=login.submit_selector,
            done_selector=login.done_selector,
        )

    def field_map(self, step: StepSection | None = None) -> FieldMap:
        """Which fields carry the intent, for one step or in general."""
        drawn = self.fields.drawn if step is None or step.drawn is None else step.drawn
        return FieldMap(
            form=dict(self.fields.form),
            form_selector=self.fields.form_selector,
            drawn=tuple(drawn),
            drawn_selectors=dict(self.fields.drawn_selectors),
            action_codes={name: section.code for name, section in self.actions.items()},
            amount_unit=self.fields.amount_unit,
        )

    def request_rule(self, known: Mapping[str, str]) -> RequestRule:
        """The request that a write may send; ``known`` has values by read-API key."""
        section = self.request
        return RequestRule(
            method=section.method,
            path=section.path,
            fields=self.field_map(),
            required=tuple(section.required),
            known={name: known[name] for name in section.known if name in known},
            ignored=tuple(section.ignored),
        )

    def call_rule(self, rung: CallRung, known: Mapping[str, str]) -> RequestRule:
        """The one call that a write may be on a rung without a screen; ``known`` has values by read-API key.

        Raises:
            ConfigError: the recipe has no such rung.
        """
        section = self.api if rung == "api" else self.mcp
        if section is None:
            raise ConfigError(f"recipe {self.name} has no {rung} section", remedy="add it")
        method, path = (
            (section.method, section.path) if isinstance(section, ApiSection) else ("TOOL", section.tool)
        )
        return RequestRule(
            method=method,
            path=path,
            fields=FieldMap(
                form=dict(section.fields),
                action_codes={name: action.code for name, action in self.actions.items()},
                amount_unit=self.fields.amount_unit,
            ),
            required=tuple(section.known),
            known={name: known[name] for name in section.known if name in known},
        )

    def json_map(self) -> JsonMap:
        """Keys of the read API; ``exact`` fields and ``known`` fields are kept beside the state."""
        extra = dict.fromkeys(
            (*self.read.exact, *self.read.exact_known, *self.read.exact_known.values(), *self.request.known)
        )
        keys = msgspec.convert({**self.read.keys, "extra": list(extra)}, JsonMap)
        return replace(keys, hold=self.read.hold)

    def exact_values(self, intent: Intent, before: Mapping[str, str]) -> Mapping[str, str]:
        """Stored fields and the text they must have after a write; ``before`` is the snapshot's ``extra``."""
        values = {
            "bill_id": intent.bill_id,
            "counterparty": intent.counterparty,
            "amount": str(intent.amount_minor),
            "currency": intent.currency,
            "month": intent.month,
            "action": intent.action,
        }
        known = {key: before[other] for key, other in self.read.exact_known.items() if other in before}
        return {key: values[field] for key, field in self.read.exact.items()} | known

    def step(self, section: StepSection, intent: Intent, *, language: str, irreversible: bool) -> Step:
        """A step with texts and values filled in."""
        labels = self.labels[language]
        fill = {
            "bill_id": intent.bill_id,
            "month": intent.month,
            "counterparty": intent.counterparty,
            **labels,
        }
        assert section.do is not None, "a goto is no step of a tool"  # noqa: S101 - checked when the recipe is read
        return Step(
            kind=section.do,
            selectors=tuple(in_selector(selector, fill) for selector in section.selectors),
            label=labels[section.label] if section.label else "",
            onto=tuple(in_selector(selector, fill) for selector in section.onto),
            text=section.text.format(**fill),
            writes=section.writes,
            irreversible=section.writes and irreversible,
            destructive=section.destructive or section.writes,
            needs_confirm=section.needs_confirm or section.native_confirm,
            business_action=intent.action,
        )


def load_recipe(name: str, *, beside: Path | None = None) -> Recipe:
    """A recipe by path (relative to ``beside``), or by the name of one that ships with proofreel."""
    path = Path(name) if beside is None or Path(name).is_absolute() else beside / name
    if not path.exists():
        shipped = importlib.resources.files("executor.recipes")
        known = sorted(
            item.name.removesuffix(".yaml") for item in shipped.iterdir() if item.name.endswith(".yaml")
        )
        if name not in known:
            raise ConfigError(
                f"there is no recipe {name!r}", remedy=f"name a file, or one that ships: {', '.join(known)}"
            )
        path = Path(str(shipped / f"{name}.yaml"))
    recipe = load_yaml(path, Recipe)
    refuse_contradictions(recipe, str(path))
    return recipe
