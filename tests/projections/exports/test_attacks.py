"""What a forger may try, and what the verifier says about it: each attack fails, with the reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from domain import notes
from domain.log_format import checkpoint_text
from projections.exports.select import Scope
from projections.exports.verify import VerifyReport, layout, verify
from tests.projections.exports.forgeries import ATTACKS, Attack, edit_and_rewrite_the_log
from tests.projections.exports.forging import Forger
from tests.projections.exports.made import KEY, TASK_1, Made, export, make


def refused(report: VerifyReport, pattern: str) -> bool:
    """The bundle fails, and says so in these words."""
    assert not report.ok
    assert [one for one in report.problems if re.search(pattern, one.what)], "\n".join(report.lines())
    return True


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_forgery_that_covers_its_tracks_fails_with_the_reason(
    attack: Attack, forger: Forger, tmp_path: Path
) -> None:
    attack(forger)
    report = verify(forger.cover().write(tmp_path / "forged.zip"), trusted_keys=[KEY])
    assert refused(report, ATTACKS[attack])


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_forgery_without_new_manifests_is_told_by_them_too(
    attack: Attack, forger: Forger, tmp_path: Path
) -> None:
    attack(forger)
    report = verify(forger.write(tmp_path / "forged.zip"))
    assert refused(report, r"manifest-sha256\.txt")


def test_an_honest_bundle_that_is_listed_again_is_the_same_file(
    forger: Forger, bundle: Path, tmp_path: Path
) -> None:
    """The forger makes no mistake of his own: what he changes nothing in is byte for byte the original."""
    assert forger.cover().write(tmp_path / "same.zip").read_bytes() == bundle.read_bytes()


def test_the_seal_does_not_fit_another_conclusion(forger: Forger, tmp_path: Path) -> None:
    findings = forger.json(layout.FINDINGS)
    findings["case"]["findings"][0]["responsible"] = ["person:somebody.else"]
    forger.put_json(layout.FINDINGS, findings)
    report = verify(forger.cover().write(tmp_path / "forged.zip"), trusted_keys=[KEY])
    assert refused(report, r"proof/bundle\.note signs another bundle")


def test_without_its_seal_another_conclusion_is_not_proved(forger: Forger, tmp_path: Path) -> None:
    findings = forger.json(layout.FINDINGS)
    findings["case"]["findings"][0]["responsible"] = ["person:somebody.else"]
    forger.put_json(layout.FINDINGS, findings)
    del forger.files[layout.SEAL]
    report = verify(forger.cover().write(tmp_path / "forged.zip"), trusted_keys=[KEY])
    assert {check.name: check.status for check in report.checks}["seal"] == "not_proved"


def test_a_rewritten_log_without_a_signature_is_authentic_for_nobody(plain: Path, tmp_path: Path) -> None:
    forger = Forger(plain)
    edit_and_rewrite_the_log(forger)
    forged = forger.cover().write(tmp_path / "forged.zip")
    report = verify(forged)
    assert report.ok
    assert report.proved["authenticity"] == "not_proved"
    assert refused(
        verify(forged, expect_root=verify(plain).root), r"the log's root is .*, not the one you brought"
    )


def test_a_rewritten_log_that_is_signed_again_contradicts_a_checkpoint_one_has(
    made: Made, forger: Forger, tmp_path: Path
) -> None:
    edit_and_rewrite_the_log(forger)
    head = forger.head()
    text = checkpoint_text("desk.example/acme", head.size, bytes.fromhex(head.root))
    mallory = Ed25519PrivateKey.generate()
    note = notes.sign_note(text, "desk.example/acme", mallory)
    text, signatures = notes.split_note(note)
    key = notes.verifier_key("desk.example/acme", mallory.public_key())
    forger.files[layout.CHECKPOINT] = note.encode()
    forger.files[layout.CHECKPOINT_BODY] = text.encode()
    forger.files[layout.CHECKPOINT_SIGNATURE] = signatures[0].data
    forger.files[layout.KEYS] = f"{key}\n".encode()
    forger.files[layout.KEY_PEM] = layout.key_pem(key.public)
    del forger.files[layout.SEAL]
    forged = forger.cover().write(tmp_path / "forged.zip")
    assert verify(forged).ok
    assert refused(verify(forged, trusted_keys=[KEY]), r"none of these keys is trusted")
    report = verify(forged, known_checkpoints=[made.checkpoint(20)])
    assert refused(
        report, r"the checkpoint you know at 20 events is not this log's past: it has been rewritten"
    )


def test_an_older_checkpoint_is_not_for_this_log(made: Made, forger: Forger, tmp_path: Path) -> None:
    note = made.checkpoint(20)
    text, signatures = notes.split_note(note)
    forger.files[layout.CHECKPOINT] = note.encode()
    forger.files[layout.CHECKPOINT_BODY] = text.encode()
    forger.files[layout.CHECKPOINT_SIGNATURE] = signatures[0].data
    report = verify(forger.cover().write(tmp_path / "forged.zip"), trusted_keys=[KEY])
    assert refused(report, r"the checkpoint \(an older one\) is for 20 events")


def test_a_log_rolled_back_to_a_genuine_past_is_told_by_a_later_checkpoint(
    made: Made, tmp_path: Path
) -> None:
    past = make(others=0)
    past.book.events = made.book.events[:20]
    export(past, tmp_path / "past.zip")
    assert verify(tmp_path / "past.zip").ok
    report = verify(tmp_path / "past.zip", known_checkpoints=[made.checkpoint()])
    assert refused(
        report, r"this log has 20 events and you know a checkpoint of \d+: it has been rolled back"
    )


def test_the_proof_of_another_tenant_proves_nothing(forger: Forger, tmp_path: Path) -> None:
    other = make(others=5)
    export(other, tmp_path / "other.zip")
    stranger = Forger(tmp_path / "other.zip")
    size = forger.head().size
    assert stranger.head().size > size
    events = forger.events()
    for one in events:
        one.body = one.body.replace(b'"tenant":"acme"', b'"tenant":"globex"')
    forger.chain_again(events)
    forger.put_json(layout.HEAD, forger.json(layout.HEAD) | {"tenant": "globex"})
    report = verify(forger.cover().write(tmp_path / "forged.zip"))
    assert refused(report, r"is not at position \d+ of this log: another stream's leaf is there")


def test_another_log_s_skeleton_does_not_hold_these_events(forger: Forger, tmp_path: Path) -> None:
    other = make(others=5)
    leaves = other.leaves(other.book.tenant)
    forger.files[layout.SKELETON] = leaves[53:]
    assert refused(
        verify(forger.cover().write(tmp_path / "forged.zip")), r"is not at position \d+ of this log"
    )


def test_a_task_hidden_with_all_its_traces_is_missed_by_who_knows_it(made: Made, tmp_path: Path) -> None:
    export(made, tmp_path / "one.zip", scope=Scope("task", TASK_1))
    assert verify(tmp_path / "one.zip").ok
    report = verify(tmp_path / "one.zip", expect_streams=["task:task-1", "task:task-2"])
    assert refused(report, r"stream task:task-2, which you asked for, is not in the bundle")


@pytest.mark.parametrize(
    ("path", "change", "pattern"),
    [
        (
            layout.MANIFEST,
            lambda data: data.replace(b"events.jsonl", b"nothing.json"),
            r"which is not in the bundle",
        ),
        (layout.MANIFEST, lambda data: data[65 + 12 :], r"manifest-sha256\.txt"),
        (
            layout.MANIFEST,
            lambda data: b"0" * 64 + data[64:],
            r"has been changed: manifest-sha256\.txt has another",
        ),
        (layout.MANIFEST, lambda data: data + b"\n", r"not in its one form|lists ''"),
        (layout.TAG_MANIFEST, lambda _: b"", r"is not listed in tagmanifest-sha256\.txt"),
        (layout.BAGIT, lambda _: b"BagIt-Version: 0.97\n", r"bagit\.txt is not that of BagIt 1\.0"),
        (layout.BAG_INFO, lambda data: data + b"Contact-Name: x\n", r"bag-info\.txt does not follow"),
    ],
)
def test_a_manifest_that_lists_what_it_likes_is_not_believed(
    path: str, change: Callable[[bytes], bytes], pattern: str, forger: Forger, tmp_path: Path
) -> None:
    forger.files[path] = change(forger.files[path])
    if path in {layout.BAGIT, layout.BAG_INFO}:
        forger.list_again()
    assert refused(verify(forger.write(tmp_path / "forged.zip")), pattern)


def test_a_folder_of_another_name_is_told(forger: Forger, tmp_path: Path) -> None:
    forger.base = "proofreel-0000000000000000"
    assert refused(
        verify(forger.write(tmp_path / "forged.zip")),
        r"the folder is named proofreel-0+, the record makes it",
    )


@pytest.mark.parametrize("path", sorted(layout.REQUIRED))
def test_a_missing_file_is_named(path: str, forger: Forger, tmp_path: Path) -> None:
    del forger.files[path]
    if path not in {layout.MANIFEST, layout.TAG_MANIFEST}:
        forger.list_again()
    assert refused(
        verify(forger.write(tmp_path / "forged.zip")), re.escape(f"{path} is missing from the bundle")
    )
