"""Alerts that reached nobody by some channel: the dead letters, until they are delivered after all (G8, B15).

Rules enforced here:

* Delivery is what ``alert.raised`` says of each channel; an alert is a dead letter while any channel has not had it.
* The same alert raised again (same kind and message, same task) is another try: what it delivered is struck off, what
  it still failed on stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.values import Intent
from projections.fold import Folded, Row
from projections.views.common import task_of

DELIVERED = "ok"


class Letter(Row, frozen=True):
    """One alert that some channel has not had."""

    kind: str
    severity: str
    message: str
    failed: dict[str, str]
    """Channel → what its last try ended with."""
    raised_at_us: int
    tries: int
    """How often it was raised, each time with the notifier's own retries."""
    position: int
    """Of the newest try in the tenant's log."""


class LettersRow(Row, frozen=True, array_like=True):
    """All dead letters of one task, or of one other stream."""

    tenant: str = ""
    stream: str = ""
    task_id: str = ""
    run_id: str = ""
    intent: Intent | None = None
    letters: tuple[Letter, ...] = ()


class DeadLetters(Folded[LettersRow]):
    """Fold into ``LettersRow``; grouped under ``undelivered`` while there is any."""

    name = "dead_letters"
    version = 2
    row_type = LettersRow

    def key(self, recorded: Recorded) -> str | None:
        """The stream."""
        return recorded.row.stream

    def group(self, view: LettersRow) -> str:
        """``undelivered`` while there is a letter."""
        return "undelivered" if view.letters else ""

    def initial(self) -> LettersRow:
        """No letter."""
        return LettersRow()

    def extend(self, view: LettersRow, events: Sequence[Recorded]) -> LettersRow:
        """Row after more events of the stream."""
        for recorded in events:
            event = recorded.event
            if type(event) not in _TOLD:
                continue
            if isinstance(event, e.TaskOpened):
                view = replace(view, intent=event.intent)
            elif isinstance(event, e.AlertRaised):
                view = replace(
                    view,
                    tenant=recorded.row.tenant,
                    stream=recorded.row.stream,
                    task_id=task_of(recorded) or "",
                    run_id=recorded.envelope.run_id or "",
                )
                view = _raised(view, recorded, event)
        return view


_TOLD: frozenset[type] = frozenset({e.TaskOpened, e.AlertRaised})


def _raised(view: LettersRow, recorded: Recorded, event: e.AlertRaised) -> LettersRow:
    known = next(
        (one for one in view.letters if (one.kind, one.message) == (event.kind, event.message)), None
    )
    others = tuple(one for one in view.letters if one is not known)
    before = known.failed if known else {}
    left = {channel: word for channel, word in (before | event.delivered).items() if word != DELIVERED}
    if not left:
        return replace(view, letters=others)
    letter = Letter(
        kind=event.kind,
        severity=event.severity,
        message=event.message,
        failed=left,
        raised_at_us=known.raised_at_us if known else recorded.envelope.occurred_at_us,
        tries=known.tries + 1 if known else 1,
        position=recorded.row.position,
    )
    return replace(view, letters=(*others, letter))


def undelivered(rows: Iterable[LettersRow]) -> tuple[tuple[LettersRow, Letter], ...]:
    """Every dead letter with its row, oldest first."""
    found = [(row, letter) for row in rows for letter in row.letters]
    return tuple(sorted(found, key=lambda pair: (pair[1].raised_at_us, pair[1].position)))
