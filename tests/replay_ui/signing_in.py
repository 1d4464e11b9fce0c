"""A desk with access control, its provider, and sessions as a sign-in leaves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from itsdangerous import URLSafeTimedSerializer
from starlette.requests import HTTPConnection
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from replay_ui.oidc import AccessSettings, OidcAccess
from tests.support.openid import CLIENT, CLIENT_SECRET, Account

COOKIE_SECRET: Final = "a secret for signing sessions in tests"
ENVIRONMENT: Final = {"DESK_CLIENT_SECRET": CLIENT_SECRET, "DESK_COOKIE_SECRET": COOKIE_SECRET}
PLACE: Final = "http://127.0.0.1:8501"
LI_NA, OMAR, EVE, STRANGER = (
    Account("1", "li.na@example.com"),
    Account("2", "omar@example.com"),
    Account("3", "eve@example.com"),
    Account("4", "stranger@example.com"),
)
UNVERIFIED: Final = Account("5", "li.na@example.com", verified=False)


def settings(
    public_url: str = PLACE, metadata_url: str = "http://127.0.0.1:1/m", **provider: str | int
) -> dict[str, Any]:
    """``access.yaml`` as plain data: Li Na investigates and approves for acme, Omar audits it, Eve works for globex."""
    people = [
        {"claim": LI_NA.email, "principal": "person:li.na", "roles": {"acme": ["investigator", "approver"]}},
        {"claim": OMAR.email, "principal": "person:omar", "roles": {"acme": ["auditor"]}},
        {"claim": EVE.email, "principal": "person:eve", "roles": {"globex": ["investigator", "auditor"]}},
    ]
    section = {
        "metadata_url": metadata_url,
        "client_id": CLIENT,
        "client_secret_env": "DESK_CLIENT_SECRET",
        "cookie_secret_env": "DESK_COOKIE_SECRET",
    }
    return {"public_url": public_url, "oidc": section | provider, "people": people}


def written(folder: Path, content: dict[str, Any]) -> Path:
    """The file."""
    path = folder / "access.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def access(**options: Any) -> OidcAccess:  # noqa: ANN401 - as above
    """Access by ``settings``."""
    clock = {name: options.pop(name) for name in ("clock",) if name in options}
    return OidcAccess(msgspec.convert(settings(**options), AccessSettings), ENVIRONMENT, **clock)


def cookie(
    account: Account, *, secret: str = COOKIE_SECRET, salt: str = USER_COOKIE_NAME, **claims: object
) -> str:
    """Value of the cookie that a sign-in leaves."""
    said = {
        "iss": "https://login.example",
        "sub": account.subject,
        "email": account.email,
        "email_verified": account.verified,
        "origin": PLACE,
        "is_logged_in": True,
        "provider": "default",
    }
    return str(URLSafeTimedSerializer(secret, salt=salt).dumps(json.dumps(said | claims)))


def connection(value: str | None, *, path: str = "/", host: str = "127.0.0.1:8501") -> HTTPConnection:
    """A request with that cookie."""
    headers = [(b"host", host.encode())]
    if value is not None:
        headers.append((b"cookie", f"{USER_COOKIE_NAME}={value}".encode()))
    return HTTPConnection({"type": "http", "path": path, "headers": headers, "client": ("10.0.0.9", 4000)})
