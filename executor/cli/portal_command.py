"""``proofreel portal``: the sandbox's vendor back office, to look at and to try one's own loop on."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import click

from executor.cli.common import json_option, print_json
from executor.sandbox.portal.server import PortalServer


@click.command(epilog="Example: proofreel portal --db portal.db --lang en")
@click.option(
    "--db",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("portal.db"),
    show_default=True,
    help="Its SQLite file; a new one is filled with bills.",
)
@click.option(
    "--lang",
    type=click.Choice(["zh", "en", "ja", "ko"]),
    default="zh",
    show_default=True,
    help="Its language.",
)
@click.option("--port", type=int, default=0, help="Port on 127.0.0.1; a free one by default.")
@json_option
def portal(db: Path, lang: str, port: int, as_json: bool) -> int:  # noqa: FBT001 - click passes flags by name
    """Serve a vendor's old back office on loopback until Ctrl-C. Its passwords are new each time."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with PortalServer(db, lang=lang, port=port) as server:
        accounts = {name: account.password for name, account in server.accounts.items()}
        if as_json:
            print_json({"url": server.url, "accounts": accounts})
        else:
            click.echo(f"the vendor's back office is at {server.url}")
            for name, password in accounts.items():
                click.echo(f"  {name}: {password}")
            click.echo("stop it with Ctrl-C")
        stop.wait()
    return 0
