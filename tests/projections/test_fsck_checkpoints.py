"""Signatures of stored checkpoints against keys that the reader brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from domain import notes
from domain.errors import IntegrityError
from executor.store.log import open_record
from executor.store.signing import SigningKey, keep_attestation, make_key, sign_checkpoint
from projections.findings import FsckReport
from projections.fsck import anchors_from, check
from projections.reading import open_reader
from tests.support.records import ACME, GLOBEX, Maker, ManualClock, execute

if TYPE_CHECKING:
    from pathlib import Path


class Signed:
    """A record with one signed checkpoint of each of two tenants."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder}/record.db"
        self.key = make_key(folder / "desk.key", "desk.example.com")
        self.other = make_key(folder / "other.key", "other.example.com")
        with open_record(self.url) as log:
            for tenant in (ACME, GLOBEX):
                maker = Maker(seed=1, tenant=tenant)
                log.append(maker.notes(maker.task(), 3))
            self.notes = {
                tenant: sign_checkpoint(log, tenant, self.key, ManualClock()) for tenant in (ACME, GLOBEX)
            }

    def check(self, *keys: notes.VerifierKey) -> FsckReport:
        """The report with these keys."""
        with open_reader(self.url) as reader:
            return check(reader, None, keys=keys)

    def file(self, note: str) -> None:
        """Put another note in the place of the first tenant's."""
        execute(self.url, "UPDATE checkpoint SET note = ? WHERE tenant = ?", (note, ACME))


@pytest.fixture
def signed(tmp_path: Path) -> Signed:
    """Both tenants."""
    return Signed(tmp_path)


def published(key: SigningKey) -> notes.VerifierKey:
    """What the signer publishes, for all tenants."""
    return notes.verifier_key(key.name, key.private.public_key())


def test_without_a_key_no_signature_is_checked_and_the_report_says_so(signed: Signed) -> None:
    report = signed.check()
    assert (report.ok, report.checkpoints) == (True, 2)
    assert (report.signatures_checked, report.signatures) == (False, 0)


def test_a_signers_published_key_is_good_for_all_tenants(signed: Signed) -> None:
    report = signed.check(published(signed.key))
    assert (report.ok, report.signatures_checked, report.signatures) == (True, True, 2)


def test_keys_of_single_tenants_are_taken_as_they_are(signed: Signed) -> None:
    report = signed.check(signed.key.verifier(ACME), signed.key.verifier(GLOBEX))
    assert (report.ok, report.signatures) == (True, 2)


def test_a_checkpoint_that_no_given_key_signed_is_a_finding(signed: Signed) -> None:
    report = signed.check(published(signed.other))
    assert {finding.code for finding in report.findings} == {"checkpoint_signature"}
    assert [finding.tenant for finding in report.findings] == [ACME, GLOBEX]


def test_a_key_that_was_replaced_is_still_good_beside_its_successor(signed: Signed) -> None:
    assert signed.check(published(signed.other), published(signed.key)).signatures == 2


def test_a_forged_signature_is_a_finding_although_the_root_is_right(signed: Signed) -> None:
    note = signed.notes[ACME]
    text, signature = notes.split_note(note)[0], notes.split_note(note)[1][0]
    forger = Ed25519PrivateKey.generate()
    forged = notes.sign_note(text, signature.name, forger)
    signed.file(forged)
    assert signed.check().ok, "the text is the right one: only its signature tells"
    report = signed.check(published(signed.key))
    assert [(finding.code, finding.tenant) for finding in report.findings] == [("checkpoint_signature", ACME)]
    assert report.signatures == 1


def test_a_checkpoint_of_another_tenant_is_no_checkpoint_of_this_one(signed: Signed) -> None:
    signed.file(signed.notes[GLOBEX])
    report = signed.check(published(signed.key))
    assert ("checkpoint_signature", ACME) in [(finding.code, finding.tenant) for finding in report.findings]


def test_a_checkpoint_kept_elsewhere_must_be_signed_when_a_key_is_given(signed: Signed) -> None:
    note = signed.notes[ACME]
    assert anchors_from([note], [published(signed.key)])[0].size == 3
    with pytest.raises(IntegrityError, match="none of these keys"):
        anchors_from([note], [published(signed.other)])


def test_a_witness_whose_key_is_given_must_have_seen_this_checkpoint(signed: Signed) -> None:
    witness = signed.other
    good = notes.cosign(signed.notes[ACME], witness.name, witness.private, at_s=1_796_000_000)
    wrong = notes.cosign(signed.notes[GLOBEX], witness.name, witness.private, at_s=1_796_000_000)
    with open_record(signed.url) as log:
        for tenant, whole in ((ACME, good), (GLOBEX, wrong.replace("globex", "acme"))):
            line = whole.rstrip("\n").rpartition("\n")[2] + "\n"
            keep_attestation(
                log, tenant, 3, kind="cosignature", signer=witness.name, content=line.encode(), now_us=1
            )
    assert signed.check(witness.verifier_of_witness(), published(signed.key)).signatures == 4
    execute(
        signed.url, "UPDATE attestation SET content = (SELECT content FROM attestation WHERE tenant = 'acme')"
    )
    report = signed.check(witness.verifier_of_witness(), published(signed.key))
    assert [(finding.code, finding.tenant) for finding in report.findings] == [("cosignature_wrong", GLOBEX)]
