"""Builds the schema table: the two files that the server loads, made from the published OpenAPI definitions.

Run by hatch_build.py when Steersman is built or installed, and by `table` on first use in a plain
checkout. The definitions come from the data file of the `kubernetes-validate` package, found without
importing it. Kept are the types reachable from the resources Steersman serves (resources.txt):

  _table.json     type name → its schema without prose; `$ref` holds the bare type name
  _table.prose.z   type name → [its description, {field: description}]; zlib, read only for OpenAPI

Uses the standard library alone: it runs in build environments where Steersman's dependencies are not.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

__all__ = ["ALWAYS", "PROSE", "SOURCE_PACKAGE", "TABLE", "build", "find_definitions", "published_file"]

SOURCE_PACKAGE: Final = "kubernetes_validate"
_VERSION_FILE: Final = "version.txt"
TABLE: Final = "_table.json"
PROSE: Final = "_table.prose.z"

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
#: Served without being a resource: bodies and answers of every group.
ALWAYS: Final = tuple(
    _META + name
    for name in (
        "APIGroupList",
        "APIResourceList",
        "APIVersions",
        "DeleteOptions",
        "Patch",
        "Status",
        "WatchEvent",
    )
)
#: These two are scalars on the wire; the published form (oneOf) says only half of it.
_SCALARS: Final = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string", "format": "quantity"},
}


def published_file(version: str) -> str:
    """Where the package has the definitions of a version of Kubernetes."""
    return f"kubernetes-json-schema/v{version}-local/_definitions.json"


def find_definitions() -> Path | None:
    """The published definitions, or None when the package that carries them is not installed."""
    spec = find_spec(SOURCE_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    version = Path(__file__).with_name(_VERSION_FILE).read_text("utf-8").strip()
    path = Path(spec.origin).parent / published_file(version)
    return path if path.exists() else None


def build(definitions: Path, folder: Path) -> None:
    """Write both files into `folder`, where resources.txt lies. Each appears whole or not at all."""
    published = json.loads(definitions.read_bytes())["$defs"]
    served = set(_served_group_versions((folder / "resources.txt").read_text("utf-8")))
    names = sorted(_reachable(published, _roots(published, served)))
    table = {name: _SCALARS.get(name) or _shape(published[name]) for name in names}
    prose = {name: _prose(published[name]) for name in names}
    _write(folder / TABLE, _compact(table))
    _write(folder / PROSE, zlib.compress(_compact(prose), 9))


def _served_group_versions(resources: str) -> Iterator[tuple[str, str]]:
    for line in resources.splitlines():
        if line.startswith("["):
            group, _, version = line.strip("[]").rpartition("/")
            yield group, version


def _roots(published: dict[str, Any], served: set[tuple[str, str]]) -> Iterator[str]:
    yield from ALWAYS
    for name, definition in published.items():
        for gvk in definition.get("x-kubernetes-group-version-kind", ()):
            if (gvk["group"], gvk["version"]) in served and not name.startswith(_META):
                yield name


def _reachable(published: dict[str, Any], roots: Iterable[str]) -> set[str]:
    found: set[str] = set()
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(_references(published[name]))
    return found


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):  # JSONSchemaProps has a field of that name
                yield _bare(value)
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _bare(reference: str) -> str:
    return reference.rpartition("/")[2]


def _shape(node: dict[str, Any]) -> dict[str, Any]:
    """A schema without prose, and without what the publisher added: null types, enums of kinds."""
    shaped: dict[str, Any] = {}
    for key, value in node.items():
        if key == "type":
            shaped[key] = next(each for each in value if each != "null") if isinstance(value, list) else value
        elif key == "$ref":
            shaped[key] = _bare(value)
        elif key == "properties":
            shaped[key] = {name: _shape(child) for name, child in value.items()}
            for name in ("apiVersion", "kind"):
                if name in value and "x-kubernetes-group-version-kind" in node:
                    shaped[key][name].pop("enum", None)
        elif key in ("items", "additionalProperties"):
            shaped[key] = _shape(value)
        elif key != "description":
            shaped[key] = value
    return shaped


def _prose(definition: dict[str, Any]) -> list[Any]:
    fields = definition.get("properties", {})
    return [
        definition.get("description", ""),
        {name: field["description"] for name, field in fields.items() if "description" in field},
    ]


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _write(path: Path, data: bytes) -> None:
    """By renaming, so that a second process building at the same time never reads half a file."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_bytes(data)
    draft.replace(path)
