"""The tables of admissionregistration.k8s.io: webhooks, policies and their bindings."""

from __future__ import annotations

from collections.abc import Callable

from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    NAME,
    UNSET,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    name_of,
)
from steersman.objects.kinds import Object

__all__ = ["TABLES"]

_GROUP = "admissionregistration.k8s.io"


def _webhooks(obj: Object, now: float) -> Cells:
    return [name_of(obj), len(at(obj, "webhooks", default=())), age(obj, now)]


def _policy(counted: str) -> Callable[[Object, float], Cells]:
    """Cells of a policy whose rules are listed in the field named."""

    def cells(obj: Object, now: float) -> Cells:
        kind = at(obj, "spec", "paramKind")
        parameters = UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"
        return [name_of(obj), len(at(obj, "spec", counted, default=())), parameters, age(obj, now)]

    return cells


def _binding(obj: Object, now: float) -> Cells:
    parameters = UNSET
    if (reference := at(obj, "spec", "paramRef")) is not None:
        if name := reference.get("name"):
            parameters = f"{reference.get('namespace') or '*'}/{name}"
        elif (selector := reference.get("selector")) is not None:
            parameters = _go_selector(selector)
    return [name_of(obj), at(obj, "spec", "policyName", default=""), parameters, age(obj, now)]


def _go_selector(selector: Object) -> str:
    """A label selector as Go's generated code prints it, which is what this one cell shows."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{each.get('key', '')},Operator:{each.get('operator', '')},"
        f"Values:[{' '.join(each.get('values') or ())}],}},"
        for each in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )


_WEBHOOKS = Table(
    (NAME, ColumnDefinition("Webhooks", "How many webhooks it lists.", "integer"), AGE), _webhooks
)
_PARAM_KIND = ColumnDefinition("ParamKind", "The kind of its parameters.")
_BINDING = Table(
    (
        NAME,
        ColumnDefinition("PolicyName", "The policy it puts to work."),
        ColumnDefinition("ParamRef", "The parameters it gives the policy."),
        AGE,
    ),
    _binding,
)

TABLES = {
    (_GROUP, "mutatingadmissionpolicies"): Table(
        (NAME, ColumnDefinition("Mutations", "How many changes it makes.", "integer"), _PARAM_KIND, AGE),
        _policy("mutations"),
    ),
    (_GROUP, "mutatingadmissionpolicybindings"): _BINDING,
    (_GROUP, "mutatingwebhookconfigurations"): _WEBHOOKS,
    (_GROUP, "validatingadmissionpolicies"): Table(
        (NAME, ColumnDefinition("Validations", "How many checks it makes.", "integer"), _PARAM_KIND, AGE),
        _policy("validations"),
    ),
    (_GROUP, "validatingadmissionpolicybindings"): _BINDING,
    (_GROUP, "validatingwebhookconfigurations"): _WEBHOOKS,
}
