"""The newest checkpoint of a record leaves with everything that was said about it."""

from __future__ import annotations

from pathlib import Path

from domain.ids import TenantId
from projections.exports.bundle import Extras
from projections.exports.verify import verify
from projections.exports.vouchers import Vouchers, collect_vouchers
from projections.rows import AttestationRow, CheckpointRow
from tests.projections.exports.made import KEY, WITNESS_KEY, Made, export

ACME = TenantId("acme")
SEEN_S = 1_800_000_000


class Kept:
    """Checkpoints at 7 events and at the end, the last one witnessed."""

    def __init__(self, made: Made) -> None:
        self.made = made
        self.size = len(made.book.events)
        self.witnessed = made.checkpoint(witnessed_at_s=SEEN_S)

    def checkpoints(self, tenant: TenantId) -> list[CheckpointRow]:
        sizes = (7, self.size)
        return [
            CheckpointRow(tenant=tenant, size=size, note=self.made.checkpoint(size), signed_at_us=0)
            for size in sizes
        ]

    def attestations(self, tenant: TenantId) -> list[AttestationRow]:
        line = "\u2014" + self.witnessed.rpartition("\u2014")[2]
        said = (
            (7, "rfc3161", b"old"),
            (self.size, "cosignature", line.encode()),
            (self.size, "rfc3161", b"stamp"),
        )
        return [
            AttestationRow(tenant=tenant, size=size, kind=kind, signer="x", content=content, received_at_us=0)
            for size, kind, content in said
        ]


def test_the_newest_checkpoint_comes_with_its_cosignature_and_stamp(made: Made, tmp_path: Path) -> None:
    kept = Kept(made)
    vouchers = collect_vouchers(kept, ACME)
    assert vouchers == Vouchers(checkpoint=kept.witnessed, stamp=b"stamp")
    extras = Extras(checkpoint=vouchers.checkpoint, keys=[KEY])
    export(made, tmp_path / "b.zip", extras=extras)
    report = verify(tmp_path / "b.zip", trusted_keys=[KEY], witnesses=[WITNESS_KEY])
    assert (report.proved["authenticity"], report.proved["time"]) == ("ok", "ok")


def test_an_earlier_checkpoint_can_be_asked_for(made: Made) -> None:
    assert collect_vouchers(Kept(made), ACME, size=7) == Vouchers(checkpoint=made.checkpoint(7), stamp=b"old")


def test_a_record_that_was_never_signed_has_none(made: Made) -> None:
    assert collect_vouchers(Kept(made), ACME, size=8) == Vouchers()
