"""Run the portal in this process: `python -m executor.sandbox.portal --db FILE`.

By hand, it makes the usual log-ins with new passwords and prints them. With `--stdin-config` it reads its
secrets from the first line of its standard input, and ends when that input closes.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import threading
from pathlib import Path
from typing import Any, Final

import uvicorn

from executor.sandbox.portal.app import create_app
from executor.sandbox.portal.db import Database
from executor.sandbox.portal.i18n import LANGUAGES
from executor.sandbox.portal.model import Account, Role
from executor.sandbox.portal.registry import AMBIENT
from executor.sandbox.portal.seed import seed, usual_accounts
from executor.sandbox.portal.server import listening_socket, uvicorn_server
from executor.sandbox.portal.services import Settings

BAD_USE: Final = 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="portal", description="A vendor's back office on a loopback port.")
    parser.add_argument("--db", type=Path, required=True, help="SQLite file, created when missing")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--lang", choices=LANGUAGES, default="zh", help="language of the pages")
    parser.add_argument("--ready-file", type=Path, help="gets the address as JSON")
    parser.add_argument("--ambient", action="append", choices=AMBIENT, default=[], help="benign disturbance")
    parser.add_argument("--strict", action="store_true", help="refuse to book an action twice")
    parser.add_argument(
        "--stdin-config", action="store_true", help="read accounts and token from standard input"
    )
    return parser


def _account(raw: dict[str, Any]) -> Account:
    return Account(**{**raw, "role": Role(raw["role"])})


def _end_with_input(server: uvicorn.Server) -> None:
    sys.stdin.read()
    server.should_exit = True


def main() -> int:
    """Serve until the signal to end."""
    options = _parser().parse_args()
    accounts: tuple[Account, ...]
    if options.stdin_config:
        try:
            given = json.loads(sys.stdin.readline())
            accounts, token = tuple(_account(raw) for raw in given["accounts"]), str(given["control_token"])
        except (KeyError, TypeError, ValueError) as error:
            sys.stderr.write(f"portal: standard input has no usable configuration ({type(error).__name__})\n")
            return BAD_USE
    else:
        accounts, token = usual_accounts(), secrets.token_urlsafe(16)
        seed(Database(options.db))
    settings = Settings(control_token=token, lang=options.lang, strict=options.strict)
    app = create_app(options.db, settings, accounts=accounts, ambient=options.ambient)
    bound = listening_socket(options.port)
    url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    server = uvicorn_server(app)
    if options.stdin_config:
        threading.Thread(target=_end_with_input, args=(server,), daemon=True).start()
    else:
        lines = [f"{account.name:16} {account.password}" for account in accounts]
        sys.stdout.write("\n".join([url, f"control token    {token}", *lines]) + "\n")
    if options.ready_file:
        partial = options.ready_file.with_suffix(".part")
        partial.write_text(json.dumps({"url": url}), encoding="utf-8")
        partial.replace(options.ready_file)
    server.run(sockets=[bound])
    return 0


if __name__ == "__main__":
    sys.exit(main())
