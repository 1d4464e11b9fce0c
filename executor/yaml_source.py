"""YAML read strictly: unknown keys, repeated keys and wrong types are refused with their file and line.

A configuration that is silently half understood is how a write policy gets lost, so nothing is ignored here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from domain.errors import ConfigError

_T = TypeVar("_T")
_UNKNOWN = re.compile(r"unknown field `(?P<field>[^`]*)`")
_PATH = re.compile(r" - at `(?P<path>[^`]*)`")
_PART = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")


def load_yaml(path: Path, shape: type[_T]) -> _T:
    """Read ``path`` as ``shape``, a msgspec Struct that forbids unknown fields; ``ConfigError`` names the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"can't be read: {error.strerror}",
            file=str(path),
            remedy="name a file that exists and is readable",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"is not UTF-8 (byte {error.start})", file=str(path), remedy="save it as UTF-8"
        ) from error
    return parse_yaml(text, shape, file=str(path))


def parse_yaml(text: str, shape: type[_T], *, file: str) -> _T:
    """Parse YAML text as ``shape``; see ``load_yaml``."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise ConfigError(
            f"not YAML: {error.problem or 'syntax error'}",
            file=file,
            line=line,
            remedy="correct the syntax there",
        ) from error
    except yaml.YAMLError as error:
        what = str(error).splitlines()[0]
        raise ConfigError(f"not YAML: {what}", file=file, remedy="correct the syntax") from error
    if node is None:
        raise ConfigError("is empty", file=file, remedy="see the example in the README")
    _refuse_repeated_keys(node, file, set())
    try:
        return msgspec.convert(data, shape)
    except msgspec.ValidationError as error:
        raise _located(error, node, file) from error


def line_of(path: Path, *keys: str) -> int:
    """Line (1-based) of a key by its path from the top, or of the nearest part that is there; 0 when nothing is.

    A place in a list is given as its number from 0.
    """
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return 0
    line = 0
    for key in keys:
        step = None if node is None else _child(node, key, key if key.isdigit() else "")
        if step is None:
            break
        node, line = step
    return line


def _refuse_repeated_keys(node: yaml.Node, file: str, visited: set[int]) -> None:
    """``visited``: an alias may lead back to a node or multiply it."""
    if id(node) in visited:
        return
    visited.add(id(node))
    if isinstance(node, yaml.MappingNode):
        seen: dict[Any, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in seen:
                raise ConfigError(
                    f"{key.value!r} stands twice (first in line {seen[key.value]})",
                    file=file,
                    line=line,
                    remedy="keep one of them",
                )
            seen[key.value] = line
            _refuse_repeated_keys(value, file, visited)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_repeated_keys(item, file, visited)


def _located(error: msgspec.ValidationError, root: yaml.Node, file: str) -> ConfigError:
    message = str(error)
    place = _PATH.search(message)
    unknown = _UNKNOWN.search(message)
    parts = _PART.findall(place["path"] if place else "")
    line = _line_of_unknown(root, parts, unknown["field"]) if unknown else None
    if line is None:
        node, line = root, root.start_mark.line + 1
        for name, index in parts:
            step = _child(node, name, index)
            if step is None:
                break
            node, line = step
    remedy = "correct the value"
    if unknown:
        message = f"unknown key {unknown['field']!r}"
        remedy = "remove it or correct its spelling"
    else:
        message = _PATH.sub(lambda match: f" at {match['path'].removeprefix('$.')}", message)
    return ConfigError(message, file=file, line=line, remedy=remedy)


def _line_of_unknown(node: yaml.Node, parts: Sequence[tuple[str, str]], key: str) -> int | None:
    """Where the key stands; a part without a name (``[...]``) is any value of a mapping."""
    if not parts:
        found = _child(node, key, "")
        return found[1] if found else None
    (name, index), rest = parts[0], parts[1:]
    if name or index:
        step = _child(node, name, index)
        return _line_of_unknown(step[0], rest, key) if step else None
    values = [value for _, value in node.value] if isinstance(node, yaml.MappingNode) else []
    lines = (_line_of_unknown(value, rest, key) for value in values)
    return next((line for line in lines if line is not None), None)


def _child(node: yaml.Node, name: str, index: str) -> tuple[yaml.Node, int] | None:
    if name and isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                return value, key.start_mark.line + 1
    if index and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
        item = node.value[int(index)]
        return item, item.start_mark.line + 1
    return None
