"""Intent binding (X8): the row, form or dialog that holds the target must say what the business wants.

Rules: form fields are compared with the intent field by field, hidden ones too, so that a form that was wrong all
along is caught; drawn text must hold the intent's values in the container of the target itself, because "somewhere on
the page" lets any row of a list pass; control and bidirectional characters in a value are a mismatch; a
look-alike is named as such.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from domain.values import Check, Intent, format_minor
from executor.guards import texts
from executor.tools.base import FieldMap, IntentField, Target

HIDDEN_VALUE = "•"
LIMIT_TEXT = 400


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One part of the intent that was not found."""

    name: str
    expected: str
    found: str


def intended(intent: Intent, field: IntentField, fields: FieldMap) -> str:
    """The intent's value of a field, as forms and requests of this vendor write it."""
    values: dict[IntentField, str] = {
        "bill_id": intent.bill_id,
        "counterparty": intent.counterparty,
        "currency": intent.currency,
        "month": intent.month,
        "action": fields.action_codes.get(intent.action, intent.action),
        "amount": str(intent.amount_minor)
        if fields.amount_unit == "minor"
        else format_minor(intent.amount_minor, intent.currency),
    }
    return values[field]


def agrees(intent: Intent, field: IntentField, fields: FieldMap, value: str) -> bool:
    """Does a form's or request's value say what the intent says?"""
    if texts.odd_characters(value):
        return False
    if field == "amount":
        try:
            minor = (
                int(value) if fields.amount_unit == "minor" else texts.parse_amount(value, intent.currency)
            )
        except ValueError:
            return False
        return minor == intent.amount_minor
    if field == "month":
        return value == intent.month or texts.months(value) == (intent.month,)
    return texts.plain(value) == texts.plain(intended(intent, field, fields))


def compare_fields(
    intent: Intent, fields: FieldMap, values: Mapping[str, str], known: Mapping[str, str]
) -> list[Mismatch]:
    """Stored or sent values against the intent and against values that an independent source gave."""
    wrong = [
        Mismatch(
            name, intended(intent, field, fields), explain(values[name], intended(intent, field, fields))
        )
        for name, field in fields.form.items()
        if name in values and not agrees(intent, field, fields, values[name])
    ]
    wrong += [
        Mismatch(name, value, explain(values[name], value))
        for name, value in known.items()
        if name in values and values[name] != value
    ]
    return wrong


def explain(value: str, expected: str) -> str:
    """The value as found, with what is odd about it."""
    odd = texts.odd_characters(value)
    if odd:
        return f"{value} (holds {', '.join(odd)})"
    return f"{value} (a look-alike)" if texts.looks_like(value, expected) else value


def is_drawn(intent: Intent, field: IntentField, text: str) -> bool:
    """Can the intent's value be read in a longer text?"""
    if field == "amount":
        return intent.amount_minor in texts.amounts(text, intent.currency)
    if field == "month":
        return intent.month in texts.months(text)
    if field == "currency":
        return texts.shows_currency(text, intent.currency)
    return texts.holds(text, intent.bill_id if field == "bill_id" else intent.counterparty)


def compare_drawn(intent: Intent, fields: FieldMap, target: Target) -> list[Mismatch]:
    """Drawn text against the intent.

    A field with a text of its own must say exactly the intent's value there. What must be drawn must be readable
    in the dialog or row that holds the target, whatever the rest of the page says.
    """
    as_drawn = replace(fields, amount_unit="decimal")
    wrong = []
    for field in dict.fromkeys((*target.drawn, *fields.drawn)):
        if field == "action":
            continue  # the label guard reads the button; codes are not drawn
        expected = intended(intent, field, as_drawn)
        own = target.drawn.get(field)
        if own is not None and not agrees(intent, field, as_drawn, own):
            wrong.append(Mismatch(f"drawn {field}", expected, explain(own, expected)))
            continue
        close = target.scope in {"dialog", "row"}
        if (
            field in fields.drawn
            and (close or own is None)
            and not is_drawn(intent, field, target.scope_text)
        ):
            wrong.append(Mismatch(f"drawn {field}", expected, f"{target.scope}: {target.scope_text[:120]}"))
    if any(c in texts.BIDI for c in target.scope_text):
        odd = texts.odd_characters(target.scope_text)
        wrong.append(Mismatch(f"drawn {target.scope}", "no bidirectional control characters", ", ".join(odd)))
    return wrong


def verdict(guard: str, kind: str, wrong: list[Mismatch], measures: dict[str, int]) -> Check:
    """A check out of mismatches; ``kind`` is the verdict when there are any."""
    if not wrong:
        return Check(guard=guard, verdict="pass", measures=measures)
    expected = "; ".join(f"{m.name}={m.expected}" for m in wrong)[:LIMIT_TEXT]
    found = "; ".join(f"{m.name}={m.found}" for m in wrong)[:LIMIT_TEXT]
    if kind == "request":
        return Check(
            guard=guard, verdict="request_mismatch", expected=expected, found=found, measures=measures
        )
    return Check(guard=guard, verdict="intent_mismatch", expected=expected, found=found, measures=measures)


def check_intent(
    intent: Intent, target: Target, fields: FieldMap, *, known: Mapping[str, str] | None = None
) -> Check:
    """Compare the container of the target with the intent.

    Args:
        intent: what the business wants.
        target: the observed element with its form state and drawn text.
        fields: where this vendor keeps which part.
        known: further form fields with values from an independent source (``counterparty_id``).
    """
    values = {name: value for name, value in target.form.items() if value != HIDDEN_VALUE}
    wrong = compare_fields(intent, fields, values, known or {}) + compare_drawn(intent, fields, target)
    compared = sum(name in values for name in fields.form) + len(fields.drawn)
    return verdict("intent", "intent", wrong, {"compared_fields": compared, "mismatches": len(wrong)})
