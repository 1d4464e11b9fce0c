"""The vendor's MCP server: the same business by tools, over stdio or streamable HTTP.

It works in an account's session of the portal's pages, so it lives on when the REST interface is withdrawn. The
account's password comes from the environment and goes nowhere else::

    python -m executor.sandbox.mcp_server --portal http://127.0.0.1:8800 --account svc-acme --secret-env PASSWORD
    python -m executor.sandbox.mcp_server … --http 9000
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Final

import httpx
from mcp.server.mcpserver import MCPServer

from executor.sandbox.portal.client import PortalClient, PortalRefusedError

BAD_USE: Final = 2
TRANSPORT_FAILED: Final = "gateway"


class Desk:
    """One account's session; logged in again when the vendor has ended it and nothing was sent."""

    def __init__(self, portal: str, account: str, password: str) -> None:
        self._portal = portal
        self._account = account
        self._password = password

    def get_bill(self, bill_id: str) -> dict[str, Any]:
        """One bill with its history and its postings."""
        try:
            with self._client() as client:
                return {**client.detail(bill_id), "session_account": self._account}
        except PortalRefusedError as refused:
            return {"error": _word(refused.status_code, refused.reason)}

    def act_on_bill(
        self, bill_id: str, action: str, amount: str, currency: str, month: str, counterparty_id: str
    ) -> dict[str, Any]:
        """Take one action (process, refund, undo) on one bill."""
        given = {"amount": amount, "currency": currency, "month": month, "counterparty_id": counterparty_id}
        try:
            with self._client() as client:
                answer = client.post(bill_id, action, **given)
        except PortalRefusedError as refused:
            return {"error": _word(refused.status_code, refused.reason)}
        body: dict[str, Any] = answer.json()
        if answer.status_code != httpx.codes.OK:
            return {"error": _word(answer.status_code, str(body.get("error", "")))}
        return {"status": body.get("status", "")}

    def _client(self) -> PortalClient:
        return PortalClient(self._portal, self._account, self._password)


def _word(status_code: int, reason: str) -> str:
    words = {401: "not_logged_in", 404: "not_found", 502: TRANSPORT_FAILED, 504: TRANSPORT_FAILED}
    return reason or words.get(status_code, f"http_{status_code}")


def build(desk: Desk) -> MCPServer:
    """The server with its two tools."""
    server: MCPServer = MCPServer(name="vendor-portal")
    server.add_tool(desk.get_bill, name="get_bill", description="Read one bill.")
    server.add_tool(desk.act_on_bill, name="act_on_bill", description="Process, refund or undo one bill.")
    return server


def main() -> int:
    """Serve until the input closes, or until the signal to end."""
    parser = argparse.ArgumentParser(prog="mcp_server", description="The vendor's tools for models.")
    parser.add_argument("--portal", required=True, help="address of the portal")
    parser.add_argument("--account", required=True, help="account that the tools act as")
    parser.add_argument("--secret-env", required=True, help="environment variable with its password")
    parser.add_argument("--http", type=int, help="port on 127.0.0.1 instead of standard input and output")
    options = parser.parse_args()
    password = os.environ.get(options.secret_env)
    if not password:
        sys.stderr.write(f"mcp_server: set the environment variable {options.secret_env}\n")
        return BAD_USE
    server = build(Desk(options.portal, options.account, password))
    if options.http is None:
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=options.http)
    return 0


if __name__ == "__main__":
    sys.exit(main())
