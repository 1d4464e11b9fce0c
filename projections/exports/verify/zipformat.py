"""The one form a bundle's zip may have, as bytes.

Names, sizes and contents decide every other byte: members are stored, sorted by name, one after the other without a
gap, all with the same date, attributes and versions, names in ASCII, and nothing before, between or after them. So
the same export is the same file everywhere, and a reader can compare each header with the only one possible instead
of judging fields one by one. Layout: PKWARE APPNOTE 6.3.10 sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16; ZIP64 where an
offset or the number of members asks for it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAX_MEMBER_BYTES = 0xFFFFFFFE
"""A member stays below 4 GiB, so that no local header needs ZIP64."""

_DOS_DATE = 0x21  # 1 January 1980, the earliest there is
_UNIX = 3
_REGULAR_FILE = 0o100644 << 16
_PLAIN, _ZIP64 = 20, 45
_LOCAL_BYTES = 30
"""A local header without its name, which is ASCII."""
_MAX16, _MAX32 = 0xFFFF, 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Member:
    """One stored file; ``offset`` is where its local header begins."""

    name: str
    size: int
    crc: int
    offset: int

    @property
    def data_offset(self) -> int:
        """Where its bytes begin."""
        return self.offset + _LOCAL_BYTES + len(self.name)

    @property
    def end(self) -> int:
        """Where the next local header, or the directory, begins."""
        return self.data_offset + self.size


def local_header(name: str, size: int, crc: int) -> bytes:
    """What stands before a member's bytes; ``ValueError`` from 4 GiB on, and for a name that isn't ASCII."""
    if size > MAX_MEMBER_BYTES:
        message = f"{name} has {size} bytes; a file of a bundle stays below 4 GiB"
        raise ValueError(message)
    encoded = name.encode("ascii")
    fields = (_PLAIN, 0, 0, 0, _DOS_DATE, crc, size, size, len(encoded), 0)
    return b"PK\x03\x04" + struct.pack("<5H3I2H", *fields) + encoded


def central_entry(member: Member) -> bytes:
    """The member's entry in the directory."""
    encoded = member.name.encode("ascii")
    far = member.offset >= _MAX32
    version = _ZIP64 if far else _PLAIN
    extra = struct.pack("<2HQ", 1, 8, member.offset) if far else b""
    head = (_UNIX << 8 | version, version, 0, 0, 0, _DOS_DATE, member.crc, member.size, member.size)
    tail = (len(encoded), len(extra), 0, 0, 0, _REGULAR_FILE, min(member.offset, _MAX32))
    return b"PK\x01\x02" + struct.pack("<6H3I", *head) + struct.pack("<5H2I", *tail) + encoded + extra


def end_record(count: int, size: int, offset: int) -> bytes:
    """What ends the file: ``count`` members whose directory of ``size`` bytes begins at ``offset``."""
    large = b""
    if count >= _MAX16 or size >= _MAX32 or offset >= _MAX32:
        fields = (44, _UNIX << 8 | _ZIP64, _ZIP64, 0, 0, count, count, size, offset)
        large = b"PK\x06\x06" + struct.pack("<Q2H2I4Q", *fields)
        large += b"PK\x06\x07" + struct.pack("<IQI", 0, offset + size, 1)
    shown = (min(count, _MAX16), min(count, _MAX16), min(size, _MAX32), min(offset, _MAX32))
    return large + b"PK\x05\x06" + struct.pack("<4H2IH", 0, 0, *shown, 0)
