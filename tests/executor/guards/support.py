"""One intent and the things that go with it, for the specifications of this folder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from domain.ids import Sha256
from domain.values import Box, Intent, Point
from executor.tools.base import ConfirmScreen, FieldMap, Frame, Look, RequestRule, Step, Target

INTENT = Intent(
    bill_id="INV-4114",
    action="approve_invoice",
    counterparty="Borealis GmbH",
    amount_minor=143474,
    currency="EUR",
    month="2026-11",
    expected_status="approved",
)
FORM = {
    "bill_id": "INV-4114",
    "counterparty_id": "V102",
    "amount": "1434.74",
    "currency": "EUR",
    "month": "2026-11",
    "csrf": "•",
}
ROW = "INV-4114 Borealis GmbH 1,434.74 EUR 2026-11 pending Approve"
FIELDS = FieldMap(
    form={"bill_id": "bill_id", "amount": "amount", "currency": "currency", "month": "month"},
    drawn=("bill_id", "counterparty", "amount"),
    action_codes={"approve_invoice": "approve"},
)
KNOWN = {"counterparty_id": "V102"}
RULE = RequestRule(
    path="/bills/{bill_id}/actions",
    fields=replace(FIELDS, form={**FIELDS.form, "action": "action"}),
    known=KNOWN,
    ignored=("csrf",),
)
APPROVE = Step(kind="click", selectors=("#approve",), label="Approve", writes=True)
DIALOG = ConfirmScreen(role="dialog", text="Approve INV-4114 for Borealis GmbH?", verb="OK", cancel="Cancel")


def target(**changes: Any) -> Target:  # noqa: ANN401 - any field of a target
    """The button in the row of the intent's bill."""
    usual = Target(
        fingerprint="{}",
        label="Approve",
        role="button",
        point=Point(x=100, y=50),
        box=Box(x=60, y=40, width=80, height=20),
        scope="row",
        scope_text=ROW,
        form=FORM,
    )
    return replace(usual, **changes)


def look(**changes: Any) -> Look:  # noqa: ANN401 - any field of a look
    """A healthy page of the service account."""
    frame = Frame(data=b"", sha256=Sha256("0" * 64), width=1, height=1, captured_at_us=1)
    usual = Look(
        frame=frame,
        url="https://vendor.example/bills",
        title="Bills",
        structure_sha256=Sha256("1" * 64),
        document_sha256=Sha256("2" * 64),
        account="svc-acme",
    )
    return replace(usual, **changes)
