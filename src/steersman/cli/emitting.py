"""Objects on standard output, for `kubectl apply` or a repository: the same ones are the same bytes."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

__all__ = ["Format", "as_yaml", "emit"]


class Format(StrEnum):
    YAML = "yaml"
    JSON = "json"


def emit(objects: Sequence[Mapping[str, Any]], output: Format) -> None:
    """YAML documents, or a List as JSON."""
    if output is Format.JSON:
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        sys.stdout.write(json.dumps(listed, indent=2) + "\n")
    else:
        sys.stdout.write(as_yaml(*objects))


def as_yaml(*objects: Mapping[str, Any]) -> str:
    import yaml

    class Plain(yaml.SafeDumper):
        """Without anchors: people read this, and values that are equal are not the same."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    return yaml.dump_all(objects, Dumper=Plain, sort_keys=False, allow_unicode=True, width=110)
