"""Export: an evidence bundle about a bill, a run, a month, a task or the whole log (D4, X4)."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

import streamlit as st

from replay_ui.bundles import on_record, scope_named
from replay_ui.components.blocks import Block, Heading, Lines, Note, text
from replay_ui.components.sheet import sheet
from replay_ui.views.common import View, choice, quoted
from replay_ui.views.common import search as field

KINDS: Final = ("bill", "run", "month", "task", "log")
COMMANDS: Final = (
    "proofreel verify evidence.zip",
    "bagit.py --validate evidence",
    "cd evidence && sha256sum -c manifest-sha256.txt",
)
"""What an auditor checks a bundle with; the last two are not ours."""


def page(view: View) -> None:
    """Offer the bundle that ``?kind=`` and ``?name=`` name."""
    words = view.words
    if not view.may("export"):
        sheet((Note(text=words("export.not_yours"), detail=words("export.not_yours_do")),), key="export")
        return
    left, right = st.columns((2, 6))
    with left:
        kind = choice(words("export.kind"), "kind", KINDS, show=lambda code: words(f"export.{code}"))
    name = ""
    if kind != "log":
        with right:
            name = field(words("export.name"), "name", exact=True)
        if not name:
            sheet(
                (Note(text=words("export.which"), detail=words("export.which_do")), *how(view)), key="export"
            )
            return
    if not on_record(view.desk, view.tenant, scope_named(kind, name)):
        nothing = Note(text=words("export.nothing"), detail=words("export.which_do"), tone="stopped")
        sheet((nothing,), key="export")
        return
    address = f"/bundles/{quoted(view.tenant)}.zip?{urlencode({'kind': kind, 'name': name})}"
    title = Heading(
        text=f"{words(f'export.{kind}')} {name}".strip(),
        beside=(text(words("bundle.get"), "button", href=address, new=True, tip=words("bundle.is")),),
    )
    sheet((title, *how(view)), key="export")


def how(view: View) -> tuple[Block, ...]:
    """What is in a bundle, and how it is checked without us."""
    words = view.words
    lines = tuple((text(command, "mono"),) for command in COMMANDS)
    return (
        Note(text=words("export.inside"), detail=words("export.recorded")),
        Heading(text=words("export.check"), level=3),
        Lines(items=lines),
    )
