"""Our own HTTP routes: manifests, frames, stored events and traces of a run.

Rules enforced here:

- Every request is checked against the viewer's tenants, on the server. Another tenant's run, an unknown
  run and an unknown frame give the same answer, byte for byte: 404.
- That a run is opened is on record before anything of it is sent (``openings``).
- Frames are sent as stored. They are never re-encoded, so the browser can check their hash.
- Evidence opened by its address is inert: it has a picture's type or none, no sniffing, and a sandbox.
- A frame is named by its content and may be cached for ever, by this viewer only. A manifest may grow and
  is asked for again.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from domain.errors import IntegrityError, ProofreelError
from replay_ui.access import same_origin
from replay_ui.headers import INERT_CSP
from replay_ui.player.manifest import header_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from replay_ui.access import Access
    from replay_ui.openings import Openings
    from replay_ui.player.manifest import Header

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_PICTURES: Final = frozenset({"image/png", "image/webp", "image/jpeg"})
_OCTETS: Final = "application/octet-stream"
_JSON: Final = "application/json"
_MAX_NUMBER: Final = 2**53
_PRIVATE: Final = {
    "Content-Security-Policy": INERT_CSP,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Vary": "Cookie",
    "X-Content-Type-Options": "nosniff",
}


class Frame(NamedTuple):
    """A recorded screen as stored."""

    content: bytes
    media_type: str
    withheld: str = ""
    """SHA-256 of these bytes, where parts of the screen are withheld and this is what is shown instead."""
    deleted: str = ""
    """When, by whom and why the bytes were deleted."""


class FrameSource(Protocol):
    """Where evidence comes from. Methods run in worker threads, several at once.

    The source answers for the tenant and run that it is asked about: a frame that no event of that run
    names is None, even if the bytes are in the store.
    """

    def header(self, tenant: str, run: str) -> Header | None:
        """Header of the run, or None."""

    def chunk(self, tenant: str, run: str, k: int, language: str = "") -> bytes | None:
        """Chunk ``k`` as ``player.manifest.chunk_bytes`` writes it, said in a language if it is known; or None."""

    def frame(self, tenant: str, run: str, sha256: str) -> Frame | None:
        """The stored bytes, unchanged, or None.

        Raises:
            IntegrityError: the store noticed that the bytes are not what was recorded.
        """

    def aligned(self, tenant: str, run: str, other: str) -> bytes | None:
        """Which frames of ``other`` stand beside those of ``run`` (``player.aligning``), or None."""

    def event(self, tenant: str, run: str, position: int) -> bytes | None:
        """Stored JSON of the event at ``position`` of the tenant's log, or None."""

    def trace(self, tenant: str, run: str, position: int) -> bytes | None:
        """The browser's trace that the event at ``position`` attached, or None.

        Raises:
            IntegrityError: as for a frame.
        """


def _gone() -> Response:
    return PlainTextResponse("Not found\n", 404, headers=_PRIVATE | {"Cache-Control": "private, no-store"})


def _damaged() -> Response:
    text = "The stored bytes are not what was recorded\n"
    return PlainTextResponse(text, 422, headers=_PRIVATE | {"Cache-Control": "private, no-store"})


def _number(text: str) -> int | None:
    """Non-negative number out of a path, or None."""
    if not text.isascii() or not text.isdigit() or len(text) > len(str(_MAX_NUMBER)):
        return None
    return int(text)


def _answer(request: Request, content: bytes, media_type: str, *, etag: str, cache: str) -> Response:
    headers = _PRIVATE | {"ETag": f'"{etag}"', "Cache-Control": cache}
    asked = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if headers["ETag"] in asked:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


def _growing(request: Request, content: bytes) -> Response:
    """JSON that may be longer next time."""
    etag = hashlib.sha256(content).hexdigest()
    return _answer(request, content, _JSON, etag=etag, cache="private, no-cache")


class _Endpoints:
    """The handlers; plain functions, so that Starlette runs them in a worker thread."""

    def __init__(self, source: FrameSource) -> None:
        self._source = source

    def header(self, request: Request) -> Response:
        header = self._source.header(request.path_params["tenant"], request.path_params["run"])
        return _gone() if header is None else _growing(request, header_bytes(header))

    def chunk(self, request: Request) -> Response:
        k = _number(request.path_params["k"])
        if k is None:
            return _gone()
        names, language = request.path_params, request.query_params.get("lang", "")
        chunk = self._source.chunk(names["tenant"], names["run"], k, language)
        return _gone() if chunk is None else _growing(request, chunk)

    def aligned(self, request: Request) -> Response:
        names = request.path_params
        aligned = self._source.aligned(names["tenant"], names["run"], names["other"])
        return _gone() if aligned is None else _growing(request, aligned)

    def event(self, request: Request) -> Response:
        position = _number(request.path_params["position"])
        if position is None:
            return _gone()
        event = self._source.event(request.path_params["tenant"], request.path_params["run"], position)
        return _gone() if event is None else _growing(request, event)

    def trace(self, request: Request) -> Response:
        position = _number(request.path_params["position"])
        if position is None:
            return _gone()
        try:
            trace = self._source.trace(request.path_params["tenant"], request.path_params["run"], position)
        except IntegrityError:
            return _damaged()
        if trace is None:
            return _gone()
        answer = _answer(
            request,
            trace,
            "application/zip",
            etag=hashlib.sha256(trace).hexdigest(),
            cache="private, no-store",
        )
        answer.headers["Content-Disposition"] = f'attachment; filename="trace-{position}.zip"'
        return answer

    def frame(self, request: Request) -> Response:
        sha256 = request.path_params["sha256"]
        if not _SHA256.fullmatch(sha256):
            return _gone()
        try:
            frame = self._source.frame(request.path_params["tenant"], request.path_params["run"], sha256)
        except IntegrityError:
            return _damaged()
        if frame is None:
            return _gone()
        if frame.deleted:
            headers = _PRIVATE | {"Cache-Control": "private, no-store"}
            return PlainTextResponse(f"{frame.deleted}\n", 410, headers=headers)
        if frame.withheld:
            answer = _answer(
                request, frame.content, frame.media_type, etag=frame.withheld, cache="private, no-cache"
            )
            answer.headers["X-Withheld"] = frame.withheld
            return answer
        media_type = frame.media_type if frame.media_type in _PICTURES else _OCTETS
        return _answer(
            request,
            frame.content,
            media_type,
            etag=sha256,
            cache="private, max-age=31536000, immutable",
        )


def not_recorded(error: ProofreelError) -> Response:
    """The opening couldn't be put on record, so nothing is shown."""
    return PlainTextResponse(
        f"Not shown, because the opening can't be recorded: {error}\n",
        503,
        headers=_PRIVATE | {"Cache-Control": "private, no-store"},
    )


def evidence_routes(source: FrameSource, access: Access, openings: Openings) -> list[Route]:
    """Routes over ``source``, each behind ``access``."""

    def guarded(handler: Callable[[Request], Response]) -> Callable[[Request], Response]:
        def endpoint(request: Request) -> Response:
            viewer = access.viewer(request)
            tenant = request.path_params["tenant"]
            if viewer is None or not same_origin(request) or not viewer.may_read(tenant):
                return _gone()
            answer = handler(request)
            if answer.status_code in {200, 304}:
                try:
                    for run in {request.path_params["run"], request.path_params.get("other")} - {None}:
                        openings.note(viewer, tenant, "run", run)
                except ProofreelError as error:
                    return not_recorded(error)
            return answer

        return endpoint

    endpoints = _Endpoints(source)
    return [
        Route("/manifest/{tenant}/{run}.json", guarded(endpoints.header)),
        Route("/manifest/{tenant}/{run}/{k}.json", guarded(endpoints.chunk)),
        Route("/frames/{tenant}/{run}/{sha256}", guarded(endpoints.frame)),
        Route("/aligned/{tenant}/{run}/{other}.json", guarded(endpoints.aligned)),
        Route("/events/{tenant}/{run}/{position}.json", guarded(endpoints.event)),
        Route("/traces/{tenant}/{run}/{position}.zip", guarded(endpoints.trace)),
    ]
