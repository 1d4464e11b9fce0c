"""Checks who vouches for the log, and when: with keys that the reader brings, never with those in the bundle.

* a checkpoint in the bundle must name the very size and root of the skeleton; an older or a foreign one fails
* a signature of a trusted key proves authenticity, a witness's cosignature or a time stamp proves time
* checkpoints that the reader knows from elsewhere must be this log's own past; a log that is shorter than one of
  them has been rolled back
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from domain import notes
from domain.errors import IntegrityError
from projections.exports.verify import layout
from projections.exports.verify.archive import Archive
from projections.exports.verify.layout import Head
from projections.exports.verify.record import Record
from projections.exports.verify.report import Findings, Problem

_SMALL = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What the reader knows from elsewhere than the bundle."""

    keys: tuple[notes.VerifierKey, ...] = ()
    witnesses: tuple[notes.VerifierKey, ...] = ()
    root: str | None = None
    checkpoints: tuple[notes.Checkpoint, ...] = ()
    streams: tuple[str, ...] = ()
    tsa_ca: Path | None = None
    """Certificates (PEM) that a time stamp is checked against."""


def check_trust(
    archive: Archive, head: Head, record: Record, trust: Trust, *, seal_text: str, findings: Findings
) -> None:
    """Authenticity and time, and the parts of the checkpoint that are there for other tools."""
    note = archive.read(layout.CHECKPOINT, limit=_SMALL).decode("utf-8", "replace")
    text = _check_checkpoint(archive, note, head, findings) if layout.CHECKPOINT in archive else None
    _check_known(record, head, trust, findings)
    _authenticity(note if text is not None else None, trust, record, findings)
    _check_seal(archive, trust, seal_text, findings)
    _time(archive, note if text is not None else None, trust, record, findings)


def _check_checkpoint(archive: Archive, note: str, head: Head, findings: Findings) -> str | None:
    """The checkpoint's text when it is about this very log, else None and a problem."""
    try:
        text, signatures = notes.split_note(note, where=layout.CHECKPOINT)
        checkpoint = notes.parse_checkpoint(text, where=layout.CHECKPOINT)
        keys = [
            notes.parse_verifier_key(line)
            for line in archive.read(layout.KEYS, limit=_SMALL).decode("utf-8", "replace").splitlines()
        ]
    except (IntegrityError, ValueError) as error:
        _problem(findings, "checkpoint", str(error), layout.CHECKPOINT)
        return None
    if (checkpoint.size, checkpoint.root.hex()) != (head.size, head.root):
        older = " (an older one)" if checkpoint.size < head.size else ""
        root = checkpoint.root.hex()
        what = f"the checkpoint{older} is for {checkpoint.size} events and root {root}, not for this log"
        _problem(findings, "checkpoint", what, layout.CHECKPOINT)
        return None
    parts = checkpoint_parts(text, signatures, keys)
    for path in (layout.CHECKPOINT_BODY, layout.CHECKPOINT_SIGNATURE, layout.KEY_PEM):
        if archive.read(path, limit=_SMALL) != parts.get(path, b""):
            _problem(
                findings, "checkpoint", f"{path} does not follow from the checkpoint and {layout.KEYS}", path
            )
    findings.conclude(
        "checkpoint", "integrity", f"the checkpoint is for these {head.size} events and this root"
    )
    return text


def checkpoint_parts(
    text: str, signatures: Sequence[notes.Signature], keys: Sequence[notes.VerifierKey]
) -> dict[str, bytes]:
    """Files that let other tools check the log's own signature: text, raw signature, key as PEM."""
    parts = {layout.CHECKPOINT_BODY: text.encode()}
    for signature in signatures:
        for key in keys:
            same = (key.name, key.key_id, key.algorithm) == (signature.name, signature.key_id, notes.ED25519)
            if same and layout.KEY_PEM not in parts:
                parts[layout.CHECKPOINT_SIGNATURE] = signature.data
                parts[layout.KEY_PEM] = layout.key_pem(key.public)
    return parts


def _check_known(record: Record, head: Head, trust: Trust, findings: Findings) -> None:
    for known in trust.checkpoints:
        if known.size > head.size:
            what = f"this log has {head.size} events and you know a checkpoint of {known.size}: it has been rolled back"
        elif record.roots.get(known.size) != known.root:
            what = f"the checkpoint you know at {known.size} events is not this log's past: it has been rewritten"
        else:
            continue
        _problem(findings, "known", what, layout.SKELETON)
    if trust.checkpoints:
        good = f"the log continues the {len(trust.checkpoints)} checkpoints you brought"
        findings.conclude("known", "authenticity", good)
    if trust.streams:
        for stream in sorted(set(trust.streams) - set(head.streams)):
            _problem(
                findings,
                "expected",
                f"stream {stream}, which you asked for, is not in the bundle",
                layout.HEAD,
            )
        findings.conclude(
            "expected", "completeness", f"all {len(trust.streams)} streams you asked for are shown"
        )


def _authenticity(note: str | None, trust: Trust, record: Record, findings: Findings) -> None:
    if trust.root is not None:
        if trust.root.lower() != record.root.hex():
            what = f"the log's root is {record.root.hex()}, not the one you brought ({trust.root[:80]})"
            _problem(findings, "root", what, layout.SKELETON)
        findings.conclude("root", "authenticity", "the log's root is the one you brought")
    if note is None:
        if trust.root is None:
            findings.not_proved(
                "signature", "authenticity", "the log's head is not signed, and you brought no root"
            )
        return
    if not trust.keys:
        _, signatures = notes.split_note(note)
        names = ", ".join(signature.name for signature in signatures)
        findings.not_proved(
            "signature", "authenticity", f"signed by {names}; you named no key that you trust"
        )
        return
    _open(note, trust.keys, "signature", layout.CHECKPOINT, findings)


def _open(
    note: str, keys: Sequence[notes.VerifierKey], check: str, path: str, findings: Findings
) -> notes.Note | None:
    try:
        opened = notes.open_note(note, keys, where=path)
    except IntegrityError as error:
        _problem(findings, check, str(error), path)
        findings.conclude(check, "authenticity", "", bad=str(error))
        return None
    names = ", ".join(signed.key.name for signed in opened.signed)
    findings.conclude(check, "authenticity", f"{path} is signed by {names}, a key you trust")
    return opened


def _check_seal(archive: Archive, trust: Trust, seal_text: str, findings: Findings) -> None:
    """The exporter's signature also covers what no record can: findings, attachments, reasons for withholding."""
    if layout.SEAL not in archive:
        what = "conclusions and attachments are the exporter's word, and nobody signed them"
        findings.not_proved("seal", "authenticity", what)
        return
    note = archive.read(layout.SEAL, limit=_SMALL).decode("utf-8", "replace")
    try:
        text, _ = notes.split_note(note, where=layout.SEAL)
    except IntegrityError as error:
        text = ""
        _problem(findings, "seal", str(error), layout.SEAL)
    if text and text != seal_text:
        _problem(findings, "seal", f"{layout.SEAL} signs another bundle than this one", layout.SEAL)
    if findings.failed("seal"):
        findings.conclude("seal", "authenticity", "")
    elif not trust.keys:
        what = "conclusions and attachments are signed by the exporter; you named no key that you trust"
        findings.not_proved("seal", "authenticity", what)
    else:
        _open(note, trust.keys, "seal", layout.SEAL, findings)


def _time(archive: Archive, note: str | None, trust: Trust, record: Record, findings: Findings) -> None:
    recorded = _utc(record.recorded_at_us // 1_000_000)
    if note is not None and trust.witnesses:
        _witnessed(note, trust, record, findings)
    if layout.CHECKPOINT_STAMP in archive and trust.tsa_ca is not None:
        _stamped(archive, trust.tsa_ca, findings)
    if not any(check.proves == "time" for check in findings.checks):
        there = []
        if layout.CHECKPOINT_STAMP in archive:
            there.append("a time stamp that you named no certificates for")
        if note is not None and len(notes.split_note(note)[1]) > 1:
            there.append("cosignatures of witnesses that you didn't name")
        what = f"the store's clock says {recorded}; " + (" and ".join(there) or "nobody outside confirms it")
        findings.not_proved("time", "time", what)


def _witnessed(note: str, trust: Trust, record: Record, findings: Findings) -> None:
    try:
        opened = notes.open_note(note, trust.witnesses, where=layout.CHECKPOINT)
    except IntegrityError as error:
        _problem(findings, "witness", str(error), layout.CHECKPOINT)
        findings.conclude("witness", "time", "", bad=str(error))
        return
    words = []
    for signed in opened.signed:
        if signed.at_s is not None:
            words.append(f"{signed.key.name} at {_utc(signed.at_s)}")
            if signed.at_s < record.recorded_at_us // 1_000_000:
                what = f"{signed.key.name} saw this log at {_utc(signed.at_s)}, before its last event was recorded"
                _problem(findings, "witness", what, layout.CHECKPOINT)
    findings.conclude("witness", "time", f"the log existed in this form when seen by {', '.join(words)}")


def _stamped(archive: Archive, certificates: Path, findings: Findings) -> None:
    """RFC 3161, checked by openssl: the standard library reads no such signatures."""
    openssl = shutil.which("openssl")
    if openssl is None:
        findings.not_proved("stamp", "time", "the time stamp was not checked: openssl is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        stamp, body = Path(folder, "stamp"), Path(folder, "body")
        stamp.write_bytes(archive.read(layout.CHECKPOINT_STAMP, limit=_SMALL))
        body.write_bytes(archive.read(layout.CHECKPOINT_BODY, limit=_SMALL))
        files = ("-data", str(body), "-in", str(stamp), "-CAfile", str(certificates))
        done = subprocess.run([openssl, "ts", "-verify", *files], capture_output=True, text=True, check=False)  # noqa: S603 - fixed arguments, our own files
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["openssl gave no reason"])[-1]
        _problem(
            findings, "stamp", f"the time stamp does not verify: {reason[:200]}", layout.CHECKPOINT_STAMP
        )
    findings.conclude("stamp", "time", "a time stamp by the authority you trust covers this checkpoint")


def _utc(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"second {seconds}"


def _problem(findings: Findings, check: str, what: str, path: str) -> None:
    findings.problem(Problem(check=check, what=what, file=path))
