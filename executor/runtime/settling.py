"""What counts as success: every configured source is read back, and the task ends by what they say (B6, B7, X9)."""

from __future__ import annotations

from domain import commands as c
from domain import events as e
from domain.events.evidence import ReadbackPhase
from domain.task import TERMINAL, TaskState
from domain.values import Check
from executor.findings import in_words, is_unchanged, last_toast
from executor.readback import Expectation, ReadbackFact, verify
from executor.runtime.endings import Endings
from executor.runtime.kit import Kit
from executor.runtime.permits import sources_for
from executor.runtime.streams import TaskStream


class Settling:
    """Ends tasks whose write was attempted."""

    def __init__(self, kit: Kit, endings: Endings) -> None:
        self._kit = kit
        self._endings = endings

    def settle(self, stream: TaskStream, phase: ReadbackPhase, *, refused: Check | None = None) -> None:
        """Read back every source; ``refused``: the target's own no, which counts while nothing has changed."""
        state = stream.state
        if phase == "recovery" and state.open_attempt is not None:
            reason = "the executor stopped between the attempt and its outcome"
            unknown = e.ActionOutcomeUnknown(action_id=state.open_attempt.action_id, reason=reason)
            stream.submit(c.Report(unknown))
        facts = self._read_back(stream, phase, deadline_s=0.0 if refused else self._kit.readback_deadline_s)
        if all(isinstance(fact, e.ReadbackConfirmed) for fact in facts):
            sources = ",".join(fact.source for fact in facts)
            stream.submit(c.Succeed(e.TaskSucceeded(source=sources)))
            return
        wrong = next(fact for fact in facts if not isinstance(fact, e.ReadbackConfirmed))
        if refused is not None and is_unchanged(state, facts):
            self._endings.fail(stream, refused)
            return
        words = in_words(wrong)
        toast = last_toast(stream)
        said = f"; the screen said {toast!r}" if toast else ""
        check = Check(guard="effect", verdict="noop", found=f"{words}{said}")
        self._endings.hand_over(stream, check, "high")

    def look_again(self, stream: TaskStream) -> None:
        """Read a succeeded task back once more; reversed or doubled effects reopen it (X9). Seals what has ended.

        Success stays provisional, and unsealed, until every source could be read and agrees.
        """
        if stream.state.status == "succeeded" and not stream.state.sealed:
            facts = self._read_back(stream, "later", deadline_s=0.0)
            wrong = [fact for fact in facts if isinstance(fact, e.ReadbackMismatched)]
            if wrong:
                words = in_words(wrong[0])
                stream.stage(c.Reopen(e.TaskReopened(reason=words)))
                check = Check(guard="effect", verdict="noop", found=words)
                self._endings.hand_over(stream, check, "critical")
            elif any(isinstance(fact, e.ReadbackInconclusive) for fact in facts):
                return
        if stream.state.status in TERMINAL and not stream.state.sealed:
            self._endings.seal(stream)

    def _read_back(
        self, stream: TaskStream, phase: ReadbackPhase, *, deadline_s: float
    ) -> list[ReadbackFact]:
        """Ask all sources and record what they say."""
        intent = stream.state.intent
        sources = list(sources_for(self._kit, intent.action if intent else ""))
        if phase == "later":
            asked = {source.source for source in sources}
            sources += [source for source in self._kit.later_readbacks if source.source not in asked]
        facts = verify(sources, self._expectation(stream.state), phase=phase, deadline_s=deadline_s)
        order = sorted(facts, key=lambda fact: not isinstance(fact, e.ReadbackConfirmed))
        for fact in order:  # the strongest doubt last, so that it is what the state remembers
            stream.stage(c.ReadBack(fact))
        stream.flush()
        return facts

    def _expectation(self, state: TaskState) -> Expectation:
        """What the business must look like after the task's write."""
        intent, kit = state.intent, self._kit
        assert intent is not None, "an opened task has an intent"  # noqa: S101 - invariant, stays on
        before = state.compensation.snapshot if state.compensation else None
        action = kit.recipe.actions[intent.action]
        return Expectation(
            intent=intent,
            status=intent.expected_status,
            before=before,
            new_ledger_lines=action.new_ledger_lines,
            exact=kit.recipe.exact_values(intent, before.extra if before else {}),
        )
