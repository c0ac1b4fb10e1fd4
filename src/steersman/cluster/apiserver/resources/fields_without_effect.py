"""Warnings about fields that this cluster accepts but does not act on (`fields_without_effect.txt`).

An API server does not know who follows its objects, so by itself it says nothing, as kube-apiserver does:
`add_warnings` is called where a cluster is put together and it is known what does not run. There is no
warning about objects that a controller makes, since the user who wrote their template got it.

Cost: an object without such fields is asked for a handful of keys, that of its containers included; only what
is found is looked at twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.objects.ownership import controlling_reference

__all__ = ["CONDITIONS", "POD", "Check", "FieldRow", "add_warnings", "rows"]

Check = Callable[[Mapping[str, Any], Mapping[str, Any] | None], list[str]]
"""The warnings for an object and what it was before, None for a new one."""

_FILE: Final = Path(__file__).with_name("fields_without_effect.txt")
POD: Final = "pod"
_ITSELF: Final = "-"
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
#: Where resources have the spec of a pod.
_POD_SPECS: Final[Mapping[str, tuple[str, ...]]] = {
    "pods": ("spec",),
    "podtemplates": ("template", "spec"),
    "replicationcontrollers": ("spec", "template", "spec"),
    "daemonsets.apps": ("spec", "template", "spec"),
    "deployments.apps": ("spec", "template", "spec"),
    "replicasets.apps": ("spec", "template", "spec"),
    "statefulsets.apps": ("spec", "template", "spec"),
    "jobs.batch": ("spec", "template", "spec"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template", "spec"),
}


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One line of the table."""

    condition: str
    where: str
    #: Field names from `where` on; empty: the object itself.
    path: tuple[str, ...]
    #: The value that counts, or with `negated` the one that does not; empty: any.
    value: str
    negated: bool
    sentence: str

    def counts(self, value: object) -> bool:
        if value is None or not self.value:
            return value is not None
        text = str(value).lower() if isinstance(value, bool) else value
        return (text == self.value) is not self.negated


@cache
def rows() -> tuple[FieldRow, ...]:
    condition, found = "", []
    for line in _FILE.read_text("utf-8").splitlines():
        if line.startswith("["):
            condition = line.strip("[]")
        elif line and not line.startswith("#"):
            where, what, sentence = line.split(maxsplit=2)
            path, equals, value = what.partition("=")
            negated = path.endswith("!")
            names = () if path == _ITSELF else tuple(path.rstrip("!").split("."))
            found.append(FieldRow(condition, where, names, value if equals else "", negated, sentence))
    return tuple(found)


CONDITIONS: Final = frozenset(("process-nodes", "no-ingress-class", "controllers", "scheduler"))


def add_warnings(catalog: Catalog, conditions: Mapping[str, Callable[[], bool]]) -> None:
    """Have the resources of a catalog warn, where these conditions are so at the moment of a request."""
    for resource in catalog:
        name = f"{resource.plural}.{resource.group}".rstrip(".")
        chosen = [row for row in rows() if row.condition in conditions]
        itself = [row for row in chosen if row.where == name]
        if itself:
            resource.effect_warnings = _about_itself(itself, conditions)
        elif name in _POD_SPECS:
            of_pods = [row for row in chosen if row.where == POD]
            if of_pods:
                resource.effect_warnings = _about_pods(_POD_SPECS[name], _tree(of_pods), conditions)


def _about_itself(found: Sequence[FieldRow], conditions: Mapping[str, Callable[[], bool]]) -> Check:
    def check(_: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[str]:
        return [row.sentence for row in found if old is None and conditions[row.condition]()]

    return check


#: What follows a field: the rows that end there, and the fields below.
_Tree = dict[str, tuple[Sequence[FieldRow], "_Tree"]]


def _tree(found: Collection[FieldRow]) -> _Tree:
    tree: _Tree = {}
    for row in found:
        first, *rest = row.path
        for start in _CONTAINERS if first == "containers[]" else (first,):
            below = tree
            names = [start, *(name.removesuffix("[]") for name in rest)]
            for name in names[:-1]:
                below = below.setdefault(name, ((), {}))[1]
            ended, under = below.get(names[-1], ((), {}))
            below[names[-1]] = ((*ended, row), under)
    return tree


def _about_pods(place: tuple[str, ...], tree: _Tree, conditions: Mapping[str, Callable[[], bool]]) -> Check:
    prefix = ".".join(place)

    def check(new: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[str]:
        found = list(_set_in(_at(new, place), tree, prefix))
        if not found or controlling_reference(new) is not None:
            return []
        before = set() if old is None else set(_set_in(_at(old, place), tree, prefix))
        return [
            f"{path}: {row.sentence}"
            for path, row in found
            if (path, row) not in before and conditions[row.condition]()
        ]

    return check


def _at(obj: Mapping[str, Any], place: tuple[str, ...]) -> Mapping[str, Any]:
    for name in place:
        obj = obj.get(name) or {}
    return obj


def _set_in(obj: Mapping[str, Any], tree: _Tree, path: str) -> Iterator[tuple[str, FieldRow]]:
    """The fields of the tree that an object has set, and their rows."""
    for name, (ended, below) in tree.items():
        if name not in obj:
            continue
        value = obj[name]
        for row in ended:
            if row.counts(value):
                yield f"{path}.{name}", row
        if not below:
            continue
        if isinstance(value, list):
            for number, item in enumerate(value):
                yield from _set_in(item, below, f"{path}.{name}[{number}]")
        elif value:
            yield from _set_in(value, below, f"{path}.{name}")
