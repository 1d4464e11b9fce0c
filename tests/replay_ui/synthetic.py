"""A recorded run that is made up: frames drawn with their number, actions, verdicts, one tenant beside another.

The frames look like a vendor's back office, so that what the player draws over them can be judged by eye.
"""

from __future__ import annotations

import hashlib
import io
from functools import lru_cache
from typing import Final

import msgspec
from PIL import Image, ImageDraw, ImageFont

from domain.errors import IntegrityError
from replay_ui.player.aligning import aligned_bytes
from replay_ui.player.manifest import (
    CHUNK_SIZE,
    FrameEntry,
    GuardReading,
    Header,
    Role,
    Tone,
    chunk_bytes,
    header_of,
)
from replay_ui.routes import Frame

SIZE: Final = (1280, 800)
STARTED_US: Final = 1_793_692_800_000_000
ROLES: Final[tuple[Role, ...]] = ("observed", "before", "after", "readback")
DISTINCT: Final = 64
"""Pictures drawn at most; a longer run repeats them, as a real one repeats its waiting screens."""
BLOCKED_STEP: Final = 3
FAILED_STEP: Final = 6
HOSTILE: Final = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def _row(step: int) -> tuple[int, int, int, int]:
    return (220, 190 + (step * 3 % 11) * 48, 1020, 48)


@lru_cache(maxsize=DISTINCT)
def draw(number: int, *, tampered: bool = False) -> bytes:
    """PNG of frame ``number``; a tampered one shows another amount in one row."""
    image = Image.new("RGB", SIZE, "#f4f6f9")
    pen = ImageDraw.Draw(image)
    font, big = ImageFont.load_default(16), ImageFont.load_default(40)
    pen.rectangle((0, 0, 1280, 56), fill="#1f4f8f")
    pen.text((24, 18), "Settlement back office", font=font, fill="white")
    pen.text((1120, 6), f"#{number + 1}", font=big, fill="#ffd75e")
    pen.rectangle((0, 56, 200, 800), fill="#26364d")
    for k, name in enumerate(("Dashboard", "Differences", "Refunds", "Settlement", "Accounts")):
        pen.text((24, 84 + 44 * k), name, font=font, fill="#c9d6ea" if k != 1 else "white")
    pen.rectangle((220, 80, 1240, 170), fill="white", outline="#d7dde7")
    pen.text((240, 116), "Month  2026-11      Status  pending      Counterparty  all", font=font, fill="#333")
    for r in range(12):
        top = 190 + r * 48
        done = number // 4 * 3 % 11 == r and number % 4 >= 2
        pen.rectangle((220, top, 1240, top + 48), fill="white" if r % 2 else "#f9fbfd", outline="#e3e8ef")
        amount = f"{(r + 3) * 1287.5:,.2f}" if not (tampered and r == 4) else "99,999.99"
        pen.text((240, top + 15), f"CY202611-{7 + r:04}", font=font, fill="#1f4f8f")
        pen.text((430, top + 15), f"Counterparty {chr(65 + r)} Trading", font=font, fill="#333")
        pen.text((720, top + 15), amount, font=font, fill="#333")
        pen.text(
            (880, top + 15), "processed" if done else "pending", font=font, fill="#2a7" if done else "#a60"
        )
        pen.rounded_rectangle((1080, top + 9, 1200, top + 39), 6, fill="#2f6fd0")
        pen.text((1108, top + 14), "Process", font=font, fill="white")
    if number % 4 == 2:
        pen.rounded_rectangle((900, 66, 1250, 106), 8, fill="#2fa36b")
        pen.text((920, 76), "Done: the bill was processed", font=font, fill="white")
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()


def _guards(verdict: str, tone: Tone) -> tuple[GuardReading, ...]:
    if not verdict:
        return ()
    gate = GuardReading(
        guard="target_gate",
        verdict=verdict,
        tone=tone,
        expected="button 'Process' in row CY202611-0016",
        found="button 'Refund' in row CY202611-0019" if tone == "stopped" else "button 'Process'",
        measures={"row_pixels_changed": 1180 if tone == "stopped" else 0, "age_ms": 143.5},
    )
    crop = GuardReading(
        guard="frame",
        verdict="stale_local" if tone == "stopped" else "same",
        tone=tone,
        measures={"dhash_bits": 2, "crop_dhash_bits": 21 if tone == "stopped" else 0, "radius_px": 48},
    )
    return (gate, crop)


def entry(index: int) -> FrameEntry:
    """Entry of frame ``index``: four frames to a step, of which step 3 is blocked and step 6 refuted."""
    step, role = index // 4 + 1, ROLES[index % 4]
    acting = role in {"before", "after"}
    verdict, tone, summary = "", "none", f"{role.capitalize()} the list of differences"
    if acting:
        verdict, tone, summary = "allowed", "ok", "The button under the pointer is the one that was observed"
    if step == BLOCKED_STEP and acting:
        verdict, tone = "blocked", "stopped"
        summary = "A row was inserted between look and click: the pointer is over another bill"
    elif step == FAILED_STEP and role == "readback":
        verdict, tone = "refuted", "failed"
        summary = "The toast said done, the bill is still pending"
    row = _row(index // 4)
    return FrameEntry(
        sha256=hashlib.sha256(draw(index % DISTINCT)).hexdigest(),
        width=SIZE[0],
        height=SIZE[1],
        role=role,
        media_type="image/png",
        t_us=STARTED_US + index * 700_000 + step * 2_600_000,
        position=100 + index,
        event=("screen.observed", "action.allowed", "action.executed", "readback.made")[index % 4],
        principal="svc:acme-batch",
        task_id=f"task-{step:04}",
        bill_id=f"CY202611-{6 + step % 12:04}",
        key=f"acme/CY202611-{6 + step % 12:04}/process/1",
        step=step,
        action="click" if acting else "",
        label="Process" if acting else (HOSTILE if role == "observed" else ""),
        point=(1140.0, row[1] + 24.0) if acting else None,
        target=(1080.0, row[1] + 9.0, 120.0, 30.0) if acting else None,
        roi=(1092.0, row[1] - 24.0, 96.0, 96.0) if acting else None,
        row=tuple(map(float, row)) if acting else None,  # type: ignore[arg-type]  # four numbers
        verdict=verdict,
        tone=tone,  # type: ignore[arg-type]  # one of the literals above
        guards=_guards(verdict, tone if tone in {"ok", "stopped"} else "failed"),  # type: ignore[arg-type]
        summary=summary,
    )


class SyntheticSource:
    """One run for each tenant; ``tampered``, ``lost`` and ``corrupt`` name frames by index."""

    def __init__(
        self,
        runs: dict[tuple[str, str], int],
        *,
        tampered: frozenset[int] = frozenset(),
        lost: frozenset[int] = frozenset(),
        corrupt: frozenset[int] = frozenset(),
    ) -> None:
        self._entries = {run: [entry(i) for i in range(n)] for run, n in runs.items()}
        self._headers = {
            (tenant, run): header_of(
                entries, tenant=tenant, run=run, mode="guarded", title="Batch of November"
            )
            for (tenant, run), entries in self._entries.items()
        }
        self._frames: dict[tuple[str, str], dict[str, Frame | None]] = {
            run: {e.sha256: Frame(draw(i % DISTINCT), "image/png") for i, e in enumerate(entries[:DISTINCT])}
            for run, entries in self._entries.items()
        }
        for run, entries in self._entries.items():
            for i in tampered & set(range(len(entries))):
                self._frames[run][entries[i].sha256] = Frame(draw(i, tampered=True), "image/png")
            for i in lost & set(range(len(entries))):
                self._frames[run][entries[i].sha256] = None
        self._corrupt = {entry(i).sha256 for i in corrupt}

    def header(self, tenant: str, run: str) -> Header | None:
        return self._headers.get((tenant, run))

    def chunk(self, tenant: str, run: str, k: int, language: str = "") -> bytes | None:
        part = self._entries.get((tenant, run), [])[k * CHUNK_SIZE : (k + 1) * CHUNK_SIZE]
        return chunk_bytes(part, k) if part else None

    def aligned(self, tenant: str, run: str, other: str) -> bytes | None:
        mine, theirs = self._entries.get((tenant, run)), self._entries.get((tenant, other))
        return None if mine is None or theirs is None else aligned_bytes(mine, theirs)

    def frame(self, tenant: str, run: str, sha256: str) -> Frame | None:
        if sha256 in self._corrupt:
            raise IntegrityError("bytes differ", where=f"blob {sha256}")
        return self._frames.get((tenant, run), {}).get(sha256)

    def trace(self, tenant: str, run: str, position: int) -> bytes | None:
        return None

    def event(self, tenant: str, run: str, position: int) -> bytes | None:
        entries = self._entries.get((tenant, run), [])
        found = next((e for e in entries if e.position == position), None)
        return None if found is None else msgspec.json.encode({"name": found.event, "bill_id": found.bill_id})
