"""A settlement file of any size is imported in the same memory, whatever keeps its original."""

from __future__ import annotations

import csv
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from executor.store.blobs import open_blobs
from executor.store.sealing import sealed_url
from executor.store.secret_key import make_secret
from tests.executor.store.test_blobs import _Place, place, s3

__all__ = ["place", "s3"]

MIB = 1 << 20
SMALL, LARGE = 6 * MIB, 60 * MIB
GROWTH_MIB = 24
"""Under half of what the larger file has more; ids of the newest lines are held for a while, 16 bytes each."""

CHILD = """
import sys
from executor.cli import run_command
code = run_command(sys.argv[1:])
with open("/proc/self/status") as status:
    print(*(line.split()[1] for line in status if line.startswith("VmHWM:")), file=sys.stderr)
raise SystemExit(code)
"""
"""Its own high water; that of ``getrusage`` begins with what the parent had when it forked."""
HEADER = ["Line no.", "Bill no.", "Counterparty no.", "Counterparty", "Type", "Amount", "Currency", "Time"]


def month(path: Path, size: int) -> None:
    """Write a month of lines of half a kilobyte."""
    lines = 0
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([*HEADER, "Account", "Status"])
        while out.tell() < size:
            for _ in range(1000):
                lines += 1
                name = f"{lines % 500:0500d}"
                what = ["Process", "12.00", "CNY", "2026-11-03 10:00:00", "acme-bot", "Booked"]
                writer.writerow([f"JS{lines}", f"CY{lines}", "V1", name, *what])
        writer.writerow(["Total", lines])


def peak_mib(path: Path, blobs: str) -> int:
    """Import in a process of its own; the most memory that it had."""
    command = [
        "settlement",
        "import",
        path.name,
        "--month",
        "2026-11",
        "--profile",
        "portal",
        "--blobs",
        blobs,
    ]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *command],
        cwd=path.parent,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stderr.splitlines()[-1]) >> 10


@pytest.mark.parametrize("kept", ["plain", "sealed"])
def test_a_file_ten_times_as_large_takes_no_more_memory(desk: Path, place: _Place, kept: str) -> None:
    blobs = place.url
    if kept == "sealed":
        make_secret(desk / "privacy.key")
        blobs = sealed_url(
            place.url, ring=desk / "ring", key=desk / "privacy.key", tenant="acme", writes=True
        )
    peaks = []
    for number, size in enumerate((SMALL, LARGE)):
        path = desk / f"{number}.csv"
        month(path, size)
        peaks.append(peak_mib(path, blobs))
        with path.open("rb") as file:
            name = hashlib.file_digest(file, "sha256").hexdigest()
        assert open_blobs(blobs).get(name) == path.read_bytes()  # type: ignore[arg-type] # a plain text is a name too
    assert peaks[1] - peaks[0] < GROWTH_MIB, peaks
