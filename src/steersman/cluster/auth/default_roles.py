"""The default ClusterRoles, Roles and bindings of RBAC, read from default_roles.txt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from steersman.cluster.auth.rbac import GROUP
from steersman.cluster.auth.rules import RbacRule, rules_of
from steersman.objects.kinds import Object

__all__ = ["AUTO_UPDATE", "DefaultObject", "default_objects", "default_rules"]


_FILE = Path(__file__).with_name("default_roles.txt")
_WORDS = {
    "read": ("get", "list", "watch"),
    "write": ("create", "delete", "deletecollection", "patch", "update"),
}
AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_KINDS = {"user": "User", "group": "Group", "account": "ServiceAccount"}


class DefaultObject(NamedTuple):
    """A default role or binding."""

    plural: str
    namespace: str
    name: str
    obj: Object


@cache
def default_objects() -> tuple[DefaultObject, ...]:
    """All of them, roles before the bindings that refer to them. Not to be changed."""
    return tuple(_parse(_FILE.read_text(encoding="utf-8").splitlines()))


def default_rules(role: str) -> Sequence[RbacRule]:
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
    return metadata | {"labels": dict(_LABELS), "annotations": {AUTO_UPDATE: "true"}}


def _rule(words: Sequence[str]) -> RbacRule:
    verbs = tuple(sorted(verb for word in words[0].split(",") for verb in _WORDS.get(word, (word,))))
    if words[1] == "path":
        return RbacRule(verbs, urls=tuple(words[2:]))
    groups = tuple("" if group == "core" else group for group in words[1].split(","))
    resources, _, names = " ".join(words[2:]).partition(" = ")
    return RbacRule(verbs, groups, tuple(resources.split()), tuple(names.split()))


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
