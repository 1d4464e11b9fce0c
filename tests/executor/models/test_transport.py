"""One POST and its answer, over real HTTP on loopback and out of recordings: bounded, once, without a key (C6, C7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import orjson
import pytest

from domain import events as e
from domain.actions import Canvas
from domain.errors import ConfigError
from domain.ids import Sha256
from domain.run import Limits
from executor.config import Secret
from executor.models.base import ModelRequest, Reply, Screen, Turn, Usage
from executor.models.conversation import Conversation, Endpoint, Price, Stopped
from executor.models.registry import PROVIDERS, choose
from executor.models.transport import (
    HttpTransport,
    RecordedTransport,
    RecordingTransport,
    Transport,
    check_endpoint,
    scrub,
)
from executor.sandbox.model_server.dialogue import ProviderName
from executor.sandbox.model_server.scenario import Misbehaviour, Move, Scenario, ScriptTurn, load_scenario
from executor.sandbox.model_server.server import ModelServer
from executor.sandbox.practice.desk import SUBMIT, draw
from tests.support.practice import PROVIDERS as NAMES

LOOK = ScriptTurn(moves=[Move(do="screenshot")])
DONE = ScriptTurn(say="Done.")
CANVAS = Canvas(image_width=1280, image_height=800, page_width=1280, page_height=800)
SCREEN = Screen(image=draw("page", "", "", SUBMIT, ""), canvas=CANVAS)
providers = pytest.mark.parametrize("provider", NAMES)


Http = Callable[..., HttpTransport]


@pytest.fixture
def http() -> Iterator[Http]:
    """Makes transports that are closed at the end."""
    made: list[HttpTransport] = []

    def make(deadline_s: float = 20.0) -> HttpTransport:
        made.append(HttpTransport(deadline_s=deadline_s))
        return made[-1]

    yield make
    for transport in made:
        transport.close()


class Talk:
    """A conversation with a server, and what it records."""

    def __init__(
        self, server: ModelServer, provider: ProviderName, transport: Transport, *, price: Price | None = None
    ) -> None:
        chosen = choose(provider, environment=server.environment(provider), price=price)
        self.facts: list[e.ModelRequested | e.ModelResponded | e.SafetyAcknowledged] = []
        self.kept: list[bytes] = []
        self.talk = Conversation(chosen.dialect, transport, chosen.endpoint, Limits())

    def keep(self, body: bytes) -> Sha256:
        self.kept.append(body)
        return Sha256("0" * 64)

    def open(self) -> Turn | Stopped:
        return self.talk.opening("goal", SCREEN, record=self.facts.append, keep=self.keep)

    def go_on(self, turn: Turn) -> Turn | Stopped:
        return self.talk.answer(turn, Reply(screen=SCREEN), record=self.facts.append, keep=self.keep)

    @property
    def answers(self) -> list[e.ModelResponded]:
        return [fact for fact in self.facts if isinstance(fact, e.ModelResponded)]


def serve(*turns: ScriptTurn) -> ModelServer:
    return ModelServer(Scenario(name="test", turns=list(turns)))


@providers
def test_a_talk_goes_over_real_http_in_each_protocol(http: Http, provider: ProviderName) -> None:
    with serve(LOOK, LOOK, DONE) as server:
        talk = Talk(server, provider, http(), price=Price.parse("3/15"))
        first = talk.open()
        assert isinstance(first, Turn), first
        second = talk.go_on(first)
        assert isinstance(second, Turn), second
        last = talk.go_on(second)
    assert isinstance(last, Turn)
    assert last.final
    assert [fact.outcome for fact in talk.answers] == ["actions", "actions", "final"]
    assert {fact.cost_micros for fact in talk.answers} == {4_200}
    assert server.dialogues[provider][0].complaints == []
    asked = [fact for fact in talk.facts if isinstance(fact, e.ModelRequested)]
    assert asked[0].host == server.url.removeprefix("http://")


@providers
@pytest.mark.parametrize(
    ("how", "outcome", "billed"),
    [
        ("status_429", "failed", False),
        ("cut", "failed", True),
        ("slow", "timed_out", True),
        ("redirects", "failed", False),
        ("half", "refused", False),
        ("huge", "failed", True),
    ],
)
def test_a_failed_request_is_recorded_once_and_never_sent_again(
    http: Http, provider: ProviderName, how: Misbehaviour, outcome: str, *, billed: bool
) -> None:
    with serve(ScriptTurn(moves=[Move(do="screenshot")], misbehave=how), LOOK) as server:
        talk = Talk(server, provider, http(0.6 if how == "slow" else 20.0))
        stopped = talk.open()
        assert server.requests == 1
    assert isinstance(stopped, Stopped)
    assert (talk.answers[0].outcome, talk.answers[0].possibly_billed) == (outcome, billed)
    assert server.key not in repr(talk.facts) + repr(stopped)


def test_usage_of_a_failed_answer_is_on_record(http: Http) -> None:
    with serve(ScriptTurn(moves=[Move(do="screenshot")], misbehave="status_500")) as server:
        talk = Talk(server, "openai", http())
        stopped = talk.open()
    assert isinstance(stopped, Stopped)
    assert stopped.check.found == "HTTP 500"
    answer = talk.answers[0]
    assert (answer.status, answer.input_tokens, answer.possibly_billed) == (500, 1_200, False)


def test_a_wrong_key_is_repeated_by_the_service_and_by_nobody_else(http: Http) -> None:
    with serve(LOOK) as server:
        environment = {**server.environment("openai"), "COMPUTER_API_KEY": "sk-wrong-key-123456"}
        chosen = choose("openai", environment=environment)
        talk = Talk(server, "openai", http())
        talk.talk = Conversation(chosen.dialect, http(), chosen.endpoint, Limits())
        assert isinstance(talk.open(), Stopped)
    assert b"Incorrect API key provided: [removed]" in talk.kept[0]
    assert "sk-wrong-key" not in repr((talk.facts, talk.kept, chosen, chosen.endpoint))


def test_an_endpoint_that_is_not_there_costs_nothing(http: Http) -> None:
    answer = http(deadline_s=2).send(
        ModelRequest(url="http://127.0.0.1:9/v1/responses", headers={"authorization": "Bearer sk-x"}, body={})
    )
    assert (answer.trouble, answer.possibly_billed, answer.ok) == ("no_connection", False, False)
    assert "sk-x" not in repr(answer)


def test_a_header_that_can_not_be_sent_is_no_exception(http: Http) -> None:
    odd = ModelRequest(url="http://127.0.0.1:9/", headers={"x": "a\nb"}, body={})
    assert http(deadline_s=1).send(odd).trouble in {"lost", "no_connection"}


# -- recordings --------------------------------------------------------------------------------------------


@providers
def test_a_recording_answers_as_the_service_did(http: Http, provider: ProviderName, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    with serve(LOOK, ScriptTurn(moves=[Move(do="screenshot")], misbehave="echoes_key"), DONE) as server:
        key = Secret(server.key)
        recording = RecordingTransport(http(), path, provider=provider, secrets=(key,))
        live = Talk(server, provider, recording)
        _through(live)
        recording.close()
        again = Talk(server, provider, RecordedTransport.open(path))
        _through(again)
        assert server.requests == 3
    assert [fact.outcome for fact in again.answers] == ["actions", "actions", "final"]
    assert [fact.call_ids for fact in again.answers] == [fact.call_ids for fact in live.answers]
    assert server.key.encode() not in path.read_bytes()


def _through(talk: Talk) -> None:
    turn = talk.open()
    while isinstance(turn, Turn) and not turn.final:
        turn = talk.go_on(turn)
    assert isinstance(turn, Turn), turn


def test_a_recording_does_not_answer_another_talk() -> None:
    recorded = RecordedTransport.open(Path("data/recordings/practice-openai.jsonl"))
    request = ModelRequest(
        url="", headers={}, body={"input": [{"type": "computer_call_output", "call_id": "x"}]}
    )
    answer = recorded.send(request)
    assert (answer.trouble, answer.reason) == ("recording", "the recording answers a first request, not x")
    empty = RecordedTransport([])
    assert empty.send(request).reason == "the recording has no further answer"


def test_a_damaged_recording_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text('{"provider": "openai"}\n{"provider": 7}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"talk\.jsonl:2"):
        RecordedTransport.open(path)
    with pytest.raises(ConfigError, match="can't be read"):
        RecordedTransport.open(tmp_path / "none.jsonl")


# -- addresses, keys, prices -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://model.example/v1", "would get the key unencrypted"),
        ("https://user:pw@model.example/v1", "holds a user, a password or a query"),
        ("https://model.example/v1?key=abc", "holds a user, a password or a query"),
        ("ftp://model.example", "no web address"),
        ("model.example/v1", "no web address"),
    ],
)
def test_a_key_goes_over_https_or_to_this_machine(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refusal:
        check_endpoint(url)
    assert "pw" not in str(refusal.value).replace("password", "")
    assert "abc" not in str(refusal.value)
    assert check_endpoint("https://model.example/v1") and check_endpoint("http://127.0.0.1:8801")  # noqa: PT018


@providers
def test_what_is_missing_is_named_by_its_variable(provider: ProviderName) -> None:
    known = PROVIDERS[provider]
    with pytest.raises(ConfigError, match=f"set {known.model_env[0]}"):
        choose(provider, environment={})
    with pytest.raises(ConfigError, match=f"set {known.key_env[0]}"):
        choose(provider, environment={known.model_env[0]: "m"})
    with pytest.raises(ConfigError, match="can't stand in a header") as refusal:
        choose(provider, environment={known.model_env[0]: "m", known.key_env[0]: "sk-\nsecret"})
    assert "secret" not in str(refusal.value)
    chosen = choose(provider, environment={known.model_env[0]: "m", known.key_env[0]: "sk-secret"})
    assert chosen.endpoint.url.startswith(known.usual_url)
    assert "sk-secret" not in repr(chosen) + str(chosen)


def test_tool_versions_come_from_the_environment() -> None:
    env = {"ANTHROPIC_MODEL": "m", "ANTHROPIC_API_KEY": "k" * 8, "COMPUTER_TOOL_VERSION": "20251124"}
    headers = choose("anthropic", environment=env).dialect.headers("k")
    assert headers["anthropic-beta"] == "computer-use-2025-11-24"
    for provider in NAMES:
        names = {"COMPUTER_MODEL": "m", "COMPUTER_API_KEY": "k" * 8, "COMPUTER_TOOL_VERSION": "1999"}
        with pytest.raises(ConfigError, match="version"):
            choose(provider, environment=names)
    with pytest.raises(ConfigError, match="no provider"):
        choose("somebody", environment={})


def test_secrets_are_removed_however_they_are_escaped() -> None:
    assert scrub(b'{"a": "sk-abc"}', ("sk-abc",)) == b'{"a": "[removed]"}'
    hidden = b'{"a": "\\u0073k-abc"}'
    assert orjson.loads(hidden)["a"] == "sk-abc"
    assert b"sk-abc" not in scrub(hidden, ("sk-abc",))
    assert orjson.loads(scrub(hidden, ("sk-abc",))) == {"a": "[removed]"}
    assert scrub(b"not \\u json", ("x",)) == b"not \\u json"
    assert scrub(b"abc", ("",)) == b"abc"


def test_a_price_is_for_a_million_tokens() -> None:
    price = Price.parse("3.00/15.00")
    assert price.cost(Usage(input_tokens=1_200, output_tokens=40)) == 4_200
    assert price.cost(Usage()) == -1
    for wrong in ("3", "a/b", "-1/2", ""):
        with pytest.raises(ValueError, match=r"INPUT/OUTPUT|negative"):
            Price.parse(wrong)
    assert Endpoint(url="u", key=Secret("k"), price=price).price is price


def test_a_client_that_breaks_the_protocol_is_told_so() -> None:
    with serve(LOOK, LOOK) as server:
        headers = {"authorization": f"Bearer {server.key}"}
        image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
        body = {"model": "m", "input": [{"role": "user", "content": [image]}]}
        answer = httpx.post(f"{server.url}/v1/responses", json=body, headers=headers, trust_env=False)
        assert (answer.status_code, "no picture" in answer.text) == (400, True)
        wrong = {"model": "m", "input": [{"type": "computer_call_output", "call_id": "call_9"}]}
        answer = httpx.post(f"{server.url}/v1/responses", json=wrong, headers=headers, trust_env=False)
        assert (answer.status_code, "call none" in answer.text) == (400, True)


def test_a_scenario_is_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("name: x\nturns:\n  - surprise: 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"s\.yaml:3"):
        load_scenario(path)
    path.write_text("name: x\nturns: []\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="no turns"):
        load_scenario(path)
