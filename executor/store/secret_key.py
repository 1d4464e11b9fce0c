"""The file of the privacy key: 32 secret bytes, from which salts come and by which data keys are wrapped.

Rules: the file is readable by its owner alone, lies outside of the record and of backups of it, and its content is
never shown. Whoever loses it can't prove the rest of what is redacted later, and can't read what was encrypted.
"""

from __future__ import annotations

import base64
import os
import secrets
import stat
from typing import TYPE_CHECKING

from domain.errors import ConfigError
from domain.sealing import KEY_BYTES, SECRET_PREFIX, SecretKey, parse_secret

if TYPE_CHECKING:
    from pathlib import Path


def make_secret(path: Path) -> SecretKey:
    """Make a key in a new file with mode 0600; ``ConfigError`` when the file exists."""
    secret = secrets.token_bytes(KEY_BYTES)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        remedy = "name another file; a key in use is never replaced"
        raise ConfigError(f"{path} exists", remedy=remedy) from error
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}", remedy="name a file in a folder that exists"
        ) from error
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"{SECRET_PREFIX}{base64.b64encode(secret).decode()}\n")
        file.flush()
        os.fsync(file.fileno())
    return SecretKey(secret)


def load_secret(path: Path) -> SecretKey:
    """Read a key; ``ConfigError`` when others may read the file or it holds none."""
    remedy = "make one with 'proofreel keys privacy FILE', and name it under privacy.key"
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        key = parse_secret(path.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} can't be read as a privacy key", remedy=remedy) from error
    if mode & 0o077:
        raise ConfigError(f"{path} may be read by others (mode {mode:04o})", remedy=f"chmod 600 {path}")
    return key
