"""Collects from the record what vouches for a bundle: the newest checkpoint, its cosignatures, its time stamp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from domain.ids import TenantId


class SignedCheckpoint(Protocol):
    """A checkpoint as stored."""

    @property
    def size(self) -> int:
        """Events that it speaks of."""
        ...

    @property
    def note(self) -> str:
        """The signed note."""
        ...


class Attestation(Protocol):
    """What somebody outside said about a checkpoint."""

    @property
    def size(self) -> int:
        """Size of that checkpoint."""
        ...

    @property
    def kind(self) -> str:
        """``cosignature`` or ``rfc3161``."""
        ...

    @property
    def content(self) -> bytes:
        """A signature line, or a response of a time stamping authority."""
        ...


class VoucherSource(Protocol):
    """Where they are kept; ``projections.reading.RecordReader`` is the real one."""

    def checkpoints(self, tenant: TenantId) -> Sequence[SignedCheckpoint]:
        """Signed checkpoints in order of size."""
        ...

    def attestations(self, tenant: TenantId) -> Sequence[Attestation]:
        """What others said of them, in order of size."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouchers:
    """For ``Extras``: both None when nothing was ever signed."""

    checkpoint: str | None = None
    stamp: bytes | None = None


def collect_vouchers(source: VoucherSource, tenant: TenantId, *, size: int | None = None) -> Vouchers:
    """The checkpoint of ``size`` events, or the newest one, with all that was said about it."""
    notes = [one for one in source.checkpoints(tenant) if size is None or one.size == size]
    if not notes:
        return Vouchers()
    newest = notes[-1]
    said = [one for one in source.attestations(tenant) if one.size == newest.size]
    lines = [one.content.decode() for one in said if one.kind == "cosignature"]
    stamps = [one.content for one in said if one.kind == "rfc3161"]
    return Vouchers(checkpoint=newest.note + "".join(lines), stamp=stamps[0] if stamps else None)
