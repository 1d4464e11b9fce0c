"""Opens a bundle's zip without trusting it: one canonical form, everything else is refused with the reason.

The directory is read with the standard library, then each header is compared with the only bytes that it may have
(``zipformat``). So nothing can hide before, between or behind the members, members can't overlap, and no field can
mislead another reader of the same file. Nothing is ever written to disk, no name is ever used as a path. Members are
stored, so a bundle can't grow while it is read.
"""

from __future__ import annotations

import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import FileIO
from typing import Self

from projections.exports.verify import layout
from projections.exports.verify.zipformat import Member, central_entry, end_record, local_header

CHUNK_BYTES = 1 << 20
MAX_DIRECTORY_BYTES = 1 << 30
_CONTROL = re.compile(r"[\x00-\x1f]")
_ENCRYPTED = 0x1 | 0x40
_UNREADABLE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    NotImplementedError,
    EOFError,
    OverflowError,
    ValueError,
    struct.error,
    zlib.error,
)


class Refused(Exception):
    """The file is no bundle that this verifier reads; ``what`` says why and names the member."""

    def __init__(self, what: str, *, file: str = "") -> None:
        self.what = what
        self.file = file
        super().__init__(what)


@dataclass(slots=True)
class Archive:
    """The members of a bundle by their path within its folder."""

    file: FileIO
    """Without a buffer: each piece is read into its place."""
    base: str
    """Folder that holds everything."""
    members: dict[str, Member] = field(default_factory=dict)

    def __contains__(self, path: str) -> bool:
        return path in self.members

    def size(self, path: str) -> int:
        """Bytes of a member; 0 when there is none."""
        return self.members[path].size if path in self.members else 0

    def chunks(self, path: str, size: int = CHUNK_BYTES) -> Iterator[bytes]:
        """Its bytes, in pieces of ``size``; nothing when there is no such member."""
        member = self.members.get(path)
        if member is None:
            return
        at, end = member.data_offset, member.end
        while at < end:
            self.file.seek(at)
            data = self.file.read(min(size, end - at))
            if not data:
                raise Refused(f"{path} is cut off", file=path)
            at += len(data)
            yield data

    def read_into(self, path: str, at: int, buffer: memoryview) -> int:
        """Fill ``buffer`` from a place within the member ``path``; the number of bytes, which is never 0."""
        self.file.seek(at)
        count = self.file.readinto(buffer)
        if not count:
            raise Refused(f"{path} is cut off", file=path)
        return count

    def read(self, path: str, *, limit: int) -> bytes:
        """All of a small member; ``Refused`` above ``limit`` bytes."""
        if self.size(path) > limit:
            raise Refused(f"{path} has {self.size(path)} bytes; at most {limit} are expected", file=path)
        return b"".join(self.chunks(path))

    def lines(self, path: str, *, limit: int) -> Iterator[bytes]:
        """Lines without their newline; ``Refused`` when one is longer than ``limit`` or the last has no end."""
        rest = b""
        for chunk in self.chunks(path):
            *whole, rest = (rest + chunk).split(b"\n")
            if max(len(rest), *map(len, whole)) > limit:
                raise Refused(f"{path} has a line of more than {limit} bytes", file=path)
            yield from whole
        if rest:
            raise Refused(f"the last line of {path} is cut off", file=path)

    @classmethod
    def open(cls, file: FileIO) -> Self:
        """Check the whole shape of the file; ``Refused`` names the first thing that is not as it must be."""
        try:
            with zipfile.ZipFile(file) as reader:
                infos = reader.infolist()
                start = reader.start_dir
        except _UNREADABLE as error:
            raise Refused(f"not a readable zip file: {error}") from error
        if not infos:
            raise Refused("the archive is empty")
        _refuse_hostile_names(infos)
        for info in infos:
            _refuse_hostile_member(info)
        members = [Member(info.filename, info.file_size, info.CRC, info.header_offset) for info in infos]
        base = members[0].name.partition("/")[0]
        for member in members:
            _refuse_strangers(member.name, base)
        _require_canonical(file, members, start)
        return cls(file, base, {member.name.removeprefix(f"{base}/"): member for member in members})


def _refuse_hostile_names(infos: list[zipfile.ZipInfo]) -> None:
    seen: dict[str, str] = {}
    for info in infos:
        name = info.orig_filename
        shown = ascii(name)[:200]
        if _CONTROL.search(name):
            raise Refused(f"{shown}: control character in a name", file=name)
        if "\\" in name or re.match(r"[A-Za-z]:", name) or name.startswith("/"):
            raise Refused(f"{shown}: absolute or foreign path", file=name)
        if ".." in name.split("/"):
            raise Refused(f"{shown}: leads out of the folder (zip slip)", file=name)
        folded = unicodedata.normalize("NFKC", name).casefold().rstrip(". ")
        if folded in seen:
            kind = "twice" if seen[folded] == name else f"beside {seen[folded]!a} (case or Unicode collision)"
            raise Refused(f"{shown}: there {kind}", file=name)
        seen[folded] = name


def _refuse_hostile_member(info: zipfile.ZipInfo) -> None:
    name, mode = info.filename, info.external_attr >> 16
    if info.flag_bits & _ENCRYPTED:
        raise Refused(f"{name}: encrypted", file=name)
    if info.is_dir():
        raise Refused(f"{name}: a folder of its own; a bundle lists files only", file=name)
    if mode and not stat.S_ISREG(mode):
        kind = "a symbolic link" if stat.S_ISLNK(mode) else "no regular file"
        raise Refused(f"{name}: {kind}", file=name)
    if info.compress_type != zipfile.ZIP_STORED:
        raise Refused(f"{name}: compressed; a bundle stores its files, so that none can swell", file=name)
    if info.compress_size != info.file_size:
        what = f"{name}: says {info.file_size} bytes and stores {info.compress_size}"
        raise Refused(what, file=name)


def _refuse_strangers(name: str, base: str) -> None:
    folder, _, path = name.partition("/")
    if folder != base or not layout.BASE.fullmatch(base):
        raise Refused(f"{ascii(name)[:200]}: outside the folder {ascii(base)[:80]}", file=name)
    if not layout.expected(path):
        raise Refused(f"{ascii(path)[:200]}: a bundle has no such file", file=path)


def _require_canonical(file: FileIO, members: list[Member], start: int) -> None:
    """Compare every byte that isn't content with the only one possible."""
    order = [layout.member_order(member.name.partition("/")[2]) for member in members]
    if order != sorted(order):
        raise Refused("the members are not in the order of a bundle")
    at = 0
    for member in members:
        if member.offset != at:
            raise Refused(
                f"{member.name}: begins at byte {member.offset}, not {at} (gap or overlap)", file=member.name
            )
        header = local_header(member.name, member.size, member.crc)
        file.seek(at)
        if file.read(len(header)) != header:
            raise Refused(f"{member.name}: its header differs from the directory", file=member.name)
        at = member.end
    directory = b"".join(central_entry(member) for member in members)
    tail = directory + end_record(len(members), len(directory), at)
    if start != at or len(tail) > MAX_DIRECTORY_BYTES:
        raise Refused("the directory does not follow the last member")
    file.seek(at)
    if file.read(len(tail) + 1) != tail:
        raise Refused("the directory is not in the form of a bundle, or something follows it")
