"""Paths for `raw`: `spec.template.spec.containers[0].env`, `metadata.annotations["example.com/a.b"]`.

Steps are separated by dots; an index stands in brackets or, in a list, between dots; a key with dots in
it stands in brackets and quotes. What is missing on the way is made.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

__all__ = ["parse_path", "write"]

_step = re.compile(
    r"""(?:^|\.)(?P<key>[^.\[\]]+)      # .key
      | \[(?P<index>\d+)\]              # [0]
      | \[(?P<quote>["'])(?P<quoted>.+?)(?P=quote)\]
    """,
    re.VERBOSE,
).match

Step = str | int


@lru_cache(maxsize=512)
def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of a path; raises ValueError with the place that cannot be read."""
    steps: list[Step] = []
    at = 0
    while at < len(path):
        # With a position `^` still means the start of the whole text: only the first key goes without dot.
        found = _step(path, at)
        if found is None:
            raise ValueError(f"cannot be read from {path[at:]!r} on")
        steps.append(int(found["index"]) if found["index"] else found["key"] or found["quoted"])
        at = found.end()
    if not steps:
        raise ValueError("must not be empty")
    return tuple(steps)


def write(root: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a path; None takes away what is there. Raises ValueError with what is in the way."""
    steps = parse_path(path)
    holder: Any = root
    for number, step in enumerate(steps[:-1]):
        follows = steps[number + 1]
        child = _read(holder, step)
        if child is None:
            child = [] if isinstance(follows, int) else {}
            _place(holder, step, child)
        holder = child
    if value is None:
        _remove(holder, steps[-1])
    else:
        _place(holder, steps[-1], value)


def _index(holder: list[Any], step: Step) -> int:
    if isinstance(step, str) and not step.isdecimal():
        raise ValueError(f"a list has no field {step!r}")
    index = int(step)
    if index > len(holder):
        raise ValueError(f"the list has {len(holder)} items, so there is no place for number {index}")
    return index


def _key(holder: Any, step: Step) -> str:
    if not isinstance(holder, dict):
        raise ValueError(f"{holder!r} has no field {step!r}")
    if isinstance(step, int):
        raise ValueError(f"number {step} of an object; only lists have numbers")
    return step


def _read(holder: Any, step: Step) -> Any:
    if isinstance(holder, list):
        index = _index(holder, step)
        return holder[index] if index < len(holder) else None
    return holder.get(_key(holder, step)) if isinstance(holder, dict) else _key(holder, step)


def _place(holder: Any, step: Step, value: Any) -> None:
    if isinstance(holder, list):
        index = _index(holder, step)
        holder[index : index + 1] = [value]
    else:
        holder[_key(holder, step)] = value


def _remove(holder: Any, step: Step) -> None:
    if isinstance(holder, list):
        index = _index(holder, step)
        del holder[index : index + 1]
    else:
        holder.pop(_key(holder, step), None)
