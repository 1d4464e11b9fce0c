"""Bad input ends in one line that names the remedy and in the right exit code, never in a traceback."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from domain.ids import TaskId
from executor.sandbox.story import write_batch
from tests.executor.cli.conftest import Command, every_command

ALL = dict(every_command())

NEEDS_CONFIG = [
    ("run", "batch.yaml"),
    ("recover",),
    ("tasks",),
    ("approvals", "list"),
    ("approvals", "grant", "T", "--as", "person:li.na"),
    ("takeover", "list"),
    ("takeover", "take", "T", "--as", "person:li.na"),
    ("takeover", "resolve", "T", "effect_absent", "--as", "person:li.na", "--note", "n"),
    ("alerts", "list"),
    ("alerts", "resend"),
    ("compensate", "T", "--as", "person:li.na", "--reason", "r"),
    ("settlement", "fetch", "--month", "2026-11"),
    ("settlement", "import", "november.csv", "--month", "2026-11"),
    ("settlement", "compare", "--month", "2026-11"),
    ("reconcile", "--month", "2026-11"),
    ("cases", "list"),
    ("cases", "show", "C"),
    ("cases", "note", "C", "asked", "--as", "person:li.na"),
    ("cases", "sign-off", "C", "--digest", "0123456789ab", "--as", "person:li.na"),
    ("cases", "reopen", "C", "--reason", "r", "--as", "person:li.na"),
    ("export", "--bill", "B1", "-o", "out.zip"),
    ("redact", "frame", "0" * 64, "--region", "1,1,1,1", "--basis", "b", "--as", "person:li.na"),
    ("redact", "field", "E", "--field", "title", "--basis", "b", "--as", "person:li.na"),
    ("redact", "document", "0" * 64, "--basis", "b", "--as", "person:li.na"),
    ("redact", "approve", "R", "--as", "person:li.na"),
    ("redact", "deny", "R", "--as", "person:li.na"),
    ("redact", "list"),
    ("hold", "place", "--basis", "b", "--as", "person:li.na"),
    ("hold", "release", "H", "--basis", "b", "--as", "person:li.na"),
    ("hold", "list"),
    ("retention", "plan"),
    ("retention", "apply", "--as", "person:li.na"),
    ("redact", "commit"),
    ("fsck",),
    ("metrics", "show", "--month", "2026-11"),
    ("metrics", "canary", "--since", "2026-11-01", "--until", "2026-11-15"),
    (
        "metrics",
        "accept",
        "completion",
        "--since",
        "2026-11-01",
        "--until",
        "2026-11-15",
        "--as",
        "person:li.na",
    ),
    ("report", "--month", "2026-11", "-o", "november"),
    ("ocel", "-o", "record.ocel.json"),
    ("bills", "-o", "bills.csv"),
]
names = pytest.mark.parametrize("name", NEEDS_CONFIG, ids=lambda name: " ".join(name[:2]))


@names
def test_a_missing_configuration_is_bad_use_with_a_remedy(
    proofreel: Command, desk: Path, name: tuple[str, ...]
) -> None:
    (desk / "proofreel.yaml").unlink()
    done = proofreel(*name)
    assert done.code == 2
    assert re.search(r"--config|--store", done.word)


@names
@pytest.mark.parametrize("spoiled", ["tenant: [acme", "tenant: acme\nrecrod: {}\n", "\x00", "just text"])
def test_a_bad_configuration_is_refused_with_file_and_line(
    proofreel: Command, desk: Path, name: tuple[str, ...], spoiled: str
) -> None:
    (desk / "proofreel.yaml").write_text(spoiled, encoding="utf-8")
    done = proofreel(*name)
    assert done.code == 2
    assert done.word.startswith("proofreel: proofreel.yaml:")


@names
@pytest.mark.parametrize(
    "store",
    [
        "nonsense",
        "mysql://h/db",
        "sqlite:///",
        "sqlite:////proc/none/record.db",
        "postgresql+psycopg://u:correct@127.0.0.1:9/db",
    ],
)
def test_a_record_that_can_not_be_opened_is_told_in_one_line(
    proofreel: Command, desk: Path, name: tuple[str, ...], store: str
) -> None:
    (desk / "november.csv").write_bytes(b"x")
    write_batch(desk / "batch.yaml", "november", [ORDER])
    done = proofreel(*name, "--store", store)
    assert done.code in {2, 3}
    assert done.word.startswith("proofreel: ")
    assert "correct@" not in done.err, "a URL's password is not repeated"


@pytest.mark.parametrize("name", [("tasks",), ("run", "batch.yaml"), ("fsck",)])
def test_no_part_of_a_store_url_s_password_is_told(
    proofreel: Command, desk: Path, name: tuple[str, ...]
) -> None:
    write_batch(desk / "batch.yaml", "november", [ORDER])
    done = proofreel(*name, "--store", "postgresql+psycopg://joe:top@secret@127.0.0.1:9/db")
    assert done.code == 2
    assert "write it as %40" in done.err
    assert "secret" not in done.err + done.out
    assert "top" not in done.err + done.out


@names
def test_an_empty_record_is_no_accident(proofreel: Command, desk: Path, name: tuple[str, ...]) -> None:
    done = proofreel(*name, "--store", f"sqlite:///{desk}/none.db")
    assert done.code in {0, 1, 2, 3}
    if done.code:
        assert done.word.startswith("proofreel: ")


ORDER = {
    "bill": "CY202611-0001",
    "action": "mark_processed",
    "counterparty": "北风贸易",
    "amount": "1434.74",
    "currency": "CNY",
    "month": "2026-11",
}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "can't be read"),
        ("", "is empty"),
        ("batch: [", "not YAML"),
        ("batch: b\ntenant: acme\norders: []\n", "has 0 orders"),
        ("batch: b\ntenant: acme\norder: []\n", "unknown key 'order'"),
        ("batch: b\ntenant: acme\norders:\n- {bill: B}\n", "missing required field"),
    ],
)
def test_a_bad_batch_is_refused_with_its_file(
    proofreel: Command, desk: Path, content: str | None, says: str
) -> None:
    if content is not None:
        (desk / "batch.yaml").write_text(content, encoding="utf-8")
    done = proofreel("run", "batch.yaml")
    assert done.code == 2
    assert says in done.word
    assert "batch.yaml" in done.word


def test_a_missing_password_names_its_variable(
    proofreel: Command, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_batch(desk / "batch.yaml", "november", [ORDER])
    monkeypatch.delenv("PROOFREEL_DEMO_SERVICE")
    done = proofreel("run", "batch.yaml")
    assert done.code == 2
    assert "set the environment variable PROOFREEL_DEMO_SERVICE" in done.word


def test_a_browser_that_is_not_there_is_told_with_its_remedy(
    proofreel: Command, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_batch(desk / "batch.yaml", "november", [ORDER])
    monkeypatch.setenv("PROOFREEL_CHROMIUM", "/nonexistent/chromium")
    done = proofreel("run", "batch.yaml")
    assert done.code == 2
    assert "PROOFREEL_CHROMIUM=/nonexistent/chromium" in done.word


def test_a_target_that_is_down_is_the_world_s_failure(proofreel: Command, desk: Path) -> None:
    done = proofreel("settlement", "fetch", "--month", "2026-11")
    assert done.code == 3
    assert "check that the target is up" in done.word


@pytest.mark.browser
def test_a_run_against_a_target_that_is_down_is_the_world_s_failure(proofreel: Command, desk: Path) -> None:
    write_batch(desk / "batch.yaml", "november", [ORDER])
    done = proofreel("run", "batch.yaml")
    assert done.code == 3
    assert done.word.startswith("proofreel: ")


@pytest.mark.parametrize(
    "name",
    [
        ("tasks", "--tenant", "globex"),
        ("export", "--tenant", "globex", "--bill", "B1", "-o", "x.zip"),
        ("reconcile", "--tenant", "globex", "--month", "2026-11"),
    ],
    ids=lambda name: name[0],
)
def test_an_unknown_tenant_is_refused_with_those_that_are_there(
    proofreel: Command, recorded: Mapping[str, TaskId], name: tuple[str, ...]
) -> None:
    done = proofreel(*name)
    assert done.code == 2
    assert done.word == "proofreel: the record has no tenant 'globex'; it has: acme"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (("approvals", "grant", "T", "--as", "person:nobody"), "no person 'person:nobody'"),
        (("approvals", "grant", "T", "--as", "person:li.na"), "no task T"),
        (("takeover", "take", "T", "--as", "person:li.na"), "no task T"),
        (("export", "-o", "x.zip"), ""),
        (("export", "--bill", "NONE", "-o", "x.zip"), ""),
        (("export", "--bill", "CY202611-0001", "-o", "none/x.zip"), ""),
        (("export", "--break", "B", "-o", "x.zip"), "--month"),
        (("export", "--break", "B", "--month", "2026-11", "-o", "x.zip"), "settlement fetch"),
        (("reconcile", "--month", "2026-11"), "settlement fetch --month 2026-11"),
        (("cases", "show", "C"), "cases list"),
        (("cases", "note", "C", "asked", "--as", "person:li.na"), "cases list"),
        (("settlement", "import", "none.csv", "--month", "2026-11"), "none.csv"),
        (("settlement", "import", "proofreel.yaml", "--month", "2026-11", "--profile", "none"), "none"),
        (("settlement", "import", "proofreel.yaml", "--month", "november"), ""),
        (("verify", "none.zip"), "none.zip"),
        (("compensate", "T", "--as", "person:li.na", "--reason", "r"), ""),
        (("keys", "show", "none.key"), ""),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_what_is_not_there_is_told_in_one_line(
    proofreel: Command, recorded: Mapping[str, TaskId], name: tuple[str, ...], says: str
) -> None:
    done = proofreel(*name)
    assert done.code in {1, 2, 3}
    assert done.word.startswith("proofreel: ")
    assert says in done.word


def test_a_file_that_is_no_bundle_does_not_verify(proofreel: Command, desk: Path) -> None:
    for content in (b"", b"not a zip", b"PK\x03\x04" + bytes(100)):
        (desk / "x.zip").write_bytes(content)
        assert proofreel("verify", "x.zip").code == 1


def test_a_stop_by_the_user_says_how_to_go_on(
    proofreel: Command, recorded: Mapping[str, TaskId], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("executor.cli.run_commands.run_keys", stop)
    done = proofreel("tasks")
    assert done.code == 130
    assert "run the command again" in done.err.splitlines()[-1]


def test_the_demo_clears_no_folder_that_it_did_not_make(proofreel: Command, desk: Path) -> None:
    done = proofreel("demo", "--no-ui", "--dir", desk)
    assert done.code == 2
    assert (desk / "proofreel.yaml").exists()


def test_the_list_above_knows_every_command_that_reads_a_configuration() -> None:
    """A new command with ``--config`` joins ``NEEDS_CONFIG``, or this fails."""
    known = {name[:2] if name[:2] in ALL else name[:1] for name in NEEDS_CONFIG}
    reading = {name for name, command in ALL.items() if any(p.name == "config_path" for p in command.params)}
    assert reading - known == {("serve",), ("checkpoint",), ("approvals", "deny"), ("drill",)}
