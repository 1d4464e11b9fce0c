"""The browser rung as the orchestrator's hands: one guarded page, one log-in, one step at a time."""

from __future__ import annotations

from collections.abc import Mapping

from domain.values import Check, Intent
from executor.config import Secret
from executor.guards.auth import check_auth
from executor.guards.base import Purpose, pre_checks
from executor.guards.frame import Comparison
from executor.tools.base import FieldMap, Frame, LoginForm, Look, Performed, RequestRule, Step, Target
from executor.tools.browser import BrowserTool
from executor.traces.scrub import Scrubbed


class BrowserHands:
    """Implements ``executor.runtime.kit.Hands``."""

    def __init__(self, tool: BrowserTool, *, form: LoginForm, account: str, secret: Secret) -> None:
        self.tool = tool
        self._form = form
        self._account = account
        self._secret = secret

    def log_in(self) -> None:
        """See ``Hands``."""
        self.tool.login(self._form, self._account, self._secret[:])

    def goto(self, url: str) -> None:
        """See ``Hands``."""
        self.tool.goto(url)

    def look(self) -> Look:
        """See ``Hands``."""
        return self.tool.look()

    def locate(self, step: Step, fields: FieldMap) -> Target | None:
        """See ``Hands``."""
        return self.tool.locate(step.selectors, step.label, fields=fields, iframe=step.iframe)

    def judge(
        self,
        step: Step,
        target: Target,
        planned: Look,
        *,
        intent: Intent | None,
        fields: FieldMap,
        known: Mapping[str, str],
    ) -> tuple[tuple[Check, ...], Frame]:
        """See ``Hands``."""
        comparison = Comparison(planned.frame, point=target.point, row=target.row)
        again = None if target.opaque else planned  # without a document, only pixels can tell
        now = self.tool.look(early=comparison.begin, again=again)
        purpose = Purpose(
            intent=intent, fields=fields, known=known, account=self._account, probe=self.tool.probe
        )
        checks = pre_checks(step, target, purpose, planned=planned, now=now, comparison=comparison)
        return checks, now.frame

    def perform(
        self, step: Step, target: Target, *, rule: RequestRule | None, intent: Intent | None
    ) -> Performed:
        """See ``Hands``."""
        return self.tool.perform(step, target, rule, intent=intent)

    def trouble(self, look: Look, *, missing: bool = False) -> Check:
        """See ``Hands``."""
        return check_auth(look, account=self._account, probe=self.tool.probe, missing=missing)

    def effect(self, before: Look, after: Look) -> Check:
        """See ``Hands``."""
        same = before.document_sha256 == after.document_sha256 and before.url == after.url
        return Check(
            guard="effect",
            verdict="noop" if same else "pass",
            decisive=False,
            expected="the document changes" if same else "",
            found="text and control state are as before" if same else "",
        )

    def expect_native(self, message: str, verb: str) -> None:
        """See ``AsksNatively``."""
        self.tool.expect_native(message, verb)

    def begin_trace(self) -> None:
        """See ``executor.runtime.traces.Traceable``."""
        self.tool.trace.begin()

    def end_trace(self, *, keep: bool) -> Scrubbed | None:
        """See ``executor.runtime.traces.Traceable``."""
        return self.tool.trace.end(keep=keep)

    def close(self) -> None:
        """End the browser context."""
        self.tool.close()
