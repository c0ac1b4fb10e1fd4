"""The variables of admission policies and match conditions, with the types kube-apiserver gives them.

The objects themselves are dynamic: a policy may be for any kind. `variables.x` is whatever the policy
declares; pass a `LazyMap` for it, so that only what is used is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steersman.cluster.cel import types
from steersman.cluster.cel.declarations import (
    DYN_DECLARATION,
    Declaration,
    declare,
    declare_fields,
    simple,
)
from steersman.cluster.cel.library.authorization import AUTHORIZER, RESOURCE_CHECK
from steersman.cluster.cel.types import Type

__all__ = ["NAMESPACE", "REQUEST", "admission_variables"]

_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_NUMBER: Final = {"type": "integer"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_TEXT_MAP: Final = {"type": "object", "additionalProperties": _TEXT}


def _typed(schema: Mapping[str, object], name: str) -> Declaration:
    declared = declare(schema, name)
    assert declared is not None, "the schemas here are typed"
    return declared


def _texts(name: str, *fields: str) -> Declaration:
    return _typed({"type": "object", "properties": dict.fromkeys(fields, _TEXT)}, name)


_KIND: Final = _texts("kubernetes.GroupVersionKind", "group", "version", "kind")
_RESOURCE: Final = _texts("kubernetes.GroupVersionResource", "group", "version", "resource")
_USER: Final = _typed(
    {
        "type": "object",
        "properties": {
            "username": _TEXT,
            "uid": _TEXT,
            "groups": _TEXTS,
            "extra": {"type": "object", "additionalProperties": _TEXTS},
        },
    },
    "kubernetes.UserInfo",
)

REQUEST: Final = declare_fields(
    "kubernetes.AdmissionRequest",
    {
        "kind": _KIND,
        "resource": _RESOURCE,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        **dict.fromkeys(
            ("subResource", "requestSubResource", "name", "namespace", "operation"), simple(types.STRING, 2)
        ),
        "userInfo": _USER,
        "dryRun": simple(types.BOOL),
        "options": DYN_DECLARATION,
    },
)

NAMESPACE: Final = _typed(
    {
        "type": "object",
        "properties": {
            "metadata": {
                "type": "object",
                "properties": {
                    **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), _TEXT),
                    **dict.fromkeys(("labels", "annotations"), _TEXT_MAP),
                    **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
                    **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), _NUMBER),
                    "finalizers": _TEXTS,
                },
            },
            "spec": {"type": "object", "properties": {"finalizers": _TEXTS}},
            "status": {"type": "object", "properties": {"phase": _TEXT}},
        },
    },
    "kubernetes.Namespace",
)


def admission_variables(
    *, params: bool = False, authorizer: bool = True, variables: Mapping[str, Type] | None = None
) -> dict[str, Declaration]:
    """What an expression of a policy or match condition sees; `variables` are those declared before it."""
    found = {
        "object": DYN_DECLARATION,
        "oldObject": DYN_DECLARATION,
        "request": REQUEST,
        "namespaceObject": NAMESPACE,
    }
    if params:
        found["params"] = DYN_DECLARATION
    if authorizer:
        found["authorizer"] = simple(AUTHORIZER)
        found["authorizer.requestResource"] = simple(RESOURCE_CHECK)
    if variables is not None:
        composed = types.object_type("kubernetes.variables", dict(variables).get)
        found["variables"] = simple(composed)
    return found
