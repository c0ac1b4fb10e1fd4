"""Limits on how fast an autoscaler changes the replica count: stabilization window, scaling policies,
minReplicas and maxReplicas. Pure but for `ScaleHistory`.

`ScaleHistory` keeps recent recommendations and scale events; it lives in memory only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from steersman.objects.kinds.types.autoscaling_v2 import (
    HorizontalPodAutoscalerBehavior,
    HorizontalPodAutoscalerSpec,
    HPAScalingRules,
)

__all__ = ["DOWNSCALE_WINDOW_S", "Limited", "ScaleHistory", "limit"]


#: For how long a higher recommendation keeps the size from shrinking, where nobody says.
DOWNSCALE_WINDOW_S: Final = 300

_HIGHER: Final = (
    "recent recommendations were higher than current one, applying the highest recent recommendation"
)
_LOWER: Final = (
    "recent recommendations were lower than current one, applying the lowest recent recommendation"
)
_READY: Final = ("ReadyForNewScale", "recommended size matches current size")
_WITHIN: Final = ("DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_FEW: Final = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_TOO_MANY: Final = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_UP_LIMIT: Final = (
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
)
_DOWN_LIMIT: Final = (
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
)


class _Entry(NamedTuple):
    """A recommended or changed number of replicas, and when."""

    time: datetime
    number: int


@dataclass(slots=True)
class ScaleHistory:
    """The recent recommendations and scale events of one autoscaler."""

    recommendations: list[_Entry] = field(default_factory=list)
    ups: list[_Entry] = field(default_factory=list)
    downs: list[_Entry] = field(default_factory=list)

    def begin(self, current: int, now: datetime) -> None:
        """The size that is found counts as the first recommendation."""
        if not self.recommendations:
            self.recommendations = [_Entry(now, current)]

    def recommended(self, number: int, now: datetime, window_s: int) -> None:
        self.recommendations = [*_since(self.recommendations, now, window_s), _Entry(now, number)]

    def scaled(
        self, behavior: HorizontalPodAutoscalerBehavior | None, before: int, after: int, now: datetime
    ) -> None:
        """Only policies ask for it."""
        if behavior is None:
            return
        longest_s = max(
            (
                policy["periodSeconds"]
                for rules in (behavior.get("scaleUp"), behavior.get("scaleDown"))
                if rules is not None
                for policy in rules.get("policies") or ()
            ),
            default=0,
        )
        self.ups, self.downs = _since(self.ups, now, longest_s), _since(self.downs, now, longest_s)
        (self.ups if after > before else self.downs).append(_Entry(now, abs(after - before)))

    def change(self, now: datetime, period_s: int) -> int:
        """By how much the size grew in the last seconds."""
        cutoff = now - timedelta(seconds=period_s)
        grown = sum(entry.number for entry in self.ups if entry.time > cutoff)
        return grown - sum(entry.number for entry in self.downs if entry.time > cutoff)


def _since(entries: list[_Entry], now: datetime, seconds: int) -> list[_Entry]:
    cutoff = now - timedelta(seconds=seconds)
    return [entry for entry in entries if entry.time >= cutoff]


@dataclass(frozen=True, slots=True)
class Limited:
    """The replica count after limits, and the reason for it."""

    replicas: int
    #: (reason, message) of AbleToScale, and of ScalingLimited.
    stabilized: tuple[str, str]
    limited: bool
    reason: tuple[str, str]


def limit(
    spec: HorizontalPodAutoscalerSpec, history: ScaleHistory, current: int, desired: int, now: datetime
) -> Limited:
    """What becomes of a desired size."""
    least, most = spec.get("minReplicas", 1), spec["maxReplicas"]
    behavior = spec.get("behavior")
    if behavior is None:
        recent = _since(history.recommendations, now, DOWNSCALE_WINDOW_S)
        stable = max(desired, *(entry.number for entry in recent), 0)
        why = _READY if stable == desired else ("ScaleDownStabilized", _HIGHER)
        history.recommended(desired, now, DOWNSCALE_WINDOW_S)
        replicas, reason = _by_rules(current, stable, least, most)
        return Limited(replicas, why, replicas != stable, reason)
    stable = _stabilized(behavior, history, current, desired, now)
    why = _READY
    if stable != desired:
        why = ("ScaleUpStabilized", _LOWER) if desired >= current else ("ScaleDownStabilized", _HIGHER)
    replicas, reason = _by_policies(behavior, history, current, stable, (least, most), now)
    return Limited(replicas, why, replicas != stable, reason)


def _by_rules(current: int, desired: int, least: int, most: int) -> tuple[int, tuple[str, str]]:
    """Without policies a size at most doubles, or goes to four."""
    fastest = max(2 * current, 4)
    if desired < least:
        return least, _TOO_FEW
    if desired > min(most, fastest):
        return (fastest, _UP_LIMIT) if most > fastest else (most, _TOO_MANY)
    return desired, _WITHIN


def _stabilized(
    behavior: HorizontalPodAutoscalerBehavior,
    history: ScaleHistory,
    current: int,
    desired: int,
    now: datetime,
) -> int:
    """Between the lowest that was recommended for growing and the highest for shrinking."""
    up_s = (behavior.get("scaleUp") or {}).get("stabilizationWindowSeconds") or 0
    given_s = (behavior.get("scaleDown") or {}).get("stabilizationWindowSeconds")
    down_s = DOWNSCALE_WINDOW_S if given_s is None else given_s
    up = down = desired
    for entry in history.recommendations:
        if entry.time > now - timedelta(seconds=up_s):
            up = min(up, entry.number)
        if entry.time > now - timedelta(seconds=down_s):
            down = max(down, entry.number)
    history.recommended(desired, now, max(up_s, down_s))
    return min(max(current, up), down)


def _by_policies(
    behavior: HorizontalPodAutoscalerBehavior,
    history: ScaleHistory,
    current: int,
    desired: int,
    bounds: tuple[int, int],
    now: datetime,
) -> tuple[int, tuple[str, str]]:
    least, most = bounds
    if desired > current:
        fastest = max(current, _reach(behavior.get("scaleUp"), history, current, now, grows=True))
        if desired > min(most, fastest):
            return (fastest, _UP_LIMIT) if most > fastest else (most, _TOO_MANY)
    elif desired < current:
        fastest = min(current, _reach(behavior.get("scaleDown"), history, current, now, grows=False))
        if desired < max(least, fastest):
            return (fastest, _DOWN_LIMIT) if least < fastest else (least, _TOO_FEW)
    return desired, _WITHIN


def _reach(
    rules: HPAScalingRules | None, history: ScaleHistory, current: int, now: datetime, *, grows: bool
) -> int:
    """How far the policies of one direction let the size go."""
    rules = rules or {}
    choice = rules.get("selectPolicy", "Max")
    if choice == "Disabled":
        return current
    reached = []
    for policy in rules.get("policies") or ():
        start = current - history.change(now, policy["periodSeconds"])
        value = policy["value"] if grows else -policy["value"]
        if policy["type"] == "Pods":
            reached.append(start + value)
        else:
            share = start * (1 + value / 100)
            reached.append(math.ceil(share) if grows else int(share))
    # The largest change is upwards the highest size, downwards the lowest.
    largest = (choice == "Max") == grows
    return (max if largest else min)(reached, default=current)
