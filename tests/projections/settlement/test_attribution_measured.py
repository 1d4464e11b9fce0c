"""Over months whose truth is known, nobody is blamed wrongly and nothing is decided without its evidence."""

from __future__ import annotations

import random

from projections.settlement.causes import CAUSES
from projections.views.reconciliation import reconcile
from tests.support.events import TENANT
from tests.support.months import make_month
from tests.support.scenarios import SCENARIOS
from tests.support.score import measure

HARMLESS = {
    "good",
    "blocked",
    "held_by_another",
    "false_alarm",
    "legitimate_repetition",
    "read_back_after_a_crash",
    "done_again_after_undoing",
    "repetition_undone",
}


def test_nobody_is_named_who_did_not_cause_it_and_nothing_is_decided_without_evidence() -> None:
    score = measure(breaks=800, seed=9_000)
    assert score.wrong_blame == []
    assert score.overconfident == []
    assert score.unexpected == []
    assert score.unnamed == []
    assert score.right_cause >= 0.98 * score.decidable, score.timid[:5]
    assert score.decidable < score.breaks, "some evidence was withheld"
    assert score.proven > score.breaks // 4


def test_every_scenario_is_played_alone_and_judged_rightly() -> None:
    for name, scenario in SCENARIOS.items():
        events, file, truths = make_month(7, {name: scenario}, bills=3, cut=0)
        result = reconcile(events, file, tenant=TENANT, month="2026-11", chain_verified=True)
        assert len(result.breaks) == len(truths), name
        assert truths or name in HARMLESS or name.startswith("on_top"), name


def test_a_record_that_lost_events_blames_nobody_wrongly_and_proves_nothing() -> None:
    judged = 0
    for seed in range(300, 312):
        events, file, truths = make_month(seed, SCENARIOS)
        culprits: dict[str, set[str]] = {}
        for truth in truths:
            culprits.setdefault(truth.bill, set()).update(truth.to_blame)
        rng = random.Random(seed)
        for share in (0.03, 0.15, 0.5):
            kept = [recorded for recorded in events if rng.random() > share]
            result = reconcile(kept, file, tenant=TENANT, month="2026-11", chain_verified=True)
            assert not result.chain_verified, "gaps between positions are seen whatever the caller says"
            for found in result.breaks:
                judged += 1
                for finding in found.findings:
                    assert finding.verdict != "proven"
                    assert set(finding.responsible) <= culprits.get(found.bill, set()), (seed, found.bill)
    assert judged > 1_000


def test_every_cause_of_the_taxonomy_is_found_in_some_month() -> None:
    found = set()
    for seed in range(20):
        events, file, _ = make_month(seed, SCENARIOS)
        result = reconcile(events, file, tenant=TENANT, month="2026-11", chain_verified=True)
        found |= {finding.cause for each in result.breaks for finding in each.findings}
    assert found == set(CAUSES)
