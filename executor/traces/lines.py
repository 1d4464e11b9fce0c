"""The lines of a trace (format 10), each reduced to what may be kept.

Rules: what is not known to be harmless is left out: unknown kinds of lines, parameters, headers, every body but those
that draw the page (style sheets, pictures, fonts), results, stacks; what is kept has its secrets masked. Names by which
parts of the trace refer to each other are never touched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from executor.traces.needles import MASK, Needles

FORMAT: Final = 10
"""Version of the trace's lines that is understood here (Playwright 1.6x)."""
DRAWING: Final = (
    ".css",
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".webp",
    ".svg",
    ".ico",
    ".woff",
    ".woff2",
    ".ttf",
    ".otf",
)
"""Endings of resources that draw a page and are kept."""
_LINKS: Final = frozenset(
    {
        "type",
        "callId",
        "pageId",
        "frameId",
        "parentId",
        "stepId",
        "pageref",
        "_frameref",
        "file",
        "_file",
        "class",
    }
)
"""Keys whose texts refer to other parts of the trace."""
_PARAMS: Final = frozenset(
    {
        *(
            "selector",
            "url",
            "timeout",
            "waitUntil",
            "key",
            "text",
            "value",
            "x",
            "y",
            "button",
            "clickCount",
            "delay",
        ),
        *(
            "state",
            "strict",
            "force",
            "position",
            "modifiers",
            "pageId",
            "message",
            "accept",
            "options",
            "steps",
            "name",
        ),
        *(
            "deltaX",
            "deltaY",
            "isNot",
            "status",
            "errorCode",
            "method",
            "source",
            "target",
            "trial",
            "format",
        ),
    }
)
"""Parameters of calls that say what was done; all others (scripts, bodies, headers, cookies) are left out."""
_HEADERS: Final = frozenset(
    {
        *(
            "accept",
            "accept-language",
            "cache-control",
            "content-encoding",
            "content-language",
            "content-length",
        ),
        *("content-type", "date", "etag", "host", "last-modified", "location", "origin", "referer", "server"),
        *("user-agent", "vary", "x-requested-with"),
    }
)
_LOOKING: Final = frozenset({"waitForTimeout", "newCDPSession", "detach"})
"""Calls by which the guards only wait and look; their snapshots stay, because later ones refer to them."""
_VALUE_IN_LOG: Final = re.compile(r'(\bvalue=)"[^"]*"')


class Reducer:
    """Reduces lines one by one; ``masked`` counts the places where something secret stood."""

    def __init__(self, needles: Needles, unwanted: Sequence[str] = ()) -> None:
        self._needles = needles
        self._unwanted = frozenset(unwanted)
        """Resources that hold something secret."""
        self._passed_over: set[str] = set()
        self.masked = 0
        self.wanted: set[str] = set()
        """Resources that the kept lines refer to."""

    def line(self, line: Mapping[str, Any]) -> dict[str, Any] | None:
        """What is kept of one line; None when nothing is."""
        if line.get("type") == "before" and line.get("method") in _LOOKING:
            self._passed_over.add(line["callId"])
        if line.get("callId") in self._passed_over:
            return None
        match line.get("type"):
            case "context-options":
                return self._context(line)
            case "before":
                return self._clean({**line, "params": self._params(line.get("params"))}, drop=("stack",))
            case "after":
                error = line.get("error")
                said = (
                    {"error": {"name": error.get("name", ""), "message": error.get("message", "")}}
                    if error
                    else {}
                )
                return self._clean({**line, **said}, drop=("result", "attachments"))
            case "log":
                message = _VALUE_IN_LOG.sub(rf'\1"{MASK}"', str(line.get("message", "")))
                return self._clean({**line, "message": message})
            case "event":
                return self._clean({**line, "params": self._params(line.get("params"))})
            case "console":
                return self._clean(line, drop=("args",))
            case "input":
                return self._clean(line)
            case "frame-snapshot":
                return self._snapshot(line)
            case "resource-snapshot":
                return self._resource(line)
            case _:
                return None

    def _clean(self, line: Mapping[str, Any], *, drop: Sequence[str] = ()) -> dict[str, Any]:
        kept = {key: value for key, value in line.items() if key not in drop}
        return {key: value if key in _LINKS else self.value(value) for key, value in kept.items()}

    def value(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        """A JSON value with its secrets masked, keys included."""
        if isinstance(value, str):
            text, count = self._needles.clean(value)
            self.masked += count
            return text
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {
                self.value(key): item if key in _LINKS and isinstance(item, str) else self.value(item)
                for key, item in value.items()
            }
        return value

    def _context(self, line: Mapping[str, Any]) -> dict[str, Any]:
        options = line.get("options") or {}
        shown = {key: options[key] for key in ("viewport", "deviceScaleFactor") if key in options}
        return self._clean({**line, "options": shown})

    def _params(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        return {
            key: value if key in _PARAMS else "(left out)"
            for key, value in (params or {}).items()
            if not (key not in _PARAMS and value in (None, "", [], {}))
        }

    def _snapshot(self, line: Mapping[str, Any]) -> dict[str, Any]:
        kept = self._clean(line, drop=("snapshot",))
        snapshot = dict(line["snapshot"])
        html, overrides = snapshot.pop("html"), snapshot.pop("resourceOverrides", [])
        kept["snapshot"] = {
            **self._clean(snapshot),
            "html": self._node(html),
            "resourceOverrides": [one for one in map(self._override, overrides) if one is not None],
        }
        return kept

    def _override(self, override: Mapping[str, Any]) -> dict[str, Any] | None:
        name = override.get("file")
        if name is not None and not self._keeps(str(name)):
            return None
        return self._clean(override)

    def _node(self, node: Any) -> Any:  # noqa: ANN401 - JSON
        """A node of a snapshot: names of tags and references stay."""
        if isinstance(node, str):
            return self.value(node)
        if isinstance(node[0], list):
            return node
        tag, attributes, *children = (*node, {}) if len(node) == 1 else node
        return [
            tag,
            {name: self.value(text) for name, text in attributes.items()},
            *map(self._node, children),
        ]

    def _keeps(self, name: str) -> bool:
        kept = name.lower().endswith(DRAWING) and name not in self._unwanted
        if kept:
            self.wanted.add(name)
        return kept

    def _resource(self, line: Mapping[str, Any]) -> dict[str, Any]:
        entry = line["snapshot"]
        request, response = entry["request"], entry["response"]
        content = dict(response.get("content") or {})
        name = content.pop("_file", None)
        content.pop("text", None)
        if name is not None and self._keeps(str(name)):
            content["_file"] = name
        sent = {
            "method": request["method"],
            "url": request["url"],
            "httpVersion": request.get("httpVersion", ""),
            "cookies": [],
            "headers": self._headers(request.get("headers", ())),
            "queryString": [],
            "headersSize": request.get("headersSize", -1),
            "bodySize": request.get("bodySize", -1),
        }
        came = {
            "status": response["status"],
            "statusText": response.get("statusText", ""),
            "httpVersion": response.get("httpVersion", ""),
            "cookies": [],
            "headers": self._headers(response.get("headers", ())),
            "content": content,
            "headersSize": response.get("headersSize", -1),
            "bodySize": response.get("bodySize", -1),
            "redirectURL": response.get("redirectURL", ""),
        }
        kept = {
            key: entry[key]
            for key in ("pageref", "startedDateTime", "time", "_frameref", "_monotonicTime", "_resourceType")
            if key in entry
        }
        timings = entry.get("timings", {})
        return {
            "type": line["type"],
            "snapshot": {
                **kept,
                "request": self._clean(sent),
                "response": {**self._clean(came, drop=("content",)), "content": self._clean(content)},
                "cache": {},
                "timings": timings,
            },
        }

    @staticmethod
    def _headers(headers: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        return [
            {"name": header["name"], "value": header["value"]}
            for header in headers
            if header["name"].lower() in _HEADERS
        ]
