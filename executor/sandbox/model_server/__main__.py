"""``python -m executor.sandbox.model_server SCENARIO``: serve a scripted model until Ctrl-C."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import click

from executor.sandbox.model_server.scenario import load_scenario
from executor.sandbox.model_server.server import ModelServer


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--port", type=int, default=0, help="Port on 127.0.0.1; a free one by default.")
def serve(scenario: Path, port: int) -> None:
    """Speak the three protocols as SCENARIO says, on loopback."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with ModelServer(load_scenario(scenario), port=port) as server:
        for provider in ("openai", "anthropic", "gemini"):
            click.echo(" ".join(f"{name}={value}" for name, value in server.environment(provider).items()))
        stop.wait()


if __name__ == "__main__":
    serve()
