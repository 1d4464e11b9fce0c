"""Checks what events name (screens, settlement files, documents), what was concluded, and the page.

* each screen that an event names is there under its hash, or is withheld with a reason, and no other screen is
* a settlement file is the one that the imported event hashed
* findings name only events, tasks and streams that are shown
* the page shows exactly these events and screens, with code that a release of ours has shipped
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from projections.exports.verify import layout
from projections.exports.verify.archive import Archive
from projections.exports.verify.known import KNOWN
from projections.exports.verify.layout import Head
from projections.exports.verify.record import Record
from projections.exports.verify.report import Findings, Problem

_SIGNATURE_BYTES = 12


def read_json(archive: Archive, path: str, findings: Findings, check: str) -> dict[str, Any] | None:
    """An object in its one form with a newline; None (and a problem) for anything else."""
    data = archive.read(path, limit=layout.MAX_SMALL_BYTES)
    try:
        value = json.loads(data)
        if isinstance(value, dict) and layout.plain_json(value) + b"\n" == data:
            return value
    except (ValueError, RecursionError):
        pass
    findings.problem(Problem(check=check, what=f"{path} is not JSON in its one form", file=path))
    return None


def check_screens(
    archive: Archive,
    hashes: Mapping[str, str],
    record: Record,
    withheld: Collection[str],
    findings: Findings,
) -> int:
    """Every screen by its hash, both directions; the number of screens shown."""
    there = {match[1]: path for path in hashes if (match := layout.FRAME.fullmatch(path))}
    wanted = record.references.frames
    for sha256, label in wanted.items():
        if sha256 not in there and sha256 not in withheld:
            what = f"screen {sha256}, named by {label}, is missing"
            findings.problem(Problem(check="screens", what=what, frame=sha256))
    for sha256, path in there.items():
        label = wanted.get(sha256, "")
        if sha256 not in wanted:
            what = f"screen {sha256} is named by no event of this bundle"
        elif sha256 in withheld:
            what = f"screen {sha256} is said to be withheld and is there"
        elif hashes[path] != sha256:
            what = (
                f"screen {sha256}, named by {label}, has been changed: its bytes have SHA-256 {hashes[path]}"
            )
        elif not _is_image(archive, path):
            what = f"screen {sha256} is not the kind of image that {path} says"
        else:
            continue
        findings.problem(Problem(check="screens", what=what, file=path, frame=sha256))
    findings.conclude(
        "screens", "integrity", f"{len(there)} screens, each with the bytes that the events name"
    )
    return len(there)


def check_documents(
    hashes: Mapping[str, str], record: Record, withheld: Collection[str], findings: Findings
) -> None:
    """Settlement files, traces and other documents: exactly those that events name, or that are withheld."""
    references = record.references
    wanted = {f"data/documents/{sha256}.dat": sha256 for sha256 in references.documents}
    wanted |= {f"data/traces/{sha256}.zip": sha256 for sha256 in references.traces}
    wanted |= {layout.settlement_path(sha256, name): sha256 for sha256, name in references.settlement.items()}
    hidden = {path for path, sha256 in wanted.items() if sha256 in withheld}
    patterns = (layout.SETTLEMENT, layout.DOCUMENT, layout.TRACE)
    there = {path for path in hashes if any(pattern.fullmatch(path) for pattern in patterns)}
    for path in sorted(there | set(wanted)):
        if path in hidden and path not in there:
            continue
        if path in hidden:
            what = f"{path} is said to be withheld and is there"
        elif path not in there:
            what = f"{path}, named by an event, is missing"
        elif path not in wanted:
            what = f"{path} is named by no event of this bundle"
        elif hashes[path] != wanted[path]:
            what = f"{path} is not the file that was imported: its bytes have SHA-256 {hashes[path]}"
        else:
            continue
        findings.problem(Problem(check="documents", what=what, file=path))
    findings.conclude(
        "documents",
        "integrity",
        f"{len(wanted) - len(hidden)} settlement files, traces and documents as received",
    )


def check_findings(content: Mapping[str, Any], record: Record, head: Head, findings: Findings) -> None:
    """What was concluded names only what is shown, and the scope is what is shown."""
    scope: Any = content.get("scope")
    case = content.get("case")
    shaped = set(content) == {"case", "scope"} and isinstance(case, dict | None)
    named = isinstance(scope, dict) and set(scope) == {"kind", "name"}
    if not shaped or not named or not all(isinstance(text, str) for text in scope.values()):
        findings.problem(
            Problem(check="findings", what=f"{layout.FINDINGS} has another form", file=layout.FINDINGS)
        )
        return
    kind, name = scope["kind"], scope["name"]
    if kind == "log" and sum(head.streams.values()) != head.size:
        what = f"the bundle claims to show the whole log and leaves out {head.size - sum(head.streams.values())} events"
        findings.problem(Problem(check="complete", what=what))
    own = [("stream", f"{kind}:{name}")] if kind in {"task", "run"} else []
    if kind == "bill" and name not in record.bills and (case is None or case.get("tasks")):
        findings.problem(
            Problem(check="complete", what=f"no task or case about bill {ascii(name)[:80]} is in the bundle")
        )
    known = {"stream": set(head.streams), "event_id": record.event_ids}
    for key, value in [*own, *named_in(case)]:
        if value not in known[key]:
            thing = f"stream {value}" if key == "stream" else f"event {value}"
            what = f"{layout.FINDINGS} rests on {ascii(thing)[:120]}, which is left out"
            findings.problem(Problem(check="complete", what=what, file=layout.FINDINGS))


def check_page(
    archive: Archive,
    hashes: Mapping[str, str],
    expected_head: bytes,
    *,
    chunks: int,
    embedded: bool,
    findings: Findings,
) -> None:
    """The page is code of ours with exactly this bundle's data."""
    for path in (*layout.STATIC_PAGE, layout.README):
        if hashes.get(path) not in KNOWN[path]:
            what = f"{path} is not the one of any release known here; it may show or ask anything"
            findings.problem(Problem(check="page", what=what, file=path))
    wanted = {layout.PAGE_HEAD: hashlib.sha256(expected_head).hexdigest()}
    if embedded:
        wanted |= dict(_frame_scripts(archive))
    for path in sorted(set(wanted) | {path for path in hashes if layout.PAGE_FRAME.fullmatch(path)}):
        if hashes.get(path) != wanted.get(path):
            what = f"{path} does not show what the bundle holds"
            findings.problem(Problem(check="page", what=what, file=path))
    for path in hashes:
        if layout.PAGE_EVENTS.fullmatch(path) and int(path[-8:-3]) not in range(1, chunks + 1):
            findings.problem(Problem(check="page", what=f"{path} shows events that are not there", file=path))
    findings.conclude("page", "integrity", "index.html is ours and shows exactly these events and screens")


def frame_bytes(archive: Archive) -> int:
    """Size of all pictures together."""
    return sum(member.size for path, member in archive.members.items() if _picture(path))


def _frame_scripts(archive: Archive) -> Iterator[tuple[str, str]]:
    for path in archive.members:
        if match := _picture(path):
            data = archive.read(path, limit=layout.MAX_EMBEDDED_BYTES)
            script = layout.frame_script(match[1], match[2], data)
            yield f"data/page/frames/{match[1]}.js", hashlib.sha256(script).hexdigest()


def _picture(path: str) -> re.Match[str] | None:
    return layout.FRAME.fullmatch(path) or layout.RENDITION.fullmatch(path)


def _is_image(archive: Archive, path: str) -> bool:
    start = next(archive.chunks(path, _SIGNATURE_BYTES), b"")
    return layout.image_suffix(start) == path.rpartition(".")[2]


def named_in(value: object) -> Iterator[tuple[str, str]]:
    """Events and streams that a conclusion names, wherever in it: ``("event_id" | "stream", name)``.

    The keys are ``event_id``, ``stream``, ``task_id`` and ``run_id``, singular or plural, and ``tasks``.
    """
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(item)
        if not isinstance(item, dict):
            continue
        for key, content in item.items():
            texts = [
                text
                for text in (content if isinstance(content, list) else [content])
                if isinstance(text, str)
            ]
            match key:
                case "event_id" | "event_ids":
                    yield from (("event_id", text) for text in texts if text)
                case "run_id" | "run_ids":
                    yield from (("stream", f"run:{text}") for text in texts if text)
                case "task_id" | "task_ids" | "tasks":
                    yield from (("stream", f"task:{text}") for text in texts if text)
                case "stream" | "streams":
                    yield from (("stream", text) for text in texts if text)
                case _:
                    stack.append(content)
