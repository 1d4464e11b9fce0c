"""Sessions of an OpenID provider: whose they are, for how long, and what is no session."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import ConfigError
from executor.yaml_source import load_yaml
from replay_ui.access import check_bind
from replay_ui.oidc import SIGN_OUT, AccessSettings, OidcAccess
from replay_ui.roles import RIGHTS, ROLES, Right, Role, Viewer
from tests.replay_ui.signing_in import (
    ENVIRONMENT,
    EVE,
    LI_NA,
    OMAR,
    STRANGER,
    UNVERIFIED,
    access,
    connection,
    cookie,
    settings,
    written,
)


def test_a_listed_person_has_their_roles_at_their_tenants_and_nowhere_else() -> None:
    viewer = access().viewer(connection(cookie(LI_NA)))
    assert viewer is not None
    assert viewer.name == "person:li.na"
    assert viewer.account == "https://login.example 1"
    assert viewer.may("read", "acme")
    assert viewer.may("approve", "acme")
    assert not viewer.may("export", "acme")
    assert not viewer.may("take_over", "acme")
    assert not any(viewer.may(right, "globex") for right in ("read", "approve", "export", "take_over"))
    assert viewer.roles_at("acme") == ("approver", "investigator")


@pytest.mark.parametrize(
    ("role", "rights"),
    [
        ("investigator", {"read"}),
        ("approver", {"read", "approve"}),
        ("auditor", {"read", "export"}),
        ("operator", {"read", "take_over"}),
    ],
)
def test_a_role_gives_its_rights_and_no_other(role: Role, rights: set[Right]) -> None:
    viewer = Viewer("person:x", {"acme"}, {"acme": frozenset({role})})
    everything: set[Right] = {"read", "approve", "export", "take_over"}
    assert {right for right in everything if viewer.may(right, "acme")} == rights
    assert set(RIGHTS) == set(ROLES)


def test_the_single_user_of_a_machine_has_every_right() -> None:
    viewer = Viewer("person:local", {"acme"})
    assert viewer.may("export", "acme")
    assert viewer.may("take_over", "acme")
    assert not viewer.may("read", "globex")
    assert viewer.roles_at("acme") == ()


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "nonsense",
        cookie(LI_NA, secret="another secret of the same length..."),
        cookie(LI_NA, salt="_streamlit_user_tokens"),
        cookie(LI_NA, origin="http://127.0.0.1:9999"),
        cookie(LI_NA, is_logged_in=False),
        cookie(LI_NA, is_logged_in="true"),
        cookie(LI_NA)[:-2] + "xx",
        cookie(UNVERIFIED),
        cookie(LI_NA, email_verified="true"),
        cookie(LI_NA, email=["li.na@example.com"]),
        cookie(STRANGER),
    ],
    ids=lambda value: str(value)[:8],
)
def test_what_is_no_session_of_a_listed_person_shows_nothing(value: str | None) -> None:
    assert access().viewer(connection(value)) is None


def test_a_stranger_is_named_so_that_they_can_ask_for_access() -> None:
    desk = access()
    assert desk.account(connection(cookie(STRANGER))) == "stranger@example.com"
    assert desk.account(connection(cookie(UNVERIFIED))) == ""
    assert desk.account(connection(None)) == ""


def test_mail_addresses_are_compared_without_case() -> None:
    viewer = access().viewer(connection(cookie(LI_NA, email="Li.Na@Example.com")))
    assert viewer is not None


def test_people_can_be_listed_by_subject_and_then_mail_says_nothing() -> None:
    listed = settings(claim="sub")
    listed["people"] = [{"claim": "1", "principal": "person:li.na", "roles": {"acme": ["auditor"]}}]
    desk = OidcAccess(_read(listed), ENVIRONMENT)
    assert desk.viewer(connection(cookie(LI_NA, email="else@example.com"))) is not None
    assert desk.viewer(connection(cookie(OMAR, email=LI_NA.email))) is None


def test_a_session_ends_by_its_age() -> None:
    value = cookie(LI_NA)
    now = time.time()
    assert access(clock=lambda: now + 8 * 3600 - 60).viewer(connection(value)) is not None
    assert access(clock=lambda: now + 8 * 3600 + 60).viewer(connection(value)) is None


def test_signing_out_ends_the_session_for_every_copy_of_its_cookie() -> None:
    desk = access()
    mine, other = cookie(LI_NA), cookie(OMAR)
    assert desk.viewer(connection(mine)) is not None
    assert desk.admits(connection(mine, path=SIGN_OUT))
    assert desk.viewer(connection(mine)) is None
    assert desk.account(connection(mine)) == ""
    assert desk.viewer(connection(other)) is not None
    assert desk.viewer(connection(cookie(LI_NA, nonce="next"))) is not None


def test_what_is_no_session_is_not_remembered_as_ended() -> None:
    desk = access()
    for number in range(50):
        desk.admits(connection(f"made-up-{number}", path=SIGN_OUT))
    assert not desk._ended  # noqa: SLF001 - memory that a stranger could fill


@pytest.mark.parametrize(
    ("url", "host", "admitted"),
    [
        ("https://desk.example", "desk.example", True),
        ("https://desk.example", "desk.example:443", True),
        ("https://desk.example", "desk.example:80", False),
        ("https://desk.example:8443", "desk.example:8443", True),
        ("https://desk.example", "evil.example", False),
        ("https://desk.example", "desk.example.evil.example", False),
        ("https://desk.example", "", False),
        ("https://desk.example", "desk.example:x", False),
    ],
)
def test_the_desk_answers_under_its_public_name_only(url: str, host: str, admitted: bool) -> None:  # noqa: FBT001 - a column
    desk = access(public_url=url, metadata_url="https://login.example/m")
    assert desk.admits(connection(None, host=host)) is admitted
    assert desk.secure


def test_with_access_control_the_desk_may_be_served_to_a_network() -> None:
    check_bind("0.0.0.0", access())  # noqa: S104 - what this is about


def _short(content: dict[str, Any]) -> None:
    content["oidc"]["cookie_secret_env"] = "DESK_SHORT"


def _unset(content: dict[str, Any]) -> None:
    content["oidc"]["client_secret_env"] = "DESK_NOT_SET"


def _twice(content: dict[str, Any]) -> None:
    content["people"].append(content["people"][0] | {"claim": "LI.NA@example.com"})


def _machine(content: dict[str, Any]) -> None:
    content["people"][0]["principal"] = "svc:acme-batch"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda content: content.update(public_url="http://desk.example"), "in the clear"),
        (lambda content: content["oidc"].update(metadata_url="http://login.example/m"), "in the clear"),
        (lambda content: content.update(public_url="desk.example"), "is no address"),
        (lambda content: content.update(public_url="https://me:pw@desk.example"), "is no address"),
        (lambda content: content.update(public_url="https://desk.example/desk"), "has a path"),
        (_short, "DESK_SHORT is shorter than 32"),
        (_unset, "DESK_NOT_SET is not set"),
        (_twice, "listed twice"),
        (_machine, "no name of a person"),
    ],
)
def test_a_configuration_that_would_let_somebody_in_by_mistake_is_refused(
    change: Callable[[dict[str, Any]], None], says: str
) -> None:
    content = settings()
    change(content)
    with pytest.raises(ConfigError, match=says):
        OidcAccess(_read(content), ENVIRONMENT | {"DESK_SHORT": "short"})


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda content: content["people"][0]["roles"].update(acme=["root"]), "role"),
        (lambda content: content["oidc"].update(session_hours=1000), "session_hours"),
        (lambda content: content.update(everybody=True), "everybody"),
    ],
)
def test_an_unknown_role_or_key_is_refused_with_its_place(
    change: Callable[[dict[str, Any]], None], line: str, tmp_path: Path
) -> None:
    content = settings()
    change(content)
    with pytest.raises(ConfigError, match=rf"access\.yaml.*{line}"):
        load_yaml(written(tmp_path, content), AccessSettings)


def test_secrets_are_in_no_text_that_is_shown() -> None:
    desk = access()
    secrets = set(ENVIRONMENT.values())
    assert not any(secret in f"{desk!r} {vars(AccessSettings)}" for secret in secrets)
    assert {desk.sign_in()["client_secret"], desk.sign_in()["cookie_secret"]} == secrets


def test_another_tenants_people_read_nothing_here() -> None:
    viewer = access().viewer(connection(cookie(EVE)))
    assert viewer is not None
    assert not viewer.may_read("acme")


def _read(content: dict[str, Any]) -> AccessSettings:
    return msgspec.convert(content, AccessSettings)
