"""Admission policies and their bindings: read from the store, compiled once, cached until one of them
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from steersman.cluster.admission.chain import Reader
from steersman.cluster.admission.webhooks.conditions import (
    CompiledExpression,
    Compiler,
    MatchConditions,
    compiled,
)
from steersman.cluster.admission.webhooks.configurations import GROUP
from steersman.cluster.admission.webhooks.matching import MatchCriteria
from steersman.cluster.schema.resources import GVK
from steersman.objects.kinds import Object

__all__ = ["AdmissionPolicy", "Compile", "PolicyBinding", "read_policies"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class PolicyBinding:
    """A binding: where a policy applies, and with which parameters."""

    name: str
    #: None restricts nothing.
    match: MatchCriteria | None
    param_ref: Object | None
    #: Validating policies: what a violation leads to.
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AdmissionPolicy(Generic[R]):
    """The common part of validating and mutating policies; `rules` is the specific part."""

    name: str
    match: MatchCriteria | None
    param_kind: GVK | None
    ignore_failures: bool
    variables: Mapping[str, CompiledExpression]
    conditions: MatchConditions
    reinvoked: bool
    rules: R
    bindings: tuple[PolicyBinding, ...]


class Compile:
    """Compiles the expressions of one policy, which may use its variables."""

    def __init__(self, compiler: Compiler, spec: Mapping[str, Any]) -> None:
        self._compiler = compiler
        self._params = spec.get("paramKind") is not None
        self.variables: dict[str, CompiledExpression] = {}
        for variable in spec.get("variables") or ():
            # A variable sees the ones before it.
            self.variables[variable["name"]] = self(variable["expression"], returns="any")

    def __call__(
        self, expression: str, *, returns: str = "bool", authorizer: bool = True
    ) -> CompiledExpression:
        return compiled(
            self._compiler,
            expression,
            returns=returns,
            params=self._params,
            authorizer=authorizer,
            variables=self.variables,
        )

    def conditions(self, spec: Mapping[str, Any], *, ignore_failures: bool) -> MatchConditions:
        programs = tuple(self(condition["expression"]) for condition in spec.get("matchConditions") or ())
        return MatchConditions(programs, ignore_failures)


def read_policies(
    reader: Reader,
    compiler: Compiler,
    plurals: tuple[str, str],
    rules: Callable[[Mapping[str, Any], Compile], R],
) -> tuple[AdmissionPolicy[R], ...]:
    """All policies that are bound, by name; `plurals` are those of policies and bindings."""
    bindings: dict[str, list[Object]] = {}
    for binding in sorted(reader.list(GROUP, plurals[1]), key=_name):
        bindings.setdefault(binding["spec"].get("policyName", ""), []).append(binding)
    policies = []
    for policy in sorted(reader.list(GROUP, plurals[0]), key=_name):
        if bound := bindings.get(_name(policy)):
            policies.append(_policy(policy, tuple(map(_binding, bound)), compiler, rules))
    return tuple(policies)


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _policy(
    policy: Object,
    bindings: tuple[PolicyBinding, ...],
    compiler: Compiler,
    rules: Callable[[Mapping[str, Any], Compile], R],
) -> AdmissionPolicy[R]:
    spec = policy["spec"]
    ignore_failures = spec.get("failurePolicy") == "Ignore"
    compile_ = Compile(compiler, spec)
    param_kind = spec.get("paramKind")
    return AdmissionPolicy(
        _name(policy),
        _match(spec.get("matchConstraints")),
        None if param_kind is None else GVK.of(param_kind["apiVersion"], param_kind["kind"]),
        ignore_failures,
        compile_.variables,
        compile_.conditions(spec, ignore_failures=ignore_failures),
        spec.get("reinvocationPolicy") == "IfNeeded",
        rules(spec, compile_),
        bindings,
    )


def _binding(binding: Object) -> PolicyBinding:
    spec = binding["spec"]
    return PolicyBinding(
        _name(binding),
        _match(spec.get("matchResources")),
        spec.get("paramRef"),
        tuple(spec.get("validationActions") or ()),
    )


def _match(resources: Object | None) -> MatchCriteria | None:
    return None if resources is None else MatchCriteria.parse(resources, "resourceRules", without_rules=True)
