"""Warnings about pods and pod templates: what is accepted but does not do what it seems to.

The texts are the interface: clients print them and tests compare them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steersman.cluster.apiserver.resources.strategies import app_armor, node_labels
from steersman.cluster.apiserver.resources.strategies.volume_warnings import fraction_warning, volume_warnings
from steersman.objects.addresses import ip_warnings
from steersman.objects.fields import Path, quote
from steersman.objects.kinds import Object
from steersman.objects.pods import CONTAINER_FIELDS

__all__ = ["pod_warnings", "template_warnings"]

_SYSCTLS_TEXT: Final = 'non-functional in v1.11+; use the "sysctls" field instead'
_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": _SYSCTLS_TEXT,
    "security.alpha.kubernetes.io/unsafe-sysctls": _SYSCTLS_TEXT,
}
_POD_SECCOMP: Final = "seccomp.security.alpha.kubernetes.io/pod"
_CONTAINER_SECCOMP: Final = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP_TEXT: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
_BYTES: Final = ("memory", "ephemeral-storage")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_warnings(pod: Object) -> list[str]:
    return list(_warnings(pod, Path(), template=False))


def template_warnings(template: Object | None, path: Path) -> list[str]:
    return list(_warnings(template, path, template=True)) if template is not None else []


def _warnings(pod: Object, path: Path, *, template: bool) -> Iterator[str]:
    spec: Object = pod["spec"]
    annotations: Object = pod["metadata"].get("annotations") or {}
    here, notes = path.child("spec"), path.child("metadata", "annotations")
    yield from _placement(spec, here)
    for key, text in _ANNOTATIONS.items():
        if key in annotations:
            yield f"{notes.key(key)}: {text}"
    yield from volume_warnings(spec.get("volumes") or [], here.child("volumes"))
    yield from _duplicates(spec, here)
    for name in _BYTES:
        yield from fraction_warning(spec.get("overhead"), name, here.child("overhead"))
    context = spec.get("securityContext") or {}
    if _POD_SECCOMP in annotations and context.get("seccompProfile") is None:
        yield f"{notes.key(_POD_SECCOMP)}: {_SECCOMP_TEXT}"
    for container, place in _containers(spec, here):
        yield from _profiles(container, annotations, notes, context if template else None)
        yield from _container(container, place)
    yield from _ports(spec, here)
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        place = here.child("terminationGracePeriodSeconds")
        yield f"{place}: must be >= 0; negative values are invalid and will be treated as 1"
    yield from _affinity(spec.get("affinity") or {}, here.child("affinity"))
    for index, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        yield from ip_warnings(here.child("dnsConfig", "nameservers").index(index), server)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from ip_warnings(here.child("hostAliases").index(index).child("ip"), alias.get("ip", ""))


def _placement(spec: Object, here: Path) -> Iterator[str]:
    for label in spec.get("nodeSelector") or ():
        if label in node_labels.DEPRECATED:
            yield f"{here.child('nodeSelector').key(label)}: {node_labels.DEPRECATED[label]}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    place = here.child("affinity", "nodeAffinity")
    for index, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from node_labels.term_warnings(term, place.child(_REQUIRED, "nodeSelectorTerms").index(index))
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        term_path = place.child(_PREFERRED).index(index).child("preference")
        yield from node_labels.term_warnings(weighted["preference"], term_path, check_values=True)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        place = here.child("topologySpreadConstraints").index(index)
        key = constraint.get("topologyKey", "")
        if key in node_labels.DEPRECATED:
            yield f"{place.child('topologyKey')}: {key} is {node_labels.DEPRECATED[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{place.child('labelSelector')}: {_NO_SELECTOR}"


def _duplicates(spec: Object, here: Path) -> Iterator[str]:
    for kind, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for index, item in enumerate(spec.get(kind) or ()):
            value = item.get(key, "")
            if value in seen:
                yield f"{here.child(kind).index(index).child(key)}: duplicate {key} {quote(value)}"
            seen.add(value)
    for index, item in enumerate(spec.get("imagePullSecrets") or ()):
        if not item.get("name"):
            place = here.child("imagePullSecrets").index(index).child("name")
            yield f'{place}: invalid empty name ""'


def _containers(spec: Object, here: Path) -> Iterator[tuple[Object, Path]]:
    for kind in CONTAINER_FIELDS:
        for index, container in enumerate(spec.get(kind) or ()):
            yield container, here.child(kind).index(index)


def _profiles(
    container: Object, annotations: Object, notes: Path, template_context: Object | None
) -> Iterator[str]:
    """Annotations that fields replaced. AppArmor's are a pod's own affair at its creation."""
    context = container.get("securityContext") or {}
    key = _CONTAINER_SECCOMP + container.get("name", "")
    if key in annotations and context.get("seccompProfile") is None:
        yield f"{notes.key(key)}: {_SECCOMP_TEXT}"
    key = app_armor.ANNOTATION + container.get("name", "")
    if template_context is not None and key in annotations and context.get("appArmorProfile") is None:
        profile = template_context.get("appArmorProfile")
        if profile is None or profile != app_armor.profile_from_annotation(annotations[key]):
            yield app_armor.deprecation(notes, key)


def _container(container: Object, place: Path) -> Iterator[str]:
    for name in _BYTES:
        for kind in ("limits", "requests"):
            resources = container["resources"].get(kind)
            yield from fraction_warning(resources, name, place.child("resources", kind))
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        # X=$(X)more builds on the earlier X; anything else loses it.
        builds = variable.get("valueFrom") is None and reference in value and value != reference
        if name in seen and not builds:
            hiding = f"hides previous definition of {quote(name)}, which may be dropped when using apply"
            yield f"{place.child('env').index(index)}: {hiding}"
        seen.add(name)


def _ports(spec: Object, here: Path) -> Iterator[str]:
    taken: dict[tuple[int, str], list[tuple[Path, Object]]] = {}
    named: dict[str, Path] = {}
    names: list[str] = []
    for container, place in _containers(spec, here):
        for index, port in enumerate(container.get("ports") or ()):
            at = place.child("ports").index(index)
            if port.get("hostIP") and not port.get("hostPort"):
                yield f"{at}: hostIP set without hostPort: {_go_port(port)}"
            others = taken.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
            for other_at, other in others:
                if conflict := _conflict(port, other):
                    yield f"{at}: {conflict} port definition with {other_at}"
            others.append((at, port))
            name = port.get("name")
            if name and name in named:
                first = named[name]
                names.append(
                    f"{at}: duplicate port name {quote(name)} with {first}, "
                    f"services and probes that select ports by name will use {first}"
                )
            elif name:
                named[name] = at
    yield from names


def _conflict(port: Object, other: Object) -> str:
    address, other_address = port.get("hostIP", ""), other.get("hostIP", "")
    number, other_number = port.get("hostPort", 0), other.get("hostPort", 0)
    if (address, number) == (other_address, other_number):
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    if number == other_number and bool(address) != bool(other_address):
        return "dangerously ambiguous"
    return ""


def _go_port(port: Object) -> str:
    """A port as Go prints the struct, which is what this warning shows."""
    keys = (("Name", "name", ""), ("HostPort", "hostPort", 0), ("ContainerPort", "containerPort", 0))
    shown = [f"{title}:{port.get(key, empty)}" for title, key, empty in keys]
    return "{" + " ".join([*shown, f"Protocol:{port.get('protocol', '')}", f"HostIP:{port['hostIP']}"]) + "}"


def _affinity(affinity: Object, place: Path) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{place.child(kind, _REQUIRED).index(index).child('labelSelector')}: {_NO_SELECTOR}"
        for index, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if weighted["podAffinityTerm"].get("labelSelector") is None:
                at = place.child(kind, _PREFERRED).index(index).child("podAffinityTerm", "labelSelector")
                yield f"{at}: {_NO_SELECTOR}"
