"""The rules in the order in which they are asked; one file a rule.

A rule gets a question (one break and the whole month around it) and answers with a finding or with nothing. An earlier
rule speaks first: a damaged file or missing evidence must not end as somebody's fault. Adding a cause is one module,
one line here, and one name in ``causes.Cause``.
"""

from __future__ import annotations

from projections.settlement.rules import (
    amount,
    approvals,
    authority,
    clock,
    compensation,
    completeness,
    delayed,
    double_posting,
    duplicates,
    external,
    false_success,
    file_integrity,
    omission,
    partial,
    shared_session,
    wrong_target,
)
from projections.settlement.rules.base import Month, Question, Rule

RULES: tuple[Rule, ...] = (
    file_integrity.judge,
    completeness.judge,
    clock.judge,
    delayed.judge,
    authority.judge,
    approvals.judge,
    duplicates.judge,
    partial.judge,
    wrong_target.judge,
    false_success.judge,
    amount.judge,
    compensation.judge,
    omission.judge,
    double_posting.judge,
    shared_session.judge,
    external.judge,
)

__all__ = ["RULES", "Month", "Question", "Rule"]
