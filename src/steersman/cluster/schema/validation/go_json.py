"""Fields that hold JSON: the registry credentials of Secrets, some annotations of Nodes and Pods.

Validation shows what Go's decoder says of a text that is not JSON, or not what it should be.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any, Final

from steersman.cluster.schema.json_syntax import json_syntax_error

__all__ = ["decoded", "json_object_error"]

_KINDS: Final = {ord("["): "array", ord('"'): "string", ord("t"): "bool", ord("f"): "bool"}


def decoded(text: str, fits: Callable[[Any], bool]) -> tuple[Any, str]:
    """What the text holds, None or something that `fits`; or why that cannot be read."""
    wrong = json_syntax_error(text.encode())
    if wrong:
        return None, wrong
    try:
        value = json.loads(text)
    except RecursionError:
        value = ()
    if value is None or fits(value):
        return value, ""
    return None, "json: cannot unmarshal the value into the annotation's Go type"


def json_object_error(encoded: str) -> str:
    """What is wrong with base64 text that must hold a JSON object or null; empty when nothing is."""
    text = base64.b64decode(encoded)
    error = json_syntax_error(text)
    if error:
        return error
    first = text.lstrip(b" \t\r\n")[0]
    if first in b"{n":
        return ""
    kind = _KINDS.get(first, "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
