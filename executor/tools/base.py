"""What the rungs, the guards and the orchestrator hand to each other.

Rules: plain frozen values, no behaviour that touches the world; every length is in pixels of the screen capture,
every time in microseconds, every amount in minor units; nothing here ever holds a password, a key or a cookie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from domain.ids import Sha256
from domain.values import Box, Check, FrameRef, FrameRole, Point

StepKind = Literal["click", "double_click", "drag", "fill", "select", "key"]
POINTER_KINDS: frozenset[StepKind] = frozenset({"click", "double_click", "drag"})
"""Steps made with the mouse: nothing changed afterwards means that nothing happened."""
Scope = Literal["dialog", "row", "form", "section", "page"]
Status = Literal["executed", "blocked", "failed", "unknown"]
Mode = Literal["guarded", "record_only"]
TracePolicy = Literal["never", "on_failure", "always"]
"""Which tasks keep the browser's own trace: none, those that didn't end well, all."""
IntentField = Literal["bill_id", "counterparty", "amount", "currency", "month", "action"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One screen capture with its bytes, secrets already painted over."""

    data: bytes = field(repr=False)
    """PNG, or WebP without loss."""
    sha256: Sha256
    width: int
    height: int
    captured_at_us: int
    """Microseconds since 1970 (UTC), when the capture was asked for."""
    latency_us: int = 0
    masked: int = 0
    """Rectangles that were painted over."""
    media_type: str = "image/png"

    def ref(self, role: FrameRole) -> FrameRef:
        """How an event names this frame."""
        return FrameRef(
            role=role,
            sha256=self.sha256,
            width=self.width,
            height=self.height,
            media_type=self.media_type,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmScreen:
    """A question that the page asks: a dialog by role, or a visible verb and cancel pair."""

    role: str
    """``dialog``, ``alertdialog``, or the tag of the container."""
    text: str
    verb: str = ""
    """Label of the button that goes ahead; empty when only the role says it is a dialog."""
    cancel: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeDialog:
    """An ``alert``, ``confirm``, ``prompt`` or ``beforeunload`` of the browser itself."""

    kind: str
    message: str
    accepted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One observation of the page."""

    frame: Frame
    url: str
    """Values of query parameters that are secret by name are masked."""
    title: str
    structure_sha256: Sha256
    """The page's skeleton without its data: changes when the vendor redesigns the page (G6)."""
    document_sha256: Sha256
    """Text and control state, volatile text masked: equal means that nothing of substance changed (G3)."""
    account: str = ""
    """Account that the page shows, where the configuration says it is shown."""
    signals: tuple[str, ...] = ()
    """Passive signs of trouble with session or rights: ``login_form``, ``http_401``, ``permission_dialog``, …"""
    confirm_screens: tuple[ConfirmScreen, ...] = ()
    dialogs: tuple[NativeDialog, ...] = ()
    """Native dialogs since the look before."""
    latency_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The element that a step is about, as it was observed."""

    fingerprint: str
    """Canonical JSON: role, name, text, row, form state, heading, …; volatile text masked, secrets never."""
    label: str
    """Text on the element's own box, or its accessible name."""
    role: str
    point: Point
    """Where the pointer goes."""
    box: Box
    row: Box | None = None
    """Full-width band of the row or form that holds the element."""
    scope: Scope = "page"
    """Which container ``scope_text`` is the drawn text of."""
    scope_text: str = ""
    row_text: str = ""
    row_key: str = ""
    form: Mapping[str, str] = field(default_factory=dict)
    """Form state by field name, hidden fields included; secret values are ``•``."""
    drawn: Mapping[IntentField, str] = field(default_factory=dict)
    """Drawn text of configured fields (``FieldMap.drawn_selectors``), by intent field."""
    heading: str = ""
    opaque: bool = False
    """No document to read at the point: canvas, plug-in, foreign frame."""
    covered_by: str = ""
    """What lies over the element at the point; empty when it is on top."""
    enabled: bool = True
    selector: str = ""
    """Selector that found it; empty when it was observed at a point."""
    context_id: str = ""
    """Where the gate keeps the observed node; means nothing outside the live page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One decided atomic action. Selectors are tried in order; they are configuration, never a guess."""

    kind: StepKind
    selectors: tuple[str, ...]
    label: str = ""
    """Text that the plan expects on the target (G4)."""
    text: str = field(default="", repr=False)
    """Text to fill in, option to select, or key chord (``Enter``)."""
    secret: bool = False
    """``text`` is a secret: it reaches the page and nothing else."""
    writes: bool = False
    irreversible: bool = False
    destructive: bool = False
    """Label precondition applies (G4); implied by ``writes``."""
    needs_confirm: bool = False
    """May only run on a confirmation screen (G5)."""
    business_action: str = ""
    iframe: str = ""
    """Selector of the iframe that holds the target; empty for the page itself."""
    onto: tuple[str, ...] = ()
    """Where a drag ends: selectors in order of preference."""
    onto_label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldMap:
    """Which form fields and which drawn texts carry which part of the business intent (X8)."""

    form: Mapping[str, IntentField] = field(default_factory=dict)
    """Form or request field name → intent field."""
    form_selector: str = ""
    """Form that holds the stored values when it is not the one around the target."""
    drawn: tuple[IntentField, ...] = ("bill_id",)
    """Intent fields that must be readable in the container that holds the target."""
    drawn_selectors: Mapping[IntentField, str] = field(default_factory=dict)
    """Intent field → selector of its drawn text elsewhere on the page (a detail page's fields)."""
    action_codes: Mapping[str, str] = field(default_factory=dict)
    """Business action → the vendor's own code (``mark_processed`` → ``process``)."""
    amount_unit: Literal["decimal", "minor"] = "decimal"
    """How form and request fields write amounts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRule:
    """The one request that a writing step may send."""

    method: str = "POST"
    path: str
    """Path template; ``{bill_id}`` and ``{action}`` (the vendor's code) are filled in from the intent."""
    fields: FieldMap = field(default_factory=FieldMap)
    required: tuple[str, ...] = ()
    """Body fields that must be present."""
    known: Mapping[str, str] = field(default_factory=dict)
    """Further body fields with the values an independent source gave (``counterparty_id``)."""
    ignored: tuple[str, ...] = ()
    """Body fields that are neither compared nor recorded (``csrf``); any other unknown field is a mismatch."""
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginForm:
    """How the vendor's log-in page is filled in."""

    url: str
    account_selector: str
    secret_selector: str
    submit_selector: str
    post_path: str = ""
    """Path that the form posts to; the path of ``url`` when empty."""
    done_selector: str = ""
    """Element that only a logged-in page has; empty: leaving the log-in page is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A read-only request that tells whether session and rights are alive (B9)."""

    url: str
    account_field: str = ""
    """Key of the JSON answer that names the account; empty: the status alone decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRules:
    """What the guards must know of one target system."""

    origins: tuple[str, ...]
    """Allowed origins (``https://host:port``); everything else is left alone."""
    login_path: str = "/login"
    probe: Probe | None = None
    account_selector: str = ""
    toast_selector: str = "[role=status],[role=alert]"
    mask_selectors: tuple[str, ...] = ()
    """Painted over in every frame, besides password inputs."""
    secret_fields: tuple[str, ...] = ()
    """Form and query names whose values are never recorded, besides those that are secret by name."""
    volatile_selectors: tuple[str, ...] = ()
    """Parts of the page that change by themselves; left out of the document state."""
    free_posts: tuple[str, ...] = ()
    """Paths of non-GET requests that the page sends by itself and that change no business (``/heartbeat``)."""
    permission_words: tuple[str, ...] = ("权限", "permission", "権限", "권한")
    """Words by which a dialog about withdrawn rights is recognised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """How long to wait for the page after an action."""

    quiet_ms: int = 90
    """Network idle and document state unchanged for this long."""
    limit_ms: int = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """What the target gate saw of one armed action."""

    delivered: tuple[str, ...] = ()
    """Trusted input events that reached the page's document, in order, swallowed ones included."""
    blocked: bool = False
    """True if an event met another element than the observed one (and was swallowed when enforced)."""
    event: str = ""
    """Type of the event that met it."""
    expected: str = ""
    found: str = ""
    navigated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Performed:
    """What a rung reports about one action. It says nothing about the business."""

    status: Status
    """``blocked`` and ``failed``: certainly no effect. ``unknown``: read back, never repeat."""
    check: Check | None = None
    """The finding that stopped it, or what the guard would have said in a record-only run."""
    requests: tuple[str, ...] = ()
    """Non-GET requests that left, with their status: ``POST /bills/7/actions 200``."""
    toast: str = ""
    delivered_events: int = 0
    latency_us: int = 0
    waited_us: int = 0
    """Part of ``latency_us`` that was spent waiting for the page to settle."""
    reason: str = ""
    """Why it failed or is unknown, in words."""
    dialogs: tuple[NativeDialog, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """Everything about one observed step of somebody's loop, for the record."""

    step: Step
    before: Look
    target: Target | None
    checks: tuple[Check, ...]
    enforced: bool
    performed: Performed
    after: Look
    effect: Check
    """``noop`` or ``pass``."""
