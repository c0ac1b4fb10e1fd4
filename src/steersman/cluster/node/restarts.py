"""Restart policies and the crash-loop back-off of containers. Pure.

A back-off is 10 s, doubled each time up to 5 minutes, and reset after a time without failures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from steersman.objects.kinds.types.core_v1 import Container, PodSpec

__all__ = [
    "CONTAINER_FORGET_S",
    "IMAGE_FORGET_S",
    "Backoffs",
    "go_duration",
    "is_restartable",
    "should_restart",
]


_FIRST_S: Final = 10.0
_CEILING_S: Final = 300.0
#: How long after its last failure something counts as healthy.
CONTAINER_FORGET_S: Final = 600.0
IMAGE_FORGET_S: Final = 2 * _CEILING_S


def should_restart(container: Container, spec: PodSpec, exit_code: int) -> bool:
    """Whether a container that ended so is started again."""
    policy: str = spec.get("restartPolicy", "Always")
    if (own := container.get("restartPolicy")) is not None:
        if _rule_action(container, exit_code) in ("Restart", "RestartAllContainers"):
            return True
        policy = own
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def is_restartable(container: Container, spec: PodSpec) -> bool:
    """Whether a container that is killed for being unhealthy is started again."""
    policy: str = container.get("restartPolicy") or spec.get("restartPolicy", "Always")
    return policy != "Never"


def _rule_action(container: Container, exit_code: int) -> str:
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes")
        if codes is None:
            continue
        matched = exit_code in (codes.get("values") or ())
        if matched == (codes.get("operator") == "In"):
            return rule.get("action", "")
    return ""


@dataclass(slots=True)
class _Entry:
    """The back-off of one container or image."""

    wait_s: float
    at: float


class Backoffs:
    """The back-offs of a pod: of its containers, or of its images."""

    __slots__ = ("_entries", "_forget_s")

    def __init__(self, forget_s: float) -> None:
        self._forget_s = forget_s
        self._entries: dict[str, _Entry] = {}

    def until(self, key: str, failed_at: float, now: float) -> float | None:
        """When the wait that began with a failure is over; None if it is, or there is none."""
        entry = self._entries.get(key)
        if entry is None or failed_at - entry.at > self._forget_s:
            return None
        end = failed_at + entry.wait_s
        return end if now < end else None

    def wait_s(self, key: str) -> float:
        entry = self._entries.get(key)
        return entry.wait_s if entry is not None else 0.0

    def failed_at(self, key: str) -> float | None:
        """When the key was last advanced."""
        entry = self._entries.get(key)
        return entry.at if entry is not None else None

    def advance(self, key: str, failed_at: float, now: float) -> None:
        """It failed (again): the next wait is longer."""
        entry = self._entries.get(key)
        if entry is None or failed_at - entry.at > self._forget_s:
            self._entries[key] = _Entry(_FIRST_S, now)
        else:
            entry.wait_s = min(entry.wait_s * 2, _CEILING_S)
            entry.at = now


def go_duration(seconds: float) -> str:
    """A duration as Go prints it: "10s", "1m20s", "1.5s", "250ms", "0s"."""
    if seconds <= 0:
        return "0s"
    if seconds < 1:
        return f"{_trimmed(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{_trimmed(rest)}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _trimmed(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".")
