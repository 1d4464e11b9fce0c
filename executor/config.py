"""``proofreel.yaml``: who acts, for which tenant, on which target, under which policy.

Rules: unknown keys and contradictions are refused at load with file and line (B3); secrets are never in the file, it
names the environment variable that holds them; what a file leaves out has the published default.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from domain.budgets import Budget
from domain.errors import ConfigError
from domain.ids import PrincipalId, Sha256, TenantId
from domain.policy import ActionRule, Identity, ReadbackSource, RungName, WritePolicy
from executor.privacy_config import PrivacySection, problem
from executor.write_rules import RuleSection
from executor.yaml_source import line_of, load_yaml

AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all sections."""


class IdentitySection(_Strict, frozen=True, kw_only=True):
    """The service identity under which the executor acts (B8)."""

    principal: str
    tenants: list[str]
    actions: list[str]


class PersonSection(_Strict, frozen=True, kw_only=True):
    """A person who may approve, take over or act by hand."""

    principal: str
    tenants: list[str]
    actions: list[str] = []


class AccountSection(_Strict, frozen=True, kw_only=True):
    """An account at the target; ``secret_env`` names the variable with its password."""

    account: str
    secret_env: str


class TargetSection(_Strict, frozen=True, kw_only=True):
    """The system that is written to."""

    name: str
    origin: str
    """Scheme, host and port; the browser never leaves it."""
    recipe: str
    """YAML that describes the target's actions: a path, or the name of one that ships with proofreel."""
    language: str = "zh"
    sandbox: bool = False
    """True for a system whose business isn't real: only there 'proofreel drill' may write."""
    service: AccountSection
    readback: AccountSection
    """Another account than the service's: who wrote does not judge."""


class RecordSection(_Strict, frozen=True, kw_only=True):
    """Where the record is kept; URLs, or paths beside the configuration file."""

    store: str = "sqlite:///proofreel.db"
    blobs: str = "blobs"


class BudgetSection(_Strict, frozen=True, kw_only=True):
    """Budgets of a task (G7)."""

    max_steps: AtLeastOne = 40
    stuck_frames: AtLeastOne = 3
    min_success_percent: Annotated[int, msgspec.Meta(ge=0, le=100)] = 50
    success_after_steps: AtLeastOne = 8
    max_seconds: AtLeastOne = 900
    max_tokens: AtLeastOne = 200_000


class PolicySection(_Strict, frozen=True, kw_only=True):
    """Write policy (B3)."""

    require_readback: bool = True
    readback_sources: tuple[ReadbackSource, ...] = ("api", "detail")
    later_sources: tuple[ReadbackSource, ...] = ()
    """Further sources of the second, later look (X9), for those that know late: the settlement file."""
    forbid_visual_verdict: bool = True
    approval_required: list[str] = []
    approval_above_minor: dict[str, NotNegative] = {}
    approval_valid_s: AtLeastOne = 3600
    readback_deadline_ms: NotNegative = 4000
    """How long a late posting is waited for."""
    rules: list[RuleSection] = []
    """Rules by action, amount, tenant, principal, rung and time; with any, what none of them allows is denied."""
    timezone: str = "UTC"
    """Time zone of the rules' days and hours."""


class McpTransport(_Strict, frozen=True, kw_only=True):
    """How the target's MCP server is reached: a command (stdio) or a URL (streamable HTTP), not both."""

    command: list[str] = []
    env: list[str] = []
    """Environment variables that the command is given, by name, beside a minimal environment."""
    url: str = ""
    token_env: str = ""
    """Variable with a bearer token for ``url``; empty: none is sent."""


class ModelSection(_Strict, frozen=True, kw_only=True):
    """The model behind the ``computer_use`` rung; its address, its name and its key are in the environment (C7)."""

    provider: Literal["openai", "anthropic", "gemini"]
    max_calls: Annotated[int, msgspec.Meta(ge=1, le=200)] = 4
    """Requests for one order (C2)."""
    deadline_s: AtLeastOne = 120
    """How long one answer is waited for."""
    price: str = ""
    """For a million tokens in and out, as ``3.00/15.00``; with it the cost goes on record."""


class ToolSection(_Strict, frozen=True, kw_only=True):
    """Tool ladder (B2), best rung first."""

    ladder: tuple[RungName, ...] = ("browser",)
    mcp: McpTransport | None = None
    computer_use: ModelSection | None = None


class BrowserSection(_Strict, frozen=True, kw_only=True):
    """The browser; ``executable`` is overridden by PROOFREEL_CHROMIUM."""

    executable: str = ""
    headless: bool = True
    viewport_width: AtLeastOne = 1280
    viewport_height: AtLeastOne = 800
    trace: Literal["never", "on_failure", "always"] = "never"
    """Which tasks keep Playwright's own trace, without secrets (B12); recording it takes time."""


class NotifySection(_Strict, frozen=True, kw_only=True):
    """Where alerts and takeovers go, beside the log (G8)."""

    webhook: str = ""
    command: list[str] = []


class Config(_Strict, frozen=True, kw_only=True):
    """The whole file."""

    version: Literal[1] = 1
    tenant: str
    identity: IdentitySection
    people: list[PersonSection] = []
    target: TargetSection
    record: RecordSection = RecordSection()
    tools: ToolSection = ToolSection()
    write_policy: PolicySection = PolicySection()
    budgets: BudgetSection = BudgetSection()
    browser: BrowserSection = BrowserSection()
    notify: NotifySection = NotifySection()
    privacy: PrivacySection = PrivacySection()

    def domain_identity(self) -> Identity:
        """The acting identity."""
        return Identity(
            principal=PrincipalId(self.identity.principal),
            kind="service",
            tenants=tuple(TenantId(tenant) for tenant in self.identity.tenants),
            actions=tuple(self.identity.actions),
        )

    def person(self, principal: str) -> Identity:
        """A configured person; ``ConfigError`` when there is none of that name."""
        for person in self.people:
            if person.principal == principal:
                return Identity(
                    principal=PrincipalId(person.principal),
                    kind="person",
                    tenants=tuple(TenantId(tenant) for tenant in person.tenants),
                    actions=tuple(person.actions),
                )
        known = ", ".join(person.principal for person in self.people) or "nobody"
        raise ConfigError(
            f"no person {principal!r} is configured", remedy=f"add them under people: ({known})"
        )

    def approvers(self) -> dict[str, int]:
        """Action → how many people of the tenant may approve it, the acting identity not counted."""
        able = [
            person
            for person in self.people
            if self.tenant in person.tenants and person.principal != self.identity.principal
        ]
        rights = [right for person in able for right in dict.fromkeys(person.actions)]
        names = [right.removeprefix("approve:") for right in rights if right.startswith("approve:")]
        return {name: names.count(name) for name in names}

    def domain_policy(self) -> WritePolicy:
        """The write policy."""
        section = self.write_policy
        return WritePolicy(
            require_readback=section.require_readback,
            readback_sources=tuple(section.readback_sources),
            forbid_visual_verdict=section.forbid_visual_verdict,
            approval_required=tuple(section.approval_required),
            approval_above_minor=dict(section.approval_above_minor) or None,
            approval_valid_s=section.approval_valid_s,
        )

    def domain_budget(self) -> Budget:
        """The budgets."""
        return Budget(**msgspec.to_builtins(self.budgets))


class Secret(str):
    """A password that doesn't print itself: ``str``, ``repr`` and ``format`` show stars, the value is ``secret[:]``."""

    __slots__ = ()

    def __str__(self) -> str:
        return "***"

    def __repr__(self) -> str:
        return "Secret(***)"

    def __format__(self, spec: str) -> str:
        return "***"


def secret_of(section: AccountSection, environment: Mapping[str, str] | None = None) -> Secret:
    """Password of an account from the environment; ``ConfigError`` names the variable, never a value."""
    value = (os.environ if environment is None else environment).get(section.secret_env)
    if not value:
        raise ConfigError(
            f"no password for account {section.account!r}",
            remedy=f"set the environment variable {section.secret_env}",
        )
    return Secret(value)


def load_config(path: Path) -> Config:
    """Read and check a configuration; ``ConfigError`` with file and line."""
    config = load_yaml(path, Config)
    _refuse_contradictions(config, path)
    return config


def digest(config: Config) -> Sha256:
    """SHA-256 over the configuration's canonical form; goes into ``run.started``."""
    return Sha256(hashlib.sha256(msgspec.json.encode(config, order="deterministic")).hexdigest())


def _refuse_contradictions(config: Config, path: Path) -> None:
    file = str(path)
    if config.tenant not in config.identity.tenants:
        raise ConfigError(
            f"identity {config.identity.principal} may not act for tenant {config.tenant}",
            file=file,
            line=line_of(path, "identity", "tenants"),
            remedy="add the tenant under identity.tenants, or run another configuration",
        )
    if config.target.service.account == config.target.readback.account:
        raise ConfigError(
            "service and readback use the same account",
            file=file,
            line=line_of(path, "target", "readback", "account"),
            remedy="give target.readback an account of its own: who wrote does not judge",
        )
    if not config.write_policy.readback_sources:
        raise ConfigError(
            "write_policy lists no readback source, so nothing would say what counts as success",
            file=file,
            line=line_of(path, "write_policy", "readback_sources"),
            remedy="list at least one of api, list, detail",
        )
    if config.write_policy.readback_sources[0] == "settlement_file":
        raise ConfigError(
            "write_policy.readback_sources begins with settlement_file, which shows no bill before it is booked",
            file=file,
            line=line_of(path, "write_policy", "readback_sources"),
            remedy="list api, list or detail first: the state before a write is read there",
        )
    if not config.write_policy.forbid_visual_verdict:
        raise ConfigError(
            "write_policy allows visual verdicts although it has readback sources",
            file=file,
            line=line_of(path, "write_policy", "forbid_visual_verdict"),
            remedy="set forbid_visual_verdict: true; a screen never decides",
        )
    _refuse_wrong_ladder(config, path)
    wrong = problem(config.privacy)
    if wrong:
        raise ConfigError(
            wrong, file=file, line=line_of(path, "privacy"), remedy="see the section in the README"
        )
    parts = urlsplit(config.target.origin)
    if (
        parts.scheme not in {"http", "https"}
        or not parts.netloc
        or f"{parts.scheme}://{parts.netloc}" != config.target.origin
    ):
        raise ConfigError(
            f"target.origin {config.target.origin!r} is no origin",
            file=file,
            line=line_of(path, "target", "origin"),
            remedy="write scheme, host and port only: https://portal.example:8443",
        )


def _refuse_wrong_ladder(config: Config, path: Path) -> None:
    tools = config.tools
    if not tools.ladder or len(set(tools.ladder)) != len(tools.ladder):
        raise ConfigError(
            "tools.ladder needs each of its rungs once",
            file=str(path),
            line=line_of(path, "tools", "ladder"),
            remedy="list rungs best first: api, mcp, browser, computer_use",
        )
    if "mcp" in tools.ladder and (tools.mcp is None or bool(tools.mcp.command) == bool(tools.mcp.url)):
        raise ConfigError(
            "tools.ladder lists mcp, and tools.mcp does not say how the server is reached",
            file=str(path),
            line=line_of(path, "tools", "mcp") or line_of(path, "tools", "ladder"),
            remedy="give tools.mcp exactly one of command and url",
        )
    if "computer_use" in tools.ladder and tools.computer_use is None:
        raise ConfigError(
            "tools.ladder lists computer_use, and tools.computer_use does not say whose model sees and points",
            file=str(path),
            line=line_of(path, "tools", "ladder"),
            remedy="give tools.computer_use.provider (openai, anthropic or gemini), or take the rung off the ladder",
        )


def rules_of(actions: Mapping[str, ActionRule], config: Config, file: str) -> Mapping[str, ActionRule]:
    """Check the target's actions against the policy (B2, B17); returns them."""
    policy = config.write_policy
    for name, rule in actions.items():
        if rule.irreversible and "computer_use" in rule.rungs:
            raise ConfigError(
                f"action {name} is irreversible and lists computer_use",
                file=file,
                remedy="remove that rung: vision never performs an irreversible write",
            )
        if rule.irreversible and not policy.require_readback:
            raise ConfigError(
                f"action {name} is irreversible and write_policy.require_readback is off",
                file=file,
                line=line_of(Path(file), "write_policy", "require_readback"),
                remedy="switch it on, or take the action out",
            )
    for name in policy.approval_required:
        if name not in actions:
            raise ConfigError(
                f"write_policy.approval_required lists unknown action {name!r}",
                file=file,
                line=line_of(Path(file), "write_policy", "approval_required"),
                remedy=f"known actions: {', '.join(sorted(actions))}",
            )
    return actions
