"""Requests as the API understands them, for those who look at them on their way: faults and records."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypedDict
from urllib.parse import parse_qs, unquote

from steersman.client.transport import RequestOptions, StreamOptions
from steersman.cluster.apiserver.pipeline.paths import ResourcePath, parse_path
from steersman.http import RawHeaders
from steersman.objects.resource_type import ResourceType, Typed

__all__ = ["ApiRequest", "Kind", "Match", "Matching"]

Kind = str | ResourceType | type[Typed]
"""A resource: `"deployments"`, `"deployments/status"`, `"deployments/*"`, or what names it."""

_READS = frozenset(("GET", "HEAD"))
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_APPLY = b"application/apply-patch"


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request: `patch deployments/status x/web`."""

    verb: str
    """The API's word for it: get, list, watch, create, update, patch, delete or deletecollection."""
    group: str
    resource: str
    """Empty for what is about no resource (discovery, health)."""
    subresource: str
    namespace: str
    name: str
    applies: bool = False
    """A patch that is a server-side apply."""
    dry_run: bool = False

    @classmethod
    def of(cls, method: str, target: str, headers: RawHeaders = (), content: bytes = b"") -> ApiRequest:
        path, _, text = target.partition("?")
        query = parse_qs(text)
        at = parse_path(unquote(path)) or ResourcePath("", "")
        return cls(
            verb=_verb(method, at, watching=query.get("watch") == ["true"]),
            group=at.group,
            resource=at.plural,
            subresource=at.subresource,
            namespace=at.namespace,
            name=at.name,
            applies=any(
                name.lower() == b"content-type" and value.startswith(_APPLY) for name, value in headers
            ),
            dry_run="dryRun" in query or (method == "DELETE" and b'"dryRun"' in content),
        )

    @classmethod
    def sent(cls, method: str, target: str, options: RequestOptions | StreamOptions) -> ApiRequest:
        """The request that a transport was given."""
        return cls.of(method, target, options.get("headers", ()), options.get("content", b""))

    @property
    def verbs(self) -> frozenset[str]:
        """Every word that fits: its verb, `apply`, and `read` or `write`."""
        kind = "read" if self.verb in ("get", "list", "watch") else "write"
        return frozenset((self.verb, kind, "apply") if self.applies else (self.verb, kind))

    @property
    def writes(self) -> bool:
        """Whether it is meant to change something."""
        return "write" in self.verbs and not self.dry_run

    def __str__(self) -> str:
        verb = "apply" if self.applies else self.verb
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{verb} {resource} {'/'.join(part for part in (self.namespace, self.name) if part)}".rstrip()


def _verb(method: str, at: ResourcePath, *, watching: bool) -> str:
    if method in _READS:
        return "watch" if watching or at.watch else "get" if at.name or not at.plural else "list"
    if method == "DELETE":
        return "delete" if at.name else "deletecollection"
    return _VERBS.get(method, method.lower())


class Matching(TypedDict, total=False):
    """Which requests are meant; all that is left out fits any."""

    verb: str | Collection[str]
    """get, list, watch, create, update, patch, apply, delete, deletecollection, or `read` and `write`."""
    resource: Kind | None
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Match:
    """A test of requests."""

    verbs: frozenset[str]
    resource: str
    subresource: str
    namespace: str
    name: str

    @classmethod
    def of(cls, matching: Matching) -> Match:
        verb = matching.get("verb", ())
        resource, _, subresource = _named(matching.get("resource")).partition("/")
        return cls(
            frozenset((verb,) if isinstance(verb, str) else verb),
            resource,
            subresource if resource else "*",
            matching.get("namespace", ""),
            matching.get("name", ""),
        )

    def fits(self, request: ApiRequest) -> bool:
        return (
            (not self.verbs or not self.verbs.isdisjoint(request.verbs))
            and self.resource in ("", request.resource)
            and self.subresource in ("*", request.subresource)
            and self.namespace in ("", request.namespace)
            and self.name in ("", request.name)
        )


def _named(kind: Kind | None) -> str:
    if kind is None or isinstance(kind, str):
        return kind or ""
    return (kind if isinstance(kind, ResourceType) else kind.resource_type).plural
