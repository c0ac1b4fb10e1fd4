"""CEL environment of device selectors (resource.k8s.io): its variables and result type."""

from __future__ import annotations

from functools import cache
from typing import Final

from steersman.cluster.cel.declarations import simple
from steersman.cluster.cel.errors import ResultTypeError
from steersman.cluster.cel.library.quantities import QUANTITY
from steersman.cluster.cel.program import Environment, Program, shown_type
from steersman.cluster.cel.types import BOOL, DYN, STRING, Type, map_of, object_type

__all__ = ["compile_device_selector"]

_FIELDS: Final[dict[str, Type]] = {
    "driver": STRING,
    # By domain and name; what kind of value an attribute has is known of each device only.
    "attributes": map_of(STRING, map_of(STRING, DYN)),
    "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
    "allowMultipleAllocations": BOOL,
}


@cache
def _environment() -> Environment:
    return Environment({"device": simple(object_type("kubernetes.DRADevice", _FIELDS.get))})


def compile_device_selector(expression: str) -> Program:
    """A program over `device`. Raises CompileError."""
    program = _environment().compile(expression)
    if program.result_type not in (BOOL, DYN):
        raise ResultTypeError(
            f"must evaluate to bool or the unknown type, not {shown_type(program.result_type)}"
        )
    return program
