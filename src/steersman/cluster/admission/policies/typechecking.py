"""Type checking of a validating policy's expressions against the kinds it matches: warnings in its status.

Called after a policy was written; `status.typeChecking` shows the result. Only validations and message
expressions are checked, and only for kinds that the policy matches without wildcards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from steersman.cluster.cel import (
    DYN,
    DYN_DECLARATION,
    CompileError,
    Declaration,
    Environment,
    Type,
    admission_variables,
)
from steersman.cluster.cel.types import list_of, map_of
from steersman.cluster.schema.resources import GVK
from steersman.objects.fields import Path
from steersman.objects.kinds import Object

__all__ = ["KnownKinds", "expression_warnings"]


#: When a rule names so many kinds, no more are looked at.
_MOST_KINDS: Final = 10
_SCALARS: Final = frozenset(
    {"any", "bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint"}
)


class KnownKinds(Protocol):
    """The kinds that the server serves, with their schemas."""

    def kinds(self, group: str, version: str, plural: str) -> Sequence[GVK]:
        """The kinds of a resource; without a group, of all resources of that name."""

    def declaration(self, kind: GVK) -> Declaration | None:
        """What expressions see of a kind; None when its schema is not known."""


def expression_warnings(spec: Mapping[str, Any], known: KnownKinds) -> list[Object]:
    """What is wrong with a policy's expressions, for `status.typeChecking.expressionWarnings`."""
    environments = list(_environments(spec, known))
    warnings = []
    for path, expression in _expressions(spec):
        found = [
            f"{kind}: {problem}\n"
            for kind, environment in environments
            if (problem := _problem(environment, expression))
        ]
        if found:
            warnings.append({"fieldRef": str(path), "warning": "\n".join(found)})
    return warnings


def _expressions(spec: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for number, validation in enumerate(spec.get("validations") or ()):
        path = Path("spec").child("validations").index(number)
        yield path.child("expression"), validation["expression"]
        if text := validation.get("messageExpression"):
            yield path.child("messageExpression"), text


def _problem(environment: Environment, expression: str) -> str:
    try:
        environment.compile(expression)
    except CompileError as error:
        return str(error).removeprefix("compilation failed: ")
    return ""


def _environments(spec: Mapping[str, Any], known: KnownKinds) -> Iterator[tuple[str, Environment]]:
    """What expressions see, once for each kind."""
    param_kind = spec.get("paramKind")
    param = DYN_DECLARATION
    if param_kind is not None:
        kind = GVK.of(param_kind.get("apiVersion", ""), param_kind.get("kind", ""))
        param = known.declaration(kind) or DYN_DECLARATION
    for kind in _kinds(spec, known):
        declared = known.declaration(kind)
        if declared is None:
            continue
        seen = admission_variables(params=param_kind is not None)
        # Kubernetes checks without it.
        del seen["authorizer.requestResource"]
        seen |= {"object": declared, "oldObject": declared}
        if param_kind is not None:
            seen["params"] = param
        yield f"{kind.api_version}, Kind={kind.kind}", _with_variables(spec, seen)


def _with_variables(spec: Mapping[str, Any], seen: dict[str, Declaration]) -> Environment:
    """The environment with the policy's variables, each of which sees those before it."""
    kinds: dict[str, Type] = {}

    def environment() -> Environment:
        return Environment({**seen, "variables": admission_variables(variables=kinds)["variables"]})

    for variable in spec.get("variables") or ():
        try:
            kinds[variable["name"]] = _remembered(environment().compile(variable["expression"]).result_type)
        except CompileError:
            kinds[variable["name"]] = DYN
    return environment()


def _remembered(kind: Type) -> Type:
    """What is kept of a variable's type: objects become dynamic."""
    if kind.kind == "list":
        return list_of(_remembered(kind.params[0]))
    if kind.kind == "map":
        return map_of(_remembered(kind.params[0]), _remembered(kind.params[1]))
    return kind if kind.kind in _SCALARS else DYN


def _kinds(spec: Mapping[str, Any], known: KnownKinds) -> list[GVK]:
    """The kinds a policy names, in order."""
    found: set[GVK] = set()
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        of_rule = [kind for named in _resources(rule) for kind in known.kinds(*named)]
        found.update(of_rule[:_MOST_KINDS])
        if len(of_rule) >= _MOST_KINDS:
            break
    return sorted(found)


def _resources(rule: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
    if any("*" in word for word in (*groups, *versions)):
        return
    plurals = [word for word in rule.get("resources") or () if "*" not in word and "/" not in word]
    for group in sorted(groups):
        for version in sorted(versions):
            for plural in sorted(plurals):
                yield group, version, plural
