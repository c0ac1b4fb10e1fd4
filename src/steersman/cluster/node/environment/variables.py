"""The environment variables of one container from all sources. Pure.

The caller has fetched the referenced objects. Later sources take precedence: built-in variables, `envFrom`,
then `env` in its order, each value of which may refer to earlier ones.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from steersman.cluster.node.downward import DownwardNodeFacts, UnknownFieldRef, field_value, resource_value
from steersman.cluster.node.environment.env_files import BadEnvFile, value_in
from steersman.cluster.node.environment.expansion import expand, or_as_written
from steersman.cluster.node.errors import StartFailed
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Container, Pod

__all__ = ["CONFIG_ERROR", "EnvironmentSources", "environment"]

Variables = dict[str, str]

#: Why a container cannot be made whose configuration is not complete.
CONFIG_ERROR: Final = "CreateContainerConfigError"


class _Kind(NamedTuple):
    """A kind of object that variables come from."""

    #: In messages about objects, and about their keys.
    noun: str
    title: str


_KINDS: Final = {"configMap": _Kind("configmap", "ConfigMap"), "secret": _Kind("secret", "Secret")}


@dataclass(frozen=True, slots=True)
class EnvironmentSources:
    """The objects that a container's variables refer to."""

    node: DownwardNodeFacts
    #: Of the pod.
    ips: Sequence[str] = ()
    #: What a container is told unless it says otherwise: of services, and of itself.
    given: Mapping[str, str] = field(default_factory=dict)
    #: ("configMap" or "secret", name) → the object; None: there is none.
    objects: Mapping[tuple[str, str], Mapping[str, Any] | None] = field(default_factory=dict)
    #: The text of a file in a volume. Raises OSError.
    read_file: Callable[[str, str], str] = lambda volume, path: ""


def environment(pod: Pod, container: Container, sources: EnvironmentSources) -> Variables:
    """Everything but what the runtime adds. Raises `StartFailed`."""
    variables: Variables = {}
    for whole in container.get("envFrom") or ():
        variables |= _whole(whole, sources)
    for entry in container.get("env") or ():
        value: str | None = entry.get("value", "")
        if value:
            value = expand(value, or_as_written(variables, sources.given))
        elif (source := entry.get("valueFrom")) is not None:
            value = _referred(pod, container, source, sources)
        if value is not None:
            variables[entry["name"]] = value
    for name, value in variables.items():
        if _is_binary(value):
            raise StartFailed(CONFIG_ERROR, f"the value of environment variable {name} is not text")
    return {**sources.given, **variables}


def _is_binary(value: str) -> bool:
    """Whether no program can be given this."""
    return "\0" in value or (not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value))


def _whole(source: Mapping[str, Any], sources: EnvironmentSources) -> Variables:
    for kind in _KINDS:
        reference = source.get(f"{kind}Ref")
        if reference is not None:
            found = _object(kind, reference, sources)
            prefix = source.get("prefix", "")
            entries = (found or {}).get("data") or {}
            return {f"{prefix}{key}": _text(kind, value) for key, value in entries.items()}
    return {}


def _object(kind: str, reference: Mapping[str, Any], sources: EnvironmentSources) -> Mapping[str, Any] | None:
    name = reference.get("name", "")
    found = sources.objects.get((kind, name))
    if found is None and not reference.get("optional"):
        raise StartFailed(CONFIG_ERROR, f"{_KINDS[kind].noun} {quote(name)} not found")
    return found


def _text(kind: str, value: str) -> str:
    return b64decode(value).decode(errors="surrogateescape") if kind == "secret" else value


def _referred(
    pod: Pod, container: Container, source: Mapping[str, Any], sources: EnvironmentSources
) -> str | None:
    """The value of a reference; None: there is none, and need not be."""
    try:
        if (reference := source.get("fieldRef")) is not None:
            return field_value(pod, reference["fieldPath"], sources.ips, sources.node)
        if (reference := source.get("resourceFieldRef")) is not None:
            return resource_value(pod, container, reference, sources.node)
    except UnknownFieldRef as error:
        raise StartFailed(CONFIG_ERROR, str(error)) from error
    if (reference := source.get("fileKeyRef")) is not None:
        return _in_file(reference, sources)
    for kind in _KINDS:
        if (reference := source.get(f"{kind}KeyRef")) is not None:
            return _key(pod, kind, reference, sources)
    return ""


def _key(pod: Pod, kind: str, reference: Mapping[str, Any], sources: EnvironmentSources) -> str | None:
    found = _object(kind, reference, sources)
    if found is None:
        return None
    key = reference["key"]
    entries = found.get("data") or {}
    if key in entries:
        return _text(kind, entries[key])
    if reference.get("optional"):
        return None
    where = f"{pod['metadata']['namespace']}/{reference.get('name', '')}"
    raise StartFailed(CONFIG_ERROR, f"couldn't find key {key} in {_KINDS[kind].title} {where}")


def _in_file(reference: Mapping[str, Any], sources: EnvironmentSources) -> str | None:
    key, path = reference["key"], reference["path"]
    try:
        value = value_in(sources.read_file(reference["volumeName"], path), key)
    except (OSError, BadEnvFile) as error:
        raise StartFailed(CONFIG_ERROR, "couldn't parse env file") from error
    if value:
        return value
    if reference.get("optional"):
        return None
    raise StartFailed(CONFIG_ERROR, f"environment variable key {quote(key)} not found in file {quote(path)}")
