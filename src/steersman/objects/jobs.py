"""Whether a Job is finished: it is Complete or Failed, and none of its pods runs or will be created.

Controllers of Jobs and CronJobs, the cleaner of finished Jobs and Highlander need the rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol

from steersman.objects.conditions import condition_is

__all__ = ["FINISHED_CONDITIONS", "FinishedCondition", "Finishing", "finished_condition", "is_finished"]

FinishedCondition = Literal["Complete", "Failed"]
#: In the order in which they are looked for.
FINISHED_CONDITIONS: Final[tuple[FinishedCondition, ...]] = ("Complete", "Failed")


def finished_condition(job: Mapping[str, Any]) -> FinishedCondition | None:
    """The condition that says how a Job finished; None if it is not finished."""
    conditions = (job.get("status") or {}).get("conditions")
    return next((kind for kind in FINISHED_CONDITIONS if condition_is(conditions, kind)), None)


def is_finished(job: Mapping[str, Any]) -> bool:
    return finished_condition(job) is not None


# --- for views


class _ConditionView(Protocol):
    @property
    def type(self) -> str: ...

    @property
    def status(self) -> str: ...


class _ConditionsView(Protocol):
    @property
    def conditions(self) -> Sequence[_ConditionView]: ...


class _JobView(Protocol):
    @property
    def status(self) -> _ConditionsView: ...


class Finishing:
    """For views of Jobs with the type and status of status.conditions."""

    __slots__ = ()

    @property
    def finished(self: _JobView) -> bool:
        conditions = self.status.conditions
        return any(one.type in FINISHED_CONDITIONS and one.status == "True" for one in conditions)
