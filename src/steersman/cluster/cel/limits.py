"""The cost limits of CEL expressions, and the messages when one is exceeded.

Two kinds of limit, both kube-apiserver's. Before an expression is accepted, its maximum cost is estimated
(`Program.estimate`) and compared with the limits for a custom resource definition. When it runs, its cost is
counted, and it is stopped at the limit of a call or of its `Budget`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from steersman.cluster.cel.bounds import MOST

__all__ = [
    "CALL_LIMIT",
    "ESTIMATE_LIMIT",
    "ESTIMATE_TOTAL_LIMIT",
    "MATCH_CONDITIONS_BUDGET",
    "MESSAGE_SIZE_LIMIT",
    "VALIDATION_BUDGET",
    "Budget",
    "cost_error",
    "repeated_cost",
]

#: One evaluation.
CALL_LIMIT: Final = 1_000_000
#: All rules on one object, or all validations of one policy binding.
VALIDATION_BUDGET: Final = 10_000_000
#: All match conditions of one webhook or policy.
MATCH_CONDITIONS_BUDGET: Final = 2_500_000
#: The longest message a messageExpression may make.
MESSAGE_SIZE_LIMIT: Final = 5 * 1024

#: Estimates: of one rule (times how often it can run), and of all rules of a definition.
ESTIMATE_LIMIT: Final = 10_000_000
ESTIMATE_TOTAL_LIMIT: Final = 100_000_000


@dataclass(slots=True)
class Budget:
    """The remaining cost for a series of evaluations; each subtracts its cost."""

    remaining: int = VALIDATION_BUDGET


def repeated_cost(cost: int, cardinality: int) -> int:
    """A rule below a list or map may run once for each of its elements."""
    return min(cost * cardinality, MOST)


def cost_error(what: str, cost: int, limit: int) -> str:
    """Why an estimate is refused; `what` is "estimated rule cost" or the like."""
    factor = cost / limit
    if factor > 100.0:
        shown = "more than 100x"
    else:
        shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return (
        f"{what} exceeds budget by factor of {shown} (try simplifying the rule, or adding maxItems, "
        "maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
