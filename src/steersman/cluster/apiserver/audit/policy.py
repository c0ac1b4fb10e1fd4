"""Audit policies (audit.k8s.io/v1): which requests are logged, and how much of them. The first rule wins.

Pure. A field that the format does not have is an error here, where kube-apiserver only warns: a misspelt
`userGroups` would otherwise be a rule for everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User
from steersman.objects.fields import FieldError, Path, invalid, not_supported, required, type_invalid
from steersman.objects.names import is_dns1123_subdomain

__all__ = [
    "DEFAULT_POLICY",
    "LEVELS",
    "METADATA",
    "NONE",
    "REQUEST",
    "REQUEST_RESPONSE",
    "Policy",
    "Verdict",
    "check",
]

Object = dict[str, Any]

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
class Verdict:
    """What a policy wants of a request."""

    level: int
    omit_stages: frozenset[str]
    omit_managed_fields: bool


class Policy:
    """A policy that has passed `check`."""

    def __init__(self, obj: Object) -> None:
        omit = frozenset(obj.get("omitStages") or ())
        omit_managed = bool(obj.get("omitManagedFields"))
        self._rules: list[tuple[Object, Verdict]] = []
        for rule in obj["rules"]:
            own = rule.get("omitManagedFields")
            verdict = Verdict(
                LEVELS.index(rule["level"]),
                omit | frozenset(rule.get("omitStages") or ()),
                omit_managed if own is None else own,
            )
            self._rules.append((rule, verdict))
        self._otherwise = Verdict(NONE, omit, omit_managed)
        #: Whether a request's object name matters.
        self.by_name = any(
            named.get("resourceNames") for rule in obj["rules"] for named in rule.get("resources") or ()
        )

    def evaluate(self, user: User | None, action: Action) -> Verdict:
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
    if not isinstance(obj, dict):
        yield type_invalid(Path("policy"), obj, "must be an object")
        return
    for name, value in (("apiVersion", "audit.k8s.io/v1"), ("kind", "Policy")):
        if not obj.get(name):
            yield required(Path(name))
        elif obj[name] != value:
            yield not_supported(Path(name), obj[name], [value])
    yield from _fields(obj, _POLICY, Path())
    rules = obj.get("rules")
    if not rules:
        yield required(Path("rules"), "a policy needs at least one rule")


def _fields(obj: Any, fields: Mapping[str, _Check], path: Path) -> Iterator[FieldError]:
    if not isinstance(obj, dict):
        yield type_invalid(path, obj, "must be an object")
        return
    for name, value in obj.items():
        at = path.child(str(name))
        if name not in fields:
            yield invalid(at, value, f"unknown field; there are {', '.join(fields)}")
        elif value is not None:
            yield from fields[name](value, at)


_Check = Callable[[Any, Path], Iterator[FieldError]]


def _anything(value: Any, path: Path) -> Iterator[FieldError]:
    return iter(())


def _text(value: Any, path: Path) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield type_invalid(path, value, "must be a string")


def _flag(value: Any, path: Path) -> Iterator[FieldError]:
    if not isinstance(value, bool):
        yield type_invalid(path, value, "must be true or false")


def _list_of(check_item: _Check) -> _Check:
    def check_list(value: Any, path: Path) -> Iterator[FieldError]:
        if not isinstance(value, list):
            yield type_invalid(path, value, "must be a list")
            return
        for number, item in enumerate(value):
            yield from check_item(item, path.index(number))

    return check_list


def _stage(value: Any, path: Path) -> Iterator[FieldError]:
    if value not in STAGES:
        yield invalid(path, value, f"allowed stages are {','.join(STAGES)}")


def _level(value: Any, path: Path) -> Iterator[FieldError]:
    if value and value not in LEVELS:
        yield not_supported(path, value, LEVELS)


def _url(value: Any, path: Path) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield from _text(value, path)
    elif value != "*":
        if not value.startswith("/"):
            yield invalid(path, value, "non-resource URL rules must begin with a '/' character")
        if "*" in value[:-1]:
            text = "non-resource URL wildcards '*' must be the final character of the rule"
            yield invalid(path, value, text)


def _group(value: Any, path: Path) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield from _text(value, path)
    elif value not in ("", "*") and (problems := is_dns1123_subdomain(value)):
        yield invalid(path, value, ",".join(problems))


def _resources(value: Any, path: Path) -> Iterator[FieldError]:
    yield from _fields(value, _GROUP_RESOURCES, path)
    if isinstance(value, dict) and value.get("resourceNames") and not value.get("resources"):
        text = "using resourceNames requires at least one resource"
        yield invalid(path.child("resourceNames"), value["resourceNames"], text)


def _rule(value: Any, path: Path) -> Iterator[FieldError]:
    yield from _fields(value, _RULE, path)
    if not isinstance(value, dict):
        return
    if not value.get("level"):
        yield required(path.child("level"))
    if value.get("nonResourceURLs") and (value.get("resources") or value.get("namespaces")):
        text = "rules cannot apply to both regular resources and non-resource URLs"
        yield invalid(path.child("nonResourceURLs"), value["nonResourceURLs"], text)


_TEXTS: Final = _list_of(_text)
_GROUP_RESOURCES: Final[Mapping[str, _Check]] = {
    "group": _group,
    "resources": _TEXTS,
    "resourceNames": _TEXTS,
}
_RULE: Final[Mapping[str, _Check]] = {
    "level": _level,
    "users": _TEXTS,
    "userGroups": _TEXTS,
    "verbs": _TEXTS,
    "resources": _list_of(_resources),
    "namespaces": _TEXTS,
    "nonResourceURLs": _list_of(_url),
    "omitStages": _list_of(_stage),
    "omitManagedFields": _flag,
}
_POLICY: Final[Mapping[str, _Check]] = {
    "apiVersion": _text,
    "kind": _text,
    "metadata": _anything,
    "rules": _list_of(_rule),
    "omitStages": _list_of(_stage),
    "omitManagedFields": _flag,
}
