"""CEL for admission: what expressions of webhooks and policies can see, and what their errors say.

`object` and `oldObject` are not typed: a policy may be about many kinds. `request` and `namespaceObject` are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from steersman.cluster.admission.webhooks.conditions import Program
from steersman.cluster.admission.webhooks.errors import ExpressionError, OutOfBudget
from steersman.cluster.cel import (
    BOOL,
    DYN,
    DYN_DECLARATION,
    NULL,
    STRING,
    Budget,
    BudgetExceeded,
    CompileError,
    Declaration,
    Environment,
    EvaluationError,
    Type,
    declare,
    simple,
)
from steersman.cluster.cel import Program as CelProgram
from steersman.cluster.cel.library.authorization import AUTHORIZER, RESOURCE_CHECK
from steersman.cluster.cel.types import list_of, map_of, object_type

__all__ = ["AdmissionExpressions"]

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_LABELS: Final = {"type": "object", "additionalProperties": _TEXT}
_TIME: Final = {"type": "string", "format": "date-time"}
_INTEGER: Final = {"type": "integer"}


def _record(name: str, /, **fields: Type) -> Type:
    """An object whose values are JSON as it is. Names are not escaped: `request.namespace` is written so."""
    return object_type(f"kubernetes.{name}", fields.get)


_KIND: Final = _record("GroupVersionKind", group=STRING, version=STRING, kind=STRING)
_RESOURCE: Final = _record("GroupVersionResource", group=STRING, version=STRING, resource=STRING)
_USER_INFO: Final = _record(
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
    userInfo=_USER_INFO,
    dryRun=BOOL,
    options=DYN,
)


def _fields(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


#: A namespace has times, which JSON has not: its declaration says what to make of them.
_CONDITION: Final = _fields(status=_TEXT, type=_TEXT, lastTransitionTime=_TIME, message=_TEXT, reason=_TEXT)
_NAMESPACE: Final = _fields(
    metadata=_fields(
        name=_TEXT,
        generateName=_TEXT,
        labels=_LABELS,
        annotations=_LABELS,
        uid=_TEXT,
        creationTimestamp=_TIME,
        deletionGracePeriodSeconds=_INTEGER,
        deletionTimestamp=_TIME,
        generation=_INTEGER,
        resourceVersion=_TEXT,
        finalizers=_TEXTS,
    ),
    spec=_fields(finalizers=_TEXTS),
    status=_fields(conditions={"type": "array", "items": _CONDITION}, phase=_TEXT),
)

_PATCH_FIELDS: Final = {"op": STRING, "path": STRING, "from": STRING, "value": DYN}
_JSON_PATCH: Final = object_type("JSONPatch", _PATCH_FIELDS.get)


_LONG_NAMES: Final = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}


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
    assert namespace is not None
    return {
        "object": DYN_DECLARATION,
        "oldObject": DYN_DECLARATION,
        "request": simple(_REQUEST),
        "namespaceObject": namespace,
    }


@dataclass(frozen=True, slots=True)
class _Expression:
    """A program whose errors are told as clients of admission know them."""

    program: CelProgram

    def evaluate(self, bindings: Mapping[str, Any], budget: Budget) -> Any:
        try:
            return self.program.evaluate(bindings, budget)
        except BudgetExceeded as error:
            if error.overall:
                raise OutOfBudget from error
            raise self._failed(error) from error
        except EvaluationError as error:
            raise self._failed(error) from error

    def run(self, bindings: Mapping[str, Any], budget: Budget) -> Any:
        return self.program.evaluate(bindings, budget)

    def _failed(self, error: EvaluationError) -> ExpressionError:
        return ExpressionError(f"expression '{self.program.expression}' resulted in error: {error}")


class AdmissionExpressions:
    """The compiler of admission expressions."""

    def compile(
        self,
        expression: str,
        *,
        returns: str = "bool",
        params: bool = False,
        authorizer: bool = True,
        variables: Mapping[str, Program] | None = None,
    ) -> Program:
        declared = dict(_base())
        if params:
            declared["params"] = DYN_DECLARATION
        if authorizer:
            declared["authorizer"] = simple(AUTHORIZER)
            declared["authorizer.requestResource"] = simple(RESOURCE_CHECK)
        if variables is not None:
            kinds = {name: _kind_of(program) for name, program in variables.items()}
            declared["variables"] = simple(object_type("kubernetes.variables", kinds.get))
        environment = Environment(declared, structs=_struct)
        try:
            program = environment.compile(expression)
        except CompileError as error:
            raise ExpressionError(str(error)) from error
        wanted = _RESULTS[returns]
        if wanted and program.result_type not in wanted:
            raise ExpressionError(_wrong_result(wanted, program.result_type))
        return _Expression(program)


def _kind_of(program: Program) -> Type:
    return program.program.result_type if isinstance(program, _Expression) else DYN


def _wrong_result(wanted: tuple[Type, ...], given: Type) -> str:
    names = [_shown(kind) for kind in wanted]
    one = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
    return f"must evaluate to {one} but got {_shown(given)}"


def _shown(kind: Type) -> str:
    """A type's name as cel-go has it."""
    return _LONG_NAMES.get(kind.kind, str(kind))
