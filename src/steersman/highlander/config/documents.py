"""YAML that remembers where everything stands, and what in it no model knows.

A `Document` is one mapping of a file. Positions are lines from 1; a path that is not there has the line of
what it would be in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel

from steersman.highlander.errors import ConfigError

__all__ = ["Document", "Unknown", "parse"]

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A key that means nothing."""

    path: Path
    line: int
    suggestion: str

    def __str__(self) -> str:
        hint = f"; did you mean {self.suggestion}?" if self.suggestion else ""
        return f"there is no such key{hint}"


class Document:
    """A mapping with the places of its parts."""

    def __init__(self, file: str, node: yaml.MappingNode, value: dict[str, Any]) -> None:
        self.file = file
        self.value = value
        self._node = node

    def line(self, path: Sequence[str | int]) -> int:
        node: yaml.Node = self._node
        line = node.start_mark.line + 1
        for step in path:
            found = _child(node, step)
            if found is None:
                break
            place, node = found
            line = place.start_mark.line + 1
        return line

    def at(self, path: Sequence[str | int]) -> str:
        """`FILE:LINE: FIELD`"""
        return f"{self.file}:{self.line(path)}: {dotted(path)}"

    def part(self, key: str, index: int) -> Document:
        """An item of a list of mappings, as a document of its own."""
        found = _child(self._node, key)
        item = _child(found[1], index) if found else None
        if item is None or not isinstance(item[1], yaml.MappingNode):
            raise ConfigError(f"{self.at((key, index))}: must be a mapping")
        return Document(self.file, item[1], self.value[key][index])

    def unknown(self, model: type[BaseModel]) -> Iterator[Unknown]:
        """Keys that `model` does not have, however deep."""
        yield from _unknown(self._node, model, ())


def dotted(path: Sequence[str | int]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text or "the file"


def parse(file: str, text: str) -> Document:
    """Raises ConfigError for what is no YAML or no mapping."""
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            node = yaml.MappingNode("tag:yaml.org,2002:map", [], yaml.Mark(file, 0, 0, 0, None, 0))
        value: object = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{file}:{line}: {error.problem or 'the file is not valid YAML'}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: {' '.join(str(error).split())}") from None
    finally:
        loader.dispose()
    if not isinstance(node, yaml.MappingNode) or not isinstance(value, dict):
        raise ConfigError(f"{file}:1: the file must be a mapping: key: value")
    return Document(file, node, value)


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Where a part begins, and the part."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return key, value
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        item = node.value[step]
        return item, item
    return None


def _unknown(node: yaml.Node, model: type[BaseModel], path: Path) -> Iterator[Unknown]:
    if not isinstance(node, yaml.MappingNode):
        return
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    for key, value in node.value:
        here = (*path, key.value)
        field = fields.get(key.value)
        if field is None:
            close = get_close_matches(str(key.value), fields, n=1, cutoff=0.6)
            yield Unknown(here, key.start_mark.line + 1, close[0] if close else "")
            continue
        yield from _unknown_inside(value, field.annotation, here)


def _unknown_inside(node: yaml.Node, annotation: Any, path: Path) -> Iterator[Unknown]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from _unknown(node, annotation, path)
    elif origin in (Union, UnionType):
        for each in arguments:
            if each is not NoneType:
                yield from _unknown_inside(node, each, path)
    elif origin is list and isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _unknown_inside(item, arguments[0], (*path, index))
