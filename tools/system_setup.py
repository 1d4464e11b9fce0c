"""Find, or install, what the product needs from the system: a Chromium, and a font for Chinese screens.

The rules it enforces:

- A browser that was configured is used or refused, never replaced by another one.
- Otherwise: Playwright's own, then one on PATH, then `playwright install chromium`, then the system's
  package. A candidate counts only if it starts.
- The system's packages are touched only as root, only by apt, and it is said before it is done.
- A missing font is no reason to stop: text is drawn as boxes, and the record stays right.

Standard library only: it runs before anything is installed.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tools.setup_console import SetupError, run_logged, say

CONFIGURED = "PROOFREEL_CHROMIUM"
NAMES_ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FONT_PACKAGES = ("fonts-noto-cjk", "fonts-wqy-zenhei")
START_TIMEOUT_S = 30
_OWN_CHROMIUM = (
    "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
)


def ensure_chromium(python: Path, log: Path) -> Path:
    """Return a Chromium that starts.

    Args:
        python: Interpreter of the environment that has Playwright.
        log: File for the output of installers.

    Raises:
        SetupError: None was found and none could be installed.
    """
    configured = os.environ.get(CONFIGURED)
    if configured:
        if chromium_version(Path(configured)) is None:
            message = f"{CONFIGURED}={configured} does not start: correct it, or unset it to have one found"
            raise SetupError(message)
        return Path(configured)
    for candidate in _candidates(python):
        if chromium_version(candidate) is not None:
            return candidate
    return _install_chromium(python, log)


def chromium_version(executable: Path) -> str | None:
    """Return what the browser calls itself, or None if it does not start."""
    try:
        done = subprocess.run(
            [executable, "--version"], capture_output=True, text=True, timeout=START_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = done.stdout.strip()
    return version if done.returncode == 0 and "Chrom" in version else None


def ensure_cjk_font(log: Path) -> None:
    """Install a font for Chinese when there is none and that is possible; else say how."""
    if os.name != "posix" or os.uname().sysname != "Linux" or _has_cjk_font():
        return
    if may_use_apt():
        for package in FONT_PACKAGES:
            if apt_install((package, "fontconfig"), log) and _has_cjk_font():
                return
    say(f"  hint: no font for Chinese is installed; on Debian: apt-get install {FONT_PACKAGES[0]}")


def may_use_apt() -> bool:
    """Whether packages of the system can be installed from here."""
    return os.name == "posix" and os.geteuid() == 0 and shutil.which("apt-get") is not None


def apt_install(packages: tuple[str, ...], log: Path) -> bool:
    """Install packages of the system; return whether that worked."""
    say(f"  installing system packages: {' '.join(packages)}")
    install = ("apt-get", "install", "-y", "-q", "--no-install-recommends", *packages)
    if run_logged(install, log) is None:
        return True
    # The package lists of a new machine are empty or old; they are fetched only when that shows.
    return run_logged(("apt-get", "update", "-q"), log) is None and run_logged(install, log) is None


def _candidates(python: Path) -> Iterator[Path]:
    asked = subprocess.run([python, "-c", _OWN_CHROMIUM], capture_output=True, text=True, check=False)
    if asked.returncode == 0 and asked.stdout.strip():
        yield Path(asked.stdout.strip())
    for name in NAMES_ON_PATH:
        found = shutil.which(name)
        if found:
            yield Path(found)


def _install_chromium(python: Path, log: Path) -> Path:
    say("  no Chromium found: playwright install chromium")
    playwright = (python, "-m", "playwright")
    installed = run_logged((*playwright, "install", "chromium"), log) is None
    found = _first_that_starts(python)
    if found is None and installed and may_use_apt():
        say("  it lacks libraries of the system: playwright install-deps chromium")
        run_logged((*playwright, "install-deps", "chromium"), log)
        found = _first_that_starts(python)
    if found is None and may_use_apt() and apt_install(("chromium",), log):
        found = _first_that_starts(python)
    if found is None:
        message = (
            "no Chromium, and none could be installed: install one (Debian: apt-get install chromium) or "
            f"set {CONFIGURED} to its path, then run make again; details in {log}"
        )
        raise SetupError(message)
    return found


def _first_that_starts(python: Path) -> Path | None:
    return next((found for found in _candidates(python) if chromium_version(found) is not None), None)


def _has_cjk_font() -> bool:
    lister = shutil.which("fc-list")
    if lister is None:
        return False
    done = subprocess.run([lister, ":lang=zh", "family"], capture_output=True, text=True, check=False)
    return bool(done.stdout.strip())
