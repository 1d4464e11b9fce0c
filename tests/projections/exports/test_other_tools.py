"""Tools that are not ours verify a bundle, each in its way."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import bagit
import pytest

from projections.exports.bundle import Extras
from projections.exports.verify import layout, verify
from tests.projections.exports.made import KEY, Made, export


@pytest.fixture(scope="module")
def folder(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The honest bundle, unpacked."""
    target = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(target)
    return next(target.iterdir())


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_bagit_validates_it(folder: Path) -> None:
    bag = bagit.Bag(str(folder))
    bag.validate()
    assert bag.info["External-Identifier"] == folder.name


def test_bagit_refuses_a_changed_screen(folder: Path, tmp_path: Path) -> None:
    copied = run(folder, "cp", "-r", str(folder), str(tmp_path / "copy"))
    assert copied.returncode == 0
    screen = next((tmp_path / "copy" / "data" / "frames").iterdir())
    screen.write_bytes(screen.read_bytes() + b"\x00")
    with pytest.raises(bagit.BagValidationError):
        bagit.Bag(str(tmp_path / "copy")).validate()


@pytest.mark.parametrize("manifest", [layout.MANIFEST, layout.TAG_MANIFEST])
def test_sha256sum_checks_the_manifests(manifest: str, folder: Path) -> None:
    done = run(folder, "sha256sum", "--check", "--strict", manifest)
    assert done.returncode == 0, done.stdout + done.stderr


def test_sha256sum_names_each_screen(folder: Path) -> None:
    names = sorted(path.name for path in (folder / "data" / "frames").iterdir())
    done = run(folder / "data" / "frames", "sha256sum", *names)
    assert [line.split()[0] for line in done.stdout.splitlines()] == [name[:64] for name in names]


def test_the_readme_s_way_to_hash_an_event_works(folder: Path) -> None:
    entry = json.loads((folder / layout.ENTRIES).read_bytes().splitlines()[0])
    done = run(folder, "sh", "-c", "sed -n 1p data/events.jsonl | tr -d '\\n' | sha256sum")
    assert done.stdout.split()[0] == entry["body_sha256"]


def openssl_verify(folder: Path) -> subprocess.CompletedProcess[str]:
    files = ("-in", layout.CHECKPOINT_BODY, "-sigfile", layout.CHECKPOINT_SIGNATURE)
    return run(folder, "openssl", "pkeyutl", "-verify", "-pubin", "-inkey", layout.KEY_PEM, "-rawin", *files)


def test_openssl_verifies_the_signature_of_the_checkpoint(folder: Path) -> None:
    done = openssl_verify(folder)
    assert done.returncode == 0, done.stderr
    assert "Signature Verified Successfully" in done.stdout


def test_openssl_refuses_another_checkpoint(folder: Path, tmp_path: Path) -> None:
    run(folder, "cp", "-r", str(folder), str(tmp_path / "copy"))
    body = tmp_path / "copy" / layout.CHECKPOINT_BODY
    body.write_bytes(body.read_bytes().replace(b"acme", b"acne"))
    assert openssl_verify(tmp_path / "copy").returncode != 0


def test_the_readme_is_enough_to_recompute_the_root(folder: Path) -> None:
    """Section 3 of README-VERIFY.txt, followed with nothing but hashlib."""

    def tree(leaves: list[bytes]) -> bytes:
        if len(leaves) == 1:
            return hashlib.sha256(b"\x00" + leaves[0]).digest()
        half = 1 << (len(leaves) - 1).bit_length() - 1
        return hashlib.sha256(b"\x01" + tree(leaves[:half]) + tree(leaves[half:])).digest()

    head = json.loads((folder / layout.HEAD).read_bytes())
    skeleton = (folder / layout.SKELETON).read_bytes()
    leaves = [skeleton[at : at + 53] for at in range(0, len(skeleton), 53)]
    assert tree(leaves).hex() == head["root"]
    last: dict[str, bytes] = {}
    entries = [json.loads(line) for line in (folder / layout.ENTRIES).read_bytes().splitlines()]
    for entry, body in zip(entries, (folder / layout.EVENTS).read_bytes().splitlines(), strict=True):
        link = hashlib.sha256(
            b"\x02"
            + last.get(entry["stream"], bytes(32))
            + hashlib.sha256(body).digest()
            + entry["position"].to_bytes(8, "big")
            + entry["recorded_at_us"].to_bytes(8, "big")
        ).digest()
        tag = hashlib.sha256(f"proofreel-stream/v1\0{head['tenant']}\0{entry['stream']}\0".encode()).digest()[
            :16
        ]
        assert leaves[entry["position"] - 1] == b"\x01" + tag + entry["version"].to_bytes(4, "big") + link
        last[entry["stream"]] = link


class Authority:
    """A time stamping authority of openssl's, with its own root certificate."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "tsa.cnf").write_text(
            "[tsa]\ndefault_tsa = one\n[one]\nserial = serial\ndigests = sha256\nsigner_digest = sha256\n"
            "default_policy = 1.2.3.4\n[ext]\nextendedKeyUsage = critical,timeStamping\n[req]\n"
            "distinguished_name = dn\n[dn]\n"
        )
        (folder / "serial").write_text("01\n")
        self._run("genpkey", "-algorithm", "RSA", "-out", "ca.key")
        self._run("req", "-x509", "-key", "ca.key", "-subj", "/CN=Test CA", "-days", "3", "-out", "ca.pem")
        self._run("genpkey", "-algorithm", "RSA", "-out", "tsa.key")
        self._run(
            "req", "-new", "-key", "tsa.key", "-subj", "/CN=Test TSA", "-config", "tsa.cnf", "-out", "tsa.csr"
        )
        sign = (
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-extfile",
            "tsa.cnf",
            "-extensions",
            "ext",
            "-days",
            "2",
        )
        self._run("x509", "-req", "-in", "tsa.csr", *sign, "-CAcreateserial", "-out", "tsa.pem")

    @property
    def certificates(self) -> Path:
        return self.folder / "ca.pem"

    def stamp(self, data: bytes) -> bytes:
        """RFC 3161 response over ``data``."""
        (self.folder / "data").write_bytes(data)
        self._run("ts", "-query", "-data", "data", "-sha256", "-cert", "-out", "query")
        reply = ("-reply", "-config", "tsa.cnf", "-section", "one", "-queryfile", "query")
        self._run("ts", *reply, "-signer", "tsa.pem", "-inkey", "tsa.key", "-out", "reply")
        return (self.folder / "reply").read_bytes()

    def _run(self, *arguments: str) -> None:
        done = run(self.folder, "openssl", *arguments)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tsa"))


def test_a_time_stamp_proves_time_to_us_and_to_openssl(
    made: Made, authority: Authority, tmp_path: Path
) -> None:
    note = made.checkpoint()
    stamp = authority.stamp(note.partition("\n\n")[0].encode() + b"\n")
    export(made, tmp_path / "stamped.zip", extras=Extras(checkpoint=note, keys=[KEY], stamp=stamp))
    assert verify(tmp_path / "stamped.zip", tsa_ca=authority.certificates).proved["time"] == "ok"
    assert verify(tmp_path / "stamped.zip").proved["time"] == "not_proved"
    with zipfile.ZipFile(tmp_path / "stamped.zip") as archive:
        archive.extractall(tmp_path / "out")
    files = ("-data", layout.CHECKPOINT_BODY, "-in", layout.CHECKPOINT_STAMP)
    folder = next((tmp_path / "out").iterdir())
    assert (
        run(folder, "openssl", "ts", "-verify", *files, "-CAfile", str(authority.certificates)).returncode
        == 0
    )


def test_a_time_stamp_over_something_else_fails(made: Made, authority: Authority, tmp_path: Path) -> None:
    extras = Extras(checkpoint=made.checkpoint(), keys=[KEY], stamp=authority.stamp(b"something else"))
    export(made, tmp_path / "stamped.zip", extras=extras)
    report = verify(tmp_path / "stamped.zip", tsa_ca=authority.certificates)
    assert report.proved["time"] == "failed"
    assert report.problems[0].what.startswith("the time stamp does not verify")


def test_the_verifier_runs_alone_from_a_command_line(bundle: Path, plain: Path, tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    command = (sys.executable, "-m", "projections.exports.verify")
    done = run(root, *command, str(bundle), "--key", KEY)
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stdout.splitlines()[0]
    asked = run(root, *command, str(plain), "--json", "--stream", "task:task-77")
    assert asked.returncode == 1
    assert json.loads(asked.stdout)["problems"][0]["check"] == "expected"
    assert run(root, *command, str(tmp_path / "nothing.zip")).returncode == 2
    assert run(root, *command, str(bundle), "--key", "nonsense").returncode == 2


def test_the_verifier_loads_nothing_but_the_standard_library_domain_and_cryptography() -> None:
    root = Path(__file__).parents[3]
    script = (
        "import sys; before = set(sys.modules); import projections.exports.verify;"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    done = run(root, sys.executable, "-c", script)
    loaded = set(done.stdout.split()) - set(sys.stdlib_module_names)
    assert loaded <= {"domain", "projections", "cryptography", "_cffi_backend", "_openssl"}, done.stdout
