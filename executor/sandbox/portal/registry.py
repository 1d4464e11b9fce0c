"""The faults that the portal can be told to have: one entry each.

To add one: a function in `posting.py` (what the server does with a post) or in `page_faults.py` (what the page
or the server does after a page was loaded), and a line here. The control interface, the board and the README
need no change.
"""

from __future__ import annotations

from typing import Final

from executor.sandbox.portal import page_faults as page
from executor.sandbox.portal import posting
from executor.sandbox.portal.faults import FaultKind

_LATER: Final[dict[str, str | int | bool]] = {"delay_ms": 600}
_STRANGER: Final[dict[str, str | int | bool]] = {
    "counterparty": "深圳市顺捷达物流有限公司",
    "counterparty_id": "V90001",
    "amount_minor": 88_800,
    "currency": "CNY",
    "month": "",
}
_LIST: Final = ("list",)
_BOTH: Final = ("list", "detail")

FAULTS: Final[tuple[FaultKind, ...]] = (
    # -- the server answers one thing and does another -----------------------------------------------------
    FaultKind(
        name="fake_success",
        description="green toast, nothing booked",
        on="post",
        params={"optimistic": False},
        post=posting.fake_success,
    ),
    FaultKind(
        name="late_posting",
        description="green toast now, booked by a timer later",
        on="post",
        params={"delay_ms": 1500},
        post=posting.late_posting,
    ),
    FaultKind(
        name="double_posting",
        description="one post, two ledger lines and two history entries",
        on="post",
        post=posting.double_posting,
    ),
    FaultKind(
        name="commit_then_504",
        description="booked, but the page gets a gateway timeout",
        on="post",
        times=1,
        post=posting.commit_then_504,
    ),
    FaultKind(
        name="drop_then_504",
        description="not booked, and the page gets a gateway timeout",
        on="post",
        times=1,
        post=posting.drop_then_504,
    ),
    FaultKind(
        name="partial_save",
        description="booked without its counterparty",
        on="post",
        post=posting.partial_save,
    ),
    FaultKind(
        name="late_reversal",
        description="booked, and undone by the vendor's validation later",
        on="post",
        params={"delay_ms": 1500},
        times=1,
        post=posting.late_reversal,
    ),
    FaultKind(
        name="late_duplicate",
        description="booked, and booked again by a queue later",
        on="post",
        params={"delay_ms": 1500},
        times=1,
        post=posting.late_duplicate,
    ),
    FaultKind(
        name="collateral_fee",
        description="booked, with a fee line that nobody asked for",
        on="post",
        params={"fee_minor": 2500},
        post=posting.collateral_fee,
    ),
    # -- session and rights --------------------------------------------------------------------------------
    FaultKind(
        name="session_expired",
        description="the account's sessions end before the post is booked: 401, the page goes to the log-in",
        on="post",
        times=1,
        post=posting.session_expired,
        act=page.end_sessions_now,
    ),
    FaultKind(
        name="permission_dialog",
        description="rights withdrawn while the page is open: an alert dialog, 403 from then on",
        on="page",
        params=_LATER,
        pages=_BOTH,
        times=1,
        post=posting.permission_dialog,
        act=page.withdraw,
    ),
    # -- the page changes between look and click -----------------------------------------------------------
    FaultKind(
        name="row_inserted",
        description="a new bill arrives on top of the list; all rows move down by one",
        on="page",
        params={**_LATER, **_STRANGER},
        pages=_LIST,
        times=1,
        act=page.insert_on_top,
    ),
    FaultKind(
        name="row_pushed",
        description="a new bill is on top of the list in the moment the pointer comes to its rows",
        on="page",
        params=_STRANGER,
        pages=_LIST,
        times=1,
        effect=page.push_row,
    ),
    FaultKind(
        name="list_resorted",
        description="the list sorts itself by amount",
        on="page",
        params=_LATER,
        pages=_LIST,
        times=1,
        effect=page.script_only("resort"),
    ),
    FaultKind(
        name="button_swapped",
        description="the process and refund buttons exchange places",
        on="page",
        params=_LATER,
        times=1,
        effect=page.script_only("swap"),
    ),
    FaultKind(
        name="button_disabled",
        description="the page disables its buttons while it waits for a validation",
        on="page",
        params=_LATER,
        times=1,
        effect=page.script_only("disable"),
    ),
    FaultKind(
        name="dialog_popup",
        description="an unrelated dialog opens with a button under the pointer; pressing it accepts a new rate",
        on="page",
        params=_LATER,
        pages=_BOTH,
        times=1,
        effect=page.script_only("popup"),
    ),
    FaultKind(
        name="late_banner",
        description="a banner loads late and pushes the page down",
        on="page",
        params=_LATER,
        pages=_BOTH,
        times=1,
        effect=page.script_only("banner"),
    ),
    FaultKind(
        name="toast_over_target",
        description="a message covers the buttons",
        on="page",
        params=_LATER,
        times=1,
        effect=page.script_only("cover"),
    ),
    FaultKind(
        name="page_redesigned",
        description="another design: other markup, class names and wording, no data attributes",
        on="render",
        pages=_BOTH,
    ),
    # -- the page looks the same, the form does not say the same -------------------------------------------
    FaultKind(
        name="look_alike",
        description="the counterparty is replaced by one whose name looks the same",
        on="page",
        params={**_LATER, "counterparty_id": "V97001"},
        pages=_BOTH,
        times=1,
        effect=page.look_alike,
    ),
    FaultKind(
        name="amount_shift",
        description="the form's amount is multiplied, as by a wrong decimal point",
        on="page",
        params={**_LATER, "factor": 100, "shown": False},
        pages=_BOTH,
        times=1,
        effect=page.amount_shift,
    ),
    FaultKind(
        name="currency_reset",
        description="the form's currency falls back to another one",
        on="page",
        params={**_LATER, "currency": "USD", "shown": True},
        pages=_BOTH,
        times=1,
        effect=page.currency_reset,
    ),
    FaultKind(
        name="hidden_counterparty_changed",
        description="the hidden counterparty id changes; the screen does not",
        on="page",
        params={**_LATER, "counterparty_id": "V97777"},
        pages=_BOTH,
        times=1,
        effect=page.hidden_counterparty_changed,
    ),
    FaultKind(
        name="month_rollover",
        description="the form moves to the next month",
        on="page",
        params={**_LATER, "shown": False},
        pages=_BOTH,
        times=1,
        effect=page.month_rollover,
    ),
    FaultKind(
        name="queue_advance",
        description="the detail pane moves on to the next pending bill",
        on="page",
        params=_LATER,
        times=1,
        effect=page.queue_advance,
    ),
    FaultKind(
        name="approve_all",
        description="the form posts to the endpoint that handles all pending bills",
        on="page",
        params=_LATER,
        pages=_BOTH,
        times=1,
        effect=page.approve_all,
    ),
    # -- benign: the screen changes, the meaning of a click does not ---------------------------------------
    FaultKind(
        name="row_added_below",
        description="the list is drawn again with one more row below the bill",
        on="page",
        params={**_LATER, **_STRANGER},
        pages=_LIST,
        times=1,
        benign=True,
        act=page.insert_below,
    ),
    FaultKind(
        name="spinner",
        description="a spinner turns in the header",
        on="page",
        params={"delay_ms": 0},
        pages=_BOTH,
        benign=True,
        effect=page.script_only("spinner"),
    ),
    FaultKind(
        name="ad_banner",
        description="an advertisement changes its colours",
        on="page",
        params={"delay_ms": 0},
        pages=_BOTH,
        benign=True,
        effect=page.script_only("ad"),
    ),
    FaultKind(
        name="dark_theme",
        description="the theme turns dark",
        on="page",
        params=_LATER,
        pages=_BOTH,
        times=1,
        benign=True,
        effect=page.script_only("dark"),
    ),
    FaultKind(
        name="focus_ring",
        description="the focus goes to the filter field, where a caret blinks",
        on="page",
        params=_LATER,
        pages=_LIST,
        times=1,
        benign=True,
        effect=page.script_only("focus"),
    ),
)
"""Every fault of the portal."""

AMBIENT: Final = ("spinner", "ad_banner", "dark_theme")
"""The benign ones that a portal can be started with."""
