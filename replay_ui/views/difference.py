"""One difference of a month: its causes, what decides them, and what was looked for against them (X2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replay_ui.components.blocks import (
    Block,
    Card,
    Column,
    Fact,
    Facts,
    Heading,
    Line,
    Lines,
    Row,
    Span,
    Thumb,
    Thumbs,
    cell,
    chip,
    money,
    row,
    table,
    text,
    when,
)
from replay_ui.player import run_urls
from replay_ui.privacy import privacy_of
from replay_ui.views.common import CAUSE_TONES, CHAIN, MONTH, View, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from projections.settlement.causes import CounterEvidence, Evidence, Finding
    from projections.views.reconciliation import Break
    from replay_ui.data import Import


def detail(view: View, item: Import, found: Break) -> tuple[Block, ...]:
    """Everything about one difference."""
    words = view.words
    bundle = f"/bundles/{quoted(view.tenant)}/{item.position}/{found.id}.zip"
    back = Lines(items=((text(words("month.back"), href=view.path(MONTH, file=item.position)),),))
    carried = (
        (text(words("bundle.get"), "button", href=bundle, new=True, tip=words("bundle.is")),)
        if view.may("export")
        else ()
    )
    title = Heading(
        text=found.bill,
        beside=(
            chip(words.of("break", found.kind), "failed", tip=found.kind),
            text(money(found.amount_minor, found.currency, signed=True), "strong"),
            text(words("chain.open_bill"), "button", href=view.path(CHAIN, bill=found.bill)),
            *carried,
        ),
    )
    cards = [card(view, found, finding) for finding in found.findings]
    return (back, title, sides(view, item, found), *cards)


def sides(view: View, item: Import, found: Break) -> Facts:
    """What the record leads one to expect, what the file says, and what stays unexplained."""
    words, expected, line = view.words, found.expected, found.found
    wanted: Line = (text(words("month.nothing"), "quiet"),)
    if expected is not None:
        wanted = (
            text(money(expected.amount_minor, expected.currency), "number"),
            text(words.of("line", expected.kind)),
            text(expected.counterparty, "quiet"),
        )
    said: Line = (text(words("month.nothing"), "quiet"),)
    if line is not None:
        said = (
            text(money(line.amount_minor, line.currency), "number"),
            text(words.of("line", line.kind)),
            text(words("month.line", number=line.line), "quiet"),
            text(when(line.at_us) if line.at_us else "", "quiet"),
            text(line.account, "mono"),
        )
    residual = money(found.residual_minor, found.currency, signed=True)
    return Facts(
        items=(
            Fact(label=words("month.expected"), line=wanted),
            Fact(label=words("month.found", file=item.file_name), line=said),
            Fact(label=words("month.residual"), line=(text(residual, "number"),)),
            Fact(label=words("month.id"), line=(text(found.id, "mono"),)),
            *held(view, item.month),
        )
    )


def held(view: View, month: str) -> tuple[Fact, ...]:
    """Legal holds on what was stored in the month, so that nobody deletes what the difference rests on."""
    words = view.words
    holds = [one for one in privacy_of(view.desk, view.tenant).holds if one.month in {"", month}]
    if not holds:
        return ()
    line = tuple(
        span
        for one in holds
        for span in (
            text(words(f"withheld.{one.kind}") if one.kind else words("withheld.everything"), "strong"),
            text(one.basis, "quiet"),
        )
    )
    return (Fact(label=words("withheld.holds"), line=line),)


def card(view: View, found: Break, finding: Finding) -> Card:
    """One cause."""
    words = view.words
    title = (
        text(words.of("cause", finding.cause), tip=finding.cause),
        view.cause_verdict(finding.verdict),
        text(money(finding.amount_minor, found.currency, signed=True), "number")
        if finding.amount_minor
        else text(words("month.no_amount"), "quiet"),
    )
    who: Line = tuple(text(name, "mono") for name in finding.responsible) or (
        text(words.of("party", finding.party), tip=finding.party),
    )
    facts = [Fact(label=words("responsible"), line=who)]
    if finding.reason:
        why = text(words.of("undecided", finding.reason), tip=finding.reason)
        facts.append(Fact(label=words("month.undecided"), line=(why,)))
    blocks: list[Block] = [Lines(items=((text(words.said(finding.summary)),),)), Facts(items=tuple(facts))]
    if finding.decisive:
        blocks.append(Heading(text=words("month.decisive"), level=3))
        blocks.append(evidence_table(view, found, finding.decisive))
        pictures = thumbs(view, finding.decisive)
        if pictures:
            blocks.append(Thumbs(items=pictures))
    if finding.counter_evidence:
        blocks.append(Heading(text=words("month.counter"), level=3))
        blocks.append(counter_table(view, found, finding.counter_evidence))
    return Card(title=title, blocks=tuple(blocks), tone=CAUSE_TONES.get(finding.verdict, "none"))


def evidence_table(view: View, found: Break, items: Iterable[Evidence]) -> Block:
    """What a statement rests on, each with its place."""
    columns = (
        view.words("month.place"),
        Column(label=view.words("month.says"), grow=True),
        view.words("evidence"),
    )
    return table(
        columns, [evidence_row(view, found, item) for item in items], label=view.words("month.decisive")
    )


def evidence_row(view: View, found: Break, item: Evidence) -> Row:
    """One piece of evidence."""
    place = cell((place_of(view, item), text(item.name, "mono")))
    return row(place, text(view.words.said(item.sentence)), cell(links(view, found, item)))


def place_of(view: View, item: Evidence) -> Span:
    """Where it stands: in the log, or in the file."""
    if item.kind == "event":
        return view.stored(item.run_id, item.position)
    if item.line:
        return text(view.words("month.line", number=item.line), "mono")
    return text(view.words("month.the_file"))


def links(view: View, found: Break, item: Evidence) -> tuple[Span, ...]:
    """Where it can be looked at."""
    if item.kind != "event":
        return ()
    made = [text(view.words("chain.open"), href=view.event_path(found.bill, item.position))]
    if item.run_id:
        made.append(text(view.words("frame.open"), href=view.frame_path(item.run_id, item.position)))
    return tuple(made)


def thumbs(view: View, items: Iterable[Evidence]) -> tuple[Thumb, ...]:
    """Screens that belong to the evidence, each once."""
    made: dict[str, Thumb] = {}
    for item in items:
        for sha256 in item.frames if item.run_id else ():
            made.setdefault(
                sha256,
                Thumb(
                    src=f"{run_urls(view.tenant, item.run_id).frames}/{sha256}",
                    href=view.frame_path(item.run_id, item.position, sha256),
                    caption=f"#{item.position} {item.name}",
                ),
            )
    return tuple(made.values())


def counter_table(view: View, found: Break, items: Iterable[CounterEvidence]) -> Block:
    """What would speak against the cause, where it was looked for, and whether it is there."""
    words = view.words
    columns = (
        Column(label=words("month.looked_for"), grow=True),
        words("month.looked_in"),
        words("month.result"),
        words("evidence"),
    )
    rows = [
        row(
            text(words.said(item.looked_for)),
            text(words.said(item.where), "quiet"),
            cell(
                (
                    chip(words("month.is_there"), "stopped")
                    if item.found
                    else chip(words("month.not_there"), "none"),
                )
            ),
            cell(
                *(
                    line
                    for piece in item.evidence
                    if (line := (place_of(view, piece), *links(view, found, piece)))
                )
            ),
        )
        for item in items
    ]
    return table(columns, rows, label=words("month.counter"))
