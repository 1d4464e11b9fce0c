"""Retention, legal hold and deletion by key destruction on a real record: refused, carried out, and told afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from domain import events as e
from domain.ids import PrincipalId, TaskId, TenantId, deletion_stream
from executor.store.blobs import FolderBlobs, open_blobs
from executor.store.sealed import SealedBlobs
from executor.store.sealing import sealed_url
from projections.exports.verify import verify
from projections.reading import open_reader
from tests.executor.cli.conftest import Command
from tests.support.records import ManualClock
from tests.support.workbench import BILL

COUNSEL, RECORDS = PrincipalId("person:counsel"), PrincipalId("person:records")
LONG_AGO = int(datetime(2025, 3, 9, tzinfo=UTC).timestamp()) * 1_000_000
BASIS = "GDPR Art. 5(1)(e): screens after 180 days"


@pytest.fixture
def office(desk: Path, recorded: Mapping[str, TaskId], proofreel: Command) -> Path:
    """A record whose contents were sealed in March 2025, and two people with rights."""
    assert recorded
    path = desk / "proofreel.yaml"
    config = yaml.safe_load(path.read_text("utf-8"))
    config["people"] += [
        {"principal": COUNSEL, "tenants": ["acme"], "actions": ["hold"]},
        {"principal": RECORDS, "tenants": ["acme"], "actions": ["delete"]},
    ]
    config["privacy"] = {
        "key": "privacy.key",
        "keyring": "keyring",
        "encrypt": True,
        "retention": [{"kind": "frame", "days": 180, "basis": BASIS}],
    }
    path.write_text(yaml.safe_dump(config, allow_unicode=True), "utf-8")
    assert proofreel("keys", "privacy", desk / "privacy.key").code == 0
    _seal(desk)
    return desk


def sealed(desk: Path) -> SealedBlobs:
    url = sealed_url(
        str(desk / "blobs"), ring=desk / "keyring", key=desk / "privacy.key", tenant="acme", writes=True
    )
    blobs = open_blobs(url)
    assert isinstance(blobs, SealedBlobs)
    blobs._clock = ManualClock(LONG_AGO)  # noqa: SLF001 - the month is what is tested
    return blobs


def _seal(desk: Path) -> None:
    plain, into = FolderBlobs(desk / "blobs"), sealed(desk)
    into.put(b"a settlement file", media_type="text/csv")
    for name in list(plain.names()):
        data = plain.get(name)
        (desk / "blobs" / name[:2] / name[2:4] / name).unlink()
        picture = data.startswith(b"\x89PNG")
        into.put(data, media_type="image/png" if picture else "application/json")


def units(proofreel: Command) -> dict[str, dict[str, Any]]:
    return {one["unit"]: one for one in proofreel("retention", "plan", "--json").json["units"]}


def test_what_is_due_is_deleted_and_told_everywhere(office: Path, proofreel: Command) -> None:
    assert proofreel("fsck").code == 0, "sealed contents are read like plain ones"
    frames = units(proofreel)["frame/2025-03"]
    assert (frames["standing"], frames["due_on"]) == ("due", "2025-09-28")
    assert frames["blobs"] > 1
    done = proofreel("retention", "apply", "--as", RECORDS, "--json")
    (deleted,) = done.json["deleted"]
    assert (deleted["unit"], deleted["blobs"], deleted["basis"]) == ("frame/2025-03", frames["blobs"], BASIS)

    checked = proofreel("fsck")
    assert checked.code == 0, checked.out
    assert f"({frames['blobs']} deleted, as the record says)" in checked.out
    assert proofreel("export", "--bill", BILL, "-o", office / "out.zip").code == 0
    report = verify(office / "out.zip")
    assert report.ok, report.lines()
    assert report.withheld.words() == f"withheld: {report.withheld.deleted} contents deleted: {BASIS}"
    assert proofreel("retention", "apply", "--as", RECORDS, "--json").json["deleted"] == []
    assert "frame/2025-03" not in units(proofreel)


def test_a_hold_stops_a_deletion_until_it_is_released(office: Path, proofreel: Command) -> None:
    placed = proofreel("hold", "place", "--month", "2025-03", "--basis", "claim 7", "--as", COUNSEL, "--json")
    hold = placed.json["hold_id"]
    assert units(proofreel)["frame/2025-03"]["standing"] == "held"
    assert proofreel("retention", "apply", "--as", RECORDS, "--json").json["deleted"] == []
    refused = proofreel("retention", "apply", "--unit", "frame/2025-03", "--as", RECORDS)
    assert (refused.code, "deletion.held" in refused.word) == (1, True)
    assert "claim 7" in refused.word
    assert "1 holds in force" in proofreel("hold", "list").out
    assert proofreel("hold", "release", hold, "--basis", "settled", "--as", COUNSEL).code == 0
    assert proofreel("hold", "list", "--json").json["holds"] == []
    done = proofreel("retention", "apply", "--unit", "frame/2025-03", "--as", RECORDS)
    assert (done.code, "1 units deleted" in done.out) == (0, True)
    assert not list((office / "keyring").rglob("frame/2025-03.json"))


def test_rights_and_wrong_names_are_refused(office: Path, proofreel: Command) -> None:
    refusals = [
        (("retention", "apply", "--as", COUNSEL), "retention.right"),
        (("hold", "place", "--basis", "b", "--as", RECORDS), "retention.right"),
        (("hold", "place", "--basis", " ", "--as", COUNSEL), "hold.basis"),
        (("hold", "release", "nothing", "--basis", "b", "--as", COUNSEL), "hold.unknown"),
        (("retention", "apply", "--unit", "frame/1999-01", "--as", RECORDS), "deletion.unknown"),
        (("retention", "apply", "--unit", "document/2025-03", "--as", RECORDS), "deletion.not_due"),
    ]
    for arguments, rule in refusals:
        done = proofreel(*arguments)
        assert (done.code, rule in done.word) == (1, True), done.err
    done = proofreel("hold", "place", "--month", "march", "--basis", "b", "--as", COUNSEL)
    assert (done.code, "is no month" in done.word) == (2, True)
    assert units(proofreel)["frame/2025-03"]["standing"] == "due"
    assert list((office / "keyring").rglob("frame/2025-03.json"))


def test_a_key_that_is_gone_without_an_event_is_a_finding(office: Path, proofreel: Command) -> None:
    for key in (office / "keyring").rglob("2025-03.json"):
        key.unlink()
    done = proofreel("fsck")
    assert done.code == 1
    assert "blob_key_gone" in done.out
    assert "no deletion of it is on record" in done.out
    exported = proofreel("export", "--bill", BILL, "-o", office / "out.zip")
    assert (exported.code, "its key was destroyed" in exported.word) == (1, True)


def test_an_order_that_was_not_carried_out_is_carried_on(
    office: Path, proofreel: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies between the order and the key, and between the key and the record of it."""
    from executor.store.sealed import Keyring  # noqa: PLC0415 - patched here

    tenant, url = TenantId("acme"), f"sqlite:///{office}/record.db"
    real = Keyring.destroy
    for after in (False, True):

        def dies(ring: Keyring, key: Any, after: bool = after) -> None:  # noqa: ANN401, FBT001 - a stand-in
            if after:
                real(ring, key)
            raise KeyboardInterrupt

        monkeypatch.setattr(Keyring, "destroy", dies)
        assert proofreel("retention", "apply", "--as", RECORDS).code == 130
    monkeypatch.setattr(Keyring, "destroy", real)
    with open_reader(url) as reader:
        assert reader.streams(tenant, "deletion") == []
    assert proofreel("fsck").code == 1, "until its end is on record, nothing says that it was deleted"
    (deleted,) = proofreel("retention", "apply", "--as", RECORDS, "--json").json["deleted"]
    with open_reader(url) as reader:
        (recorded,) = reader.stream(tenant, deletion_stream(deleted["deletion"]))
        assert isinstance(recorded.event, e.DataDeleted)
        assert len(recorded.event.blobs) == deleted["blobs"] > 0
    assert proofreel("fsck").code == 0


def test_a_hold_that_comes_at_the_same_moment_wins(
    office: Path, proofreel: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from executor.retention import Retention  # noqa: PLC0415 - patched here

    real = Retention._append  # noqa: SLF001 - the moment between deciding and writing
    placed: list[e.HoldPlaced] = []

    def append(self: Retention, stream: Any, version: int, who: Any, facts: Any) -> None:  # noqa: ANN401
        if isinstance(facts[0], e.DeletionOrdered) and not placed:
            hold = e.HoldPlaced(hold_id="h", kind=None, month="", basis="claim 7", by=COUNSEL)
            placed.append(hold)
            real(self, stream, version, COUNSEL, [hold])
        real(self, stream, version, who, facts)

    monkeypatch.setattr(Retention, "_append", append)
    done = proofreel("retention", "apply", "--as", RECORDS)
    assert (done.code, "deletion.held" in done.word) == (1, True)
    monkeypatch.setattr(Retention, "_append", real)
    assert units(proofreel)["frame/2025-03"]["standing"] == "held"
    assert proofreel("fsck").code == 0
    assert list((office / "keyring").rglob("frame/2025-03.json"))


def test_a_keyring_among_the_blobs_is_refused(office: Path, proofreel: Command) -> None:
    path = office / "proofreel.yaml"
    path.write_text(path.read_text("utf-8").replace("keyring: keyring", "keyring: blobs/keys"), "utf-8")
    done = proofreel("retention", "plan")
    assert (done.code, "lies among the blobs" in done.word) == (2, True)


def test_a_configuration_that_contradicts_itself_is_refused(office: Path, proofreel: Command) -> None:
    path = office / "proofreel.yaml"
    config = yaml.safe_load(path.read_text("utf-8"))
    rule = {"kind": "frame", "days": 180, "basis": "b"}
    for section, words in (
        ({"encrypt": True}, "needs privacy.key and privacy.keyring"),
        ({"retention": [rule, rule]}, "two rules for one tenant and kind"),
        ({"retention": [rule | {"basis": " "}]}, "names no basis"),
        ({}, "no privacy key is configured"),
    ):
        path.write_text(yaml.safe_dump(config | {"privacy": section}), "utf-8")
        done = proofreel("retention", "plan")
        assert (done.code, words in done.word) == (2, True), done.err
