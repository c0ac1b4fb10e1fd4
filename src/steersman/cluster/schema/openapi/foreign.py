"""What other servers say about their parts of the API, made fit to stand among our own documents.

Pure. Documents come over the network from servers that somebody registered: `part_of` takes what belongs to
one group version and raises ValueError for what is no OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from steersman.cluster.schema.openapi import gnostic
from steersman.cluster.schema.openapi.definitions import PREFIX
from steersman.objects.kinds import Object

__all__ = ["Foreign", "converted", "merge_into", "part_of"]


_GVKS: Final = "x-kubernetes-group-version-kind"
_PARAMETERS: Final = "#/parameters/"
_PLACES: Final = ("body", "path", "query")
_VERBS: Final = ("delete", "get", "head", "options", "patch", "post", "put")
_JSON: Final = ("application/json",)


@dataclass(frozen=True, slots=True)
class Foreign:
    """One group version that another server has."""

    #: As in /openapi/v3: apis/GROUP/VERSION.
    path: str
    #: The group version's part of the server's version 2 document; empty when it has none.
    v2: Mapping[str, Any]
    #: Its version 3 document.
    v3: bytes


def part_of(document: Any, path: str) -> Object:
    """The paths of a version 2 document that are below `path`, and the types they need."""
    try:
        shared = document.get("parameters") or {}
        paths = {
            name: _resolved(item, shared)
            for name, item in (document.get("paths") or {}).items()
            if name.startswith(f"/{path}/")
        }
        definitions = document.get("definitions") or {}
        part: Object = {"paths": paths, "definitions": _needed(paths, definitions)}
        # kubectl asks for protobuf: what cannot be written so is no use to it.
        gnostic.encode(part)
    except (AttributeError, KeyError, RecursionError, TypeError) as error:
        raise ValueError(f"no OpenAPI document: {error}") from error
    return part


def _resolved(item: Mapping[str, Any], shared: Mapping[str, Any]) -> Object:
    """A path with its parameters in place, which servers may keep elsewhere in the document."""

    def parameters(given: list[Object]) -> list[Object]:
        found = [
            shared[reference.removeprefix(_PARAMETERS)] if (reference := each.get("$ref")) else each
            for each in given
        ]
        return [each for each in found if each["in"] in _PLACES]

    resolved: Object = {}
    for key, value in item.items():
        if key == "parameters":
            value = parameters(value)
        elif key in _VERBS and "parameters" in value:
            value = {**value, "parameters": parameters(value["parameters"])}
        resolved[key] = value
    return resolved


def _needed(paths: Object, definitions: Mapping[str, Any]) -> Object:
    """The types that paths refer to, and those that they refer to."""
    needed: Object = {}
    todo = list(_references(paths))
    while todo:
        name = todo.pop().removeprefix(PREFIX[2])
        if name not in needed and name in definitions:
            needed[name] = definitions[name]
            todo.extend(_references(definitions[name]))
    return {name: needed[name] for name in sorted(needed)}


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(reference := node.get("$ref"), str):
            yield reference
        for child in node.values():
            yield from _references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)


def _rewritten(node: Any, change: Callable[[str], str]) -> Any:
    """The same with other references."""
    if isinstance(node, dict):
        return {
            key: change(child) if key == "$ref" and isinstance(child, str) else _rewritten(child, change)
            for key, child in node.items()
        }
    if isinstance(node, list):
        return [_rewritten(child, change) for child in node]
    return node


def merge_into(document: Object, part: Mapping[str, Any]) -> None:
    """Add a part to a version 2 document, in place. A path that is there stays as it is; a type of another
    shape under a name that is taken gets a new one."""
    definitions = document["definitions"]
    names = {name: _free_name(definitions, name, node) for name, node in part.get("definitions", {}).items()}

    def renamed(reference: str) -> str:
        name = reference.removeprefix(PREFIX[2])
        return PREFIX[2] + names.get(name, name)

    for name, node in part.get("definitions", {}).items():
        known = definitions.get(names[name])
        if known is None:
            definitions[names[name]] = _rewritten(node, renamed)
        elif missing := [each for each in node.get(_GVKS, ()) if each not in known.get(_GVKS, ())]:
            definitions[names[name]] = {**known, _GVKS: [*known.get(_GVKS, ()), *missing]}
    for path, item in part.get("paths", {}).items():
        document["paths"].setdefault(path, _rewritten(item, renamed))


def _free_name(definitions: Mapping[str, Any], name: str, node: Mapping[str, Any]) -> str:
    """The name itself when it is free or means the same, else the next one: name_v2, name_v3, …"""
    number, candidate = 1, name
    while candidate in definitions and _shape(definitions[candidate]) != _shape(node):
        number += 1
        candidate = f"{name}_v{number}"
    return candidate


def _shape(node: Mapping[str, Any]) -> Object:
    return {key: value for key, value in node.items() if key != _GVKS}


def converted(part: Mapping[str, Any], version: str) -> bytes:
    """A version 3 document of a part, for servers that have none themselves."""
    as_v3 = _rewritten(part, lambda reference: reference.replace(PREFIX[2], PREFIX[3], 1))
    return orjson.dumps(
        {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": version},
            "paths": {path: _path_item(item) for path, item in as_v3["paths"].items()},
            "components": {"schemas": as_v3["definitions"]},
        }
    )


def _path_item(item: Mapping[str, Any]) -> Object:
    shown: Object = {}
    for key, value in item.items():
        if key == "parameters":
            shown[key] = [_parameter(each) for each in value]
        else:
            shown[key] = _operation(value) if key in _VERBS else value
    return shown


def _operation(operation: Mapping[str, Any]) -> Object:
    shown = {key: value for key, value in operation.items() if key not in ("consumes", "produces", "schemes")}
    given = operation.get("parameters") or []
    shown["parameters"] = [_parameter(each) for each in given if each["in"] != "body"]
    for body in (each for each in given if each["in"] == "body"):
        content = {kind: {"schema": body["schema"]} for kind in operation.get("consumes") or _JSON}
        shown["requestBody"] = {"content": content}
    shown["responses"] = {
        code: _response(answer, operation.get("produces") or _JSON)
        for code, answer in (operation.get("responses") or {}).items()
    }
    return shown


def _response(response: Mapping[str, Any], produces: Any) -> Object:
    shown = {key: value for key, value in response.items() if key != "schema"}
    if "schema" in response:
        shown["content"] = {kind: {"schema": response["schema"]} for kind in produces}
    return shown


def _parameter(parameter: Mapping[str, Any]) -> Object:
    """What version 2 says about a parameter's type beside it, version 3 says in its schema."""
    told = ("type", "format", "uniqueItems")
    schema = {key: parameter[key] for key in told if key in parameter}
    return {**{key: value for key, value in parameter.items() if key not in told}, "schema": schema}
