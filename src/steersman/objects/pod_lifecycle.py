"""Whether a pod is terminal, active, terminating, ready or available, and whether a container is a sidecar.

Kubernetes has these rules in several places (podutil.IsPodTerminal, IsPodReady, IsPodAvailable,
IsRestartableInitContainer). Here each is said once: as a function of the value it depends on, for objects as
dictionaries, and as properties that views of pods inherit (kinds/views.txt names them).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Protocol, TypeVar

from steersman.objects.times import parse_time

__all__ = [
    "TERMINAL_PHASES",
    "Lifecycle",
    "Readiness",
    "Restartable",
    "is_sidecar",
    "is_terminal",
    "is_terminal_phase",
]

#: Phases that a pod never leaves: none of its containers runs or will run again.
TERMINAL_PHASES: Final = ("Succeeded", "Failed")


def is_terminal_phase(phase: str | None) -> bool:
    return phase in TERMINAL_PHASES


def is_terminal(pod: Mapping[str, Any]) -> bool:
    """Whether the pod has ended, all containers having succeeded or failed."""
    status = pod.get("status")
    return status is not None and status.get("phase") in TERMINAL_PHASES


def is_sidecar(init_container: Mapping[str, Any]) -> bool:
    """Whether an init container goes on running beside the containers (a restartable init container)."""
    return init_container.get("restartPolicy") == "Always"


# --- for views


class _DeletableView(Protocol):
    @property
    def deletion_timestamp(self) -> str | None: ...


class _PhaseView(Protocol):
    @property
    def phase(self) -> str: ...


class _LifecycleView(Protocol):
    @property
    def metadata(self) -> _DeletableView: ...

    @property
    def status(self) -> _PhaseView: ...


class Lifecycle:
    """For views of pods with metadata.deletionTimestamp and status.phase."""

    __slots__ = ()

    @property
    def deleting(self: _LifecycleView) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def terminal(self: _LifecycleView) -> bool:
        """Whether it will never run again."""
        return self.status.phase in TERMINAL_PHASES

    @property
    def active(self: _LifecycleView) -> bool:
        """Neither terminal nor being deleted."""
        return self.metadata.deletion_timestamp is None and self.status.phase not in TERMINAL_PHASES

    @property
    def terminating(self: _LifecycleView) -> bool:
        """Whether it is being deleted and may still run."""
        return self.metadata.deletion_timestamp is not None and self.status.phase not in TERMINAL_PHASES


class _ConditionView(Protocol):
    @property
    def type(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def last_transition_time(self) -> str | None: ...


C = TypeVar("C", bound=_ConditionView)
C_co = TypeVar("C_co", bound=_ConditionView, covariant=True)


class _ConditionsView(Protocol[C_co]):
    @property
    def conditions(self) -> Sequence[C_co]: ...


class _ReadinessView(Protocol[C_co]):
    @property
    def status(self) -> _ConditionsView[C_co]: ...


def _ready_condition(view: _ReadinessView[C]) -> C | None:
    for condition in view.status.conditions:
        if condition.type == "Ready":
            return condition
    return None


class Readiness:
    """For views of pods with the type, status and lastTransitionTime of status.conditions."""

    __slots__ = ()

    @property
    def ready(self: _ReadinessView[C]) -> bool:
        condition = _ready_condition(self)
        return condition is not None and condition.status == "True"

    @property
    def ready_since(self: _ReadinessView[C]) -> str | None:
        """When it became ready; None if it is not, or the condition does not say."""
        condition = _ready_condition(self)
        return (
            condition.last_transition_time if condition is not None and condition.status == "True" else None
        )

    @property
    def readiness_changed_at(self: _ReadinessView[C]) -> str:
        """When it last became ready or unready; empty if it never did."""
        condition = _ready_condition(self)
        return (condition.last_transition_time or "") if condition is not None else ""

    def available(self: _ReadinessView[C], min_ready_s: int, now: datetime) -> bool:
        """Whether it has been ready for `min_ready_s`."""
        condition = _ready_condition(self)
        if condition is None or condition.status != "True":
            return False
        if not min_ready_s:
            return True
        since = condition.last_transition_time
        return since is not None and parse_time(since) + timedelta(seconds=min_ready_s) <= now


class _RestartPolicyView(Protocol):
    @property
    def restart_policy(self) -> str | None: ...


class Restartable:
    """For views of init containers with restartPolicy."""

    __slots__ = ()

    @property
    def is_sidecar(self: _RestartPolicyView) -> bool:
        return self.restart_policy == "Always"
