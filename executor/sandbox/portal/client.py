"""Two HTTP clients: a person at the screens (`PortalClient`), and the one who sets faults (`ControlClient`).

Rules of this module:

* The person's client does what a browser does: it logs in by the form, reads the hidden fields of the page and
  posts them. It works only while the pages have the classic design.
* No client repeats a post by itself.
"""

from __future__ import annotations

from html.parser import HTMLParser
from types import TracebackType
from typing import Any, Final, Self

import httpx

TIMEOUT_SECONDS: Final = 20.0


class PortalRefusedError(Exception):
    """The portal answered a step with something else than success."""

    def __init__(self, step: str, status_code: int, reason: str = "") -> None:
        """Say which step, with the HTTP status and the portal's word for it."""
        super().__init__(f"{step}: HTTP {status_code} {reason}".rstrip())
        self.step = step
        self.status_code = status_code
        self.reason = reason


class _HiddenFields(HTMLParser):
    def __init__(self, bill_id: str) -> None:
        super().__init__()
        self._bill_id = bill_id
        self._inside = False
        self.action = ""
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = values.get("data-bill-id") == self._bill_id
            if self._inside:
                self.action = values["action"]
        elif tag == "input" and self._inside and values.get("type") == "hidden":
            self.fields[values["name"]] = values["value"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False


class PortalClient:
    """A person with an account. Use as a context manager."""

    def __init__(self, url: str, account: str, password: str, *, lang: str | None = None) -> None:
        """Log in.

        Raises:
            PortalRefusedError: name or password is wrong.
        """
        self._http = httpx.Client(base_url=url, timeout=TIMEOUT_SECONDS, trust_env=False)
        query = {"lang": lang} if lang else {}
        answer = self._http.post("/login", params=query, data={"username": account, "password": password})
        if answer.status_code != httpx.codes.SEE_OTHER:
            self._http.close()
            raise PortalRefusedError("login", answer.status_code)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the session stays alive at the portal."""
        self._http.close()

    def me(self) -> dict[str, Any]:
        """Return account, tenant and role."""
        return self._json("/api/me")

    def bills(self, **wanted: str | int) -> list[dict[str, Any]]:
        """Return the bills that match `bill_id`, `counterparty`, `month`, `status` (at most 200)."""
        found: list[dict[str, Any]] = self._json("/api/bills", {"size": 200, **wanted})["bills"]
        return found

    def detail(self, bill_id: str) -> dict[str, Any]:
        """Return one bill with its history and its postings."""
        return self._json(f"/api/bills/{bill_id}")

    def form(self, bill_id: str) -> tuple[str, dict[str, str]]:
        """Return where the bill's form posts to and its hidden fields, as the detail page has them."""
        page = self._http.get(f"/bills/{bill_id}")
        if page.status_code != httpx.codes.OK:
            raise PortalRefusedError("detail", page.status_code)
        parser = _HiddenFields(bill_id)
        parser.feed(page.text)
        return parser.action, parser.fields

    def act(self, bill_id: str, action: str, **changed: str) -> dict[str, Any]:
        """Post one action (`process`, `refund`, `undo`) as the page would; return the portal's answer.

        Raises:
            PortalRefusedError: it answered anything but success.
        """
        answer = self.post(bill_id, action, **changed)
        body: dict[str, Any] = answer.json()
        if answer.status_code != httpx.codes.OK:
            raise PortalRefusedError(action, answer.status_code, str(body.get("error", "")))
        return body

    def post(self, bill_id: str, action: str, **changed: str) -> httpx.Response:
        """Post one action, with some fields changed, and return the answer whatever it is."""
        path, fields = self.form(bill_id)
        return self.post_form(path, {**fields, "action": action, **changed})

    def post_form(self, path: str, fields: dict[str, str]) -> httpx.Response:
        """Post any fields to any path of the portal in this session."""
        return self._http.post(path, data=fields)

    def process(self, bill_id: str) -> dict[str, Any]:
        """Mark a bill as processed."""
        return self.act(bill_id, "process")

    def refund(self, bill_id: str) -> dict[str, Any]:
        """Refund a processed bill."""
        return self.act(bill_id, "refund")

    def undo(self, bill_id: str) -> dict[str, Any]:
        """Take the last action back."""
        return self.act(bill_id, "undo")

    def hold(self, bill_id: str, note: str) -> None:
        """Put a bill on hold by the form on its page."""
        self._hold(bill_id, do="place", note=note)

    def lift_hold(self, bill_id: str) -> None:
        """Lift a hold by the form on the bill's page."""
        self._hold(bill_id, do="lift")

    def _hold(self, bill_id: str, **fields: str) -> None:
        csrf = self.form(bill_id)[1]["csrf"]
        answer = self._http.post(f"/bills/{bill_id}/hold", data={"csrf": csrf, **fields})
        if answer.status_code != httpx.codes.SEE_OTHER:
            raise PortalRefusedError("hold", answer.status_code)

    def settlement(self, month: str, *, encoding: str = "utf-8", backtick: bool = False) -> bytes:
        """Return a month's settlement file, byte for byte."""
        query = {"encoding": encoding, **({"backtick": "1"} if backtick else {})}
        answer = self.get(f"/settlement/{month}.csv", query)
        if answer.status_code != httpx.codes.OK:
            raise PortalRefusedError("settlement", answer.status_code)
        return answer.content

    def get(self, path: str, query: dict[str, Any] | None = None) -> httpx.Response:
        """Return any page; redirects are not followed."""
        return self._http.get(path, params=query)

    def _json(self, path: str, query: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = self.get(path, query)
        if answer.status_code != httpx.codes.OK:
            raise PortalRefusedError(path, answer.status_code)
        body: dict[str, Any] = answer.json()
        return body


class ControlClient:
    """Sets faults from outside."""

    def __init__(self, url: str, token: str) -> None:
        """Talk to the portal at `url` with its control token."""
        self._http = httpx.Client(
            base_url=url, timeout=TIMEOUT_SECONDS, trust_env=False, headers={"X-Control-Token": token}
        )

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def switch_on(
        self,
        name: str,
        bill_id: str = "*",
        *,
        times: int | None = None,
        skip: int = 0,
        **params: str | int | bool,
    ) -> int:
        """Switch a fault on; see `FaultBoard.switch_on`. Returns its number."""
        body = {"name": name, "bill_id": bill_id, "times": times, "skip": skip, "params": params}
        return int(self._command("faults", body)["id"])

    def switch_off(self, name: str | None = None, bill_id: str | None = None) -> None:
        """Switch faults off; None stands for any."""
        self._command("off", {"name": name, "bill_id": bill_id})

    def fire(self, name: str, bill_id: str = "*", **params: str | int | bool) -> None:
        """Let a page or server fault happen now."""
        self._command("fire", {"name": name, "bill_id": bill_id, "params": params})

    def expire(self, account: str | None = None) -> int:
        """End all sessions of an account, or of everybody; return how many."""
        return int(self._command("expire", {"account": account})["ended"])

    def reset(self) -> None:
        """Switch everything off, forget waiting jobs, restore all rights."""
        self._command("reset", {})

    def state(self) -> dict[str, Any]:
        """Return the faults that are on, the registry, and how many jobs wait."""
        answer = self._http.get("/_control/state")
        return self._checked("state", answer)

    def _command(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._checked(name, self._http.post(f"/_control/{name}", json=body))

    def _checked(self, name: str, answer: httpx.Response) -> dict[str, Any]:
        body: dict[str, Any] = answer.json()
        if answer.status_code != httpx.codes.OK:
            raise PortalRefusedError(name, answer.status_code, str(body.get("error", "")))
        return body
