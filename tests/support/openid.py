"""A small OpenID provider on loopback: discovery, authorization code with PKCE, signed ID tokens, end of session.

It checks what a provider must check (client, redirect address, code used once, its verifier, the client's secret), so
that a desk that forgets one of these can't sign anybody in (OpenID Connect Core 1.0, RFC 7636).
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.support.servers import serving

CLIENT = "proofreel"
CLIENT_SECRET = "a client's secret on loopback"


@dataclass(frozen=True)
class Account:
    """Somebody whom the provider knows."""

    subject: str
    email: str
    verified: bool = True


@dataclass
class Grant:
    """A code that was given out."""

    account: Account
    redirect_uri: str
    challenge: str
    nonce: str


@dataclass
class Provider:
    """The provider's state; ``url`` is set once it serves."""

    accounts: dict[str, Account]
    url: str = ""
    grants: dict[str, Grant] = field(default_factory=dict)
    signed_out: list[str] = field(default_factory=list)
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "1", "use": "sig"}))

    @property
    def metadata_url(self) -> str:
        """Where discovery starts."""
        return f"{self.url}/.well-known/openid-configuration"

    def metadata(self, _request: Request) -> Response:
        """What there is (OpenID Connect Discovery 1.0)."""
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "end_session_endpoint": f"{self.url}/end",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    def keys(self, _request: Request) -> Response:
        """The public key."""
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})

    def authorize(self, request: Request) -> Response:
        """Ask who it is; with ``as`` the answer."""
        asked = request.query_params
        if asked.get("client_id") != CLIENT or asked.get("response_type") != "code":
            return PlainTextResponse("unknown client", 400)
        if asked.get("code_challenge_method") != "S256" or not asked.get("nonce"):
            return PlainTextResponse("a challenge and a nonce are needed", 400)
        name = asked.get("as")
        if name is None:
            links = (f'<a href="?{urlencode({**asked, "as": one})}">{one}</a>' for one in self.accounts)
            return HTMLResponse("<title>Provider</title>" + " ".join(links).replace("&", "&amp;"))
        code = secrets.token_urlsafe()
        self.grants[code] = Grant(
            self.accounts[name], asked["redirect_uri"], asked["code_challenge"], asked["nonce"]
        )
        return RedirectResponse(
            f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"
        )

    async def token(self, request: Request) -> Response:
        """A code against an ID token, once."""
        form = {name: str(value) for name, value in (await request.form()).items()}
        basic = base64.b64encode(f"{CLIENT}:{CLIENT_SECRET}".encode()).decode()
        in_form = form.get("client_id") == CLIENT and form.get("client_secret") == CLIENT_SECRET
        if request.headers.get("authorization") != f"Basic {basic}" and not in_form:
            return JSONResponse({"error": "invalid_client"}, 401)
        grant = self.grants.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        verified = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if grant is None or grant.challenge != verified or grant.redirect_uri != form.get("redirect_uri"):
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse(
            {
                "access_token": secrets.token_urlsafe(),
                "token_type": "Bearer",
                "expires_in": 300,
                "id_token": self.id_token(grant),
            }
        )

    def id_token(self, grant: Grant) -> str:
        """Who signed in, signed."""
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": grant.account.subject,
            "email": grant.account.email,
            "email_verified": grant.account.verified,
            "nonce": grant.nonce,
            "iat": now,
            "exp": now + 300,
        }
        return jwt.encode({"alg": "RS256", "kid": "1"}, claims, self.key)

    def end(self, request: Request) -> Response:
        """The end of a session at the provider."""
        self.signed_out.append(request.query_params.get("client_id", ""))
        return RedirectResponse(request.query_params["post_logout_redirect_uri"])


@contextmanager
def openid_provider(*accounts: Account) -> Iterator[Provider]:
    """A provider that knows ``accounts``, by the part of their address before the @."""
    provider = Provider({account.email.partition("@")[0]: account for account in accounts})
    routes = [
        Route("/.well-known/openid-configuration", provider.metadata),
        Route("/keys", provider.keys),
        Route("/authorize", provider.authorize),
        Route("/token", provider.token, methods=["POST"]),
        Route("/end", provider.end),
    ]
    with serving(Starlette(routes=routes)) as url:
        provider.url = url
        yield provider
