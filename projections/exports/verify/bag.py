"""Checks the bag (BagIt 1.0, RFC 8493): its manifests list exactly these files, with the hashes that they have.

The manifests are made anew from the files and compared. They are never a source: whoever changes a file can change
its line too, so an agreeing manifest proves only that the copy arrived whole.
"""

from __future__ import annotations

from collections.abc import Mapping

from projections.exports.verify import layout
from projections.exports.verify.archive import Archive
from projections.exports.verify.report import Findings, Problem


def check_bag(archive: Archive, hashes: Mapping[str, str], findings: Findings) -> None:
    """Manifests in both directions, and the files that every bag has."""
    for path in sorted(layout.REQUIRED - set(hashes)):
        findings.problem(Problem(check="files", what=f"{path} is missing from the bundle", file=path))
    payload = {path: sha256 for path, sha256 in hashes.items() if path.startswith("data/")}
    tags = {
        path: sha256
        for path, sha256 in hashes.items()
        if not path.startswith("data/") and path not in layout.UNLISTED
    }
    _check_manifest(archive, layout.MANIFEST, payload, findings)
    _check_manifest(archive, layout.TAG_MANIFEST, tags, findings)
    if archive.read(layout.BAGIT, limit=1024) != layout.BAGIT_TEXT:
        findings.problem(Problem(check="files", what="bagit.txt is not that of BagIt 1.0", file=layout.BAGIT))
    findings.conclude("files", "integrity", f"{len(hashes)} files, each as its manifest says, and no other")


def check_labels(archive: Archive, base: str, *, recorded_at_us: int, findings: Findings) -> None:
    """``bag-info.txt`` and the folder's name say what follows from the record and nothing else."""
    payload = [member.size for path, member in archive.members.items() if path.startswith("data/")]
    expected = layout.bag_info(base, recorded_at_us=recorded_at_us, octets=sum(payload), files=len(payload))
    if archive.read(layout.BAG_INFO, limit=4096) != expected:
        what = "bag-info.txt does not follow from the record"
        findings.problem(Problem(check="labels", what=what, file=layout.BAG_INFO))
    if archive.base != base:
        what = f"the folder is named {archive.base}, the record makes it {base}"
        findings.problem(Problem(check="labels", what=what))
    findings.conclude("labels", "integrity", "name, date and size follow from the record")


def _check_manifest(archive: Archive, path: str, hashes: Mapping[str, str], findings: Findings) -> None:
    data = archive.read(path, limit=layout.MAX_SMALL_BYTES)
    if data == layout.manifest(hashes):
        return
    listed: dict[str, str] = {}
    for line in data.decode("ascii", "replace").splitlines():
        sha256, _, name = line.partition("  ")
        listed[name] = sha256
    before = findings.failed("files")
    for name in sorted(set(hashes) | set(listed)):
        if name not in listed:
            what = f"{name} is not listed in {path}"
        elif name not in hashes:
            what = f"{path} lists {ascii(name)[:200]}, which is not in the bundle"
        elif listed[name] != hashes[name]:
            what = f"{name} has been changed: {path} has another SHA-256 for it"
        else:
            continue
        findings.problem(Problem(check="files", what=what, file=name))
    if findings.failed("files") == before:
        what = f"{path} is not in its one form (order, spacing)"
        findings.problem(Problem(check="files", what=what, file=path))
