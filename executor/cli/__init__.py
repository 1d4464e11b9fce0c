"""The ``proofreel`` command: one tree of thin commands over what the packages do.

Exit codes: 0 done; 1 done, and something was found wrong; 2 bad use or configuration; 3 the world failed (no browser,
no database). Errors are one line that names the remedy; ``--json`` puts machine-readable results on standard output;
progress goes to standard error.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

import click

from domain.errors import ProofreelError
from executor.cli.lazy import LazyGroup

INTERRUPTED = 130
"""Exit code after Ctrl-C (128 + SIGINT), as shells use it."""

COMMANDS = {
    "demo": "executor.cli.demo_command:demo",
    "run": "executor.cli.run_commands:run",
    "recover": "executor.cli.run_commands:recover",
    "tasks": "executor.cli.run_commands:tasks",
    "approvals": "executor.cli.people_commands:approvals",
    "takeover": "executor.cli.people_commands:takeover",
    "alerts": "executor.cli.alert_commands:alerts",
    "compensate": "executor.cli.people_commands:compensate",
    "drill": "executor.cli.drill_command:drill_command",
    "settlement": "executor.cli.month_commands:settlement",
    "reconcile": "executor.cli.month_commands:reconcile",
    "metrics": "executor.cli.metrics_commands:metrics",
    "report": "executor.cli.report_commands:report",
    "ocel": "executor.cli.report_commands:ocel",
    "bills": "executor.cli.report_commands:bills",
    "cases": "executor.cli.case_commands:cases",
    "export": "executor.cli.evidence_commands:export",
    "redact": "executor.cli.redact_commands:redact",
    "hold": "executor.cli.retention_commands:hold",
    "retention": "executor.cli.retention_commands:retention",
    "verify": "executor.cli.evidence_commands:verify",
    "fsck": "executor.cli.record_commands:fsck",
    "keys": "executor.cli.record_commands:keys",
    "checkpoint": "executor.cli.record_commands:checkpoint",
    "witness": "executor.cli.record_commands:witness",
    "migrate": "executor.cli.record_commands:migrate",
    "grant": "executor.cli.record_commands:grant",
    "serve": "executor.cli.serve_command:serve",
    "gauntlet": "executor.cli.gauntlet_command:gauntlet",
    "portal": "executor.cli.portal_command:portal",
}
"""Command → where it is; imported only when it is called."""


@click.group(
    cls=LazyGroup,
    commands_at=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Examples: 'proofreel demo', 'proofreel run batch.yaml', 'proofreel verify evidence.zip'.",
)
@click.version_option(package_name="proofreel", prog_name="proofreel")
@click.option("-v", "--verbose", is_flag=True, help="Log what happens, to standard error.")
def cli(verbose: bool) -> None:  # noqa: FBT001 - click passes flags by name
    """Flight recorder and evidence desk for agents that write to business systems."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.ERROR, format="%(levelname)s %(name)s: %(message)s"
    )
    if not verbose:  # a Ctrl-C reaches the browser too, and asyncio tells of each answer that then never came
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: runs a command and turns errors into one line and an exit code."""
    sys.exit(run_command(arguments))


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Exit code of a command; errors are printed to standard error."""
    try:
        result = cli.main(args=arguments, prog_name="proofreel", standalone_mode=False)
    except ProofreelError as error:
        click.echo(f"proofreel: {error}", err=True)
        return error.exit_code
    except click.exceptions.Abort:
        click.echo("proofreel: stopped; what was recorded is kept, run the command again to go on", err=True)
        return INTERRUPTED
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return result if isinstance(result, int) else 0
