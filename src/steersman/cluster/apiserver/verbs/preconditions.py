"""Messages about failed preconditions: an object with another uid or resourceVersion than wanted.

The words differ with the place in kube-apiserver that notices: the handler of a resource itself, or its
storage, which also tells where the object is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from steersman.cluster.apiserver.resources.resource import Resource

__all__ = ["failed_precondition", "failed_storage_precondition"]

_WORDS: Final = {"uid": "UID", "resourceVersion": "ResourceVersion"}


def failed_precondition(wanted: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """Which of the wanted uid and resourceVersion an object does not have; empty when it has all."""
    for part, word in _WORDS.items():
        if wanted.get(part) and wanted[part] != metadata.get(part, ""):
            return (
                f"Precondition failed: {word} in precondition: {wanted[part]}, "
                f"{word} in object meta: {metadata.get(part, '')}"
            )
    return ""


def failed_storage_precondition(
    resource: Resource,
    namespace: str,
    name: str,
    wanted: Mapping[str, Any],
    metadata: Mapping[str, Any],
    *,
    dry_run: bool,
) -> str:
    why = failed_precondition(wanted, metadata)
    if not why:
        return ""
    key = resource.registry_key(namespace, name)
    if dry_run:
        key = key.removeprefix("/registry")
    return f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
