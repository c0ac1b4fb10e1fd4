"""Print how the published types of two versions of Kubernetes differ: what docs/contributing asks to look at.

    python scripts/kubernetes_changes.py OLD/_definitions.json NEW/_definitions.json

The files come with two versions of the package `kubernetes-validate`, in the folder kubernetes-json-schema.
A line begins with + for what is new, - for what is gone and ~ for what has changed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Definitions = dict[str, dict[str, Any]]


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    old, new = (json.loads(Path(path).read_bytes())["$defs"] for path in sys.argv[1:])
    for line in changes(old, new):
        print(line)
    return 0


def changes(old: Definitions, new: Definitions) -> Iterator[str]:
    """Of whole types, then of the fields of each type that both versions have."""
    yield from (f"- {name}" for name in sorted(old.keys() - new.keys()))
    yield from (f"+ {name}" for name in sorted(new.keys() - old.keys()))
    for name in sorted(old.keys() & new.keys()):
        before, after = (definitions[name].get("properties", {}) for definitions in (old, new))
        yield from (f"- {name}.{field}" for field in sorted(before.keys() - after.keys()))
        yield from (
            f"+ {name}.{field}: {_type(after[field])}" for field in sorted(after.keys() - before.keys())
        )
        required = [set(definitions[name].get("required", ())) for definitions in (old, new)]
        for field in sorted(before.keys() & after.keys()):
            yield from _field_changes(f"{name}.{field}", before[field], after[field])
            if (field in required[0]) != (field in required[1]):
                yield f"~ {name}.{field}: {'required' if field in required[1] else 'no longer required'}"


def _field_changes(name: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    if _type(before) != _type(after):
        yield f"~ {name}: {_type(before)} is {_type(after)}"
    values, now = (node.get("enum") or [] for node in (before, after))
    yield from (f"- {name}={value}" for value in values if value not in now)
    yield from (f"+ {name}={value}" for value in now if value not in values)
    for mark in sorted({key for key in (*before, *after) if key.startswith("x-kubernetes-")}):
        if before.get(mark) != after.get(mark):
            yield f"~ {name}: {mark} {before.get(mark)} is {after.get(mark)}"


def _type(node: dict[str, Any]) -> str:
    if "$ref" in node:
        return str(node["$ref"]).rpartition("/")[2].rpartition(".")[2]
    for key, form in (("items", "list of {}"), ("additionalProperties", "map of {}")):
        if isinstance(node.get(key), dict):
            return form.format(_type(node[key]))
    kind = node.get("type", "anything")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


if __name__ == "__main__":
    raise SystemExit(main())
