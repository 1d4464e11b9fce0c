"""Targets: what a sampled canary period proposes, what people accepted, and how the period stands to it (B13)."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

import streamlit as st

from domain.errors import ProofreelError
from domain.ids import PrincipalId
from projections.canary import CANARY_ENOUGH, Canary, acceptance
from projections.views.targets import TargetRow, standing
from replay_ui.components.blocks import (
    Block,
    Column,
    Heading,
    Lines,
    Note,
    Row,
    cell,
    chip,
    percent,
    row,
    table,
    text,
    when,
)
from replay_ui.components.sheet import sheet
from replay_ui.views.common import View, number
from replay_ui.views.deciding import decide, deciding, outcome, who
from replay_ui.views.metric_links import NAMES, metric_path, start_us
from replay_ui.views.metric_slices import rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from domain.events import TargetAccepted
    from projections.canary import Proposal, Proposals
    from projections.views.metrics import Metric
    from projections.views.targets import Accepted, Standing
    from replay_ui.components.blocks import Tone
    from replay_ui.figures import Figures
    from replay_ui.operator_actions import OperatorActions

SHARE: Final = 200
SEED: Final = "canary"
TONES: Final[Mapping[Standing, Tone]] = {
    "met": "ok",
    "missed": "failed",
    "open": "unknown",
    "no_target": "none",
}
_DAY_US: Final = 86_400_000_000


def section(view: View, figures: Figures) -> None:
    """Targets that hold, and proposals out of a sample."""
    words = view.words
    outcome("targets-said")
    known = view.desk.targets(view.tenant)
    sheet(holding(view, figures, known), key="metrics")
    sheet(
        (Heading(text=words("metrics.canary"), beside=(text(words("metrics.canary_is"), "quiet"),)),),
        key="canary",
    )
    ask(view)
    sample = sample_of()
    if sample is None:
        return
    try:
        answer = view.desk.proposals(view.tenant, sample)
    except ProofreelError as error:
        sheet((Note(text=str(error), tone="failed"),), key="canary-failed")
        return
    found = answer.value
    sheet((*view.as_of(answer), *proposed(view, found)), key="canary-found")
    if view.actions is not None and view.may("approve"):
        accept(view, view.actions, found)


def in_short(view: View, metric: Metric) -> str:
    """How a rate stands to its target, as an end of a tile's text; empty where there is no target."""
    holds = view.desk.targets(view.tenant).get(metric.name, TargetRow()).holds
    if holds is None:
        return ""
    return f" · {bound(view, holds.fact)}: {view.words.of('standing', standing(holds, metric.rate))}"


def bound(view: View, fact: TargetAccepted) -> str:
    """``at most 5.0 %``."""
    return view.words(f"metrics.{fact.direction}", rate=percent(fact.target_permille))


# What holds


def holding(view: View, figures: Figures, known: Mapping[str, TargetRow]) -> tuple[Block, ...]:
    """The targets, newest first for each metric; the newest of each holds."""
    words = view.words
    head = Heading(text=words("metrics.targets"), beside=(text(words("metrics.targets_is"), "quiet"),))
    accepted = [(name, one) for name in NAMES for one in known.get(name, TargetRow()).accepted[::-1]]
    if not accepted:
        return (head, Note(text=words("metrics.no_targets")))
    columns = (
        words("metrics.metric"),
        words("metrics.target"),
        words("metrics.this_period"),
        words("state"),
        Column(label=words("metrics.sample"), grow=True),
        words("metrics.accepted"),
    )
    rows = [
        target_row(view, figures.report.of(name), one, holds=one is known[name].holds)
        for name, one in accepted
    ]
    return (head, table(columns, rows, label=words("metrics.targets")))


def target_row(view: View, metric: Metric, one: Accepted, *, holds: bool) -> Row:
    """One acceptance; how the selected period stands to it, if it is the one that holds."""
    words, fact = view.words, one.fact
    stands = standing(one, metric.rate)
    state = (
        chip(words.of("against_target", stands), TONES[stands])
        if holds
        else chip(words("metrics.replaced"), "none")
    )
    first = text(words(f"metrics.{metric.name}"), "strong", href=metric_path(view, metric=metric.name))
    return row(
        first,
        text(bound(view, fact), "number"),
        cell(*rate(view, metric.rate)) if holds else cell(text("–")),
        cell((state,)),
        cell(
            text(drawn_from(view, fact), "quiet"),
            (
                text(
                    words("metrics.sample"),
                    href=metric_path(view, metric=metric.name, **sampled(of_fact(fact))),
                ),
            ),
        ),
        cell(
            text(one.by, "mono"),
            (text(when(one.at_us), "quiet"), view.stored("", one.position)),
            text(fact.note, "quiet"),
        ),
    )


def drawn_from(view: View, fact: TargetAccepted) -> str:
    """The sample of an accepted target, in words."""
    return view.words(
        "metrics.drawn_from",
        hits=f"{fact.hits:,}",
        trials=f"{fact.trials:,}",
        share=percent(fact.share_permille),
        since=when(fact.since_us)[:10],
        until=when(fact.until_us - 1)[:10],
        seed=fact.seed,
    )


def of_fact(fact: TargetAccepted) -> Canary:
    """The sample that a target was accepted on."""
    return Canary(
        since_us=fact.since_us, until_us=fact.until_us, share_permille=fact.share_permille, seed=fact.seed
    )


# What is sampled: in the address, so that a shared page draws the same sample


def sample_of() -> Canary | None:
    """The sample that the address names, or None."""
    try:
        first = date.fromisoformat(st.query_params.get("from", ""))
        last = date.fromisoformat(st.query_params.get("to", ""))
    except ValueError:
        return None
    return Canary(
        since_us=start_us(first),
        until_us=start_us(last + timedelta(days=1)),
        share_permille=number("share") or SHARE,
        seed=st.query_params.get("seed") or SEED,
    )


def sampled(sample: Canary) -> dict[str, str | int | None]:
    """Parameters of the address for a sample."""
    return {
        "from": when(sample.since_us)[:10],
        "to": when(sample.until_us - 1)[:10],
        "share": sample.share_permille,
        "seed": sample.seed,
    }


def ask(view: View) -> None:
    """Which period, share and seed; nothing is recorded by asking."""
    words, known = view.words, sample_of()
    with st.form("canary", border=True):
        one, two, three, four = st.columns(4)
        first = one.date_input(
            words("metrics.since"), value=_day(known.since_us) if known else None, format="YYYY-MM-DD"
        )
        last = two.date_input(
            words("metrics.until"), value=_day(known.until_us - 1) if known else None, format="YYYY-MM-DD"
        )
        share = three.number_input(
            words("metrics.share"),
            0.1,
            100.0,
            (known.share_permille if known else SHARE) / 10,
            0.1,
            format="%.1f",
        )
        seed = four.text_input(words("metrics.seed"), known.seed if known else SEED, max_chars=80)
        asked = st.form_submit_button(words("metrics.draw"))
    if asked and first and last:
        sample = Canary(
            since_us=start_us(first),
            until_us=start_us(last) + _DAY_US,
            share_permille=round(share * 10),
            seed=seed.strip() or SEED,
        )
        st.query_params.update({name: str(value) for name, value in sampled(sample).items()})
        st.rerun()


def _day(at_us: int) -> date:
    return date.fromisoformat(when(at_us)[:10])


def proposed(view: View, found: Proposals) -> tuple[Block, ...]:
    """What the sample proposes for each metric."""
    words = view.words
    drawn = words(
        "metrics.drawn",
        sampled=f"{len(found.sampled):,}",
        eligible=f"{found.eligible:,}",
        end=f"{found.through_position:,}",
    )
    columns = (
        words("metrics.metric"),
        Column(label=words("metrics.set_numerator"), align="end"),
        Column(label=words("metrics.set_denominator"), align="end"),
        words("metrics.rate"),
        Column(label=words("metrics.proposed"), grow=True),
    )
    rows = [proposal_row(view, found.canary, one) for one in found.proposals]
    return (Lines(items=((text(drawn, "quiet"),),)), table(columns, rows, label=words("metrics.canary")))


def proposal_row(view: View, sample: Canary, one: Proposal) -> Row:
    """One metric of the sample: each number leads to its events."""
    words, metric = view.words, one.sample
    kept = sampled(sample) | {"metric": one.metric}
    if one.proposed_permille is None:
        count = len(metric.denominator)
        goal = text(words("metrics.too_small", count=count, least=CANARY_ENOUGH), "quiet")
    else:
        goal = text(words(f"metrics.{one.direction}", rate=percent(one.proposed_permille)), "strong")
    return row(
        text(words(f"metrics.{one.metric}")),
        text(f"{len(metric.numerator):,}", "number", href=metric_path(view, **(kept | {"set": "numerator"}))),
        text(
            f"{len(metric.denominator):,}",
            "number",
            href=metric_path(view, **(kept | {"set": "denominator"})),
        ),
        cell(*rate(view, metric.rate)),
        goal,
    )


def accept(view: View, actions: OperatorActions, found: Proposals) -> None:
    """A person accepts a proposal, or another figure with its reason; that is an event."""
    words = view.words
    able = {one.metric: one for one in found.proposals if one.proposed_permille is not None}
    if not able:
        sheet((Note(text=words("metrics.accept_none")),), key="canary-none")
        return
    metric = st.selectbox(
        words("metrics.metric"),
        list(able),
        format_func=lambda name: words(f"metrics.{name}"),
        key="accept-metric",
    )
    with st.form("accept", border=True):
        person, note = who(view, deciding(view, actions))
        goal = (able[metric].proposed_permille or 0) / 10
        target = st.number_input(
            words("metrics.accept_at"), 0.0, 100.0, goal, 0.1, format="%.1f", help=words("metrics.accept_is")
        )
        asked = st.form_submit_button(words("metrics.accept"), type="primary", disabled=not person)
    if asked and person:

        def call() -> None:
            by = PrincipalId(person)
            fact = acceptance(found, metric, by=by, target_permille=round(target * 10), note=note)
            actions.accept_target(view.tenant, fact, person=person)

        decide(view, "accepted", call)
