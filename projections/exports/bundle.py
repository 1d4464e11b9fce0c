"""Writes an evidence bundle: BagIt 1.0 in a stored zip, the same bytes whenever and wherever it is written.

* what is shown is copied byte for byte from the record; nothing is encoded again
* the log is checked while it is copied: a record that does not add up is not exported as evidence
* nothing depends on a clock, a locale, a path or a library's version
* memory holds no screen but the current one (and those that the page carries, up to a limit)

The layout, and the bytes of every derived file, are in ``projections.exports.verify.layout``: the verifier owns them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO

from domain import notes
from domain.errors import ConfigError, IntegrityError
from domain.ids import Sha256, TenantId
from projections.exports import withhold
from projections.exports.ahead import DOCUMENTS, reading_ahead
from projections.exports.copying import Copied, Skeleton, copy_events, read_skeleton
from projections.exports.ports import BlobSource, BundleSource
from projections.exports.select import Scope, select
from projections.exports.verify import layout
from projections.exports.verify.layout import Head
from projections.exports.verify.trust import checkpoint_parts
from projections.exports.zipwriter import Piece, Spool, ZipWriter, piece_of, replacing
from projections.withholding import load

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What goes into a bundle beside the record."""

    checkpoint: str | None = None
    """Signed note about this log; the bundle then speaks of the log up to its size."""
    keys: Sequence[str] = ()
    """Verifier keys of those who signed it, for the reader's convenience."""
    stamp: bytes | None = None
    """RFC 3161 response over the checkpoint's text."""
    seal: Callable[[str], str] | None = None
    """Signs a text as the exporter and gives the note; must be deterministic, as Ed25519 is."""
    attachments: Mapping[str, bytes] = field(default_factory=dict)
    """Reports by file name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleInfo:
    """What was written."""

    name: str
    """Folder within the archive; also a good file name."""
    tenant: str
    scope: str
    size: int
    """Events in the tenant's log up to which the bundle speaks."""
    root: str
    events: int
    streams: tuple[str, ...]
    frames: int
    withheld: int
    octets: int
    """Size of the archive in bytes."""


def write_bundle(
    out: Path | BinaryIO,
    source: BundleSource,
    blobs: BlobSource,
    *,
    tenant: TenantId,
    scope: Scope,
    case: Mapping[str, Any] | None = None,
    extras: Extras | None = None,
    progress: Progress | None = None,
) -> BundleInfo:
    """Write one bundle about ``scope`` (see ``scope_of``).

    Args:
        out: A path (replaced as a whole, or left alone on failure) or a file open for writing; it is never sought.
        source: The record.
        blobs: Screens, settlement files and documents.
        tenant: Whose log.
        scope: Tasks, a bill, a run, a month, or the whole log.
        case: A break with its causes, as plain data; what it names is shown too.
        extras: Signatures, keys, attachments.
        progress: Called with the number of screens written and in all.

    Raises:
        ConfigError: Nothing is known about what was asked for, what was given beside it is malformed, or a withheld
            text would leave in another place.
        IntegrityError: The record or a blob is damaged; run ``proofreel fsck``.
    """
    extras = extras or Extras()
    selection = select(source, tenant, scope, case)
    skeleton = read_skeleton(source, tenant, extras.checkpoint)
    inforce = load(source, tenant)
    plan = withhold.plan(source, blobs, tenant, selection.streams, inforce, size=skeleton.size)
    leaks = withhold.LeakCheck(inforce)
    streams = tuple(sorted({*selection.streams, *plan.streams}))
    with contextlib.ExitStack() as stack:
        spools = Spool(), Spool(), Spool()
        for spool in spools:
            stack.callback(spool.close)
        copied = copy_events(source, tenant, streams, skeleton, plan.shown, leaks, spools)
        leaks.require_none()
        draft = _Draft(tenant, scope, case, skeleton, copied, extras, plan)
        file = stack.enter_context(replacing(out)) if isinstance(out, Path) else out
        return draft.write(file, blobs, progress)


class _Draft:
    """A bundle whose events are copied and whose other files are about to be written."""

    def __init__(
        self,
        tenant: TenantId,
        scope: Scope,
        case: Mapping[str, Any] | None,
        skeleton: Skeleton,
        copied: Copied,
        extras: Extras,
        plan: withhold.Plan,
    ) -> None:
        masks = plan.inforce.masks
        self._scope = scope
        self._plan = plan
        self._leaks = withhold.LeakCheck(plan.inforce)
        self._skeleton = skeleton
        self._copied = copied
        self._extras = extras
        self._head = Head(tenant=tenant, size=skeleton.size, root=skeleton.root.hex(), streams=copied.streams)
        self._findings = {
            "case": None if case is None else masks.plain(dict(case)),
            "scope": masks.plain(asdict(scope)),
        }
        self._findings_bytes = _plain(self._findings)
        self._base = layout.base_name(self._head, self._findings_bytes)
        self._withheld = plan.statement()

    def write(self, file: BinaryIO, blobs: BlobSource, progress: Progress | None) -> BundleInfo:
        """Write everything; screens come first, so that each is read once."""
        archive = ZipWriter(file, self._base)
        scripts = self._write_screens(archive, blobs, progress)
        pieces = self._payload(blobs, archive, scripts) | self._proof()
        self._leaks.require_none()
        payload = {path: piece.sha256 for path, piece in pieces.items() if path.startswith("data/")}
        octets = sum(archive.sizes.values()) + sum(pieces[path].size for path in payload)
        payload |= archive.hashes
        info = layout.bag_info(
            self._base, recorded_at_us=self._copied.recorded_at_us, octets=octets, files=len(payload)
        )
        pieces[layout.README] = piece_of(_static(layout.README))
        pieces[layout.BAGIT] = piece_of(layout.BAGIT_TEXT)
        pieces[layout.BAG_INFO] = piece_of(info)
        pieces[layout.MANIFEST] = piece_of(layout.manifest(payload))
        tags = {path: piece.sha256 for path, piece in pieces.items() if not path.startswith("data/")}
        pieces[layout.TAG_MANIFEST] = piece_of(layout.manifest(tags))
        if self._extras.seal is not None:
            text = layout.seal_text(self._base, pieces[layout.TAG_MANIFEST].sha256)
            pieces[layout.SEAL] = piece_of(self._extras.seal(text).encode())
        for path in sorted(pieces, key=layout.member_order):
            archive.add(path, pieces[path])
        return self._info(
            archive.finish(), shown=sum(1 for path in archive.hashes if layout.FRAME.match(path))
        )

    def _write_screens(
        self, archive: ZipWriter, blobs: BlobSource, progress: Progress | None
    ) -> dict[str, bytes] | None:
        """Write each screen that events name, then what stands instead of withheld ones.

        Gives scripts with the same for the page, None when they'd be too much.
        """
        names, plan = self._copied.references.frames, self._plan
        files = [(sha256, "data/frames") for sha256 in sorted(set(names) - plan.gone())]
        files += [(sha256, "data/redacted") for sha256 in sorted(plan.pictures())]
        scripts: dict[str, bytes] | None = {}
        octets = 0
        with reading_ahead(blobs, [sha256 for sha256, _ in files]) as contents:
            for number, (data, piece) in enumerate(contents, start=1):
                sha256, folder = files[number - 1]
                suffix = layout.image_suffix(data)
                if suffix is None:
                    what = "it is neither PNG nor WebP, and an event names it as a screen"
                    raise IntegrityError(what, where=f"blob {sha256} ({names.get(sha256, folder)})")
                archive.add(f"{folder}/{sha256}.{suffix}", piece)
                octets += len(data)
                if octets > layout.MAX_EMBEDDED_BYTES:
                    scripts = None
                elif scripts is not None:
                    scripts[f"data/page/frames/{sha256}.js"] = layout.frame_script(sha256, suffix, data)
                if progress is not None:
                    progress(number, len(files))
        return scripts

    def _payload(
        self, blobs: BlobSource, archive: ZipWriter, scripts: Mapping[str, bytes] | None
    ) -> dict[str, Piece]:
        """Everything under ``data/`` but the screens."""
        references, gone = self._copied.references, self._plan.gone()
        pieces = {path: piece_of(_static(path)) for path in layout.STATIC_PAGE}
        pieces |= {layout.EVENTS: self._copied.events, layout.ENTRIES: self._copied.entries}
        pieces |= self._copied.page
        pieces[layout.FINDINGS] = piece_of(self._findings_bytes)
        if any(self._withheld.values()):
            pieces[layout.WITHHELD] = piece_of(_plain(self._withheld))
        files = {f"data/redacted/{sha256}.json": sha256 for sha256 in self._plan.papers()}
        files |= {f"data/documents/{sha256}.dat": sha256 for sha256 in references.documents}
        files |= {f"data/traces/{sha256}.zip": sha256 for sha256 in references.traces}
        files |= {
            layout.settlement_path(sha256, name): sha256 for sha256, name in references.settlement.items()
        }
        files = {path: sha256 for path, sha256 in files.items() if sha256 not in gone}
        with reading_ahead(blobs, list(files.values()), most=DOCUMENTS) as contents:
            for path, (data, piece) in zip(files, contents, strict=True):
                self._leaks.look(data, path)
                pieces[path] = _read_again(blobs, piece)
        for name, data in self._extras.attachments.items():
            path = f"data/attachments/{name}"
            if not layout.ATTACHED.fullmatch(path):
                what = f"{name!r} can't name an attachment"
                raise ConfigError(what, remedy="use letters, digits, points, dashes and underscores")
            self._leaks.look(data, path)
            pieces[path] = piece_of(data)
        pieces |= {path: piece_of(data) for path, data in (scripts or {}).items()}
        pieces[layout.PAGE_HEAD] = piece_of(
            layout.page_head(
                self._base,
                self._head,
                self._findings,
                chunks=len(self._copied.page),
                files=layout.page_files([*archive.hashes, *pieces]),
                withheld=self._withheld,
                embedded=scripts is not None,
                checkpoint=self._extras.checkpoint,
            )
        )
        return pieces

    def _proof(self) -> dict[str, Piece]:
        """Everything under ``proof/`` but the exporter's signature."""
        extras = self._extras
        files = {layout.SKELETON: self._skeleton.leaves, layout.HEAD: self._head.to_bytes()}
        if extras.checkpoint is not None:
            try:
                keys = [notes.parse_verifier_key(key) for key in extras.keys]
            except ValueError as error:
                raise ConfigError(str(error), remedy="give keys as they are published") from error
            text, signatures = notes.split_note(extras.checkpoint)
            files[layout.CHECKPOINT] = extras.checkpoint.encode()
            files |= checkpoint_parts(text, signatures, keys)
            if keys:
                files[layout.KEYS] = "".join(f"{key}\n" for key in keys).encode()
            if extras.stamp is not None:
                files[layout.CHECKPOINT_STAMP] = extras.stamp
        return {path: piece_of(data) for path, data in files.items()}

    def _info(self, octets: int, *, shown: int) -> BundleInfo:
        return BundleInfo(
            name=self._base,
            tenant=self._head.tenant,
            scope=f"{self._scope.kind} {self._scope.name}".strip(),
            size=self._head.size,
            root=self._head.root,
            events=self._copied.count - len(self._copied.withheld),
            streams=tuple(self._head.streams),
            frames=shown,
            withheld=sum(len(part) for part in self._withheld.values()),
            octets=octets,
        )


def _plain(value: object) -> bytes:
    return layout.plain_json(value) + b"\n"


def _static(path: str) -> bytes:
    """A file of the page, or the README, as it is shipped."""
    name = path.rpartition("/")[2]
    return resources.files("projections.exports").joinpath("index_html", name).read_bytes()


def _read_again(blobs: BlobSource, piece: Piece) -> Piece:
    """A blob that was read for its size, and is read and checked once more when it is written; not kept in between."""
    return Piece(piece.size, piece.crc, piece.sha256, lambda: (blobs.get(Sha256(piece.sha256)),))
