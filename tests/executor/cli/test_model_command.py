"""``proofreel run --goal``: a real browser, a real page, a real endpoint that speaks the provider's protocol."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from domain.ids import TenantId
from executor.cli import run_command
from executor.sandbox.model_server.dialogue import ProviderName
from executor.sandbox.model_server.scenario import Move, Scenario, ScriptTurn, load_scenario
from executor.sandbox.practice.book import Book
from projections.reading import open_reader
from tests.executor.cli.model_site import GOAL, ModelSite, model_site

pytestmark = pytest.mark.browser
SCENARIO = Path("data/scenarios/practice.yaml")
Serve = Callable[[Scenario, Book], ModelSite]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    opened = []

    def make(scenario: Scenario, book: Book) -> ModelSite:
        context = model_site(tmp_path, scenario, book)
        site = context.__enter__()
        opened.append(context)
        for name, value in site.environment.items():
            monkeypatch.setenv(name, value)
        return site

    yield make
    for context in opened:
        context.__exit__(None, None, None)


def run(
    site: ModelSite, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> tuple[int, dict[str, object]]:
    code = run_command(arguments)
    out, err = capsys.readouterr()
    for key in (site.model.key, *site.form.passwords.values()):
        assert key not in out + err
    return code, orjson.loads(out)["outcomes"][0] if out.startswith("{") else {"error": err}


def stored_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_a_model_fills_in_a_form_and_the_receiver_says_so(
    serve: Serve, capsys: pytest.CaptureFixture[str], tmp_path: Path, provider: ProviderName
) -> None:
    book = Book.usual()
    site = serve(load_scenario(SCENARIO), book)
    code, outcome = run(site, capsys, site.arguments(provider, "--price", "3.00/15.00"))
    assert (code, outcome["status"]) == (0, "succeeded"), outcome
    assert [post["address"] for post in book.posts] == ["accounts@northwind.example"]
    assert site.model.dialogues[provider][0].complaints == []
    with open_reader(f"sqlite:///{tmp_path / 'record.db'}") as reader:
        events = [(recorded.name, recorded.event) for recorded in reader.events(TenantId("acme"))]
    said = [event for name, event in events if name == "model.responded"]
    assert all(event.cost_micros == 4_200 and event.input_tokens == 1_200 for event in said)  # type: ignore[union-attr]
    assert not said[-1].possibly_billed  # type: ignore[union-attr]
    assert site.model.key.encode() not in stored_bytes(tmp_path)


def test_a_run_on_a_smaller_picture_hits_the_same_page_pixels(
    serve: Serve, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from executor.models import registry  # noqa: PLC0415 - patched here

    half = registry.PROVIDERS["openai"]
    monkeypatch.setitem(registry.PROVIDERS, "openai", type(half)(**{**_fields(half), "longest_px": 640}))  # type: ignore[arg-type]
    book = Book.usual()
    site = serve(load_scenario(SCENARIO), book)
    code, outcome = run(site, capsys, site.arguments("openai"))
    assert (code, outcome["status"]) == (0, "succeeded"), outcome
    assert len(book.posts) == 1


def _fields(provider: object) -> dict[str, object]:
    return {name: getattr(provider, name) for name in provider.__dataclass_fields__}  # type: ignore[attr-defined]


def test_a_saved_conversation_runs_again_without_the_endpoint(
    serve: Serve, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    site = serve(load_scenario(SCENARIO), Book.usual())
    kept = tmp_path / "talk.jsonl"
    run(site, capsys, site.arguments("openai", "--save-conversation", str(kept)))
    asked = site.model.requests
    again = [
        *site.arguments("openai", "--replay", str(kept)),
        "--occurrence",
        "2",
        "--start",
        "/cases/{bill_id}",
    ]
    _, outcome = run(site, capsys, again)
    assert site.model.requests == asked
    assert outcome["verdict"] == "already_in_progress", outcome  # the first run's effect is there


def test_a_page_that_moves_its_button_under_the_pointer_gets_no_write(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    book = Book.usual(["moved"])
    site = serve(load_scenario(SCENARIO), book)
    code, outcome = run(site, capsys, site.arguments("openai"))
    assert (code, book.posts) == (1, []), outcome


def test_a_wrong_address_never_leaves_the_browser(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    moves = load_scenario(SCENARIO).turns[0].moves
    wrong = [Move(do="type", text="thief@elsewhere.example") if "@" in move.text else move for move in moves]
    press = Move(do="click", x=320, y=282)
    book = Book.usual()
    site = serve(Scenario(name="wrong", turns=[ScriptTurn(moves=[*wrong, press])]), book)
    code, outcome = run(site, capsys, site.arguments("openai"))
    assert (code, book.posts) == (1, []), outcome
    assert outcome["status"] == "taken_over"


def test_a_run_needs_its_key_and_names_only_the_variable(
    serve: Serve, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = serve(load_scenario(SCENARIO), Book.usual())
    monkeypatch.delenv("COMPUTER_API_KEY")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, outcome = run(site, capsys, site.arguments("openai"))
    assert code == 2
    assert "set COMPUTER_API_KEY" in str(outcome["error"])


def test_a_run_takes_a_batch_or_a_goal_and_not_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run"]) == 2
    assert run_command(["run", "november.yaml", "--goal", GOAL]) == 2
    assert run_command(["run", "--goal", GOAL, "--provider", "openai"]) == 2
    assert "a --goal needs --bill" in capsys.readouterr().err


def test_the_talk_goes_with_the_evidence_and_the_bundle_verifies(
    serve: Serve, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    site = serve(load_scenario(SCENARIO), Book.usual())
    run(site, capsys, site.arguments("openai"))
    config = ["--config", str(site.config)]
    bundle = tmp_path / "evidence.zip"
    assert run_command(["fsck", *config]) == 0
    assert run_command(["export", "--bill", "CA-1001", "--out", str(bundle), *config]) == 0
    assert run_command(["verify", str(bundle)]) == 0
    capsys.readouterr()
    with zipfile.ZipFile(bundle) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    assert any(b'"computer_call"' in data and b'"usage"' in data for data in members.values()), "the answers"
    assert not any(site.model.key.encode() in data for data in members.values())


def test_a_receiver_that_appends_to_a_file_says_when_the_goal_is_reached(
    serve: Serve, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The form's owner writes each submission into a file; nothing of the file is on the page."""
    path = tmp_path / "arrived.jsonl"

    class Writing(Book):
        def submit(self, values: dict[str, str], account: str) -> str:
            said = super().submit(values, account)
            with path.open("ab") as file:
                file.write(orjson.dumps(values) + b"\n")
            return said

    usual = Book.usual()
    site = serve(load_scenario(SCENARIO), Writing(cases=usual.cases))
    expect = ["--expect", "address=accounts@northwind.example", "--expect", "reference=CA-1001"]
    code, outcome = run(site, capsys, site.arguments("openai", "--receiver-file", str(path), *expect))
    assert (code, outcome["status"]) == (0, "succeeded"), outcome
    with open_reader(f"sqlite:///{tmp_path / 'record.db'}") as reader:
        judged = [r.event for r in reader.events(TenantId("acme")) if r.name == "guard.judged"]
    found = [check for event in judged for check in event.checks if check.guard == "receiver"]  # type: ignore[union-attr]
    assert [(check.verdict, check.found) for check in found] == [("pass", "arrived.jsonl: verified")]
