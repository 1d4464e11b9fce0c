"""One tree of errors: each says what is wrong, what to do next, and how a command ends."""

from __future__ import annotations

import inspect
import re

import pytest

from domain import errors
from domain.errors import (
    ClaimTaken,
    CommandRefused,
    ConfigError,
    EffectFailed,
    FormatTooNew,
    IntegrityError,
    OutcomeUnknown,
    ProofreelError,
    VersionConflict,
    WorldError,
)

ALL = [
    cls
    for _, cls in inspect.getmembers(errors, inspect.isclass)
    if issubclass(cls, Exception) and cls.__module__ == errors.__name__
]


def test_there_is_one_root_and_the_drawing_shows_every_error() -> None:
    assert all(issubclass(cls, ProofreelError) for cls in ALL)
    drawn = set(re.findall(r"[A-Z]\w+", (errors.__doc__ or "").split("::", 1)[1].split("Expected", 1)[0]))
    assert {cls.__name__ for cls in ALL} <= drawn


@pytest.mark.parametrize(
    ("cls", "parent", "exit_code"),
    [
        (VersionConflict, CommandRefused, 1),
        (ClaimTaken, CommandRefused, 1),
        (FormatTooNew, IntegrityError, 1),
        (EffectFailed, WorldError, 3),
        (OutcomeUnknown, WorldError, 3),
        (ConfigError, ProofreelError, 2),
    ],
)
def test_every_error_has_its_branch_and_exit_code(
    cls: type[ProofreelError], parent: type[ProofreelError], exit_code: int
) -> None:
    assert issubclass(cls, parent)
    assert cls.exit_code == exit_code


def test_an_unknown_outcome_is_never_taken_for_a_failed_effect() -> None:
    assert not issubclass(OutcomeUnknown, EffectFailed)
    assert not issubclass(EffectFailed, OutcomeUnknown)


def test_an_error_says_what_is_wrong_and_then_what_to_do() -> None:
    assert (
        str(ProofreelError("the disk is full", remedy="free some space"))
        == "the disk is full; free some space"
    )
    assert str(ProofreelError("the disk is full")) == "the disk is full"


def test_a_refusal_carries_its_rule_where_it_can_be_searched_for() -> None:
    refusal = CommandRefused("write.once", "the write was attempted before")
    assert refusal.rule == "write.once"
    assert str(refusal) == "the write was attempted before [write.once]"


def test_a_version_conflict_names_stream_and_versions() -> None:
    conflict = VersionConflict("task:t1", expected=3, found=5)
    assert (conflict.stream, conflict.expected, conflict.found) == ("task:t1", 3, 5)
    assert str(conflict) == (
        "stream task:t1 is at version 5, not 3 [version_conflict]; load the stream again and decide anew"
    )


def test_a_taken_claim_names_its_holder() -> None:
    taken = ClaimTaken(
        "acme:B1:mark_processed:1", holder_stream="task:t0", holder_principal="svc:b", since_us=7
    )
    assert taken.rule == "already_in_progress"
    assert (taken.holder_stream, taken.holder_principal, taken.since_us) == ("task:t0", "svc:b", 7)
    assert "claimed by task:t0 (svc:b)" in str(taken)


def test_damaged_bytes_are_placed_and_newer_ones_ask_for_an_upgrade() -> None:
    damaged = IntegrityError("hash differs", where="acme event 7")
    assert damaged.where == "acme event 7"
    assert str(damaged) == "acme event 7: hash differs; run 'proofreel fsck'"
    assert str(FormatTooNew("schema 99", where="x")).endswith("upgrade proofreel to read it")


@pytest.mark.parametrize(
    ("file", "line", "text"),
    [("a.yaml", 7, "a.yaml:7: bad"), ("a.yaml", 0, "a.yaml: bad"), ("", 0, "bad")],
)
def test_a_wrong_configuration_names_file_and_line(file: str, line: int, text: str) -> None:
    error = ConfigError("bad", file=file, line=line)
    assert (error.file, error.line) == (file, line)
    assert str(error) == text
