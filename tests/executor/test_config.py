"""``proofreel.yaml``: what is wrong is refused with its file and line, and secrets never show."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from domain.errors import ConfigError
from executor.config import Secret, digest, load_config, rules_of, secret_of
from executor.recipe import load_recipe
from executor.sandbox.story import write_config

Changed = Callable[..., Path]
PASSWORD = "correct horse battery staple"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return write_config(tmp_path / "proofreel.yaml", origin="http://127.0.0.1:8800", language="zh")


@pytest.fixture
def changed(written: Path) -> Changed:
    """Write the configuration with some values changed: ``changed(target={"origin": …})``."""

    def change(**sections: object) -> Path:
        content: dict[str, Any] = yaml.safe_load(written.read_text(encoding="utf-8"))
        for name, value in sections.items():
            content[name] = {**content[name], **value} if isinstance(value, dict) else value
        written.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8")
        return written

    return change


def line_with(path: Path, text: str) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(
        number for number, line in enumerate(lines, 1) if line.lstrip(" -").startswith(text.lstrip(" -"))
    )


def refused(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as refusal:
        load_config(path)
    assert refusal.value.file == str(path)
    assert refusal.value.remedy
    assert "\n" not in str(refusal.value)
    return refusal.value


def test_a_usual_configuration_is_read(written: Path) -> None:
    config = load_config(written)
    assert config.domain_policy().approval_required == ("refund",)
    assert config.domain_policy().require_readback
    assert config.domain_budget().max_steps == 40
    assert config.domain_identity().tenants == ("acme",)
    assert config.person("person:li.na").kind == "person"


def test_what_is_left_out_has_the_published_default(tmp_path: Path, written: Path) -> None:
    content = yaml.safe_load(written.read_text(encoding="utf-8"))
    del content["write_policy"], content["budgets"]
    path = tmp_path / "short.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    config = load_config(path)
    assert config.write_policy.require_readback
    assert config.write_policy.forbid_visual_verdict
    assert (config.budgets.max_steps, config.budgets.stuck_frames) == (40, 3)
    assert (config.budgets.min_success_percent, config.budgets.success_after_steps) == (50, 8)


@pytest.mark.parametrize(
    ("section", "key"),
    [("write_policy", "forbid_visual_verdicts"), ("target", "orign"), ("budgets", "steps")],
)
def test_an_unknown_key_is_refused_with_its_line(changed: Changed, section: str, key: str) -> None:
    path = changed(**{section: {key: 1}})
    error = refused(path)
    assert f"unknown key {key!r}" in str(error)
    assert error.line == line_with(path, f"{key}:")


def test_an_unknown_key_in_a_list_is_refused_with_its_line(changed: Changed) -> None:
    path = changed(people=[{"principal": "person:li.na", "tenants": ["acme"], "role": "chief"}])
    assert refused(path).line == line_with(path, "role: chief")


def test_a_repeated_key_is_refused_with_both_lines(written: Path) -> None:
    text = written.read_text(encoding="utf-8") + "tenant: globex\n"
    written.write_text(text, encoding="utf-8")
    error = refused(written)
    assert error.line == len(text.splitlines())
    assert f"first in line {line_with(written, 'tenant: acme')}" in str(error)


@pytest.mark.parametrize(
    ("sections", "text"),
    [
        ({"write_policy": {"require_readback": "sometimes"}}, "require_readback:"),
        ({"write_policy": {"readback_sources": ["toast"]}}, "- toast"),
        ({"write_policy": {"approval_valid_s": 0}}, "approval_valid_s:"),
        ({"write_policy": {"readback_deadline_ms": -1}}, "readback_deadline_ms:"),
        ({"budgets": {"min_success_percent": 101}}, "min_success_percent:"),
        ({"budgets": {"max_steps": 0}}, "max_steps:"),
        ({"tools": {"ladder": ["telepathy"]}}, "- telepathy"),
        ({"version": 2}, "version:"),
        ({"tenant": 7}, "tenant:"),
    ],
)
def test_a_wrong_value_is_refused_with_its_line(
    changed: Changed, written: Path, sections: dict[str, Any], text: str
) -> None:
    content = yaml.safe_load(written.read_text(encoding="utf-8"))
    for name in sections:
        content.setdefault(name, {})
    written.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    path = changed(**sections)
    assert refused(path).line == line_with(path, text)


@pytest.mark.parametrize(
    ("sections", "line_of", "says"),
    [
        ({"tenant": "globex"}, "  tenants:", "may not act for tenant globex"),
        (
            {"target": {"readback": {"account": "svc-acme", "secret_env": "X"}}},
            "    account: svc-acme",
            "same account",
        ),
        ({"write_policy": {"readback_sources": []}}, "readback_sources:", "no readback source"),
        ({"write_policy": {"forbid_visual_verdict": False}}, "forbid_visual_verdict:", "visual verdicts"),
        ({"target": {"origin": "http://127.0.0.1:8800/bills"}}, "origin:", "is no origin"),
        ({"target": {"origin": "ftp://127.0.0.1"}}, "origin:", "is no origin"),
    ],
)
def test_a_contradiction_is_refused_with_the_line_that_is_wrong(
    changed: Changed, sections: dict[str, Any], line_of: str, says: str
) -> None:
    path = changed(**sections)
    error = refused(path)
    assert says in str(error)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[error.line - 1].startswith(line_of) or line_of in lines[error.line - 1]


@pytest.mark.parametrize(
    ("policy", "key"),
    [
        ({"require_readback": False}, "require_readback"),
        ({"approval_required": ["refund", "purchase"]}, "approval_required"),
    ],
)
def test_a_policy_that_contradicts_the_target_s_actions_is_refused_with_its_line(
    changed: Changed, policy: dict[str, Any], key: str
) -> None:
    path = changed(write_policy=policy)
    with pytest.raises(ConfigError) as refusal:
        rules_of(load_recipe("vendor-portal").rules(), load_config(path), str(path))
    assert refusal.value.line == line_with(path, f"{key}:")


def test_vision_never_performs_an_irreversible_write(written: Path) -> None:
    rules = dict(load_recipe("vendor-portal").rules())
    rules["refund"] = replace(rules["refund"], rungs=("browser", "computer_use"))
    with pytest.raises(ConfigError, match="vision never performs an irreversible write"):
        rules_of(rules, load_config(written), str(written))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"- a\n- b\n",
        b"tenant: [acme\n",
        b"tenant: \xff\xfe\n",
        b"tenant: a\x00b\n",
        b"a: &a [*a]\n",
        b"? [a, b]\n: c\n",
        b"1: 2\n",
        b"--- 1\n--- 2\n",
        b"just text\n",
        b"\t- a: b",
    ],
)
def test_a_file_that_is_no_configuration_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "proofreel.yaml"
    path.write_bytes(content)
    refused(path)


def test_a_file_that_multiplies_itself_by_aliases_is_refused_at_once(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
    path = tmp_path / "proofreel.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    refused(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    refused(tmp_path / "none.yaml")
    refused(tmp_path)


def test_the_digest_follows_the_content(changed: Changed, written: Path) -> None:
    before = digest(load_config(written))
    assert digest(load_config(written)) == before
    assert digest(load_config(changed(tenant="acme", budgets={"max_steps": 39}))) != before


# -- secrets -------------------------------------------------------------------------------------------------


def test_a_secret_shows_itself_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret(PASSWORD)
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").warning("log-in with %s, %r", secret, secret)
    shown = [
        str(secret),
        repr(secret),
        f"{secret}",
        f"{secret:>40}",
        f"{secret!s}",
        "%s" % secret,  # noqa: UP031 - one of the ways
        "{}".format(secret),  # noqa: UP032 - another
        repr([secret]),
        repr({"secret": secret}),
        str(ValueError(secret)),
        repr(ValueError(secret)),
        caplog.text,
    ]
    assert [text for text in shown if PASSWORD in text] == []
    assert secret[:] == PASSWORD
    assert type(secret[:]) is str


def test_a_secret_comes_from_the_environment_and_its_absence_names_the_variable(written: Path) -> None:
    section = load_config(written).target.service
    assert secret_of(section, {section.secret_env: PASSWORD})[:] == PASSWORD
    for environment in ({}, {section.secret_env: ""}, {"OTHER": PASSWORD}):
        with pytest.raises(ConfigError) as refusal:
            secret_of(section, environment)
        assert section.secret_env in str(refusal.value)
        assert PASSWORD not in str(refusal.value)


def test_an_unknown_person_is_refused_with_those_who_are_known(written: Path) -> None:
    with pytest.raises(ConfigError, match=r"no person 'person:nobody' is configured.*person:li\.na"):
        load_config(written).person("person:nobody")
