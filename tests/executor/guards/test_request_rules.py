"""What a request must say to be let out; decided without a browser."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from domain.values import Check
from executor.guards.request_rules import SeenRequest, judge_request, origin_of, read_request
from tests.executor.guards.support import FORM, INTENT, RULE

URL = "https://vendor.example/bills/INV-4114/actions"
BODY = {**FORM, "action": "approve", "csrf": "tok-9"}
FORM_TYPE = "application/x-www-form-urlencoded"


def sent(url: str = URL, method: str = "POST", **changed: str) -> SeenRequest:
    return read_request(method, url, FORM_TYPE, urlencode({**BODY, **changed}).encode())


def judged(seen: SeenRequest, before: int = 0) -> Check:
    return judge_request(seen, RULE, INTENT, before=before)


def test_the_one_intended_request_passes() -> None:
    assert judged(sent()).verdict == "pass"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("amount", "143474"),
        ("currency", "USD"),
        ("month", "2026-12"),
        ("bill_id", "INV-4115"),
        ("counterparty_id", "V777"),
        ("action", "approve_all"),
    ],
)
def test_a_wrong_body_field_is_a_mismatch_with_expected_and_found(field: str, value: str) -> None:
    check = judged(sent(**{field: value}))
    assert check.verdict == "request_mismatch"
    assert f"{field}={value}" in check.found


def test_another_path_method_or_bill_is_a_mismatch() -> None:
    everything = judged(sent("https://vendor.example/bills/all/actions"))
    assert everything.found.startswith("request=POST /bills/all/actions")
    assert judged(sent("https://vendor.example/bills/INV-4115/actions")).verdict == "request_mismatch"
    assert judged(sent(method="DELETE")).verdict == "request_mismatch"


def test_a_second_request_is_a_mismatch() -> None:
    assert "requests=2" in judged(sent(), before=1).found


def test_an_unknown_field_is_a_mismatch_and_its_value_is_not_told() -> None:
    check = judged(sent(note="my secret note"))
    assert check.verdict == "request_mismatch"
    assert "note=given" in check.found
    assert "my secret note" not in check.found


def test_a_query_parameter_counts_as_a_field() -> None:
    assert judged(sent(f"{URL}?amount=99")).verdict == "request_mismatch"


def test_a_missing_field_and_a_field_given_twice_are_mismatches() -> None:
    body = urlencode([(k, v) for k, v in BODY.items() if k != "month"]).encode()
    assert "month=missing" in judged(read_request("POST", URL, FORM_TYPE, body)).found
    twice = urlencode([*BODY.items(), ("amount", "1434.74")]).encode()
    assert "amount=2 times" in judged(read_request("POST", URL, FORM_TYPE, twice)).found


def test_secrets_are_in_no_finding() -> None:
    assert "tok-9" not in str(judged(sent(amount="1")))


def test_json_and_multipart_bodies_are_read() -> None:
    as_json = read_request("POST", URL, "application/json; charset=utf-8", b'{"a":{"b":1},"c":["x","y"]}')
    assert as_json.fields == {"a.b": ("1",), "c": ("x", "y")}
    parts = b'--X\r\nContent-Disposition: form-data; name="amount"\r\n\r\n1434.74\r\n--X--\r\n'
    multipart = read_request("POST", URL, "multipart/form-data; boundary=X", parts)
    assert multipart.fields == {"amount": ("1434.74",)}


def test_an_unreadable_body_is_a_mismatch() -> None:
    unreadable = read_request("POST", URL, "application/octet-stream", b"\x00\x01")
    assert "an unreadable body" in judged(unreadable).found
    assert read_request("POST", URL, "application/json", b"{").fields is None


def test_a_step_without_a_rule_may_send_nothing_that_writes() -> None:
    check = judge_request(sent(), None, None, before=0)
    assert (check.verdict, check.found) == ("request_mismatch", "POST /bills/INV-4114/actions")


def test_an_origin_is_scheme_host_and_port_without_credentials() -> None:
    assert origin_of("http://me:pw@Host.example:8080/x?y") == "http://host.example:8080"
    assert origin_of("about:blank") == ""
