"""Pods made from a pod template (name, labels, owner reference), and the pod-template-hash. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random, SystemRandom
from typing import Any, Final

import orjson

from steersman.cluster.controllers.ownership import controller_reference
from steersman.objects.kinds.types.core_v1 import Pod, PodTemplateSpec
from steersman.objects.kinds.types.meta_v1 import ObjectMeta
from steersman.objects.names import generate_name, name_is_dns_subdomain
from steersman.objects.resource_type import ResourceType

__all__ = [
    "POD_TEMPLATE_HASH",
    "fnv32",
    "fnv32a",
    "fnv128a",
    "json_bytes",
    "pod_from_template",
    "safe_encoded",
    "same_template",
    "template_hash",
]


#: Labels that controllers put on the templates they derive.
POD_TEMPLATE_HASH: Final = "pod-template-hash"

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_OFFSET: Final = 2166136261
_PRIME: Final = 16777619
_MASK: Final = 0xFFFFFFFF
_random = SystemRandom()


def pod_from_template(
    template: PodTemplateSpec,
    owner: Mapping[str, Any],
    kind: ResourceType,
    random: Random = _random,
    *,
    prefix: str | None = None,
) -> Pod:
    """A pod with a name of its own, which begins with the owner's name or with `prefix`. The template's
    parts are shared: change the pod, not what is in it."""
    if prefix is None:
        name = owner["metadata"]["name"]
        prefix = name if name_is_dns_subdomain(f"{name}-", True) else f"{name}-"
    given = template.get("metadata") or {}
    metadata: ObjectMeta = {
        # Named here and not by the API, so that the writer knows the pod's events for its own.
        "name": generate_name(prefix, random),
        "generateName": prefix,
        "namespace": owner["metadata"]["namespace"],
        "labels": dict(given.get("labels") or {}),
        "ownerReferences": [controller_reference(owner, kind)],
    }
    if annotations := given.get("annotations"):
        metadata["annotations"] = dict(annotations)
    if finalizers := given.get("finalizers"):
        metadata["finalizers"] = list(finalizers)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**template["spec"]}}


def template_hash(template: PodTemplateSpec, collisions: int | None) -> str:
    """What tells templates apart in names and labels; `collisions` gives another one to the same template."""
    content = json_bytes(template)
    if collisions is not None:
        content += collisions.to_bytes(4, "little") + bytes(4)
    return safe_encoded(fnv32a(content))


def safe_encoded(number: int) -> str:
    """A number in characters that make no words."""
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def json_bytes(value: object) -> bytes:
    """JSON as Go writes a map: sorted, and safe inside HTML."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    for char in (b"<", b">", b"&"):
        if char in text:
            text = text.replace(char, b"\\u%04x" % ord(char))
    return text


def fnv32a(content: bytes) -> int:
    """FNV-1a, 32 bits."""
    value = _OFFSET
    for byte in content:
        value = ((value ^ byte) * _PRIME) & _MASK
    return value


def fnv32(content: bytes) -> int:
    """FNV-1, 32 bits."""
    value = _OFFSET
    for byte in content:
        value = ((value * _PRIME) & _MASK) ^ byte
    return value


def same_template(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two templates make the same pods, whatever hash was put on them."""
    return one.get("spec") == other.get("spec") and _unlabelled(one) == _unlabelled(other)


def _unlabelled(template: Mapping[str, Any]) -> dict[str, Any]:
    metadata = dict(template.get("metadata") or {})
    labels = dict(metadata.pop("labels", None) or {})
    labels.pop(POD_TEMPLATE_HASH, None)
    metadata.pop("creationTimestamp", None)
    return {**metadata, "labels": labels}


def fnv128a(content: bytes) -> int:
    value = 0x6C62272E07BB014262B821756295C58D
    for byte in content:
        value = ((value ^ byte) * 0x1000000000000000000013B) & (2**128 - 1)
    return value
