"""Whatever is asked of a task in whatever order, the record never shows what must not happen.

The checks read the facts alone and know nothing of the state that ``decide`` works with.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from domain import commands as c
from domain import events as e
from domain.errors import CommandRefused
from domain.task import TERMINAL, TaskState, decide, evolve, fold
from tests.domain import facts as f
from tests.support.events import PERSON, SERVICE, sha
from tests.support.examples import one_of_each

EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "150"))
STEPS = st.lists(st.integers(0, 10_000), min_size=5, max_size=45)
ACTIONS = ("a", "b", "c")
OTHER = sha("another action")


def _steps(action: str) -> list[c.Command]:
    plans = [
        f.proposed(action, writes=writes, digest=digest)
        for writes in (True, False)
        for digest in (f.DIGEST, OTHER)
    ]
    attempts = [
        *(f.attempted(action, key=key) for key in (f.KEY, f.UNDO_KEY)),
        f.attempted(action, writes=False),
    ]
    return [
        *(c.Propose(plan) for plan in plans),
        *(c.Judge(f.judged(verdict, action)) for verdict in ("pass", "pass", "stale")),
        *(c.Attempt(attempt, at_us=at_us) for attempt in attempts for at_us in (f.NOW, f.EXPIRY)),
        *(c.Report(report(action)) for report in (f.executed, f.blocked, f.act_failed, f.outcome_unknown)),
        *(c.RequestApproval(f.requested(action, digest=digest)) for digest in (f.DIGEST, OTHER)),
    ]


def _words() -> list[c.Command]:
    words: list[e.ReadbackConfirmed | e.ReadbackMismatched | e.ReadbackInconclusive] = []
    for source in ("detail", "list"):
        words += [f.confirmed(source=source), f.confirmed("pending", source=source), f.inconclusive(source)]
        words += [f.mismatched(source=source), f.mismatched(lines=2, source=source)]
    words += [f.confirmed(account=f.WRITER_ACCOUNT), f.confirmed(source="screen"), f.confirmed(bill="B2")]
    words += [f.confirmed(phase="later"), f.mismatched(phase="later")]
    return [c.ReadBack(word) for word in words]


def _people() -> list[c.Command]:
    people = (PERSON, f.CHIEF, SERVICE)
    return [
        *(
            c.Grant(f.granted(person, digest=digest), at_us=f.NOW)
            for person in people
            for digest in (f.DIGEST, OTHER)
        ),
        c.Deny(f.denied(), at_us=f.NOW),
        c.Lapse(f.lapsed(), at_us=f.EXPIRY),
        c.HandOver(f.handed_over()),
        *(c.TakeOver(f.taken(person)) for person in people),
        *(c.Resolve(f.resolved(person)) for person in people),
    ]


ENDINGS: tuple[c.Command, ...] = (
    c.Succeed(f.succeeded()),
    *(c.Fail(f.failed(verdict)) for verdict in ("page_changed", "forbidden")),
    c.Reopen(f.reopened()),
    c.HandOver(f.handed_over()),
    c.GiveBack(f.released()),
)
BEGINNINGS: tuple[c.Command, ...] = (
    c.Observe(f.observed()),
    c.RegisterCompensation(f.registered()),
    c.RegisterCompensation(f.registered("processed")),
)
UNDOINGS: tuple[c.Command, ...] = (
    *(c.Compensate(f.undoing(person)) for person in (PERSON, f.CHIEF)),
    c.ReportCompensation(f.restored()),
    c.ReportCompensation(f.not_restored()),
)
POOL: tuple[c.Command, ...] = (
    c.Open(f.opened()),
    c.Claim(f.claimed()),
    c.DenyClaim(f.claim_denied()),
    *(command for action in ACTIONS for command in _steps(action)),
    *BEGINNINGS,
    *_words(),
    *_people(),
    *ENDINGS,
    *UNDOINGS,
    c.RaiseAlert(f.alert()),
    c.Converse(f.model_asked()),
    c.DeclareDone(e.TaskDeclaredDone(claim="done")),
    c.Seal(by=SERVICE),
)
ABOUT_READBACK = (*_words(), *(command for command in ENDINGS if not isinstance(command, c.HandOver)))
ABOUT_APPROVAL = (
    *_steps("a"),
    *BEGINNINGS,
    *(command for command in _people() if not isinstance(command, c.HandOver)),
)
ABOUT_UNDOING = (*_steps("a"), *_words(), *UNDOINGS, c.HandOver(f.handed_over()))
ABOUT_PEOPLE = (*_people(), *ENDINGS, *UNDOINGS, *_steps("write"))
PASTS: tuple[tuple[e.Event, ...], ...] = (
    (),
    f.READY,
    f.ATTEMPTED,
    f.WRITTEN,
    f.ASKED,
    f.SUCCEEDED,
    f.TAKEN_OVER,
    f.UNDO_READY,
    f.UNDO_WRITTEN,
)


def live(past: Sequence[e.Event], choices: Sequence[int], pool: Sequence[c.Command] = POOL) -> list[e.Event]:
    """A history that the rules allow: at each step a kind of command, then one of it, among the accepted ones."""
    facts = list(past)
    state = fold(facts)
    for choice in choices:
        accepted: dict[type, list[tuple[e.TaskEvent, ...]]] = {}
        for command in pool:
            try:
                facts_of = decide(command, state)
            except CommandRefused:
                continue
            accepted.setdefault(type(command), []).append(facts_of)
        if not accepted:
            break
        kinds = list(accepted.values())
        decided = kinds[choice % len(kinds)]
        for fact in decided[choice // len(kinds) % len(decided)]:
            facts.append(fact)
            state = evolve(state, fact)
    return facts


SUBJECTS: tuple[tuple[tuple[tuple[e.Event, ...], ...], tuple[c.Command, ...]], ...] = (
    (PASTS, POOL),
    ((f.WRITTEN, f.ATTEMPTED, f.SUCCEEDED), ABOUT_READBACK),
    ((f.READY, f.ASKED), ABOUT_APPROVAL),
    ((f.SUCCEEDED, f.UNDO_READY, f.UNDO_WRITTEN), ABOUT_UNDOING),
    ((f.ATTEMPTED, f.TAKEN_OVER), ABOUT_PEOPLE),
)
"""Pasts, and what may be asked then: a pool about one subject gets deeper than one about all."""

histories = st.one_of(
    *(st.builds(live, st.sampled_from(pasts), STEPS, st.just(pool)) for pasts, pool in SUBJECTS)
)
bounded = settings(max_examples=EXAMPLES, deadline=None)


def _harmless(facts: Sequence[e.Event], at: int) -> bool:
    """True if the attempt at that place certainly had no effect: its first report says so."""
    attempt = facts[at]
    assert isinstance(attempt, e.ActionAttempted)
    for fact in facts[at + 1 :]:
        match fact:
            case e.ActionBlocked() | e.ActionFailed() if fact.action_id == attempt.action_id:
                return True
            case e.ActionExecuted() | e.ActionOutcomeUnknown() if fact.action_id == attempt.action_id:
                return False
            case e.ReadbackConfirmed() | e.ReadbackMismatched() | e.ReadbackInconclusive():
                return False
            case _:
                continue
    return False


def _writes(facts: Sequence[e.Event]) -> list[tuple[int, e.ActionAttempted]]:
    return [
        (at, fact) for at, fact in enumerate(facts) if isinstance(fact, e.ActionAttempted) and fact.writes
    ]


def _words_of(facts: Sequence[e.Event]) -> dict[str, Any]:
    """Last word of each source since the last write, reopening or beginning of an undoing."""
    words: dict[str, Any] = {}
    for fact in facts:
        match fact:
            case e.TaskReopened() | e.CompensationStarted():
                words.clear()
            case e.ActionAttempted() if fact.writes:
                words.clear()
            case e.ReadbackConfirmed() | e.ReadbackMismatched() | e.ReadbackInconclusive():
                if fact.phase != "later":
                    words[fact.source] = fact
            case _:
                continue
    return words


@bounded
@given(facts=histories)
def test_no_write_is_attempted_while_an_earlier_one_may_have_taken_effect(facts: list[e.Event]) -> None:
    writes = _writes(facts)
    for key in (f.KEY, f.UNDO_KEY):
        own = [at for at, attempt in writes if attempt.effect_key == key]
        assert all(_harmless(facts, at) for at in own[:-1])


@bounded
@given(facts=histories)
def test_success_stands_on_independent_readbacks_that_all_agree(facts: list[e.Event]) -> None:
    for at, fact in enumerate(facts):
        if not isinstance(fact, e.TaskSucceeded) or facts[: at + 1] == list(f.SUCCEEDED):
            continue
        words = _words_of(facts[:at])
        assert words
        for word in words.values():
            assert isinstance(word, e.ReadbackConfirmed)
            assert word.source != "screen"
            assert word.account != f.WRITER_ACCOUNT
            assert (word.found.bill_id, word.found.status) == ("B1", "processed")


@bounded
@given(facts=histories)
def test_a_failed_task_left_nothing_behind(facts: list[e.Event]) -> None:
    for at, fact in enumerate(facts):
        if not isinstance(fact, e.TaskFailed):
            continue
        before = facts[:at]
        if all(_harmless(before, place) for place, _ in _writes(before)):
            continue
        assert fact.verdict == "forbidden"
        for word in _words_of(before).values():
            assert isinstance(word, e.ReadbackMismatched)
            snapshot = next(
                past.snapshot for past in reversed(before) if isinstance(past, e.CompensationRegistered)
            )
            assert (word.found.status, word.found.ledger_lines) == (snapshot.status, snapshot.ledger_lines)


@bounded
@given(facts=histories)
def test_nothing_is_written_under_a_claim_that_was_given_back(facts: list[e.Event]) -> None:
    for at, fact in enumerate(facts):
        if not isinstance(fact, e.TaskClaimReleased):
            continue
        after = facts[at + 1 :]
        claimed_again = next(
            (place for place, later in enumerate(after) if isinstance(later, e.TaskClaimed)), len(after)
        )
        assert all(attempt.effect_key != f.KEY for _, attempt in _writes(after[:claimed_again]))
        if not any(isinstance(later, e.TaskFailed) for later in after[:1]):
            own = [place for place, attempt in _writes(facts[:at]) if attempt.effect_key == f.KEY]
            assert all(_harmless(facts[:at], place) for place in own)


@bounded
@given(facts=histories)
def test_a_write_that_was_asked_about_is_granted_by_another_principal_and_in_time(
    facts: list[e.Event],
) -> None:
    answer: e.Event | None = None
    plans = {}
    for fact in facts:
        match fact:
            case e.CompensationStarted():
                answer = None
            case e.ApprovalRequested() | e.ApprovalGranted() | e.ApprovalDenied() | e.ApprovalLapsed():
                answer = fact
            case e.ActionProposed():
                plans[fact.action_id] = fact
            case e.ActionAttempted() if fact.writes and answer is not None:
                assert isinstance(answer, e.ApprovalGranted)
                assert answer.digest == plans[fact.action_id].digest
                assert answer.approver not in {SERVICE, f.REQUESTER}
            case _:
                continue


@bounded
@given(facts=histories)
def test_what_a_person_has_taken_moves_at_their_word_alone(facts: list[e.Event]) -> None:
    owner: str | None = None
    for fact in facts:
        match fact:
            case e.TakeoverClaimed():
                assert owner in {None, fact.owner}
                owner = fact.owner
            case e.TakeoverResolved():
                assert owner == fact.owner
                owner = None
            case e.CompensationStarted() if owner is not None:
                assert fact.requested_by == owner
                owner = None
            case e.ActionProposed() | e.ActionAttempted() | e.TaskSucceeded() | e.TaskFailed():
                assert owner is None
            case _:
                continue


@bounded
@given(facts=histories)
def test_an_effect_counts_as_undone_only_when_every_source_shows_the_snapshot(facts: list[e.Event]) -> None:
    for at, fact in enumerate(facts):
        if isinstance(fact, e.CompensationConfirmed):
            words = _words_of(facts[:at]).values()
            assert words
            assert all(isinstance(word, e.ReadbackConfirmed) for word in words)
            statuses = {word.found.status for word in words}
            assert statuses == {fact.restored.status}


@bounded
@given(facts=histories)
def test_a_seal_counts_what_stands_before_it(facts: list[e.Event]) -> None:
    for at, fact in enumerate(facts):
        if isinstance(fact, e.TaskSealed):
            assert fact.events == at + 1
            assert fold(facts[:at]).status in TERMINAL


@bounded
@given(facts=histories, cut=st.integers(0, 60))
def test_a_prefix_and_then_the_rest_is_the_same_as_all_at_once(facts: list[e.Event], cut: int) -> None:
    assert fold(facts[cut:], fold(facts[:cut])) == fold(facts)


ANYTHING = st.lists(
    st.sampled_from(
        (*one_of_each(), *(fact for past in PASTS for fact in past), f.opened(mode="record_only"))
    ),
    max_size=40,
)


@bounded
@given(facts=ANYTHING)
def test_any_past_can_be_folded_and_any_command_then_gets_a_clear_answer(facts: list[e.Event]) -> None:
    state = TaskState()
    for number, fact in enumerate(facts, 1):
        state = evolve(state, fact)
        assert state.version == number
    for command in POOL:
        try:
            assert decide(command, state)
        except CommandRefused as refusal:
            assert "." in refusal.rule  # noqa: PT017 - both answers are right; anything else would be a crash


@bounded
@given(choices=STEPS)
def test_a_wrapped_loop_is_never_stopped(choices: list[int]) -> None:
    facts = live(f.WATCHED, choices)
    state = fold(facts)
    step = f.proposed("whatever it does", planned_on=None)
    state = evolve(state, *decide(c.Propose(step), state))
    attempt = c.Attempt(f.attempted("whatever it does", key=None), at_us=f.EXPIRY)
    state = evolve(state, *decide(attempt, state))
    assert decide(c.Report(f.executed("whatever it does")), state)


def test_random_histories_do_reach_the_states_that_matter() -> None:
    # Properties over histories that never get anywhere would hold for nothing.
    source = random.Random(7)
    reached = set()
    for _ in range(200):
        choices = [source.randrange(10_000) for _ in range(40)]
        pasts, pool = source.choice(SUBJECTS)
        past, state = source.choice(pasts), TaskState()
        for number, fact in enumerate(live(past, choices, pool)):
            state = evolve(state, fact)
            if number >= len(past):
                reached.add(state.status)
    assert reached >= {"succeeded", "failed", "compensated", "compensation_failed", "taken_over", "resolved"}
