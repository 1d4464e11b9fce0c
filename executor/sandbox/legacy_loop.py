"""An unguarded loop, as people have today: it clicks, sees a green toast, and says "task succeeded".

Two of its workers take their orders from one queue without a claim, so that one bill can be processed twice under two
task ids. It is watched in record-only mode: the guard observes and stops nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from domain.values import Intent
from executor.guards.base import Purpose
from executor.guards.page import GuardedPage
from executor.recipe import Recipe
from executor.runtime.watch import Watch
from executor.tools.base import RequestRule


class LegacyLoop:
    """The loop's two workers: each has a page of its own in the same session."""

    def __init__(
        self, watch: Watch, workers: Sequence[GuardedPage], recipe: Recipe, *, language: str
    ) -> None:
        self._watch = watch
        self._workers = workers
        self._labels = recipe.labels[language]
        self._recipe = recipe

    def process(self, intent: Intent, *, reference: str, worker: int = 0) -> None:
        """One order: open the bill, press, confirm, believe the toast."""
        self.open_bill(intent, worker=worker)
        self.press(intent, reference=reference, worker=worker)

    def open_bill(self, intent: Intent, *, worker: int = 0) -> None:
        """Go to the bill's page."""
        self._workers[worker].goto(f"/bills/{intent.bill_id}")

    def press(self, intent: Intent, *, reference: str, worker: int = 0) -> None:
        """Mark the open bill as processed, whatever happened to it since the page was loaded."""
        page = self._workers[worker]
        step = self._recipe.actions[intent.action].steps[-1]
        rule = RequestRule(
            path=self._recipe.request.path,
            fields=self._recipe.field_map(),
            ignored=(*self._recipe.request.ignored, *self._recipe.request.known),
        )
        purpose = Purpose(intent=intent, fields=self._recipe.field_map(step))
        with self._watch.task(intent, reference=reference):
            page.click("button[data-action=process]", label=self._labels["mark"], purpose=purpose)
            report = page.click(
                "[role=dialog] button.primary", label=self._labels["confirm"], purpose=purpose, rule=rule
            )
            if report.performed.toast:
                self._watch.declare_done(f"task succeeded: {report.performed.toast}")
