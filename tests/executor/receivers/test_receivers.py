"""Receiver verification: the four published behaviours, the verdicts, and the three receivers (C5)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from domain.errors import WorldError
from executor.config import Secret
from executor.readback import HttpSession
from executor.receivers.base import Expected, Record, as_check, judge, wait_for
from executor.receivers.file import FileReceiver
from executor.receivers.http import PortalReceiver, SubmissionsReceiver
from executor.receivers.registry import RECEIVERS, Asked
from executor.sandbox.portal.server import PortalThread
from executor.sandbox.practice.app import PracticeServer
from executor.sandbox.practice.book import CASE, READER, WRITER, Book, PracticeFault
from executor.sandbox.practice.offline import BookReceiver, intent_of
from executor.sandbox.story import intent_of as portal_intent

WANTED = Expected(fields={"reference": "CA-1001", "address": "new@x.example"})


def record(key: str, reference: str = "CA-1001", address: str = "new@x.example", **more: str) -> Record:
    return Record(key=key, fields={"reference": reference, "address": address, **more})


OLD = (record("1", "CA-1", "a@x.example"), record("2", "CA-2", "b@x.example"))


class Growing:
    """A receiver whose records arrive one look at a time."""

    name = "growing"

    def __init__(self, *looks: tuple[Record, ...] | WorldError) -> None:
        self._looks = list(looks)

    def records(self) -> tuple[Record, ...]:
        look = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        if isinstance(look, WorldError):
            raise look
        return look


# -- the four published behaviours -------------------------------------------------------------------------


def test_receiver_1_an_old_record_is_no_proof() -> None:
    before = (*OLD, record("3"))
    found = wait_for(Growing(before), before, WANTED, deadline_s=0)
    assert (found.verdict, found.ok, found.new_records) == ("old_record", False, 0)


def test_receiver_2_a_duplicate_is_no_proof() -> None:
    found = judge(OLD, (*OLD, record("3"), record("4")), WANTED)
    assert (found.verdict, found.ok, found.new_records) == ("duplicate", False, 2)
    assert "3, 4" in found.found


def test_receiver_3_another_address_is_no_proof() -> None:
    found = judge(OLD, (*OLD, record("3", address="thief@x.example")), WANTED)
    assert (found.verdict, found.ok) == ("foreign", False)
    assert (found.expected, found.found) == ("address=new@x.example", "record 3: address=thief@x.example")


def test_receiver_4_a_banner_is_no_proof() -> None:
    book = Book.usual(["banner_only"])
    before = BookReceiver(book).records()
    book.submit(CASE.values(), WRITER)
    assert book.banner == "Thank you: CA-1001 was received."
    found = wait_for(BookReceiver(book), before, Expected(fields=CASE.values()), deadline_s=0)
    assert (found.verdict, found.ok, found.new_records) == ("late", False, 0)


def test_not_there_yet_keeps_checking_until_the_time_is_up() -> None:
    now, slept = [0.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    late = Growing(OLD, OLD, WorldError("no connection"), (*OLD, record("3")))
    found = wait_for(late, OLD, WANTED, deadline_s=5, monotonic=lambda: now[0], sleep=sleep)
    assert (found.verdict, found.tries, len(slept)) == ("verified", 4, 3)
    never = wait_for(Growing(OLD), OLD, WANTED, deadline_s=5, monotonic=lambda: now[0], sleep=sleep)
    assert never.verdict == "late"
    assert never.tries > 10


def test_a_final_finding_is_not_waited_for() -> None:
    def refuse(_: float) -> None:
        pytest.fail("waited for what can't change")

    wrong = (*OLD, record("3", address="thief@x.example"))
    assert wait_for(Growing(wrong), OLD, WANTED, deadline_s=5, sleep=refuse).verdict == "foreign"


# -- verdicts ----------------------------------------------------------------------------------------------


def test_exactly_one_new_expected_record_is_verified() -> None:
    assert judge(OLD, (*OLD, record("3")), WANTED).ok
    assert judge((), (record("1"),), WANTED).ok
    assert judge(OLD, (*OLD, record("3", at="today")), WANTED).ok  # what the receiver adds by itself


def test_earlier_records_must_be_unchanged_and_in_order() -> None:
    new = record("3")
    assert judge(OLD, (OLD[1], OLD[0], new), WANTED).verdict == "reordered"
    assert judge(OLD, (OLD[0], new, OLD[1]), WANTED).verdict == "reordered"
    assert judge(OLD, (OLD[1], new), WANTED).verdict == "removed"
    edited = judge(OLD, (OLD[0], record("2", "CA-2", "c@x.example"), new), WANTED)
    assert (edited.verdict, edited.found) == ("edited", "address b@x.example → c@x.example")
    assert judge(OLD, (OLD[0], Record(key="2", fields={**OLD[1].fields, "x": "y"}), new), WANTED).found


def test_anything_beside_the_expected_record_is_foreign() -> None:
    found = judge(OLD, (*OLD, record("3"), record("4", "CA-9")), WANTED)
    assert (found.verdict, found.new_records) == ("foreign", 2)


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        ("late", "verified"),
        ("duplicate", "duplicate"),
        ("other_address", "foreign"),
        ("edits_old", "edited"),
        ("reorders", "reordered"),
        ("removes_old", "removed"),
    ],
)
def test_each_fault_of_the_form_has_its_verdict(fault: PracticeFault, verdict: str) -> None:
    book = Book.usual()
    receiver = BookReceiver(book)
    before = receiver.records()
    book.faults.add(fault)
    book.submit(CASE.values(), WRITER)
    found = wait_for(receiver, before, Expected(fields=CASE.values()), deadline_s=2, sleep=lambda _: None)
    assert found.verdict == verdict
    check = as_check(receiver, found)
    assert (check.verdict == "pass", check.decisive) == (verdict == "verified", False)


# -- the three receivers -----------------------------------------------------------------------------------


@contextmanager
def session(url: str, account: str, secret: str) -> Iterator[HttpSession]:
    made = HttpSession(
        url,
        account=account,
        secret=Secret(secret),
        login_path="/login",
        account_field="username",
        secret_field="password",
    )
    try:
        yield made
    finally:
        made.close()


def asked(http: HttpSession, code: str, writer: str) -> Asked:
    return Asked(
        session=http, intent=intent_of(CASE), code=code, writer=writer, known={"address": CASE.address}
    )


def test_the_practice_forms_submissions_are_read_over_http() -> None:
    book = Book.usual()
    with PracticeServer(book) as server, session(server.url, READER, server.passwords[READER]) as http:
        receiver, expected = RECEIVERS["practice-form"](asked(http, "submit", WRITER))
        before = receiver.records()
        assert [row.fields["reference"] for row in before] == ["CA-1002", "CA-1003"]
        book.submit(CASE.values(), WRITER)
        assert judge(before, receiver.records(), expected).ok
        book.submit({**CASE.values(), "address": "x@y.example"}, "mallory")
        assert judge(before, receiver.records(), expected).verdict == "foreign"
        with pytest.raises(WorldError, match="no list of records"):
            SubmissionsReceiver(http, "/api/me").records()


def test_the_portals_ledger_and_list_are_read_over_http(tmp_path: Path) -> None:
    with PortalThread(tmp_path / "portal.db", counts={"acme": 8}) as portal:
        reader = portal.accounts["readback-acme"]
        with session(portal.url, reader.name, reader.password) as http, portal.client("wang.li") as person:
            bill, other = [b for b in person.bills(size=20) if b["status"] == "pending"][:2]
            receiver, expected = RECEIVERS["vendor-portal"](
                Asked(
                    session=http,
                    intent=portal_intent(bill, "mark_processed", "processed"),
                    code="process",
                    writer="wang.li",
                    known={},
                )
            )
            before = receiver.records()
            assert judge(before, receiver.records(), expected).verdict == "not_yet"
            person.process(bill["id"])
            found = wait_for(receiver, before, expected, deadline_s=2)
            assert found.ok, found
            portal.control.switch_on("fake_success", other["id"])
            quiet = PortalReceiver(http, other["id"])
            seen = quiet.records()
            person.process(other["id"])
            assert wait_for(quiet, seen, expected, deadline_s=0.2).verdict == "late"


def test_a_file_is_read_line_by_line_and_a_half_line_is_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / "arrived.jsonl"
    receiver = FileReceiver(path, key="id")
    assert receiver.records() == ()
    path.write_text('{"id": "7", "reference": "CA-1", "amount": 12}\n{"id": "8", "refer', encoding="utf-8")
    assert receiver.records() == (Record(key="7", fields={"id": "7", "reference": "CA-1", "amount": "12"}),)
    path.write_text('{"id": "7"}\nnot json\n', encoding="utf-8")
    with pytest.raises(WorldError, match=r"arrived\.jsonl:2"):
        receiver.records()
    path.write_text("[1]\n", encoding="utf-8")
    with pytest.raises(WorldError, match="no record"):
        receiver.records()


def test_a_csv_file_has_a_header_and_whole_rows(tmp_path: Path) -> None:
    path = tmp_path / "arrived.csv"
    path.write_text("reference,address\nCA-1,a@x.example\n", encoding="utf-8")
    receiver = FileReceiver(path)
    before = receiver.records()
    assert before == (Record(key="1", fields={"reference": "CA-1", "address": "a@x.example"}),)
    with path.open("a", encoding="utf-8") as file:
        file.write("CA-1001,new@x.example\n")
    assert judge(before, receiver.records(), WANTED).ok
    path.write_text("reference,address\nCA-1\n", encoding="utf-8")
    with pytest.raises(WorldError, match="1 cells"):
        receiver.records()
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(WorldError, match="UTF-8"):
        receiver.records()
