"""Facts that are evidence: what was seen, what other channels say, what the vendor delivered."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from domain.events.base import fact
from domain.ids import Sha256
from domain.values import BusinessState

ReadbackPhase = Literal["first", "later", "recovery", "compensation"]


@fact("observation.recorded")
class ObservationRecorded:
    """A look at the screen; its frame is in the envelope."""

    url: str
    title: str
    structure_sha256: str
    """Hash of the page's structure (tags, roles, names), without its data: changes with the UI version."""
    document_sha256: str
    """Hash of visible text and control state with volatile text masked: changes with what is shown."""
    account: str = ""
    """Account that the page names, when it names one."""
    step: int = 0
    latency_us: int = 0
    signals: tuple[str, ...] = ()
    """Passive signs of trouble: ``http_401``, ``login_form``, ``permission_dialog``, …"""


@fact("trace.attached")
class TraceAttached:
    """The browser's trace of a task's steps was kept, without secrets, as its tool's own viewer opens it (B12)."""

    blob: Sha256
    """ZIP."""
    tool: str
    """What recorded it: ``playwright 1.65.2``."""
    octets: int
    calls: int
    """Calls of the tool that it shows."""
    masked: int
    """Places at which something secret stood."""
    left_out: tuple[str, ...] = ()
    """What such a trace may hold and this one doesn't: ``bodies``, ``sources``, ``snapshots``."""


@fact("readback.confirmed")
class ReadbackConfirmed:
    """A source independent of the writing session shows the intended state."""

    source: str
    """``list``, ``detail``, ``api``, ``settlement_file``."""
    phase: ReadbackPhase
    account: str
    """Account of the reading session; never the one that wrote."""
    expected_status: str
    found: BusinessState
    tries: int = 1
    waited_us: int = 0


@fact("readback.mismatched")
class ReadbackMismatched:
    """An independent source shows another state than intended until the deadline."""

    source: str
    phase: ReadbackPhase
    account: str
    expected_status: str
    found: BusinessState
    differences: dict[str, str]
    """Field → ``expected → found``; also what changed beside the target."""
    tries: int = 1
    waited_us: int = 0


@fact("readback.inconclusive")
class ReadbackInconclusive:
    """The source could not be read: the effect stays unknown."""

    source: str
    phase: ReadbackPhase
    account: str
    reason: str
    tries: int = 1
    waited_us: int = 0


@fact("bill_list.fetched")
class BillListFetched:
    """Read lane: the list of difference bills as one account saw it (B14)."""

    blob: Sha256
    rows: int
    source: str
    account: str


@fact("settlement.imported")
class SettlementImported:
    """The vendor's settlement file, kept as received; the month end is judged against it (B16)."""

    blob: Sha256
    """The original bytes."""
    file_name: str
    source: str
    """Where it came from: a URL, a path's last part, a person."""
    profile: str
    month: str
    rows_read: int
    rows_accepted: int
    rows_refused: int
    rows_other: int
    """Preamble, header, blank and trailer lines; read = accepted + refused + other."""
    total_minor: dict[str, int] = field(default_factory=dict)
    """Sum of the accepted lines by currency."""
    findings: tuple[str, ...] = ()
    """What disagrees within the file: counts or totals against its trailer."""
