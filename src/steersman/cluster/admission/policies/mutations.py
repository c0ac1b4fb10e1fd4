"""One mutation of a policy: the JSON patch or apply configuration that an expression returns, applied to the
object.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from steersman.cluster.admission.policies.errors import MutationFailed
from steersman.cluster.admission.webhooks.conditions import CompiledExpression
from steersman.cluster.cel import Budget
from steersman.cluster.cel.times import format_duration, format_timestamp
from steersman.cluster.cel.values import Duration, Optional, Struct, Timestamp, is_map
from steersman.cluster.schema.resources import GVK
from steersman.objects.fields import quote
from steersman.objects.kinds import Object
from steersman.objects.patches import json as json_patch
from steersman.objects.patches.apply.checking import problems_of, show_problems
from steersman.objects.patches.apply.merging import merge
from steersman.objects.patches.errors import PatchError
from steersman.objects.schemas import Schema

__all__ = ["CompiledMutation", "apply_configuration", "apply_json_patch", "plain"]


@dataclass(frozen=True, slots=True)
class CompiledMutation:
    """A compiled mutation of a policy."""

    #: "JSONPatch" or "ApplyConfiguration"
    kind: str
    program: CompiledExpression

    def patch(self, bindings: Mapping[str, Any], budget: Budget) -> Any:
        """What the expression gives, as JSON. Raises MutationFailed, ExpressionError."""
        made = self.program.evaluate(bindings, budget)
        if wrong := misnamed(made):
            raise MutationFailed("type mismatch: " + "\n".join(wrong))
        value = plain(made)
        if self.kind == "JSONPatch" and isinstance(value, list):
            # Operations are structs: what is not said of one is empty.
            return [{"op": "", "path": "", **each} if isinstance(each, dict) else each for each in value]
        return value

    def apply(self, obj: Object, schema: Schema | None, value: Any) -> Object:
        """The object with the patch; the argument is left alone. Raises MutationFailed."""
        if self.kind == "JSONPatch":
            return apply_json_patch(obj, value)
        if schema is None:
            kind = GVK.of(obj["apiVersion"], obj["kind"])
            shown = f"{kind.group}/{kind.version}, Kind={kind.kind}"
            why = f"failed to convert patch object to typed object: no corresponding type for {shown}"
            raise MutationFailed(f"error applying patch: {why}")
        return apply_configuration(obj, value, schema)


def misnamed(value: Any, path: str = "") -> list[str]:
    """What is said of objects whose type is not named after the field they are in."""
    if isinstance(value, Struct):
        expected = path or value.name
        texts = []
        if value.name != expected:
            names = f"unexpected type name {quote(value.name)}, expected {quote(expected)}"
            texts.append(f"{names}, which matches field name path from root Object type")
        # The value of an operation has a root of its own.
        below = "" if value.name == "JSONPatch" else f"{expected}."
        return texts + [
            text for name, item in value.items() for text in misnamed(item, below and below + name)
        ]
    items = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return [text for item in items for text in misnamed(item, path)]


def plain(value: Any) -> Any:
    """A CEL value as JSON."""
    match value:
        case None | bool() | str() | float():
            return value
        case int():
            return int(value)
        case bytes():
            return base64.b64encode(value).decode()
        case list():
            return [plain(item) for item in value]
        case Timestamp():
            return format_timestamp(value)
        case Duration():
            return format_duration(value)
        case Optional():
            return plain(value.value) if value.present else None
    if is_map(value):
        return {str(key): plain(value[key]) for key in value}
    raise MutationFailed(
        "JSONPath valueExpression evaluated to a type that could not marshal to JSON: "
        f"{getattr(value, 'cel_type', type(value).__name__)}"
    )


def apply_json_patch(obj: Object, operations: Any) -> Object:
    """A failed test leaves the object as it is: that is how a patch says that it is not needed."""
    try:
        patched = json_patch.apply(obj, operations)
    except PatchError as error:
        if str(error).endswith("test failed"):
            return obj
        raise MutationFailed(f"JSON Patch: {error}") from error
    if not isinstance(patched, dict):
        raise MutationFailed("JSON Patch: the result is no object")
    return patched


def apply_configuration(obj: Object, configuration: Any, schema: Schema) -> Object:
    """The object with the configuration merged in by its schema; nothing is removed."""
    if not isinstance(configuration, dict):
        raise MutationFailed("unsupported return type from ApplyConfiguration expression")
    if problems := problems_of(configuration, schema):
        why = f"failed to convert patch object to typed object: {show_problems(problems)}"
        raise MutationFailed(f"error applying patch: {why}")
    if atomics := _atomics(configuration, schema, ""):
        shown = ", ".join(atomics)
        why = f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {shown}"
        raise MutationFailed(f"error applying patch: {why}")
    merged: Object = merge(deepcopy(obj), configuration, schema)
    # Whatever the configuration says it is of, the object stays of its kind.
    return {**merged, "kind": obj["kind"], "apiVersion": obj["apiVersion"]}


def _atomics(value: Any, schema: Schema, path: str) -> list[str]:
    """The paths of atoms that a configuration touches."""
    found = []
    if isinstance(value, dict) and schema.kind in ("struct", "map"):
        if schema.atomic:
            found.append(path)
        for name, item in value.items():
            below = schema.property(name) if schema.kind == "struct" else None
            if below is not None:
                found += _atomics(item, below, f"{path}.{name}")
    elif isinstance(value, list) and schema.kind == "list":
        if schema.list_type == "atomic":
            found.append(path)
        for index, item in enumerate(value):
            found += _atomics(item, schema.element(), f"{path}[{index}]")
    return found
