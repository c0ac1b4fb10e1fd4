"""Manifests that have the API server refuse what a former leader still sends.

A leader stops writing when its leadership ends, but a request that is on its way by then may arrive at any
time later: the process slept right after looking at its clock, or the network held the request back. What a
leader writes carries its term (`terms`); the policy made here refuses an update that would put a lower term
in place of a higher one. Updates that say nothing about the term, by people or other controllers, pass.

It covers the resources that operators own; what they only apply is not covered. The terms on an object must
come from one election. So an object that operators of two elections apply should not be among those one of
them owns, and after a change to another lock, whose terms start anew, the annotations of the old one go:

    kubectl annotate deployments --all --all-namespaces steersman.dev/term-
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.operator.definition import Definition
from steersman.operator.operator import Chain
from steersman.operator.terms import TERM

__all__ = ["fencing_policy", "term_policy"]


_API_VERSION = "admissionregistration.k8s.io/v1"


def fencing_policy(operators: Iterable[Chain[Any]]) -> list[Object]:
    """For each operator a ValidatingAdmissionPolicy and its binding; none for one that owns nothing."""
    manifests: list[Object] = []
    for operator in operators:
        fenced = _fenced(operator.definition)
        if fenced:
            manifests += term_policy(f"fencing.{operator.definition.name}", fenced)
    return manifests


def term_policy(
    name: str, fenced: Iterable[ResourceType], *, labels: Mapping[str, str] | None = None
) -> list[Object]:
    """The policy for these resources, or for what of them carries `labels`, and its binding."""
    policy = _policy(name, fenced)
    if labels:
        policy["spec"]["matchConstraints"]["objectSelector"] = {"matchLabels": dict(labels)}
    return [policy, _binding(name)]


def _fenced(definition: Definition[Any]) -> list[ResourceType]:
    """What the operator leaves its term on."""
    resources = set(definition.owns)
    if not definition.has_status:
        resources.add(definition.resource)
    return sorted(resources, key=lambda resource: (resource.group, resource.plural))


def _policy(name: str, fenced: Iterable[ResourceType]) -> Object:
    plurals: dict[str, list[str]] = {}
    for resource in fenced:
        plurals.setdefault(resource.group, []).append(resource.plural)
    rules = [
        {"apiGroups": [group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": resources}
        for group, resources in plurals.items()
    ]
    old, new = _term_of("oldObject"), _term_of("object")
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules},
        "matchConditions": [
            {"name": "had-a-term", "expression": _has_term("oldObject")},
            {"name": "has-a-term", "expression": _has_term("object")},
        ],
        "validations": [
            {
                "expression": f"int({new}) >= int({old})",
                "messageExpression": f"'written in term ' + {old} + ' already, refused in term ' + {new}",
                "reason": "Forbidden",
            }
        ],
    }
    return _manifest("ValidatingAdmissionPolicy", name, spec)


def _binding(name: str) -> Object:
    spec = {"policyName": name, "validationActions": ["Deny"]}
    return _manifest("ValidatingAdmissionPolicyBinding", name, spec)


def _manifest(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _has_term(variable: str) -> str:
    """Whether an object has a term; what is no number, or too large for one, is none."""
    annotations = f"{variable}.metadata.annotations"
    return (
        f"has({annotations}) && '{TERM}' in {annotations} && {_term_of(variable)}.matches('^[0-9]{{1,18}}$')"
    )


def _term_of(variable: str) -> str:
    return f"{variable}.metadata.annotations['{TERM}']"
