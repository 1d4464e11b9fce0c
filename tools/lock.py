"""Write requirements.lock from pyproject.toml.

The rules it enforces:

- The lock names every package of every extra with the hashes of all its files, for Python 3.11 and newer
  on any platform, so that an installation gets the same bytes from whatever index or mirror it uses.
- The lock names no index and no path of the machine that made it.

The resolver runs in an environment of its own under .cache/, at a fixed version, and reads no
configuration of the machine.
"""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESOLVER = "uv==0.13.9"
RESOLVER_HOME = ROOT / ".cache" / "lock"
LOCK = ROOT / "requirements.lock"
COMPILE = (
    *("--no-config", "pip", "compile", "pyproject.toml", "--all-extras", "--universal"),
    *("--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-annotate", "--no-header"),
)


def resolver() -> Path:
    """Return the resolver's executable, installed on first use."""
    scripts = RESOLVER_HOME / ("Scripts" if sys.platform == "win32" else "bin")
    if not (scripts / "uv").exists():
        print(f"installing {RESOLVER}")
        venv.create(RESOLVER_HOME, with_pip=True)
        subprocess.run([scripts / "python", "-m", "pip", "install", "--quiet", RESOLVER], check=True)
    return scripts / "uv"


def impurities(lock: str) -> list[str]:
    """Return the lines that are neither a pin nor a hash: options, direct addresses, local paths."""
    allowed = ("    --hash=sha256:",)
    return [line for line in lock.splitlines() if not line.startswith(allowed) and not _is_pin(line)]


def _is_pin(line: str) -> bool:
    name, separator, _version = line.partition("==")
    return bool(separator) and name.replace("-", "").replace(".", "").replace("_", "").isalnum()


def main(arguments: list[str]) -> int:
    """Resolve anew; with `--upgrade` also past the versions that the present lock holds."""
    output = ["--quiet", "--output-file", LOCK.name]
    done = subprocess.run([resolver(), *COMPILE, *output, *arguments], cwd=ROOT, check=False)
    if done.returncode:
        print(
            "error: no lock written; the message above names the requirement that can't be met",
            file=sys.stderr,
        )
        return done.returncode
    if strange := impurities(LOCK.read_text(encoding="utf-8")):
        print(f"error: {LOCK.name} has a line that is no pin: {strange[0]!r}", file=sys.stderr)
        return 1
    print(f"{LOCK.name} is up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
