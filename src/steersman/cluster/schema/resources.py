"""The built-in resources: what each is called, where it lives, which verbs and subresources it has.

Read from resources.txt (whose head explains the notation) when first asked for. Discovery, routing and
OpenAPI use it; custom resources bring `ResourceType`s of their own. Nothing here knows fields.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

__all__ = [
    "GVK",
    "ResourceType",
    "SubresourceType",
    "all_resources",
    "by_kind",
    "find",
    "group_versions",
    "storage_version_hash",
]

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")
_SUBRESOURCE: Final = re.compile(r"/(?P<name>\w+)(?:\((?P<verbs>[\w,]+)\))?(?::(?P<type>\S+))?")


@lru_cache(maxsize=1024)
def _api_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


class GVK(NamedTuple):
    """Group, version and kind: what `apiVersion` and `kind` say together."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return _api_version(self.group, self.version)

    @classmethod
    def of(cls, api_version: str, kind: str) -> GVK:
        group, _, version = api_version.rpartition("/")
        return cls(group, version, kind)

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


@dataclass(frozen=True, slots=True)
class SubresourceType:
    """`status`, `scale`, …: its verbs and the type it reads and writes."""

    name: str
    gvk: GVK
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One resource of one version. `singular`, `list_kind` and `storage` are derived unless given."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, SubresourceType] = field(default_factory=dict)
    singular: str = ""
    list_kind: str = ""
    #: The type objects are stored as; None when nothing is stored (reviews, bindings).
    storage: GVK | None = None

    def __post_init__(self) -> None:
        if not self.singular:
            object.__setattr__(self, "singular", self.kind.lower())
        if not self.list_kind:
            object.__setattr__(self, "list_kind", self.kind + "List")

    @property
    def gvk(self) -> GVK:
        return GVK(self.group, self.version, self.kind)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """As error messages name it: `deployments.apps`, `configmaps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def storage_version_hash(self) -> str:
        """What discovery shows, empty when nothing is stored."""
        if not self.storage:
            return ""
        version = _HASHED_VERSIONS.get((self.group, self.kind), self.storage.version)
        return storage_version_hash(self.storage._replace(version=version))


#: kube-apiserver stores what became v1 in its own release in the version that the release before knows.
#: Definitions are hashed by the version they were stored in before there was another.
_HASHED_VERSIONS = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "v1beta1",
    ("certificates.k8s.io", "ClusterTrustBundle"): "v1beta1",
    ("certificates.k8s.io", "PodCertificateRequest"): "v1beta1",
    ("resource.k8s.io", "DeviceTaintRule"): "v1beta2",
    ("storagemigration.k8s.io", "StorageVersionMigration"): "v1beta1",
}


def storage_version_hash(gvk: GVK) -> str:
    digest = hashlib.sha256(f"{gvk.group}/{gvk.version}/{gvk.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def all_resources() -> tuple[ResourceType, ...]:
    """All built-in resources in the order kube-apiserver lists them."""
    return _registry().resources


def group_versions() -> tuple[tuple[str, str], ...]:
    """(group, version) by priority: the first version of a group is its preferred one."""
    return tuple(dict.fromkeys((each.group, each.version) for each in all_resources()))


def find(group: str, version: str, plural: str) -> ResourceType | None:
    return _registry().by_plural.get((group, version, plural))


def by_kind(gvk: GVK) -> ResourceType | None:
    return _registry().by_kind.get(gvk)


class _Registry(NamedTuple):
    resources: tuple[ResourceType, ...]
    by_plural: dict[tuple[str, str, str], ResourceType]
    by_kind: dict[GVK, ResourceType]


@cache
def _registry() -> _Registry:
    resources = tuple(_parse(Path(__file__).with_name("resources.txt").read_text("utf-8")))
    return _Registry(
        resources,
        {(each.group, each.version, each.plural): each for each in resources},
        {each.gvk: each for each in resources},
    )


def _parse(text: str) -> Iterator[ResourceType]:
    group = version = ""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            group, _, version = line.strip("[]").rpartition("/")
            continue
        yield _parse_line(group, version, line.split())


def _parse_line(group: str, version: str, words: list[str]) -> ResourceType:
    plural, kind, scope, verbs, *marks = words
    own = GVK(group, version, kind)
    by_sign: dict[str, list[str]] = {"+": [], "#": [], "@": [], "/": []}
    for mark in marks:
        by_sign[mark[0]].append(mark)
    storage: GVK | None = own
    for mark in by_sign["@"]:
        storage = None if mark == "@-" else _parse_type(mark[1:], own)
    subresources = [_parse_subresource(mark, own) for mark in by_sign["/"]]
    return ResourceType(
        group,
        version,
        plural,
        kind,
        namespaced=scope == "namespaced",
        verbs=ALL_VERBS if verbs == "*" else tuple(verbs.split(",")),
        short_names=tuple(mark[1:] for mark in by_sign["+"]),
        categories=tuple(mark[1:] for mark in by_sign["#"]),
        subresources={each.name: each for each in subresources},
        storage=storage,
    )


def _parse_subresource(mark: str, parent: GVK) -> SubresourceType:
    match = _SUBRESOURCE.fullmatch(mark)
    if match is None:
        raise ValueError(f"resources.txt: cannot read the subresource {mark!r} of {parent.kind}")
    verbs = tuple(match["verbs"].split(",")) if match["verbs"] else _SUBRESOURCE_VERBS
    return SubresourceType(
        match["name"], _parse_type(match["type"], parent) if match["type"] else parent, verbs
    )


def _parse_type(text: str, parent: GVK) -> GVK:
    """`Kind` in the parent's group and version, or `group/version.Kind`."""
    api_version, _, kind = text.rpartition(".")
    return GVK.of(api_version, kind) if api_version else parent._replace(kind=kind)
