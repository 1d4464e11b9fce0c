"""Integrity: whether the record is whole, how far checkpoints reach, who vouches, and the last check (X3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import streamlit as st

from replay_ui.components.blocks import (
    Block,
    Cell,
    Column,
    Fact,
    Facts,
    Heading,
    Lines,
    Note,
    Row,
    Tile,
    Tiles,
    cell,
    chip,
    row,
    table,
    text,
    when,
)
from replay_ui.components.sheet import sheet
from replay_ui.integrity import Checked, Standing, Vouched, check, standing
from replay_ui.views.common import PAGE_ROWS, View
from replay_ui.views.withheld import withheld

if TYPE_CHECKING:
    from collections.abc import Iterable

    from projections.findings import Finding

SHOWN: Final = 24
"""Digits of a root in a table."""


def page(view: View) -> None:
    """Show how the tenant's log stands."""
    words = view.words
    found = standing(view.desk, view.tenant)
    if found is None or not found.size:
        sheet((Note(text=words("integrity.empty"), detail=words("runs.none_do")),), key="integrity")
        return
    sheet((figures(view, found), *head(view, found)), key="integrity-head")
    if view.may("export") and st.button(words("integrity.check"), icon=":material/fact_check:"):
        bar = st.progress(0.0, words("integrity.checking"))

        def progress(share: float) -> None:
            bar.progress(share, words("integrity.checking"))

        check(
            view.desk,
            view.tenant,
            now_us=view.now_us,
            progress=progress,
        )
        st.rerun()
    sheet((*checked(view, found), *checkpoints(view, found), *withheld(view)), key="integrity")


def figures(view: View, found: Standing) -> Tiles:
    """The log at a glance."""
    words, newest = view.words, found.checkpoints[0] if found.checkpoints else None
    behind = found.evidence - newest.size if newest else found.evidence
    last = found.checked
    return Tiles(
        items=(
            Tile(label=words("integrity.events"), value=f"{found.size:,}"),
            Tile(
                label=words("integrity.signed"),
                value=f"{newest.size:,}" if newest else "–",
                detail=words("integrity.whole")
                if behind <= 0
                else words("integrity.behind", count=f"{behind:,}"),
                tone="ok" if behind <= 0 else "stopped",
            ),
            Tile(label=words("integrity.checkpoints"), value=f"{found.count:,}"),
            Tile(
                label=words("integrity.witnesses"),
                value=f"{len(newest.witnesses):,}" if newest else "–",
                detail=words("integrity.newest"),
            ),
            Tile(
                label=words("integrity.last"),
                value="–"
                if last is None
                else words("integrity.sound" if last.report.ok else "integrity.broken"),
                detail="" if last is None else when(last.at_us),
                tone="none" if last is None else ("ok" if last.report.ok else "failed"),
            ),
        )
    )


def head(view: View, found: Standing) -> tuple[Block, ...]:
    """The head as stored."""
    words = view.words
    return (
        Facts(
            items=(
                Fact(label=words("integrity.root"), line=(text(found.root, "mono"),)),
                Fact(label=words("integrity.recorded"), line=(text(when(found.recorded_at_us), "number"),)),
            )
        ),
    )


def checked(view: View, found: Standing) -> tuple[Block, ...]:
    """What the last check found."""
    words, last = view.words, found.checked
    title = Heading(text=words("integrity.last"), beside=(text(words("integrity.last_is"), "quiet"),))
    if last is None:
        return (title, Note(text=words("integrity.never"), detail=words("integrity.never_do")))
    blocks: list[Block] = [title, summary(view, last)]
    if last.position < found.size:
        later = words("integrity.later", count=f"{found.size - last.position:,}")
        blocks.append(Lines(items=((text(later, "quiet"),),)))
    if last.report.findings:
        blocks.append(findings(view, last.report.findings))
    return tuple(blocks)


def summary(view: View, last: Checked) -> Note:
    """One sentence on the last check."""
    words, report = view.words, last.report
    counts = words(
        "integrity.counts",
        events=f"{report.events:,}",
        blobs=f"{report.blobs:,}",
        claims=f"{report.claims:,}",
        checkpoints=f"{report.checkpoints:,}",
    )
    if report.ok:
        return Note(text=words("integrity.is_sound", when=when(last.at_us)), detail=counts, tone="ok")
    return Note(
        text=words("integrity.is_broken", count=f"{report.found:,}", when=when(last.at_us)),
        detail=counts,
        tone="failed",
    )


def findings(view: View, found: Iterable[Finding]) -> Block:
    """What is wrong, and where."""
    words = view.words
    rows = [
        row(
            text(item.code, "mono"),
            text(f"#{item.position}" if item.position else "–", "mono"),
            text(item.what),
            text(item.task or item.stream or item.blob or "–", "mono"),
        )
        for item in list(found)[:PAGE_ROWS]
    ]
    heads = (
        words("integrity.finding"),
        words("event"),
        Column(label=words("month.says"), grow=True),
        words("integrity.about"),
    )
    return table(heads, rows, label=words("integrity.finding"))


def checkpoints(view: View, found: Standing) -> tuple[Block, ...]:
    """Signed checkpoints, newest first, with what others said about them."""
    words = view.words
    title = Heading(
        text=words("integrity.checkpoints"), beside=(text(words("integrity.names_are"), "quiet"),)
    )
    if not found.checkpoints:
        return (
            title,
            Note(text=words("integrity.unsigned"), detail=words("integrity.unsigned_do"), tone="stopped"),
        )
    heads = (
        words("integrity.signed_at"),
        Column(label=words("integrity.size"), align="end"),
        Column(label=words("integrity.root"), grow=True),
        words("integrity.signers"),
        words("integrity.witnesses"),
        words("integrity.stamps"),
    )
    rows = [checkpoint_row(view, item) for item in found.checkpoints]
    return (title, table(heads, rows, label=words("integrity.checkpoints")))


def checkpoint_row(view: View, item: Vouched) -> Row:
    """One checkpoint."""
    bad = (chip(view.words("integrity.unreadable"), "failed"),)
    return row(
        text(when(item.signed_at_us), "number"),
        text(f"{item.size:,}", "number"),
        text(f"{item.root[:SHOWN]}…", "mono", tip=item.root) if item.readable else cell(bad),
        names(item.signers),
        names(item.witnesses),
        names(item.stamped_by),
    )


def names(found: tuple[str, ...]) -> Cell:
    """Names one below the other, or a dash."""
    return cell(*(text(name, "mono") for name in found)) if found else cell(text("–", "quiet"))
