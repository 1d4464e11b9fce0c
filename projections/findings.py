"""What a check of the record found, in a form that people and programs read."""

from __future__ import annotations

from typing import Final

import msgspec

FINDINGS_KEPT: Final = 10_000
"""Findings that a report lists; more are only counted, so that a ruined record doesn't fill the memory."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, and where."""

    code: str
    """Stable name: ``entry_mismatch``, ``position_gap``, ``blob_missing``, …"""
    what: str
    """One line for a person."""
    tenant: str = ""
    position: int = 0
    """Place in the tenant's log; 0 when the finding is about none."""
    event_id: str = ""
    stream: str = ""
    task: str = ""
    blob: str = ""


class FsckReport(msgspec.Struct, kw_only=True):
    """What was looked at and what was found."""

    tenants: list[str] = []
    events: int = 0
    event_bytes: int = 0
    blobs: int = 0
    blob_bytes: int = 0
    deleted: int = 0
    """Contents that are gone and whose deletion is on record."""
    claims: int = 0
    checkpoints: int = 0
    signatures_checked: bool = False
    """False when no key was given to check signatures with."""
    signatures: int = 0
    """Signatures and cosignatures that are right."""
    findings: list[Finding] = []
    found: int = 0
    """All findings, also those beyond the list."""

    @property
    def ok(self) -> bool:
        """True if nothing was found."""
        return not self.found

    @property
    def tasks(self) -> list[str]:
        """Tasks that a finding touches, sorted."""
        return sorted({finding.task for finding in self.findings if finding.task})

    def add(self, finding: Finding) -> None:
        """Enter a finding."""
        self.found += 1
        if len(self.findings) < FINDINGS_KEPT:
            self.findings.append(finding)
