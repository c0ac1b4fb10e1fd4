"""The MutatingAdmissionPolicy plugin: CEL expressions that change an object before it is stored."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

from steersman.cluster.admission.cached import CachedObjects
from steersman.cluster.admission.chain import Attributes
from steersman.cluster.admission.policies.definitions import AdmissionPolicy, Compile, read_policies
from steersman.cluster.admission.policies.errors import MutationFailed
from steersman.cluster.admission.policies.mutations import CompiledMutation
from steersman.cluster.admission.policies.selection import (
    Invocation,
    Misconfigured,
    bindings_for,
    namespace_object,
    select,
)
from steersman.cluster.admission.webhooks.configurations import GROUP
from steersman.cluster.admission.webhooks.context import AdmissionContext
from steersman.cluster.admission.webhooks.errors import ExpressionError
from steersman.cluster.admission.webhooks.matching import is_exempt
from steersman.cluster.admission.webhooks.mutating import Reinvocations, write_back
from steersman.cluster.admission.webhooks.versions import accepted, in_version
from steersman.cluster.cel import Budget, evaluated
from steersman.cluster.cel.limits import VALIDATION_BUDGET
from steersman.objects.fields import quote
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, unavailable

__all__ = ["MutatingAdmissionPolicy"]

_PLURALS = ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")

_Mutations = tuple[CompiledMutation, ...]


@dataclass(frozen=True, slots=True)
class _Failure:
    """A policy that could not be evaluated."""

    policy: AdmissionPolicy[_Mutations]
    binding: str | None
    message: str
    reason: str = ""

    def __str__(self) -> str:
        if self.binding is None:
            return f"policy {quote(self.policy.name)} denied request: {self.message}"
        return f"policy '{self.policy.name}' with binding '{self.binding}' denied request: {self.message}"


def _rules(spec: Mapping[str, Any], compile_: Compile) -> _Mutations:
    mutations = []
    for mutation in spec.get("mutations") or ():
        kind = mutation["patchType"]
        source, returns = (
            ("jsonPatch", "JSONPatch") if kind == "JSONPatch" else ("applyConfiguration", "Object")
        )
        program = compile_((mutation.get(source) or {}).get("expression", ""), returns=returns)
        mutations.append(CompiledMutation(kind, program))
    return tuple(mutations)


class MutatingAdmissionPolicy:
    name = "MutatingAdmissionPolicy"

    def __init__(self, context: AdmissionContext) -> None:
        self._context = context
        self.policies = CachedObjects(
            lambda: read_policies(context.reader, context.compiler, _PLURALS, _rules),
            *((GROUP, plural) for plural in _PLURALS),
        )

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return operation != "DELETE" and not is_exempt(group, plural)

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        policies = self.policies.get()
        return self._admit(attributes, policies) if policies else None

    def validate(self, attributes: Attributes) -> None:
        return None

    async def _admit(self, attributes: Attributes, policies: tuple[AdmissionPolicy[_Mutations], ...]) -> None:
        memory: Reinvocations = attributes.memory.setdefault(self.name, Reinvocations())
        memory.begin(attributes)
        failures = []
        found = await select(self._context, attributes, policies)
        for each in found:
            if isinstance(each, Misconfigured):
                binding = None if each.binding is None else each.binding.name
                failures.append(_Failure(each.policy, binding, each.message))
            else:
                failures += await self._invoke(attributes, each, memory)
        memory.end(attributes)
        counted = [failure for failure in failures if not failure.policy.ignore_failures]
        if counted:
            raise _refused(attributes, counted)

    async def _invoke(
        self, attributes: Attributes, invocation: Invocation[_Mutations], memory: Reinvocations
    ) -> list[_Failure]:
        policy, context = invocation.policy, self._context
        failure = partial(_Failure, policy, invocation.binding.name, reason="Invalid")
        namespace = namespace_object(context, attributes)
        versioned = await in_version(context.types, attributes, invocation.served)
        bindings = partial(bindings_for, context, attributes, versioned, invocation, namespace)
        try:
            if not await evaluated(lambda: policy.conditions.hold(bindings)):
                return []
        except ExpressionError as error:
            return [failure(str(error))]
        key = "/".join(invocation.key)
        if memory.skips(attributes, key):
            return []
        failures = []
        before = deepcopy(attributes.object)
        if attributes.object is not None:
            for mutation in policy.rules:
                try:
                    await self._mutate(attributes, invocation, mutation, namespace)
                except (ExpressionError, MutationFailed) as error:
                    failures.append(failure(str(error).removeprefix("compilation error: ")))
        if attributes.object != before:
            memory.object_changed()
            attributes.wants_reinvocation = True
        if policy.reinvoked:
            memory.asked.add(key)
        return failures

    async def _mutate(
        self,
        attributes: Attributes,
        invocation: Invocation[_Mutations],
        mutation: CompiledMutation,
        namespace: Object | None,
    ) -> None:
        context = self._context
        versioned = await in_version(context.types, attributes, invocation.served)
        schema = context.types.schema(versioned.kind)
        # Options of a connection have no schema.
        if schema is None and attributes.operation != "CONNECT":
            raise unavailable(
                f"Resource kind {versioned.kind} not found. There can be a delay between when "
                "CustomResourceDefinitions are created and when they are available."
            )
        assert versioned.object is not None

        def patch() -> Any:
            budget = Budget(VALIDATION_BUDGET)
            values = bindings_for(context, attributes, versioned, invocation, namespace, budget)
            return mutation.patch(values, budget)

        # Kinds that are no resource of their own group (Scale, Eviction) have no type to merge by.
        shape = None if context.types.resource_of(versioned.kind) is None else schema
        changed = mutation.apply(versioned.object, shape, await evaluated(patch))
        if changed is versioned.object:
            return
        strict = mutation.kind == "JSONPatch"
        new = accepted(context.types, versioned.kind, changed, strict=strict)
        await write_back(context, attributes, new)


def _refused(attributes: Attributes, failures: list[_Failure]) -> StatusError:
    error = attributes.refusal("")
    error.message = str(failures[0])
    error.reason = failures[0].reason or "Forbidden"
    assert error.details is not None
    error.details["causes"] = [{"message": str(failure)} for failure in failures]
    return error
