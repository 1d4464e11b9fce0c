"""Section ``privacy`` of the configuration: the key, what is encrypted, and how long things are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from domain.errors import ConfigError
from domain.events.privacy import DataKind


class RetentionRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long one kind of contents is kept after the end of the month in which it was stored."""

    kind: DataKind
    days: Annotated[int, msgspec.Meta(ge=1)]
    basis: str
    """Law or policy; stands in the record when something is deleted by it."""
    tenant: str = ""
    """Empty: for every tenant that uses this configuration."""


class PrivacySection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is needed to withhold, to keep for a time and to delete (X7)."""

    key: str = ""
    """File made by 'proofreel keys privacy'; outside of the record and of its backups."""
    keyring: str = ""
    """Folder of wrapped data keys; outside of the blobs."""
    encrypt: bool = False
    """New blobs are encrypted, each month and kind under a data key of its own."""
    retention: tuple[RetentionRule, ...] = ()

    def days(self, tenant: str, kind: str) -> RetentionRule | None:
        """The rule for a tenant's contents of one kind: the tenant's own, else the general one."""
        fitting = [rule for rule in self.retention if rule.kind == kind and rule.tenant in {"", tenant}]
        return max(fitting, key=lambda rule: rule.tenant, default=None)


def key_path(section: PrivacySection, config_path: Path) -> Path:
    """The key's file; ``ConfigError`` when none is configured."""
    if not section.key:
        remedy = "make one with 'proofreel keys privacy FILE', and name it under privacy.key"
        raise ConfigError("no privacy key is configured", file=str(config_path), remedy=remedy)
    return config_path.parent / section.key


def keyring_path(section: PrivacySection, config_path: Path, blobs: str) -> Path:
    """The folder of wrapped keys; ``ConfigError`` when there is none, or when it lies among the blobs."""
    if not section.keyring:
        raise ConfigError(
            "no keyring is configured",
            file=str(config_path),
            remedy="name a folder outside of the blobs under privacy.keyring",
        )
    path = (config_path.parent / section.keyring).resolve()
    if "://" not in blobs and path.is_relative_to(Path(blobs).resolve()):
        raise ConfigError(
            "privacy.keyring lies among the blobs: whoever copies these has the keys",
            file=str(config_path),
            remedy="name a folder elsewhere, which no backup of the blobs takes along",
        )
    return path


def problem(section: PrivacySection) -> str:
    """What contradicts itself in the section; empty when nothing does."""
    if section.encrypt and not (section.key and section.keyring):
        return "privacy.encrypt needs privacy.key and privacy.keyring"
    kinds = [(rule.tenant, rule.kind) for rule in section.retention]
    if len(set(kinds)) != len(kinds):
        return "privacy.retention has two rules for one tenant and kind"
    if not all(rule.basis.strip() for rule in section.retention):
        return "a rule of privacy.retention names no basis"
    return ""
