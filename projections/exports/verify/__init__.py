"""Verifies an evidence bundle: imports the standard library, ``domain`` and ``cryptography``, and nothing else of ours.

``verify(path)`` reads the file once, writes nothing, and asks nobody. It takes the bundle for hostile: what the bundle
says about itself (manifests, head, page) is made again from the events and the log's leaves and compared. Trust comes
from the reader: keys, witnesses, earlier checkpoints. Without them the report says which of integrity, completeness,
authenticity and time it could not prove.

``python -m projections.exports.verify FILE`` does the same from a command line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

from domain import notes
from domain.errors import ConfigError, IntegrityError
from projections.exports.verify import layout, statement
from projections.exports.verify.archive import Archive, Refused
from projections.exports.verify.bag import check_bag, check_labels
from projections.exports.verify.contents import (
    check_documents,
    check_findings,
    check_page,
    check_screens,
    frame_bytes,
    read_json,
)
from projections.exports.verify.hashing import Progress, hash_members
from projections.exports.verify.layout import Head
from projections.exports.verify.record import Record, RecordCheck
from projections.exports.verify.redacted import WithheldCheck
from projections.exports.verify.report import (
    Check,
    Findings,
    Problem,
    Property,
    Status,
    VerifyReport,
    Withheld,
)
from projections.exports.verify.trust import Trust, check_trust

__all__ = ["Check", "Problem", "Progress", "Property", "Status", "VerifyReport", "Withheld", "verify"]

_HEX_ROOT = re.compile(r"[0-9a-fA-F]{64}")


def verify(
    path: Path | str,
    *,
    trusted_keys: Sequence[str] = (),
    witnesses: Sequence[str] = (),
    expect_root: str | None = None,
    known_checkpoints: Sequence[str] = (),
    expect_streams: Sequence[str] = (),
    tsa_ca: Path | None = None,
    progress: Progress | None = None,
) -> VerifyReport:
    """Check a bundle.

    Args:
        path: The zip file.
        trusted_keys: Verifier keys (``name+id+base64``) of those whose log this may be.
        witnesses: Verifier keys of witnesses whose times count.
        expect_root: Root of the log in hex, as the reader has it from elsewhere.
        known_checkpoints: Checkpoint notes or texts of this log that the reader already had.
        expect_streams: Streams (``task:<uuid>``) that must be shown.
        tsa_ca: Certificates (PEM) of the time stamping authority that counts.
        progress: Called with the bytes hashed so far and in all.

    Returns:
        The report; whatever is wrong with the bundle is in it.

    Raises:
        ConfigError: When the file can't be opened, or a key, root or checkpoint of the reader is malformed.
    """
    trust = _trust(trusted_keys, witnesses, expect_root, known_checkpoints, expect_streams, tsa_ca)
    findings = Findings()
    try:
        with Path(path).open("rb", buffering=0) as file:
            return _verify(file, trust, findings, progress)
    except Refused as error:
        findings.problem(Problem(check="archive", what=error.what, file=error.file))
        bad = "refused: this is no bundle that can be trusted to be read"
        findings.conclude("archive", "integrity", "", bad=bad)
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}", remedy="name a bundle made by 'proofreel export'"
        ) from error
    return _report(findings, bundle="")


def _verify(file: FileIO, trust: Trust, findings: Findings, progress: Progress | None) -> VerifyReport:
    archive = Archive.open(file)
    findings.conclude("archive", "integrity", "the archive has the one form that a bundle may have")
    hashes = hash_members(archive, findings, progress)
    check_bag(archive, hashes, findings)
    head, content, withheld = _read_head(archive, findings)
    if head is None or content is None or withheld is None:
        findings.conclude("log", "integrity", "")
        return _report(findings, bundle=archive.base)
    check = RecordCheck(archive, head, hashes, withheld["events"], findings)
    record = check.run(frozenset(known.size for known in trust.checkpoints))
    findings.conclude("events", "integrity", f"{record.events} events, each byte for byte as it was recorded")
    findings.conclude(
        "log", "integrity", f"all of them stand in the log of {head.size} events with root {head.root}"
    )
    frames = check_screens(archive, hashes, record, {**withheld["frames"], **withheld["deleted"]}, findings)
    check_documents(hashes, record, {**withheld["documents"], **withheld["deleted"]}, findings)
    hidden = WithheldCheck(archive, hashes, record, withheld, findings).run()
    check_findings(content, record, head, findings)
    _conclude_complete(head, record, findings)
    expected_head = layout.page_head(
        archive.base,
        head,
        content,
        chunks=check.chunks,
        files=layout.page_files(hashes),
        withheld=statement.stated(withheld),
        embedded=(embedded := frame_bytes(archive) <= layout.MAX_EMBEDDED_BYTES),
        checkpoint=archive.read(layout.CHECKPOINT, limit=1 << 20).decode("utf-8", "replace")
        if layout.CHECKPOINT in archive
        else None,
    )
    check_page(archive, hashes, expected_head, chunks=check.chunks, embedded=embedded, findings=findings)
    base = layout.base_name(head, archive.read(layout.FINDINGS, limit=layout.MAX_SMALL_BYTES))
    check_labels(archive, base, recorded_at_us=record.recorded_at_us, findings=findings)
    seal_text = layout.seal_text(archive.base, hashes.get(layout.TAG_MANIFEST, ""))
    check_trust(archive, head, record, trust, seal_text=seal_text, findings=findings)
    return _report(findings, bundle=archive.base, head=head, record=record, frames=frames, hidden=hidden)


def _trust(
    trusted_keys: Sequence[str],
    witnesses: Sequence[str],
    expect_root: str | None,
    known_checkpoints: Sequence[str],
    expect_streams: Sequence[str],
    tsa_ca: Path | None,
) -> Trust:
    if expect_root is not None and not _HEX_ROOT.fullmatch(expect_root):
        raise ConfigError(f"{expect_root[:80]!r} is no root", remedy="give 64 hexadecimal digits")
    try:
        texts = [note.partition("\n\n")[0].rstrip("\n") + "\n" for note in known_checkpoints]
        return Trust(
            keys=tuple(notes.parse_verifier_key(key) for key in trusted_keys),
            witnesses=tuple(notes.parse_verifier_key(key) for key in witnesses),
            root=expect_root,
            checkpoints=tuple(notes.parse_checkpoint(text) for text in texts),
            streams=tuple(expect_streams),
            tsa_ca=tsa_ca,
        )
    except (ValueError, IntegrityError) as error:
        raise ConfigError(str(error), remedy="check what you gave beside the bundle") from error


def _read_head(
    archive: Archive, findings: Findings
) -> tuple[Head | None, Mapping[str, Any] | None, Mapping[str, Mapping[str, Any]] | None]:
    """Head, findings and what is withheld; None where the form is wrong, with a problem."""
    content = read_json(archive, layout.FINDINGS, findings, "findings")
    raw = read_json(archive, layout.HEAD, findings, "log")
    head = None
    if raw is not None:
        streams = raw.get("streams")
        counts = streams if isinstance(streams, dict) else {}
        shaped = (
            type(raw.get("tenant")) is str and type(raw.get("size")) is int and type(raw.get("root")) is str
        )
        if shaped and counts and all(type(count) is int for count in counts.values()):
            head = Head(tenant=raw["tenant"], size=raw["size"], root=raw["root"], streams=counts)
        if head is None or raw != head.to_dict():
            version = raw.get("format")
            what = f"{layout.HEAD} has another form" + (
                f" (format {version}; this verifier knows {layout.FORMAT})"
                if version != layout.FORMAT
                else ""
            )
            findings.problem(Problem(check="log", what=what, file=layout.HEAD))
            head = None
    return head, content, _read_withheld(archive, findings)


def _read_withheld(archive: Archive, findings: Findings) -> Mapping[str, Mapping[str, Any]] | None:
    if layout.WITHHELD not in archive:
        return statement.whole({})
    withheld = read_json(archive, layout.WITHHELD, findings, "withheld")
    if withheld is None:
        return None
    if not statement.shaped(withheld):
        what = (
            f"{layout.WITHHELD} does not say for each part where it was withheld, on which basis and by whom"
        )
        findings.problem(Problem(check="withheld", what=what, file=layout.WITHHELD))
        return None
    return statement.whole(withheld)


def _conclude_complete(head: Head, record: Record, findings: Findings) -> None:
    tasks = [state for name, state in record.streams.items() if name.startswith("task:")]
    sealed = sum(state.sealed for state in tasks)
    rest = head.size - sum(state.leaves for state in record.streams.values())
    good = (
        f"{len(record.streams)} streams, none of their events missing; {sealed} of {len(tasks)} tasks are sealed; "
        f"{rest} events of other streams exist that this bundle does not show"
    )
    findings.conclude("complete", "completeness", good)
    elsewhere = sorted(set(record.named_streams) - set(head.streams))
    if elsewhere:
        what = f"events name streams that are not shown: {', '.join(ascii(name)[1:-1][:80] for name in elsewhere[:5])}"
        findings.not_proved("elsewhere", "completeness", what)


def _report(
    findings: Findings,
    *,
    bundle: str,
    head: Head | None = None,
    record: Record | None = None,
    frames: int = 0,
    hidden: Withheld | None = None,
) -> VerifyReport:
    return VerifyReport(
        ok=not findings.counts,
        bundle=bundle,
        tenant="" if head is None else head.tenant,
        size=0 if head is None else head.size,
        root="" if record is None else record.root.hex(),
        events=0 if record is None else record.events,
        streams=0 if record is None else len(record.streams),
        frames=frames,
        withheld=hidden or Withheld(),
        checks=tuple(findings.checks),
        problems=tuple(findings.problems),
        proved=findings.proved(),
    )
