"""OpenAPI documents of everything the server serves: version 3 by group and version, version 2 whole.

kubectl needs them for explain, apply, diff and client-side validation. Documents are built when first
asked for and kept as bytes. Custom resources come in through `Extension`s, what other servers have through
`Foreign`s; `changed` says that there are others now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from steersman.cluster.schema.enums import enumerations
from steersman.cluster.schema.openapi import gnostic
from steersman.cluster.schema.openapi.definitions import closure, present
from steersman.cluster.schema.openapi.foreign import Foreign, merge_into
from steersman.cluster.schema.openapi.paths import paths
from steersman.cluster.schema.resources import GVK, ResourceType, all_resources
from steersman.cluster.schema.table import prose, table, table_digest, type_name

__all__ = ["Document", "Extension", "Foreign", "OpenAPI"]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
#: Types every group's document carries: bodies and answers that belong to no group.
_SHARED: Final = tuple(
    _META + name for name in ("APIResourceList", "DeleteOptions", "Patch", "Status", "WatchEvent")
)


def _no_types(openapi: int) -> Mapping[str, dict[str, Any]]:
    return {}


@dataclass(frozen=True, slots=True)
class Extension:
    """Custom resources and their types, in the table's form: `$ref` holds a bare type name, and a type that
    is a kind says so in x-kubernetes-group-version-kind."""

    resources: Sequence[ResourceType] = ()
    #: The types, for OpenAPI 2 or 3: what they can say differs.
    definitions: Callable[[int], Mapping[str, dict[str, Any]]] = _no_types


class Document(NamedTuple):
    """A document and the hash that names this state of it."""

    body: bytes
    digest: str


class OpenAPI:
    def __init__(
        self,
        version: str,
        extensions: Callable[[], Iterable[Extension]] = tuple,
        foreign: Callable[[], Iterable[Foreign]] = tuple,
    ) -> None:
        """`version` is the Kubernetes version that documents name; `foreign` come in the order in which they
        are merged."""
        self._version = version
        self._extensions = extensions
        self._foreign = foreign
        self._documents: dict[str, Document] = {}

    def changed(self) -> None:
        """Forget what was built: the extensions are others now."""
        self._documents.clear()

    def index(self) -> Document:
        """What /openapi/v3 answers: where each group's document is, under a hash of its contents."""
        return self._kept("index", self._build_index)

    def group_version(self, path: str) -> Document | None:
        """The document at /openapi/v3/<path> (api/v1, apis/apps/v1), None when there is none."""
        theirs = {foreign.path: foreign.v3 for foreign in self._foreign()}
        if path in theirs:
            return self._kept(path, lambda: theirs[path])
        if path not in self._group_paths():
            return None
        return self._kept(path, lambda: self._build_group(path))

    def v2_json(self) -> Document:
        return self._kept("v2", lambda: orjson.dumps(self._build_v2()))

    def v2_protobuf(self) -> Document:
        return self._kept("v2 protobuf", lambda: gnostic.encode(self._build_v2()))

    def _kept(self, key: str, build: Callable[[], bytes]) -> Document:
        found = self._documents.get(key)
        if found is None:
            body = build()
            found = self._documents[key] = Document(body, hashlib.sha512(body).hexdigest().upper())
        return found

    def _resources(self) -> list[ResourceType]:
        return [*all_resources(), *(each for extension in self._extensions() for each in extension.resources)]

    def _group_paths(self) -> dict[str, list[ResourceType]]:
        grouped: dict[str, list[ResourceType]] = {}
        for resource in self._resources():
            root = "apis/" + resource.api_version if resource.group else "api/" + resource.version
            grouped.setdefault(root, []).append(resource)
        return grouped

    def _build_index(self) -> bytes:
        """Documents are not built for it: what decides their contents is hashed instead."""
        extra = self._extra_definitions(3)
        shown = {}
        for path, resources in self._group_paths().items():
            own = {name: node for name, node in extra.items() if _is_of(node, resources)}
            seed = [self._version, table_digest(), path, [each.plural for each in resources], own]
            digest = hashlib.sha512(orjson.dumps(seed, option=orjson.OPT_SORT_KEYS)).hexdigest().upper()
            shown[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
        for foreign in self._foreign():
            digest = hashlib.sha512(foreign.v3).hexdigest().upper()
            shown[foreign.path] = {"serverRelativeURL": f"/openapi/v3/{foreign.path}?hash={digest}"}
        return orjson.dumps({"paths": shown})

    def _extra_definitions(self, openapi: int) -> dict[str, dict[str, Any]]:
        return {
            name: node
            for extension in self._extensions()
            for name, node in extension.definitions(openapi).items()
        }

    def _build_group(self, path: str) -> bytes:
        resources = self._group_paths()[path]
        definitions = {**table(), **self._extra_definitions(3)}
        names = self._type_names()
        kinds = {gvk for resource in resources for gvk in _kinds_of(resource)}
        roots = [name for gvk in kinds if (name := names(gvk))]
        schemas = self._present(definitions, closure(definitions, [*roots, *_SHARED]), 3)
        return orjson.dumps(
            {
                "openapi": "3.0.0",
                "info": {"title": "Kubernetes", "version": self._version},
                "paths": paths(resources, names, 3),
                "components": {"schemas": schemas},
            }
        )

    def _build_v2(self) -> dict[str, Any]:
        definitions = {**table(), **self._extra_definitions(2)}
        document: dict[str, Any] = {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": self._version},
            "paths": paths(self._resources(), self._type_names(), 2),
            "definitions": self._present(definitions, sorted(definitions), 2),
        }
        for foreign in self._foreign():
            merge_into(document, foreign.v2)
        return document

    def _present(
        self, definitions: Mapping[str, dict[str, Any]], names: list[str], version: int
    ) -> dict[str, Any]:
        texts, values = prose(), enumerations()
        return {name: present(name, definitions[name], texts, version, values) for name in names}

    def _type_names(self) -> Callable[[GVK], str | None]:
        extra = {
            GVK(**gvk): name
            for name, node in self._extra_definitions(3).items()
            for gvk in node.get("x-kubernetes-group-version-kind", ())
        }
        return lambda gvk: type_name(gvk) or extra.get(gvk)


def _kinds_of(resource: ResourceType) -> list[GVK]:
    listed = resource.gvk._replace(kind=resource.list_kind)
    return [resource.gvk, listed, *(each.gvk for each in resource.subresources.values())]


def _is_of(node: dict[str, Any], resources: list[ResourceType]) -> bool:
    group_versions = {(each.group, each.version) for each in resources}
    gvks = node.get("x-kubernetes-group-version-kind", ())
    return any((gvk["group"], gvk["version"]) in group_versions for gvk in gvks)
