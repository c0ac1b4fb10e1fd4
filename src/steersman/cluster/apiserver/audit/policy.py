"""Audit policies (audit.k8s.io/v1): which requests are logged, and how much of them. The first rule wins.

Pure. A field that the format does not have is an error here, where kube-apiserver only warns: a misspelt
`userGroups` would otherwise be a rule for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User
from steersman.cluster.codec.configuration import (
    Check,
    anything,
    check_fields,
    check_kind,
    flag,
    list_of,
    text,
)
from steersman.objects.fields import FieldError, Path, invalid, not_supported, required
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1123_subdomain

__all__ = [
    "DEFAULT_POLICY",
    "LEVELS",
    "METADATA",
    "NONE",
    "REQUEST",
    "REQUEST_RESPONSE",
    "AuditDecision",
    "Policy",
    "check",
]


LEVELS: Final = ("None", "Metadata", "Request", "RequestResponse")
NONE, METADATA, REQUEST, REQUEST_RESPONSE = range(4)
STAGES: Final = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")

#: Used without a policy file: every change with what was sent, every look by its facts, and of what may be
#: secret only the facts.
DEFAULT_POLICY: Final[Object] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "omitManagedFields": True,
    "rules": [
        {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/version", "/metrics"]},
        {
            "level": "Metadata",
            "resources": [
                {"group": "", "resources": ["secrets", "configmaps", "serviceaccounts/token"]},
                {"group": "authentication.k8s.io"},
            ],
        },
        {"level": "Metadata", "verbs": ["get", "list", "watch"]},
        {"level": "Request"},
    ],
}


@dataclass(frozen=True, slots=True, eq=False)
class AuditDecision:
    """What a policy wants of a request."""

    level: int
    omit_stages: frozenset[str]
    omit_managed_fields: bool


class Policy:
    """A policy that has passed `check`."""

    def __init__(self, obj: Object) -> None:
        omit = frozenset(obj.get("omitStages") or ())
        omit_managed = bool(obj.get("omitManagedFields"))
        self._rules: list[tuple[Object, AuditDecision]] = []
        for rule in obj["rules"]:
            own = rule.get("omitManagedFields")
            verdict = AuditDecision(
                LEVELS.index(rule["level"]),
                omit | frozenset(rule.get("omitStages") or ()),
                omit_managed if own is None else own,
            )
            self._rules.append((rule, verdict))
        self._otherwise = AuditDecision(NONE, omit, omit_managed)
        #: Whether a request's object name matters.
        self.by_name = any(
            named.get("resourceNames") for rule in obj["rules"] for named in rule.get("resources") or ()
        )

    def evaluate(self, user: User | None, action: Action) -> AuditDecision:
        for rule, verdict in self._rules:
            if _matches(rule, user, action):
                return verdict
        return self._otherwise


def _matches(rule: Object, user: User | None, action: Action) -> bool:
    if (users := rule.get("users")) and (user is None or user.name not in users):
        return False
    if (groups := rule.get("userGroups")) and (
        user is None or not any(group in groups for group in user.groups)
    ):
        return False
    if (verbs := rule.get("verbs")) and action.verb not in verbs:
        return False
    if rule.get("namespaces") or rule.get("resources"):
        return not action.path and _matches_resource(rule, action)
    if urls := rule.get("nonResourceURLs"):
        return bool(action.path) and any(_matches_path(url, action.path) for url in urls)
    return True


def _matches_path(url: str, path: str) -> bool:
    return url in ("*", path) or (url.endswith("*") and path.startswith(url.rstrip("*")))


def _matches_resource(rule: Object, action: Action) -> bool:
    if (namespaces := rule.get("namespaces")) and action.namespace not in namespaces:
        return False
    kinds = rule.get("resources")
    return not kinds or any(_is_of(each, action) for each in kinds)


def _is_of(kind: Object, action: Action) -> bool:
    if kind.get("group", "") not in (action.group, "*"):
        return False
    resources = kind.get("resources")
    if not resources:
        return True
    if (names := kind.get("resourceNames")) and action.name not in names:
        return False
    resource, subresource = action.resource, action.subresource
    wanted = {"*", f"{resource}/*", f"{resource}/{subresource}" if subresource else resource}
    if subresource:
        wanted.add(f"*/{subresource}")
    return not wanted.isdisjoint(resources)


# Checking


def check(obj: Any) -> Iterator[FieldError]:
    """What is wrong with a policy, first things first."""
    yield from check_kind(obj, ("audit.k8s.io/v1",), "Policy")
    if not isinstance(obj, dict):
        return
    yield from check_fields(obj, _POLICY, Path())
    rules = obj.get("rules")
    if not rules:
        yield required(Path("rules"), "a policy needs at least one rule")


def _stage(value: Any, path: Path) -> Iterator[FieldError]:
    if value not in STAGES:
        yield invalid(path, value, f"allowed stages are {','.join(STAGES)}")


def _level(value: Any, path: Path) -> Iterator[FieldError]:
    if value and value not in LEVELS:
        yield not_supported(path, value, LEVELS)


def _url(value: Any, path: Path) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield from text(value, path)
    elif value != "*":
        if not value.startswith("/"):
            yield invalid(path, value, "non-resource URL rules must begin with a '/' character")
        if "*" in value[:-1]:
            why = "non-resource URL wildcards '*' must be the final character of the rule"
            yield invalid(path, value, why)


def _group(value: Any, path: Path) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield from text(value, path)
    elif value not in ("", "*") and (problems := is_dns1123_subdomain(value)):
        yield invalid(path, value, ",".join(problems))


def _resources(value: Any, path: Path) -> Iterator[FieldError]:
    yield from check_fields(value, _GROUP_RESOURCES, path)
    if isinstance(value, dict) and value.get("resourceNames") and not value.get("resources"):
        why = "using resourceNames requires at least one resource"
        yield invalid(path.child("resourceNames"), value["resourceNames"], why)


def _rule(value: Any, path: Path) -> Iterator[FieldError]:
    yield from check_fields(value, _RULE, path)
    if not isinstance(value, dict):
        return
    if not value.get("level"):
        yield required(path.child("level"))
    if value.get("nonResourceURLs") and (value.get("resources") or value.get("namespaces")):
        why = "rules cannot apply to both regular resources and non-resource URLs"
        yield invalid(path.child("nonResourceURLs"), value["nonResourceURLs"], why)


_TEXTS: Final = list_of(text)
_GROUP_RESOURCES: Final[Mapping[str, Check]] = {
    "group": _group,
    "resources": _TEXTS,
    "resourceNames": _TEXTS,
}
_RULE: Final[Mapping[str, Check]] = {
    "level": _level,
    "users": _TEXTS,
    "userGroups": _TEXTS,
    "verbs": _TEXTS,
    "resources": list_of(_resources),
    "namespaces": _TEXTS,
    "nonResourceURLs": list_of(_url),
    "omitStages": list_of(_stage),
    "omitManagedFields": flag,
}
_POLICY: Final[Mapping[str, Check]] = {
    "apiVersion": text,
    "kind": text,
    "metadata": anything,
    "rules": list_of(_rule),
    "omitStages": list_of(_stage),
    "omitManagedFields": flag,
}
