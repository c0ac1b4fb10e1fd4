"""The roles and bindings that every cluster has: read from default_roles.txt, kept up at each start.

What somebody added to a default role stays; what is missing is put back, so a newer server brings newer
rules. An object annotated rbac.authorization.kubernetes.io/autoupdate=false is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from steersman.aio import Scope
from steersman.cluster.apiserver.pipeline.call import Api, new_uid, timestamp
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.server_managed_fields import owned
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.auth.rbac import GROUP
from steersman.cluster.auth.rules import Rule, rules_of, uncovered
from steersman.cluster.store import Conflict, NotFound, Record

__all__ = ["DefaultObject", "default_objects", "default_rules", "install_default_roles"]

Object = dict[str, Any]

_FILE = Path(__file__).with_name("default_roles.txt")
_WORDS = {
    "read": ("get", "list", "watch"),
    "write": ("create", "delete", "deletecollection", "patch", "update"),
}
_AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_KINDS = {"user": "User", "group": "Group", "account": "ServiceAccount"}


class DefaultObject(NamedTuple):
    plural: str
    namespace: str
    name: str
    obj: Object


@cache
def default_objects() -> tuple[DefaultObject, ...]:
    """All of them, roles before the bindings that refer to them. Not to be changed."""
    return tuple(_parse(_FILE.read_text(encoding="utf-8").splitlines()))


def default_rules(role: str) -> Sequence[Rule]:
    """The rules of a default cluster role."""
    found = next(each for each in default_objects() if (each.plural, each.name) == ("clusterroles", role))
    return rules_of(found.obj)


def _parse(lines: Sequence[str]) -> Iterator[DefaultObject]:
    role: DefaultObject | None = None
    for line in _joined(lines):
        if not line.startswith(" "):
            role = _role(line.split())
            yield role
            continue
        assert role is not None
        words = line.split()
        if words[0] == "to":
            yield _binding(role, words[1:])
        else:
            role.obj["rules"] = [*(role.obj["rules"] or ()), _rule(words).to_object()]


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """The lines that say something, continued ones as one."""
    current = ""
    for line in lines:
        if line.startswith("     "):
            current += " " + line.strip()
            continue
        if current:
            yield current
        current = "" if line.startswith("#") else line
    if current:
        yield current


def _role(words: Sequence[str]) -> DefaultObject:
    kind, full_name, *rest = words
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    namespace, _, name = full_name.rpartition("/") if kind == "role" else ("", "", full_name)
    obj: Object = {"metadata": _metadata(namespace, name), "rules": None}
    if "joins" in options:
        obj["metadata"]["labels"][_AGGREGATE + options["joins"]] = "true"
    if "gathers" in options:
        selector = {"matchLabels": {_AGGREGATE + options["gathers"]: "true"}}
        obj["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    return DefaultObject("roles" if namespace else "clusterroles", namespace, name, obj)


def _metadata(namespace: str, name: str) -> Object:
    metadata: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    return metadata | {"labels": dict(_LABELS), "annotations": {_AUTO_UPDATE: "true"}}


def _rule(words: Sequence[str]) -> Rule:
    verbs = tuple(sorted(verb for word in words[0].split(",") for verb in _WORDS.get(word, (word,))))
    if words[1] == "path":
        return Rule(verbs, urls=tuple(words[2:]))
    groups = tuple("" if group == "core" else group for group in words[1].split(","))
    resources, _, names = " ".join(words[2:]).partition(" = ")
    return Rule(verbs, groups, tuple(resources.split()), tuple(names.split()))


def _binding(role: DefaultObject, words: Sequence[str]) -> DefaultObject:
    name = role.name
    if len(words) > 2 and words[-2] == "by":
        words, name = words[:-2], words[-1]
    kind = "Role" if role.namespace else "ClusterRole"
    obj: Object = {
        "metadata": _metadata(role.namespace, name),
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role.name},
    }
    if words != ["nobody"]:
        obj["subjects"] = [_subject(word) for word in words]
    plural = "rolebindings" if role.namespace else "clusterrolebindings"
    return DefaultObject(plural, role.namespace, name, obj)


def _subject(word: str) -> Object:
    kind, _, name = word.partition("=")
    if kind == "account":
        namespace, _, name = name.partition("/")
        return {"kind": _KINDS[kind], "name": name, "namespace": namespace}
    return {"kind": _KINDS[kind], "apiGroup": GROUP, "name": name}


# Keeping them


async def install_default_roles(api: Api) -> None:
    """Create what is missing, complete what is there; all at once, so that a few commits carry it."""
    async with Scope() as scope:
        writes = [scope.start(_install(api, default), name="default role") for default in default_objects()]
        for write in writes:
            await write


async def _install(api: Api, default: DefaultObject) -> None:
    resource = api.catalog.find(GROUP, "v1", default.plural)
    assert resource is not None
    key = resource.key(default.namespace, default.name)
    while True:
        record = api.store.get(key)
        try:
            if record is None:
                await api.store.put(key, encode(_fresh(api, resource, default.obj)), expected=0)
            else:
                await _reconcile(api, resource, record, default)
        except (Conflict, NotFound):
            continue
        return


def _fresh(api: Api, resource: Resource, obj: Object) -> Object:
    obj = owned(api, resource, None, obj)
    system = {"uid": new_uid(), "creationTimestamp": timestamp(api.now())}
    return {**obj, "metadata": obj["metadata"] | system}


async def _reconcile(api: Api, resource: Resource, record: Record, default: DefaultObject) -> None:
    existing, expected = resource.read(record.value), default.obj
    if (existing["metadata"].get("annotations") or {}).get(_AUTO_UPDATE) == "false":
        return
    if "roleRef" in expected and existing.get("roleRef") != expected["roleRef"]:
        # What a binding refers to cannot be changed: it is another binding then.
        await api.store.delete(record.key, expected=record.revision)
        await api.store.put(record.key, encode(_fresh(api, resource, expected)), expected=0)
        return
    completed = complete(existing, expected)
    if completed != existing:
        completed = owned(api, resource, existing, completed)
        await api.store.put(record.key, encode(completed), expected=record.revision)


def complete(existing: Object, expected: Object) -> Object:
    """An existing role or binding with everything a default one has."""
    metadata = dict(existing["metadata"])
    for key in ("annotations", "labels"):
        metadata[key] = expected["metadata"][key] | (metadata.get(key) or {})
    completed = {**existing, "metadata": metadata}
    if "roleRef" in expected:
        held = list(existing.get("subjects") or ())
        missing = [subject for subject in expected.get("subjects") or () if subject not in held]
        return {**completed, "subjects": held + missing} if missing else completed
    lacking = uncovered(rules_of(existing), rules_of(expected))
    if lacking:
        completed["rules"] = [*(existing.get("rules") or ()), *(rule.to_object() for rule in lacking)]
    return _complete_aggregation(completed, expected)


def _complete_aggregation(role: Object, expected: Object) -> Object:
    if "aggregationRule" not in expected:
        return {key: value for key, value in role.items() if key != "aggregationRule"}
    held = list((role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ())
    wanted = expected["aggregationRule"]["clusterRoleSelectors"]
    missing = [selector for selector in wanted if selector not in held]
    return {**role, "aggregationRule": {"clusterRoleSelectors": held + missing}} if missing else role
