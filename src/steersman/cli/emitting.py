"""Objects on standard output, for `kubectl apply` or a repository: the same ones are the same bytes."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

__all__ = ["Format", "emit"]


class Format(StrEnum):
    YAML = "yaml"
    JSON = "json"


def emit(objects: Sequence[Mapping[str, Any]], output: Format) -> None:
    """Print Kubernetes objects to standard output: YAML documents, or a List in JSON."""
    if output is Format.JSON:
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        sys.stdout.write(json.dumps(listed, indent=2) + "\n")
    else:
        from steersman.operator.packaging.text import as_yaml

        sys.stdout.write(as_yaml(*objects))
