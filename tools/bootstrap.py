"""Set the project up: an environment in .venv, the locked dependencies, a Chromium, a font.

The rules it enforces:

- Only what requirements.lock names is installed, each file checked against its hash.
- A stamp keyed by the lock and pyproject.toml makes the next set-up a no-op; it is removed before anything
  changes, so that an interrupted set-up is never taken for a finished one.
- Downloads are kept in the user's cache: the next environment with the same lock needs no network.
- A failure is one line that names the remedy; the details are in .venv/setup.log.

Standard library only. Run it as `make setup`.
"""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator
from pathlib import Path

from tools import system_setup
from tools.setup_console import Counter, SetupError, run_logged, say

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".ready"
CHROMIUM = VENV / ".chromium"
LOG = VENV / "setup.log"
LOCK = ROOT / "requirements.lock"
OLDEST_PYTHON = (3, 11)
KEPT_DOWNLOADS = 2
# What packages that come as source are built with. They come out of the lock too: pip's own way would
# fetch whatever build tools are newest, unchecked.
BUILD_TOOLS = ("packaging", "setuptools", "setuptools-scm", "vcs-versioning")

# What pip prints when it fails, and what helps. The first that matches counts: without a network pip also
# says that it found no matching distribution.
_NETWORK = (
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeout",
    "ProxyError",
    "SSLError",
    "ReadTimeout",
)
_REMEDIES = (
    (("No space left",), "the disk is full: free about 1 GB, then run make again"),
    (_NETWORK, "the package index can't be reached: check the network or pip's proxy and index settings"),
    (("DO NOT MATCH THE HASHES",), "a download differs from requirements.lock: check the mirror pip uses"),
    (
        ("No matching distribution",),
        "a locked package has no build for this Python or platform: use Python 3.11 to 3.13, x86-64 or arm64",
    ),
)


def wanted_stamp() -> str:
    """Return the hash of everything that decides what the environment holds."""
    digest = hashlib.sha256()
    for path in (LOCK, ROOT / "pyproject.toml"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_ready() -> bool:
    """Whether a finished set-up for exactly these files is there, with the browser it found."""
    if not (STAMP.is_file() and CHROMIUM.is_file() and PYTHON.exists()):
        return False
    chromium = CHROMIUM.read_text(encoding="utf-8").strip()
    configured = os.environ.get(system_setup.CONFIGURED, chromium)
    return (
        configured == chromium
        and Path(chromium).exists()
        and STAMP.read_text(encoding="utf-8") == wanted_stamp()
    )


def create_environment() -> None:
    """Create .venv unless one that works is there."""
    with contextlib.suppress(OSError):
        probe = f"import sys, pip; sys.exit(sys.version_info < {OLDEST_PYTHON})"
        if subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode == 0:
            return
    if importlib.util.find_spec("ensurepip") is None:
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        message = f"this Python can't make environments: apt-get install {package}, then run make again"
        raise SetupError(message)
    say(f"  creating {VENV.name} with Python {sys.version.split()[0]}")
    try:
        venv.create(VENV, clear=True, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        message = (
            f"{VENV} can't be created ({error}): check that the folder is writable and the disk not full"
        )
        raise SetupError(message) from error


def downloads_folder() -> Path:
    """Return the folder, in the user's cache, of the downloads for this lock, Python and platform."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    lock = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    python = sys.implementation.cache_tag
    return cache / "proofreel" / "wheels" / f"{lock}-{python}-{sysconfig.get_platform()}"


def install_locked() -> None:
    """Download what the lock names, unless that was done before, and install it without the network."""
    folder = downloads_folder()
    complete = folder / ".complete"
    fetch = ("download", "--require-hashes", "--no-build-isolation", "--retries=2", "--dest", folder)
    install = ("install", "--require-hashes", "--no-build-isolation", "--no-index", "--find-links", folder)
    pins = _pins()
    tools = VENV / "build-tools.txt"
    tools.write_text("".join(pins[name] for name in BUILD_TOOLS), encoding="utf-8")
    if not complete.exists():
        say(f"  downloading {len(pins)} locked packages (about 250 MB, once)")
        folder.mkdir(parents=True, exist_ok=True)
        _pip(*fetch, "--no-deps", "-r", tools)
    _pip(*install, "--no-deps", "-r", tools)
    if not complete.exists():
        _pip(*fetch, "-r", LOCK, counter=Counter("downloaded", len(pins)))
        complete.touch()
        _forget_old_downloads(folder)
    say("  installing them")
    _pip(*install, "-r", LOCK)


def _pins() -> dict[str, str]:
    """Return the lock's entries, name to text, hashes included."""
    pins: dict[str, str] = {}
    name = ""
    for line in LOCK.read_text(encoding="utf-8").splitlines(keepends=True):
        if not line.startswith(" "):
            name = line.partition("==")[0]
        pins[name] = pins.get(name, "") + line
    return pins


def install_project() -> None:
    """Install the project itself, editable, with the locked build tool."""
    _pip("install", "--no-index", "--no-deps", "--no-build-isolation", "--editable", ROOT)


def _pip(*arguments: str | Path, counter: Counter | None = None) -> None:
    def watch(line: str) -> None:
        # pip decides on each pin once: it takes it, or a marker rules it out.
        word, _, rest = line.partition(" ")
        if counter is not None and word in {"Collecting", "Ignoring", "Processing"}:
            counter.step(rest.split()[0].rpartition("/")[2].partition("==")[0].rstrip(":"))

    printed = run_logged((PYTHON, "-m", "pip", "--disable-pip-version-check", *arguments), LOG, watch)
    if counter is not None:
        counter.end()
    if printed is not None:
        raise SetupError(remedy(printed))


def remedy(printed: str) -> str:
    """Return one line on why pip failed and what helps, from what it printed."""
    for signs, advice in _REMEDIES:
        if any(sign in printed for sign in signs):
            return f"{advice}; details in {LOG}"
    errors = [line for line in printed.splitlines() if line.startswith("ERROR:")]
    return f"pip failed ({errors[-1][7:] if errors else 'no reason given'}); details in {LOG}"


def _forget_old_downloads(current: Path) -> None:
    others = [path for path in current.parent.iterdir() if path.is_dir() and path != current]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in others[KEPT_DOWNLOADS - 1 :]:
        shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let one set-up of this project run at a time; the others wait and then find it done."""
    import fcntl  # noqa: PLC0415 - absent on Windows, where the message below is due instead

    (ROOT / ".cache").mkdir(exist_ok=True)
    with (ROOT / ".cache" / "setup.lock").open("w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def set_up() -> None:
    """Bring the environment to what the lock says.

    Raises:
        SetupError: With the remedy, when a step can't be done.
    """
    started = time.monotonic()
    say("Setting up (once; the next time this is skipped)")
    STAMP.unlink(missing_ok=True)
    create_environment()
    LOG.unlink(missing_ok=True)
    install_locked()
    install_project()
    chromium = system_setup.ensure_chromium(PYTHON, LOG)
    system_setup.ensure_cjk_font(LOG)
    CHROMIUM.write_text(f"{chromium}\n", encoding="utf-8")
    STAMP.write_text(wanted_stamp(), encoding="utf-8")
    version = system_setup.chromium_version(chromium)
    say(f"Ready after {time.monotonic() - started:.0f} s, with {version} at {chromium}")


def main() -> int:
    """Set up if need be; return the exit status."""
    if sys.version_info < OLDEST_PYTHON or os.name != "posix":
        print("error: Python 3.11 or newer on Linux or macOS is needed (on Windows: in WSL)", file=sys.stderr)
        return 1
    try:
        with _alone():
            if not is_ready():
                set_up()
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; run make again to go on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
