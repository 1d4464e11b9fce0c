"""Checkpoints as anchors of a check: roots that the log must have had, and who signed them.

Rules: a checkpoint's text decides what the log must agree with; its signature decides whether anybody stands for
that. Signatures are checked against keys that the reader brings, never against a key that the record names; without
keys they are not checked and the report says so. A key is given as the signer publishes it (``NAME+ID+KEY``), for one
tenant (its name ends with ``/TENANT``), or for all of the signer's: checkpoints are signed as ``NAME/TENANT``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from domain import notes
from domain.errors import IntegrityError
from projections.findings import Finding, FsckReport

if TYPE_CHECKING:
    from domain.ids import TenantId
    from projections.reading import CheckpointRow, RecordReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A root that somebody kept outside the record: from a checkpoint, a receipt, a witness."""

    tenant: str
    size: int
    root: bytes
    source: str
    """Where it comes from, for the finding's text."""


def anchors_from(checkpoints: Sequence[str], keys: Sequence[notes.VerifierKey] = ()) -> list[Anchor]:
    """Anchors out of checkpoint notes that were kept elsewhere; their origins end with the tenant's name.

    Raises ``IntegrityError`` for a text that is no checkpoint, and with ``keys`` for one that none of them signed.
    """
    found = []
    for note in checkpoints:
        parsed = notes.parse_checkpoint(notes.split_note(note)[0])
        tenant = unquote(parsed.origin.rpartition("/")[2])
        if keys:
            _require_signer(note, parsed, _keys_of(tenant, keys))
        found.append(
            Anchor(tenant=tenant, size=parsed.size, root=parsed.root, source="a checkpoint kept elsewhere")
        )
    return found


def stored_anchors(
    reader: RecordReader, tenant: TenantId, keys: Sequence[notes.VerifierKey], report: FsckReport
) -> list[Anchor]:
    """Anchors out of the checkpoints in the record; what is wrong with one of them is a finding."""
    found = []
    stored = reader.checkpoints(tenant)
    for row in stored:
        report.checkpoints += 1
        try:
            signed = notes.parse_checkpoint(notes.split_note(row.note)[0])
        except IntegrityError as error:
            report.add(Finding(code="checkpoint_unreadable", what=error.what, tenant=tenant))
            continue
        if signed.size != row.size:
            what = f"a checkpoint of {signed.size} events is filed under {row.size}"
            report.add(Finding(code="checkpoint_misfiled", what=what, tenant=tenant))
        if keys:
            _check_signature(row, signed, _keys_of(tenant, keys), report)
        found.append(Anchor(tenant=tenant, size=signed.size, root=signed.root, source="a stored checkpoint"))
    _check_cosignatures(reader, tenant, {row.size: row.note for row in stored}, keys, report)
    return found


def _keys_of(tenant: str, keys: Sequence[notes.VerifierKey]) -> list[notes.VerifierKey]:
    """Keys under the names that they sign this tenant's checkpoints with."""
    suffix = "/" + quote(tenant, safe="")
    signers = [key for key in keys if key.algorithm == notes.ED25519]
    return [
        key if key.name.endswith(suffix) else notes.VerifierKey(key.name + suffix, key.algorithm, key.public)
        for key in signers
    ]


def _require_signer(note: str, parsed: notes.Checkpoint, keys: Sequence[notes.VerifierKey]) -> None:
    where = f"checkpoint of {parsed.size} events"
    opened = notes.open_note(note, keys, where=where)
    if parsed.origin not in {signed.key.name for signed in opened.signed}:
        raise IntegrityError(f"its origin {parsed.origin} is not its signer", where=where, remedy="")


def _check_signature(
    row: CheckpointRow, parsed: notes.Checkpoint, keys: Sequence[notes.VerifierKey], report: FsckReport
) -> None:
    try:
        _require_signer(row.note, parsed, keys)
    except IntegrityError as error:
        finding = Finding(
            code="checkpoint_signature", what=error.what, tenant=row.tenant, position=parsed.size
        )
        report.add(finding)
    else:
        report.signatures += 1


def _check_cosignatures(
    reader: RecordReader,
    tenant: TenantId,
    by_size: dict[int, str],
    keys: Sequence[notes.VerifierKey],
    report: FsckReport,
) -> None:
    """Cosignatures of those witnesses whose keys were brought."""
    witnesses = {key.name: key for key in keys if key.algorithm == notes.COSIGNATURE}
    if not witnesses:
        return
    for row in reader.attestations(tenant):
        witness = witnesses.get(row.signer)
        if row.kind != "cosignature" or witness is None:
            continue
        try:
            line = bytes(row.content).decode(errors="replace")
            notes.open_note(by_size.get(row.size, "") + line, [witness], where=f"cosignature of {row.signer}")
        except IntegrityError as error:
            finding = Finding(
                code="cosignature_wrong", what=str(error.what), tenant=tenant, position=row.size
            )
            report.add(finding)
        else:
            report.signatures += 1
