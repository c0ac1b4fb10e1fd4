"""Whether a history of reads and writes of one register could have happened one after the other.

Wing and Gong's search with Lowe's cache: try every operation that could have been next, remember which sets
of finished operations with which value led nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Operation", "linearizable"]


@dataclass(frozen=True, slots=True)
class Operation:
    called: float
    #: When the answer came; infinite if it never did: then it may have happened at any time, or never.
    returned: float
    #: What was written, or what was read.
    value: int
    write: bool


def linearizable(history: Sequence[Operation], initial: int = 0) -> bool:
    """Unanswered reads must be left out, they say nothing."""
    operations = sorted(history, key=lambda operation: operation.called)
    must = sum(1 << number for number, operation in enumerate(operations) if operation.returned < math.inf)
    seen: set[tuple[int, int]] = set()
    stack = [(0, initial)]
    while stack:
        done, value = stack.pop()
        if done & must == must:
            return True
        if (done, value) in seen:
            continue
        seen.add((done, value))
        # Nothing that was called after another operation had returned can come before that one.
        limit = math.inf
        for number, operation in enumerate(operations):
            if operation.called > limit:
                break
            if done >> number & 1:
                continue
            limit = min(limit, operation.returned)
            if operation.write:
                stack.append((done | 1 << number, operation.value))
            elif operation.value == value:
                stack.append((done | 1 << number, value))
    return False
