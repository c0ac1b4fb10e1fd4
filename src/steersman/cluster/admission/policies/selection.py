"""The policies that apply to a write, with their bindings and parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from steersman.cluster.admission.chain import Attributes
from steersman.cluster.admission.policies.definitions import AdmissionPolicy, PolicyBinding
from steersman.cluster.admission.policies.errors import PolicyMisconfigured
from steersman.cluster.admission.policies.params import collect_params
from steersman.cluster.admission.webhooks.conditions import CompiledExpression
from steersman.cluster.admission.webhooks.context import AdmissionContext
from steersman.cluster.admission.webhooks.errors import ExpressionError
from steersman.cluster.admission.webhooks.versions import ServedResource, VersionedAttributes
from steersman.cluster.cel import Budget, EvaluationError, LazyMap
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, not_found

__all__ = ["Invocation", "Misconfigured", "bindings_for", "namespace_object", "select"]

R = TypeVar("R")

#: Of a namespace, expressions see these.
_METADATA = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "finalizers",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Invocation(Generic[R]):
    """An evaluation of a policy for one binding and one parameter object."""

    policy: AdmissionPolicy[R]
    binding: PolicyBinding
    served: ServedResource
    param: Object | None

    @property
    def key(self) -> tuple[str, ...]:
        """Tells it from all others."""
        metadata = (self.param or {}).get("metadata", {})
        return (self.policy.name, self.binding.name, metadata.get("namespace", ""), metadata.get("name", ""))


@dataclass(frozen=True, slots=True)
class Misconfigured(Generic[R]):
    """A policy that applies but cannot be evaluated; without `binding` the error is in the policy itself."""

    policy: AdmissionPolicy[R]
    binding: PolicyBinding | None
    why: str

    @property
    def message(self) -> str:
        return f"failed to configure {'policy' if self.binding is None else 'binding'}: {self.why}"


async def select(
    context: AdmissionContext, attributes: Attributes, policies: Iterable[AdmissionPolicy[R]]
) -> list[Invocation[R] | Misconfigured[R]]:
    """Everything there is to do about a write, in order."""
    found: list[Invocation[R] | Misconfigured[R]] = []
    for policy in policies:
        try:
            served = _definition_match(context, attributes, policy)
        except (StatusError, PolicyMisconfigured) as error:
            found.append(Misconfigured(policy, None, str(error)))
            continue
        if served is None:
            continue
        kind = policy.param_kind
        if kind is not None and context.types.resource_of(kind) is None:
            shown = f"{kind.group}/{kind.version}, Kind={kind.kind}"
            why = f"failed to find resource referenced by paramKind: '{shown}'"
            found.append(Misconfigured(policy, None, why))
            continue
        for binding in policy.bindings:
            try:
                if binding.match and not binding.match.find(attributes, context.types, context.reader):
                    continue
                params = await collect_params(context, kind, binding, attributes.namespace)
            except (StatusError, PolicyMisconfigured) as error:
                found.append(Misconfigured(policy, binding, str(error)))
                continue
            found += [Invocation(policy, binding, served, param) for param in params]
    return found


def _definition_match(
    context: AdmissionContext, attributes: Attributes, policy: AdmissionPolicy[R]
) -> ServedResource | None:
    if policy.match is None:
        raise PolicyMisconfigured("policy contained no match constraints, a required field")
    return policy.match.find(attributes, context.types, context.reader)


def namespace_object(context: AdmissionContext, attributes: Attributes) -> Object | None:
    """`namespaceObject`: the namespace a write happens in; None for namespaces and what is in none."""
    if not attributes.namespace or (attributes.kind == "Namespace" and not attributes.group):
        return None
    namespace = context.reader.get("", "namespaces", "", attributes.namespace)
    if namespace is None:
        raise not_found("", "namespaces", attributes.namespace)
    metadata = namespace["metadata"]
    return {
        "metadata": {name: metadata[name] for name in _METADATA if name in metadata},
        "spec": namespace.get("spec") or {},
        "status": namespace.get("status") or {},
    }


def bindings_for(
    context: AdmissionContext,
    attributes: Attributes,
    versioned: VersionedAttributes,
    invocation: Invocation[R],
    namespace: Object | None,
    budget: Budget,
) -> dict[str, Any]:
    """What the policy's expressions can look at. Variables are computed when first used, at the expense of
    `budget`."""
    values = context.bindings(attributes, versioned)
    values["namespaceObject"] = namespace
    values["params"] = invocation.param

    def compute(program: CompiledExpression) -> Any:
        try:
            return program.run(values, budget)
        except ExpressionError as error:
            raise EvaluationError(str(error)) from error

    variables = invocation.policy.variables
    values["variables"] = LazyMap({name: partial(compute, variables[name]) for name in variables})
    return values
