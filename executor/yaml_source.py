"""YAML read strictly: unknown keys, repeated keys and wrong types are refused with their file and line.

A configuration that is silently half understood is how a write policy gets lost, so nothing is ignored here.
"""

from __future__ import annotations

import re
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
    if node is None:
        raise ConfigError("is empty", file=file, remedy="see the example in the README")
    _refuse_repeated_keys(node, file)
    try:
        return msgspec.convert(data, shape)
    except msgspec.ValidationError as error:
        raise _located(error, node, file) from error


def _refuse_repeated_keys(node: yaml.Node, file: str) -> None:
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
            _refuse_repeated_keys(value, file)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_repeated_keys(item, file)


def _located(error: msgspec.ValidationError, root: yaml.Node, file: str) -> ConfigError:
    message = str(error)
    place = _PATH.search(message)
    unknown = _UNKNOWN.search(message)
    node, line = root, root.start_mark.line + 1
    for name, index in _PART.findall(place["path"] if place else ""):
        step = _child(node, name, index)
        if step is None:
            break
        node, line = step
    remedy = "correct the value"
    if unknown:
        step = _child(node, unknown["field"], "")
        line = step[1] if step else line
        message = f"unknown key {unknown['field']!r}"
        remedy = "remove it or correct its spelling"
    else:
        message = _PATH.sub(lambda match: f" at {match['path'].removeprefix('$.')}", message)
    return ConfigError(message, file=file, line=line, remedy=remedy)


def _child(node: yaml.Node, name: str, index: str) -> tuple[yaml.Node, int] | None:
    if name and isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                return value, key.start_mark.line + 1
    if index and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
        item = node.value[int(index)]
        return item, item.start_mark.line + 1
    return None
