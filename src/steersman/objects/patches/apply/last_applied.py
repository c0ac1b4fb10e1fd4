"""The annotation of client-side apply, and how an object moves from there to server-side apply.

kubectl keeps what it applied in an annotation when it applies client-side. When it first applies
server-side, as manager "kubectl", its own earlier updates would be conflicts; those on fields that the
annotation has and that still have that value are not counted. From then on the annotation is kept up to date,
so that the way back stays open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from steersman.objects.comparison import compare, field_set
from steersman.objects.errors import FieldSetError
from steersman.objects.fieldsets import Fields, difference
from steersman.objects.kinds import Object
from steersman.objects.patches.apply.checking import problems_of
from steersman.objects.schemas import Schema

__all__ = ["ANNOTATION", "MANAGER", "fields_last_applied", "with_last_applied"]


ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
MANAGER: Final = "kubectl"
#: All keys and values of an object's annotations together.
_LIMIT: Final = 256 * 1024
_HTML: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def fields_last_applied(live: Object, schema: Schema, api_version: str) -> Fields:
    """What the annotation says was applied client-side and is still so; nothing if it says nothing usable."""
    text = _annotations(live).get(ANNOTATION)
    if not text:
        return {}
    try:
        config = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(config, dict) or config.get("apiVersion") != api_version:
        return {}
    if problems_of(config, schema):
        return {}
    try:
        fields = field_set(config, schema)
        changes = compare(config, live, schema)
    except FieldSetError:
        return {}
    for changed in changes:
        fields = difference(fields, changed)
    return fields


def with_last_applied(obj: Object, config: Object) -> Object:
    """The object with the annotation saying what was applied now; as it is if it has no such annotation."""
    annotations = _annotations(obj)
    previous = annotations.get(ANNOTATION)
    if not previous:
        return obj
    text = _written(config)
    updated = {**annotations, ANNOTATION: text}
    if sum(len(name.encode()) + len(str(value).encode()) for name, value in updated.items()) > _LIMIT:
        del updated[ANNOTATION]
    elif text == previous:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "annotations": updated}}


def _annotations(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    return (obj.get("metadata") or {}).get("annotations") or {}


def _written(config: Object) -> str:
    """A configuration as Go writes it, a newline at the end, without the annotation itself."""
    annotations = _annotations(config)
    if ANNOTATION in annotations:
        rest = {name: value for name, value in annotations.items() if name != ANNOTATION}
        config = {**config, "metadata": {**config["metadata"], "annotations": rest}}
    return orjson.dumps(config, option=orjson.OPT_SORT_KEYS).decode().translate(_HTML) + "\n"
