"""Discovery documents of this server and its backends, as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from steersman.cluster.apiserver.aggregation.availability import AGGREGATOR
from steersman.cluster.apiserver.aggregation.identity import identity_headers
from steersman.cluster.apiserver.aggregation.registrations import Backend, priority_of
from steersman.http.errors import ClientError
from steersman.http.transport import Transport
from steersman.objects.kinds import Object

__all__ = ["Discovered", "fetch_resources", "merge_groups", "merge_items"]


_TIMEOUT_S = 5.0
_V2 = b"application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class Discovered:
    """What is known of a backend's resources, in the form of aggregated discovery."""

    backend: Backend
    resources: Sequence[Object] = ()
    #: Whether that is what it says now.
    fresh: bool = False


async def fetch_resources(transport: Transport, backend: Backend) -> Sequence[Object]:
    """A backend's resources. Raises ClientError; ValueError for what is no discovery document."""
    headers = list(identity_headers(AGGREGATOR))
    answer = await transport.request(
        "GET", "/apis", headers=[*headers, (b"Accept", _V2)], timeout_s=_TIMEOUT_S
    )
    kind = answer.headers.get("content-type") or ""
    if answer.status == 200 and "as=APIGroupDiscoveryList" in kind:
        for group in _items(answer.content, "items"):
            if (group.get("metadata") or {}).get("name", "") == backend.group:
                for version in group.get("versions") or ():
                    if version.get("version") == backend.version:
                        return list(version.get("resources") or ())
        return []
    answer = await transport.request("GET", backend.path, headers=headers, timeout_s=_TIMEOUT_S)
    if answer.status != 200:
        raise ClientError(f"failed to download legacy discovery for {backend.path}: {answer.status}")
    return _from_legacy(_items(answer.content, "resources"), backend)


def _items(content: bytes, name: str) -> list[Object]:
    document = orjson.loads(content)
    items = document.get(name) if isinstance(document, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ValueError(f"a discovery document without {name}")
    return items


def _from_legacy(entries: Iterable[Object], backend: Backend) -> list[Object]:
    """An APIResourceList's entries in the form of aggregated discovery."""
    made: dict[str, Object] = {}
    for entry in entries:
        plural, _, part = str(entry.get("name", "")).partition("/")
        kind = {
            "group": entry.get("group") or backend.group,
            "version": entry.get("version") or backend.version,
            "kind": entry.get("kind", ""),
        }
        scope = "Namespaced" if entry.get("namespaced") else "Cluster"
        if plural not in made:
            made[plural] = {
                "resource": plural,
                "responseKind": {},
                "scope": scope,
                "singularResource": "",
                "verbs": [],
            }
        if part:
            one = {"subresource": part, "responseKind": kind, "verbs": entry.get("verbs") or []}
            made[plural].setdefault("subresources", []).append(one)
            continue
        made[plural] |= {
            "responseKind": kind,
            "scope": scope,
            "singularResource": entry.get("singularName", ""),
            "verbs": entry.get("verbs") or [],
        }
        for name in ("shortNames", "categories"):
            if entry.get(name):
                made[plural][name] = entry[name]
    return list(made.values())


def merge_groups(groups: Sequence[Object], backends: Iterable[Backend]) -> list[Object]:
    """APIGroups of this server with those of backends, by priority."""
    versions: dict[str, list[tuple[tuple[int, int], Object]]] = {}
    merged = {group["name"]: group for group in groups}
    for group in groups:
        versions[group["name"]] = [
            (priority_of(group["name"], version["version"]), version) for version in group["versions"]
        ]
    for backend in backends:
        entry = {"groupVersion": f"{backend.group}/{backend.version}", "version": backend.version}
        versions.setdefault(backend.group, []).append((backend.priority, entry))
    for name, found in versions.items():
        ordered = [entry for _, entry in sorted(found, key=lambda one: -one[0][1])]
        group = merged.get(name) or {"kind": "APIGroup", "apiVersion": "v1", "name": name}
        merged[name] = {**group, "versions": ordered, "preferredVersion": ordered[0]}
    return sorted(merged.values(), key=lambda group: -max(p[0] for p, _ in versions[group["name"]]))


def merge_items(items: Sequence[Object], discovered: Iterable[Discovered]) -> list[Object]:
    """The items of aggregated discovery with those of backends, by priority."""
    versions: dict[str, list[tuple[tuple[int, int], Object]]] = {}
    merged: dict[str, Object] = {}
    for item in items:
        name = item["metadata"].get("name", "")
        merged[name] = item
        versions[name] = [(priority_of(name, each["version"]), each) for each in item["versions"]]
    for one in discovered:
        entry: Object = {"version": one.backend.version}
        if one.resources:
            entry["resources"] = list(one.resources)
        entry["freshness"] = "Current" if one.fresh else "Stale"
        versions.setdefault(one.backend.group, []).append((one.backend.priority, entry))
    for name, found in versions.items():
        ordered = [entry for _, entry in sorted(found, key=lambda each: -each[0][1])]
        merged[name] = {**merged.get(name, {"metadata": {"name": name}}), "versions": ordered}
    return [
        merged[name]
        for name in sorted(merged, key=lambda name: -max(priority[0] for priority, _ in versions[name]))
    ]
