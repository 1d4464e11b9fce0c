"""Access through an OpenID provider: who a connection belongs to, by the session that its sign-in left.

Rules enforced here:

- The provider says who somebody is; the configuration says what they may do. A person who isn't listed may nothing.
- A session is the cookie that Streamlit signs after a sign-in (``st.login``: authorization code with PKCE, nonce and
  state; the ID token checked by Authlib). Pages, routes and WebSockets check its signature, its age and the address it
  was made for on every request; there is no other way to say who one is, and no header is believed.
- An address of mail names a person only if the provider vouches for it (``email_verified``, OpenID Connect Core 5.1).
- Signing out ends the session on the server too: a copied cookie is worth nothing afterwards.
- The desk answers under its one public name only (DNS rebinding), over TLS unless all of it is on this machine.
- Secrets come from environment variables, never out of the file, and are shown nowhere.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal
from urllib.parse import SplitResult, urlsplit

import msgspec
from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import HTTPConnection
from streamlit.auth_util import get_cookie_with_chunks
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from domain.errors import ConfigError
from replay_ui.access import host_name, is_loopback
from replay_ui.roles import Role, Viewer

CALLBACK: Final = "/oauth2callback"
SIGN_OUT: Final = "/auth/logout"
SECRET_LENGTH: Final = 32
"""Characters that a secret for signing must have at least."""
_PORTS: Final = {"http": 80, "https": 443}


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all sections."""


class ProviderSection(_Strict, frozen=True, kw_only=True):
    """The OpenID provider, and this desk as its client."""

    metadata_url: str
    """``https://…/.well-known/openid-configuration``."""
    client_id: str
    client_secret_env: str
    """Variable with the client's secret."""
    cookie_secret_env: str
    """Variable with the secret that sessions are signed with; a new one ends every session."""
    claim: Literal["email", "sub"] = "email"
    """What people are listed by."""
    session_hours: Annotated[int, msgspec.Meta(ge=1, le=24)] = 8
    """How long a sign-in lasts."""


class PersonSection(_Strict, frozen=True, kw_only=True):
    """One person."""

    claim: str
    """Their mail address or subject, as the provider says it."""
    principal: str
    """Their name on record: ``person:li.na``."""
    roles: dict[str, list[Role]]
    """Tenant → roles."""


class AccessSettings(_Strict, frozen=True, kw_only=True):
    """``access.yaml``."""

    public_url: str
    """Where browsers reach the desk: scheme, host and port."""
    oidc: ProviderSection
    people: list[PersonSection]


class OidcAccess:
    """``access.Access`` by sessions of an OpenID provider.

    Args:
        settings: the configuration.
        environment: where the secrets are.
        clock: seconds since 1970; for tests.

    Raises:
        ConfigError: the configuration contradicts itself, or a secret is missing or short.
    """

    local_only = False

    def __init__(
        self,
        settings: AccessSettings,
        environment: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        _check_urls(settings)
        self._settings = settings
        self._cookie_secret = _secret(environment, settings.oidc.cookie_secret_env, SECRET_LENGTH)
        self._client_secret = _secret(environment, settings.oidc.client_secret_env, 1)
        self._people = _people(settings)
        self._place = urlsplit(settings.public_url)
        self._max_age_s = settings.oidc.session_hours * 3600
        self._clock = clock
        self._ended: dict[bytes, float] = {}
        self._lock = threading.Lock()

    @property
    def secure(self) -> bool:
        """Whether browsers reach the desk over TLS."""
        return self._place.scheme == "https"

    @property
    def public_host(self) -> str:
        """Name under which browsers reach the desk."""
        return self._place.hostname or ""

    def sign_in(self) -> dict[str, str]:
        """Streamlit's section ``auth``: holds secrets, for ``asgi.create_app`` alone."""
        return {
            "redirect_uri": self._settings.public_url.rstrip("/") + CALLBACK,
            "cookie_secret": self._cookie_secret,
            "client_id": self._settings.oidc.client_id,
            "client_secret": self._client_secret,
            "server_metadata_url": self._settings.oidc.metadata_url,
        }

    def admits(self, connection: HTTPConnection) -> bool:
        """Whoever calls the desk by its public name; who they are is asked afterwards."""
        if connection.scope.get("path") == SIGN_OUT:
            self._end(connection)
        return _same_place(connection.headers.get("host", ""), self._place)

    def account(self, connection: HTTPConnection) -> str:
        """Who is signed in, as people are listed; empty for nobody."""
        claims = self._claims(connection)
        return "" if claims is None else self._named(claims)

    def viewer(self, connection: HTTPConnection) -> Viewer | None:
        """The listed person whose session this is, or None."""
        claims = self._claims(connection)
        person = None if claims is None else self._people.get(self._named(claims))
        if person is None or claims is None:
            return None
        roles = {tenant: frozenset(names) for tenant, names in person.roles.items() if names}
        account = f"{claims.get('iss', '')} {claims.get('sub', '')}".strip()
        return Viewer(person.principal, frozenset(roles), roles, account)

    def _named(self, claims: Mapping[str, Any]) -> str:
        value = claims.get(self._settings.oidc.claim)
        if not isinstance(value, str):
            return ""
        if self._settings.oidc.claim == "sub":
            return value
        return value.casefold() if claims.get("email_verified") is True else ""

    def _claims(self, connection: HTTPConnection) -> Mapping[str, Any] | None:
        """Claims of a session that is signed by us, young enough, made for this address, and not ended."""
        cookies = connection.cookies
        if self._mark(cookies) in self._ended:
            return None
        payload = get_cookie_with_chunks(lambda name: self._opened(name, cookies), USER_COOKIE_NAME)
        try:
            claims = json.loads(payload) if payload else None
        except ValueError:
            return None
        if not isinstance(claims, dict) or claims.get("is_logged_in") is not True:
            return None
        return claims if claims.get("origin") == f"{self._place.scheme}://{self._place.netloc}" else None

    def _opened(self, name: str, cookies: Mapping[str, str]) -> bytes | None:
        serializer = URLSafeTimedSerializer(self._cookie_secret, salt=name)
        try:
            value, signed_at = serializer.loads(cookies.get(name, ""), return_timestamp=True)
        except BadData:
            return None
        age = self._clock() - signed_at.timestamp()
        return str(value).encode() if age <= self._max_age_s else None

    def _end(self, connection: HTTPConnection) -> None:
        """Remember that this session is over, until it would be by its age."""
        if self._claims(connection) is None:
            return
        now = self._clock()
        with self._lock:
            over = [mark for mark, until in self._ended.items() if until < now]
            for mark in over:
                del self._ended[mark]
            self._ended[self._mark(connection.cookies)] = now + self._max_age_s

    @staticmethod
    def _mark(cookies: Mapping[str, str]) -> bytes:
        return hashlib.sha256(cookies.get(USER_COOKIE_NAME, "").encode()).digest()


def _check_urls(settings: AccessSettings) -> None:
    named = (("public_url", settings.public_url), ("oidc.metadata_url", settings.oidc.metadata_url))
    for name, url in named:
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None:
            raise ConfigError(
                f"{name}: {url!r} is no address", remedy="give https://host or https://host:port"
            )
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise ConfigError(
                f"{name}: sessions must not travel in the clear",
                remedy="use https; http is for loopback only",
            )
    place = urlsplit(settings.public_url)
    if place.path not in {"", "/"} or place.query or place.fragment:
        raise ConfigError("public_url has a path", remedy="serve the desk under a host name of its own")


def _secret(environment: Mapping[str, str], name: str, length: int) -> str:
    value = environment.get(name, "")
    if len(value) < length:
        what = "is not set" if not value else f"is shorter than {length} characters"
        raise ConfigError(f"the environment variable {name} {what}", remedy="set it to a random secret")
    return value


def _people(settings: AccessSettings) -> dict[str, PersonSection]:
    people: dict[str, PersonSection] = {}
    for person in settings.people:
        name = person.claim.casefold() if settings.oidc.claim == "email" else person.claim
        if not name or name in people:
            raise ConfigError(
                f"people: {person.claim!r} is listed twice or empty", remedy="list each person once"
            )
        if not person.principal.startswith("person:"):
            raise ConfigError(
                f"people: {person.principal!r} is no name of a person", remedy="name it person:first.last"
            )
        people[name] = person
    return people


def _same_place(authority: str, place: SplitResult) -> bool:
    """Whether a ``Host`` header names the public address, its default port written or not."""
    try:
        port = urlsplit(f"//{authority}").port
    except ValueError:
        return False
    default = _PORTS[place.scheme]
    return host_name(authority) == place.hostname and (port or default) == (place.port or default)
