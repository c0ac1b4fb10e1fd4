"""CEL environments of admission policies and match conditions: their variables and result types.

The objects themselves are dynamic: a policy may be for any kind. `variables.x` is whatever the policy
declares; pass a `LazyMap` for it, so that only what is used is computed. Called when a policy is written
(validation) and when it is compiled for use.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from steersman.cluster.cel.declarations import DYN_DECLARATION, Declaration, declare, simple
from steersman.cluster.cel.errors import ResultTypeError
from steersman.cluster.cel.library.authorization import AUTHORIZER, RESOURCE_CHECK
from steersman.cluster.cel.program import Environment, Program, shown_type
from steersman.cluster.cel.types import BOOL, DYN, NULL, STRING, Type, list_of, map_of, object_type

__all__ = ["admission_variables", "compile_admission"]

_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_NUMBER: Final = {"type": "integer"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_TEXT_MAP: Final = {"type": "object", "additionalProperties": _TEXT}


def _record(name: str, /, **fields: Type) -> Type:
    """An object whose values are JSON as it is. Names are not escaped: `request.namespace` is written so."""
    return object_type(f"kubernetes.{name}", fields.get)


_KIND: Final = _record("GroupVersionKind", group=STRING, version=STRING, kind=STRING)
_RESOURCE: Final = _record("GroupVersionResource", group=STRING, version=STRING, resource=STRING)
_USER: Final = _record(
    "UserInfo",
    username=STRING,
    uid=STRING,
    groups=list_of(STRING),
    extra=map_of(STRING, list_of(STRING)),
)
_REQUEST: Final = _record(
    "AdmissionRequest",
    kind=_KIND,
    resource=_RESOURCE,
    subResource=STRING,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=STRING,
    name=STRING,
    namespace=STRING,
    operation=STRING,
    userInfo=_USER,
    dryRun=BOOL,
    options=DYN,
)


def _fields(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


#: A namespace has times, which JSON has not: its declaration says what to make of them.
_CONDITION: Final = _fields(status=_TEXT, type=_TEXT, lastTransitionTime=_TIME, message=_TEXT, reason=_TEXT)
_NAMESPACE: Final = _fields(
    metadata=_fields(
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), _TEXT),
        **dict.fromkeys(("labels", "annotations"), _TEXT_MAP),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), _NUMBER),
        finalizers=_TEXTS,
    ),
    spec=_fields(finalizers=_TEXTS),
    status=_fields(conditions={"type": "array", "items": _CONDITION}, phase=_TEXT),
)

_PATCH_FIELDS: Final = {"op": STRING, "path": STRING, "from": STRING, "value": DYN}
_JSON_PATCH: Final = object_type("JSONPatch", _PATCH_FIELDS.get)


@cache
def _object_named(name: str) -> Type:
    """`Object`, `Object.spec`, …: any field may be set; the schema is checked when it is applied."""
    return object_type(name, lambda _field: DYN)


def _struct(name: str) -> Type | None:
    if name == "JSONPatch":
        return _JSON_PATCH
    if name == "Object" or name.startswith("Object."):
        return _object_named(name)
    return None


#: What `returns` can ask for; nothing means anything goes.
_RESULTS: Final[dict[str, tuple[Type, ...]]] = {
    "bool": (BOOL,),
    "string": (STRING,),
    "string or null": (STRING, NULL),
    "any": (),
    "JSONPatch": (list_of(_JSON_PATCH),),
    "Object": (_object_named("Object"),),
}


@cache
def _base() -> dict[str, Declaration]:
    namespace = declare(_NAMESPACE, "kubernetes.Namespace")
    assert namespace is not None, "the schema is typed"
    return {
        "object": DYN_DECLARATION,
        "oldObject": DYN_DECLARATION,
        "request": simple(_REQUEST),
        "namespaceObject": namespace,
    }


def admission_variables(
    *, params: bool = False, authorizer: bool = True, variables: Mapping[str, Type] | None = None
) -> dict[str, Declaration]:
    """What an expression of a policy or match condition sees; `variables` are those declared before it."""
    found = dict(_base())
    if params:
        found["params"] = DYN_DECLARATION
    if authorizer:
        found["authorizer"] = simple(AUTHORIZER)
        found["authorizer.requestResource"] = simple(RESOURCE_CHECK)
    if variables is not None:
        found["variables"] = simple(object_type("kubernetes.variables", dict(variables).get))
    return found


def compile_admission(
    expression: str,
    *,
    returns: str = "bool",
    params: bool = False,
    authorizer: bool = True,
    variables: Mapping[str, Type] | None = None,
) -> Program:
    """A program over object, oldObject, request and namespaceObject, perhaps params, authorizer and
    `variables` (their types by name).

    `returns` is the type its value must have: "bool", "string", "string or null", "any", "JSONPatch" (a
    list of operations) or "Object" (an apply configuration). Raises CompileError.
    """
    declared = admission_variables(params=params, authorizer=authorizer, variables=variables)
    program = Environment(declared, structs=_struct).compile(expression)
    wanted = _RESULTS[returns]
    if wanted and program.result_type not in wanted:
        names = [shown_type(kind) for kind in wanted]
        one = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
        raise ResultTypeError(f"must evaluate to {one} but got {shown_type(program.result_type)}")
    return program
