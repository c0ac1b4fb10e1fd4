"""The deletion conditions of a terminating namespace's status: NamespaceContentRemaining and four others.
Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from steersman.objects.conditions import set_condition
from steersman.objects.kinds.types.core_v1 import NamespaceCondition
from steersman.objects.resource_type import ResourceType

__all__ = ["RemainingContent", "conditions_of"]

_DISCOVERY: Final = "NamespaceDeletionDiscoveryFailure"
_PARSING: Final = "NamespaceDeletionGroupVersionParsingFailure"
_CONTENT: Final = "NamespaceDeletionContentFailure"
_REMAINING: Final = "NamespaceContentRemaining"
_FINALIZERS: Final = "NamespaceFinalizersRemaining"

#: In the order in which they are shown: type, and the reason and message when all is well.
_FINE: Final = (
    (_DISCOVERY, "ResourcesDiscovered", "All resources successfully discovered"),
    (_PARSING, "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (_CONTENT, "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    (_REMAINING, "ContentRemoved", "All content successfully removed"),
    (_FINALIZERS, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
)


@dataclass(slots=True)
class RemainingContent:
    """The objects and finalizers left in a terminating namespace after one pass."""

    #: Groups with version whose server does not answer.
    stale: Sequence[str] = ()
    #: Why the API could not even say what it serves.
    undiscovered: str = ""
    failures: list[str] = field(default_factory=list)
    remaining: dict[ResourceType, int] = field(default_factory=dict)
    finalizers: Counter[str] = field(default_factory=Counter)


def conditions_of(
    findings: RemainingContent, present: list[NamespaceCondition] | None, now: str
) -> list[NamespaceCondition]:
    """The conditions after a pass; the very same list if nothing is new."""
    troubles = dict(_troubles(findings))
    conditions = present or []
    for kind, reason, message in _FINE:
        if kind in troubles:
            reason, message = troubles[kind]
        status = "True" if kind in troubles else "False"
        conditions = set_condition(conditions, kind, status, reason=reason, message=message, now=now)
    return conditions


def _troubles(findings: RemainingContent) -> list[tuple[str, tuple[str, str]]]:
    troubles: list[tuple[str, tuple[str, str]]] = []
    if why := findings.undiscovered or _stale(findings.stale):
        troubles.append((_DISCOVERY, ("DiscoveryFailed", why)))
    if failures := findings.failures:
        message = f"Failed to delete all resource types, {len(failures)} remaining: {_joined(failures)}"
        troubles.append((_CONTENT, ("ContentDeletionFailed", message)))
    if findings.remaining:
        counts = [
            f"{resource.plural}.{resource.group} has {count} resource instances"
            for resource, count in findings.remaining.items()
        ]
        message = f"Some resources are remaining: {_joined(counts)}"
        troubles.append((_REMAINING, ("SomeResourcesRemain", message)))
    if findings.finalizers:
        counts = [f"{name} in {count} resource instances" for name, count in findings.finalizers.items()]
        message = f"Some content in the namespace has finalizers remaining: {_joined(counts)}"
        troubles.append((_FINALIZERS, ("SomeFinalizersRemain", message)))
    return troubles


def _stale(versions: Sequence[str]) -> str:
    if not versions:
        return ""
    each = _joined([f"{version}: stale GroupVersion discovery: {version}" for version in versions])
    return (
        f"Discovery failed for some groups, {len(versions)} failing: unable to retrieve the complete list of "
        f"server APIs: {each}"
    )


def _joined(texts: Sequence[str]) -> str:
    """In an order that does not change by itself."""
    return ", ".join(sorted(texts))
