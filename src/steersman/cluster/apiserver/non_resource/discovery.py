"""Discovery: which groups, versions and resources there are, in the old form and aggregated (v2, v2beta1).

Documents are made from the catalog when first asked for and again after it changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson

from steersman.cluster.apiserver.resources.resource import Catalog, Resource
from steersman.cluster.codec.negotiate import (
    DISCOVERY,
    OFFERED,
    PLAIN,
    YAML,
    Representation,
    is_routed,
    negotiate,
)
from steersman.cluster.schema.resources import GVK, SubresourceType
from steersman.http import Request, Response
from steersman.objects.kinds import Object
from steersman.objects.status import not_acceptable

if TYPE_CHECKING:
    from steersman.cluster.apiserver.aggregation import Aggregator

__all__ = ["Discovery"]


#: What a document says of itself, and not as a part of another.
_TYPE = ("kind", "apiVersion")


class Discovery:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._made: dict[tuple[str, ...], tuple[bytes, bytes]] = {}
        #: Other API servers whose groups are shown among ours.
        self.aggregator: Aggregator | None = None
        self._generation = self.state()

    def state(self) -> tuple[int, int]:
        """Changes whenever other resources are served than before."""
        return self._catalog.generation, self.aggregator.generation if self.aggregator else 0

    def serve(self, request: Request) -> Response | None:
        """The answer to a discovery path, None when it is not one or names nothing."""
        parts = tuple(part for part in request.path.split("/") if part)
        if parts in (("api",), ("apis",)) and not request.path.startswith("/apis//"):
            return self._root(request, parts[0])
        if len(parts) == 2 and parts[0] == "api":
            return self._resources(request, "", parts[1])
        if len(parts) == 2 and parts[0] == "apis":
            group = next((each for each in self._all_groups() if each["name"] == parts[1]), None)
            return None if group is None else self._answer(request, parts, group, _chosen(request))
        if len(parts) == 3 and parts[0] == "apis":
            return self._resources(request, parts[1], parts[2])
        return None

    def _root(self, request: Request, prefix: str) -> Response:
        accept = request.headers.get("accept") or ""
        if prefix == "api" and not is_routed(accept):
            raise not_acceptable(OFFERED)
        # With a slash behind it, it is the old document and nothing else.
        representation = negotiate(accept, PLAIN if request.path == "/apis/" else DISCOVERY)
        if representation.convert is not None:
            document = self._aggregated(prefix, representation.convert.version)
            key = (prefix, representation.convert.version)
            return self._answer(request, key, document, representation)
        if prefix == "api":
            host = request.headers.get("host") or ""
            addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}]
            versions: Object = {
                "kind": "APIVersions",
                "versions": ["v1"],
                "serverAddressByClientCIDRs": addresses,
            }
            return self._answer(request, (prefix, "host", host), versions, representation)
        groups = [
            {key: value for key, value in each.items() if key not in _TYPE} for each in self._all_groups()
        ]
        document = {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        return self._answer(request, (prefix,), document, representation)

    def _answer(
        self,
        request: Request,
        key: tuple[str, ...],
        document: Object,
        representation: Representation | None = None,
    ) -> Response:
        """Without a representation the router asks what is accepted, in words of its own."""
        if representation is None:
            accept = request.headers.get("accept") or ""
            if not is_routed(accept):
                raise not_acceptable(OFFERED)
            representation = negotiate(accept)
        key = (*key, representation.media_type)
        if self._generation != (state := self.state()):
            self._made.clear()
            self._generation = state
        made = self._made.get(key)
        if made is None:
            body = _written(document, representation)
            etag = b'"%b"' % hashlib.sha256(body).hexdigest()[:64].upper().encode()
            if len(self._made) > 256:
                self._made.clear()
            made = self._made[key] = (body, etag)
        body, etag = made
        headers = [
            (b"Content-Type", representation.content_type.encode()),
            (b"Cache-Control", b"public"),
            (b"ETag", etag),
            (b"Vary", b"Accept"),
        ]
        if (request.headers.get("if-none-match") or "").encode() == etag:
            return Response(304, b"", headers)
        return Response(200, body, headers)

    def _all_groups(self) -> Sequence[Object]:
        """This server's and those of others."""
        groups = [group for name in self._groups() if (group := self._group(name))]
        return groups if self.aggregator is None else self.aggregator.merge_groups(groups)

    def _groups(self) -> list[str]:
        return list(dict.fromkeys(resource.group for resource in self._catalog))

    def _versions(self, group: str) -> list[str]:
        return list(dict.fromkeys(r.type.version for r in self._catalog if r.group == group))

    def _group(self, name: str) -> Object | None:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version} for version in self._versions(name)
        ]
        if not versions or not name:
            return None
        return {
            "kind": "APIGroup",
            "apiVersion": "v1",
            "name": name,
            "versions": versions,
            "preferredVersion": versions[0],
        }

    def _of_version(self, group: str, version: str) -> list[Resource]:
        found = [r for r in self._catalog if r.group == group and r.type.version == version]
        return sorted(found, key=lambda resource: resource.plural)

    def _resources(self, request: Request, group: str, version: str) -> Response | None:
        resources = self._of_version(group, version)
        if not resources:
            return None
        document: Object = {
            "kind": "APIResourceList",
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": [entry for resource in resources for entry in _legacy_entries(resource)],
        }
        if group:
            document["apiVersion"] = "v1"
        checked = resources[0].handling.checks_accept_of_discovery
        key = ("resources", group, version)
        return self._answer(request, key, document, None if checked else _chosen(request))

    def _aggregated(self, prefix: str, api_version: str) -> Object:
        groups = [name for name in self._groups() if bool(name) == (prefix == "apis")]
        items: Sequence[Object] = [self._aggregated_group(name) for name in groups]
        if prefix == "apis" and self.aggregator is not None:
            items = self.aggregator.merge_items(items)
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{api_version}",
            "metadata": {},
            "items": items,
        }

    def _aggregated_group(self, name: str) -> Object:
        return {
            "metadata": {"name": name} if name else {},
            "versions": [
                {
                    "version": version,
                    "resources": [_aggregated_entry(r) for r in self._of_version(name, version)],
                    "freshness": "Current",
                }
                for version in self._versions(name)
            ],
        }


def _chosen(request: Request) -> Representation:
    return negotiate(request.headers.get("accept") or "")


def _written(document: Object, representation: Representation) -> bytes:
    if representation.media_type != YAML:
        return orjson.dumps(document)
    from steersman.cluster.codec import yaml

    return yaml.dump(document)


def _legacy_entries(resource: Resource) -> Sequence[Object]:
    kind = resource.type
    main: Object = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        main["shortNames"] = list(kind.short_names)
    if kind.categories:
        main["categories"] = list(kind.categories)
    if kind.storage_version_hash:
        main["storageVersionHash"] = kind.storage_version_hash
    entries = [main]
    for name in _in_order(resource):
        part = kind.subresources[name]
        entry: Object = {
            "name": f"{kind.plural}/{name}",
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": part.gvk.kind,
            "verbs": list(part.verbs),
        }
        if (part.gvk.group, part.gvk.version) != (kind.group, kind.version):
            entry["group"], entry["version"] = part.gvk.group, part.gvk.version
        entries.append(entry)
    return entries


def _aggregated_entry(resource: Resource) -> Object:
    kind = resource.type
    entry: Object = {
        "resource": kind.plural,
        "responseKind": _response_kind(resource, kind.gvk),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if kind.subresources:
        entry["subresources"] = [
            _aggregated_part(resource, kind.subresources[name]) for name in _in_order(resource)
        ]
    return entry


def _aggregated_part(resource: Resource, part: SubresourceType) -> Object:
    kind = _response_kind(resource, part.gvk)
    return {"subresource": part.name, "responseKind": kind, "verbs": list(part.verbs)}


def _in_order(resource: Resource) -> Sequence[str]:
    return resource.handling.subresources_in_order(resource.type.subresources)


def _response_kind(resource: Resource, gvk: GVK) -> Object:
    implied = gvk[:2] == resource.type.gvk[:2] and not resource.handling.repeats_own_version
    return {
        "group": "" if implied else gvk.group,
        "version": "" if implied else gvk.version,
        "kind": gvk.kind,
    }
