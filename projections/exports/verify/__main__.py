"""``python -m projections.exports.verify FILE``: exit 0 verified, 1 not verified, 2 bad use."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from domain.errors import ConfigError
from projections.exports.verify import verify


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify one file and print the report; the exit code."""
    parser = argparse.ArgumentParser(prog="verify", description="Verify an evidence bundle.")
    parser.add_argument("file", type=Path, help="the bundle (zip)")
    parser.add_argument("--key", action="append", default=[], help="verifier key you trust: name+id+base64")
    parser.add_argument("--witness", action="append", default=[], help="verifier key of a witness you trust")
    parser.add_argument("--root", help="root of the log that you have from elsewhere, 64 hexadecimal digits")
    parser.add_argument(
        "--checkpoint", action="append", default=[], type=Path, help="earlier checkpoint you have"
    )
    parser.add_argument(
        "--stream", action="append", default=[], help="stream that must be shown: task:<uuid>"
    )
    parser.add_argument(
        "--tsa-ca", type=Path, help="certificates (PEM) of the time stamping authority you trust"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    options = parser.parse_args(arguments)
    try:
        report = verify(
            options.file,
            trusted_keys=options.key,
            witnesses=options.witness,
            expect_root=options.root,
            known_checkpoints=[path.read_text("utf-8") for path in options.checkpoint],
            expect_streams=options.stream,
            tsa_ca=options.tsa_ca,
        )
    except (ConfigError, OSError, UnicodeDecodeError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a command line of its own
        return 2
    text = json.dumps(report.to_dict(), indent=2) if options.json else "\n".join(report.lines())
    print(text)  # noqa: T201 - a command line of its own
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
