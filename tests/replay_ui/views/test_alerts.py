"""Alerts that some channel has not had: who sees them, and what another try does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from domain.ids import TenantId
from replay_ui.data import Desk
from replay_ui.session import open_desk
from tests.replay_ui.sample import STOPPED, Everyone, Sample
from tests.replay_ui.views.showing import Heard, links, said, show

ACME = TenantId("acme")


@pytest.fixture
def opened(sample: Sample) -> Iterator[Desk]:
    desk = sample.desk()
    open_desk(desk, Everyone("acme"))
    yield desk
    desk.close()


def position(desk: Desk) -> int:
    ((_, letter),) = desk.letters(ACME)
    return letter.position


def test_an_alert_that_a_channel_has_not_had_is_listed_with_what_it_failed_with(opened: Desk) -> None:
    page = show("alerts")
    assert "ConnectError, 3 tries" in said(page)
    assert "the target kept changing" in said(page)
    assert "log" not in [name for _, letter in opened.letters(ACME) for name in letter.failed]
    assert f"/alerts?tenant=acme&letter={position(opened)}" in links(page)
    assert f"/chain?tenant=acme&bill={STOPPED}" in links(page)


def test_the_navigation_counts_what_waits(opened: Desk) -> None:
    assert opened.count_waiting(ACME) == 3
    assert opened.count_waiting(TenantId("globex")) == 0
    assert len(opened.letters(ACME)) == 1


def test_an_alert_of_another_tenant_is_none(sample: Sample) -> None:
    desk = sample.desk()
    open_desk(desk, Everyone("globex"))
    page = show("alerts")
    desk.close()
    assert "Every alert was delivered." in said(page)
    assert "kept changing" not in said(page)


def test_another_try_is_made_under_a_persons_name_and_says_what_came_of_it(opened: Desk) -> None:
    heard = Heard()
    open_desk(opened, Everyone("acme"), heard)
    at = position(opened)
    page = show("alerts", letter=str(at))
    page.button[0].click().run()
    assert heard.calls == [("acme", "task-stopped", at, "person:li.na")]
    assert "Delivered on every channel" in said(page)
    assert "letter" not in page.query_params


def test_a_channel_that_still_fails_is_named(opened: Desk) -> None:
    open_desk(opened, Everyone("acme"), Heard(went={"webhook": "HTTPStatusError, 3 tries"}))
    page = show("alerts", letter=str(position(opened)))
    page.button[0].click().run()
    assert "Still not delivered: webhook: HTTPStatusError, 3 tries" in said(page)


def test_a_refused_try_says_why(opened: Desk) -> None:
    open_desk(opened, Everyone("acme"), Heard(refuse=True))
    page = show("alerts", letter=str(position(opened)))
    page.button[0].click().run()
    assert "it was tried in the meantime" in said(page)


def test_who_may_not_take_over_is_not_offered_another_try(opened: Desk) -> None:
    open_desk(opened, Everyone("acme", roles=["auditor"]), Heard())
    page = show("alerts", letter=str(position(opened)))
    assert "Try again" not in [button.label for button in page.button]
    open_desk(opened, Everyone("acme"))
    assert "proofreel alerts resend" in said(show("alerts", letter=str(position(opened))))


def test_an_alert_that_is_there_no_longer_says_so(opened: Desk) -> None:
    assert "no longer undelivered" in said(show("alerts", letter="1"))
