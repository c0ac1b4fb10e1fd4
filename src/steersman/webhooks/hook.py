"""`Hook`: one validating or mutating function and which writes it is asked about. Pure data.

Its entry in a webhook configuration names every field that the API has a default for, so that whatever
somebody else changes there can be told from what was declared.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypedDict

from steersman.objects.kinds import Object
from steersman.objects.kinds.enums import FailurePolicyType, MatchPolicyType, ReinvocationPolicyType
from steersman.objects.resource_type import ResourceType, Typed
from steersman.webhooks.errors import WebhookError
from steersman.webhooks.request import OPERATIONS, AdmissionRequest

__all__ = ["Hook", "HookKeywords", "HookOptions", "Review", "path_of"]

#: A validating function returns warnings or nothing, a mutating one a changed object or nothing.
Review = Callable[[AdmissionRequest[Any]], Awaitable[Any]]

_not_in_names = re.compile(r"[^a-z0-9]+")
_LONGEST_TIMEOUT_S: Final = 30
#: Of these the API sends objects of the kind itself.
_SUBRESOURCES: Final = ("", "status")


@dataclass(frozen=True, slots=True)
class HookOptions:
    """What can be said about a webhook besides its function."""

    operations: tuple[str, ...] = ("CREATE", "UPDATE")
    #: The object itself, its status, or both: `("", "status")`.
    subresources: tuple[str, ...] = ("",)
    #: Whether writes fail or go through while the webhook cannot be asked.
    failure_policy: FailurePolicyType = "Fail"
    #: Equivalent: also writes through another version of the resource, converted.
    match_policy: MatchPolicyType = "Equivalent"
    #: NoneOnDryRun for a function that does something outside of the object unless `request.dry_run`.
    side_effects: Literal["None", "NoneOnDryRun"] = "None"
    #: LabelSelectors; None for all.
    namespace_selector: Mapping[str, Any] | None = None
    object_selector: Mapping[str, Any] | None = None
    #: CEL expressions by name; all of them must hold.
    match_conditions: Mapping[str, str] = field(default_factory=dict)
    #: How long the API waits; the function has a little less.
    timeout_s: int = 10
    #: Whether a mutating function is asked again after others have changed the object.
    reinvocation: ReinvocationPolicyType = "IfNeeded"

    def check(self) -> None:
        """Raises WebhookError."""
        for operation in self.operations:
            if operation not in OPERATIONS:
                raise WebhookError(
                    f"there is no operation {operation!r}: it is one of {', '.join(OPERATIONS)}"
                )
        if not self.operations:
            raise WebhookError("a webhook needs at least one operation")
        if not 1 <= self.timeout_s <= _LONGEST_TIMEOUT_S:
            raise WebhookError(f"a webhook's timeout is 1 to {_LONGEST_TIMEOUT_S} s, not {self.timeout_s}")
        for subresource in self.subresources:
            if subresource not in _SUBRESOURCES:
                raise WebhookError(f"webhooks see objects and their status, not {subresource!r}")


class HookKeywords(TypedDict, total=False):
    """`HookOptions` as keywords of a decorator."""

    operations: tuple[str, ...]
    subresources: tuple[str, ...]
    failure_policy: FailurePolicyType
    match_policy: MatchPolicyType
    side_effects: Literal["None", "NoneOnDryRun"]
    namespace_selector: Mapping[str, Any] | None
    object_selector: Mapping[str, Any] | None
    match_conditions: Mapping[str, str]
    timeout_s: int
    reinvocation: ReinvocationPolicyType


@dataclass(frozen=True, slots=True)
class Hook:
    """A function that the API asks about writes of one resource."""

    kind: ResourceType | type[Typed]
    function: Review
    mutating: bool
    path: str
    name: str
    options: HookOptions

    @classmethod
    def declare(
        cls,
        kind: ResourceType | type[Typed],
        function: Review,
        *,
        mutating: bool,
        options: HookOptions,
        others: Sequence[Hook],
    ) -> Hook:
        """A new one beside `others`; they must not share a path. Raises WebhookError."""
        called = getattr(function, "__name__", type(function).__name__)
        if not inspect.iscoroutinefunction(function) and not inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - objects that are called like functions
        ):
            raise WebhookError(f"a webhook function is written with `async def`: {called} is not")
        options.check()
        resource = kind if isinstance(kind, ResourceType) else kind.resource_type
        label = _not_in_names.sub("-", called.lower()).strip("-") or "check"
        path = path_of("mutate" if mutating else "validate", resource)
        if any(other.path == path for other in others):
            path = f"{path}/{label}"
        name = f"{label}.{resource.plural}.{resource.group or 'core'}"
        for other in others:
            if other.path == path or (other.name == name and other.mutating == mutating):
                raise WebhookError(f"there are two webhooks {called} for {resource}: give one another name")
        return cls(kind, function, mutating, path, name, options)

    @property
    def resource(self) -> ResourceType:
        return self.kind if isinstance(self.kind, ResourceType) else self.kind.resource_type

    def entry(self, client_config: Mapping[str, Any]) -> Object:
        """Its place in a webhook configuration."""
        said, resource = self.options, self.resource
        plurals = [f"{resource.plural}/{each}".rstrip("/") for each in said.subresources]
        entry: Object = {
            "name": self.name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": dict(client_config),
            "rules": [
                {
                    "apiGroups": [resource.group],
                    "apiVersions": [resource.version],
                    "operations": list(said.operations),
                    "resources": plurals,
                    "scope": "Namespaced" if resource.namespaced else "Cluster",
                }
            ],
            "failurePolicy": said.failure_policy,
            "matchPolicy": said.match_policy,
            "sideEffects": said.side_effects,
            "timeoutSeconds": said.timeout_s,
            "namespaceSelector": dict(said.namespace_selector or {}),
            "objectSelector": dict(said.object_selector or {}),
        }
        if said.match_conditions:
            conditions = said.match_conditions.items()
            entry["matchConditions"] = [{"name": name, "expression": text} for name, text in conditions]
        if self.mutating:
            entry["reinvocationPolicy"] = said.reinvocation
        return entry


def path_of(verb: str, resource: ResourceType) -> str:
    """`/validate/example.com-v1-webapp`."""
    return f"/{verb}/{resource.group or 'core'}-{resource.version}-{resource.kind.lower()}"
