"""The replicas of each ReplicaSet of a Deployment: surge, rolling update, recreate, proportional scaling.
Pure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from steersman.cluster.controllers.deployment.revisions import DESIRED_REPLICAS, MAX_REPLICAS, age, number_in
from steersman.cluster.controllers.int_or_percent import scaled_value
from steersman.objects.kinds.types.apps_v1 import Deployment, ReplicaSet

__all__ = [
    "active",
    "is_rolling",
    "is_saturated",
    "max_surge",
    "max_unavailable",
    "new_size",
    "old_sizes",
    "only_one_to_scale",
    "proportional_sizes",
    "size",
    "total",
    "wanted",
]

#: What a ReplicaSet is to be scaled to.
Sizes = list[tuple[ReplicaSet, int]]


def wanted(deployment: Deployment) -> int:
    return deployment["spec"].get("replicas") or 0


def size(replica_set: ReplicaSet) -> int:
    """The pods it should have."""
    return replica_set["spec"].get("replicas") or 0


def total(sets: Iterable[ReplicaSet]) -> int:
    return sum(map(size, sets))


def active(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Those that should have pods."""
    return [one for one in sets if size(one)]


def is_rolling(deployment: Deployment) -> bool:
    return (deployment["spec"].get("strategy") or {}).get("type") == "RollingUpdate"


def _fenceposts(deployment: Deployment) -> tuple[int, int]:
    """How many pods more and how many fewer than wanted there may be. Never none of both."""
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    desired = wanted(deployment)
    surge = scaled_value(rolling.get("maxSurge") or 0, desired, round_up=True)
    unavailable = scaled_value(rolling.get("maxUnavailable") or 0, desired, round_up=False)
    # A small percentage may come to nothing; surging may be against a quota.
    return surge, unavailable or int(not surge)


def max_surge(deployment: Deployment) -> int:
    return _fenceposts(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: Deployment) -> int:
    desired = wanted(deployment)
    if not is_rolling(deployment) or not desired:
        return 0
    return min(_fenceposts(deployment)[1], desired)


def new_size(deployment: Deployment, sets: Iterable[ReplicaSet], present: int) -> int:
    """The size of the newest set, which has `present` now, beside all the sets (it included)."""
    if not is_rolling(deployment):
        return wanted(deployment)
    room = wanted(deployment) + max_surge(deployment) - total(sets)
    return present if room <= 0 else present + min(room, wanted(deployment) - present)


def old_sizes(deployment: Deployment, new: ReplicaSet, old: Collection[ReplicaSet]) -> Sizes:
    """Smaller sizes of the old sets, as far as enough pods stay available.

    Pods that are not available go first: they block the way and nobody misses them.
    """
    least = wanted(deployment) - max_unavailable(deployment)
    sets = sorted(active(old), key=age)
    missing_new = size(new) - _available(new)
    allowed = total(sets) + size(new) - least - missing_new
    if not sets or allowed <= 0:
        return []
    sizes = {one["metadata"]["uid"]: size(one) for one in sets}
    for one in sets:
        unhealthy = min(allowed, size(one) - _available(one))
        if unhealthy > 0:
            sizes[one["metadata"]["uid"]] -= unhealthy
            allowed -= unhealthy
    excess = _available(new) + sum(map(_available, sets)) - least
    for one in sets:
        fewer = min(excess, sizes[one["metadata"]["uid"]])
        if fewer > 0:
            sizes[one["metadata"]["uid"]] -= fewer
            excess -= fewer
    return [
        (one, sizes[one["metadata"]["uid"]]) for one in sets if sizes[one["metadata"]["uid"]] != size(one)
    ]


def _available(replica_set: ReplicaSet) -> int:
    return (replica_set.get("status") or {}).get("availableReplicas") or 0


def only_one_to_scale(new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """The only set with pods, or the newest if none has any; None if they must share."""
    sets = active([*old, *([new] if new else [])])
    if len(sets) == 1:
        return sets[0]
    if sets:
        return None
    return new or max(old, key=age, default=None)


def is_saturated(deployment: Deployment, new: ReplicaSet | None) -> bool:
    """Whether the newest set has all the pods there should be, and they are available."""
    desired = wanted(deployment)
    return (
        new is not None
        and size(new) == desired
        and number_in(new, DESIRED_REPLICAS) == desired
        and _available(new) == desired
    )


def proportional_sizes(deployment: Deployment, sets: Iterable[ReplicaSet]) -> Sizes:
    """Spread what is to be added or taken away over the sets that have pods, by their size.

    Otherwise scaling in the middle of a rollout would hasten it.
    """
    desired = wanted(deployment)
    allowed = desired + max_surge(deployment) if desired else 0
    to_add = allowed - total(sets := active(sets))
    newer_first = -1 if to_add > 0 else 1
    by_age = sorted(sets, key=age)[::newer_first]
    ordered = sorted(by_age, key=size, reverse=True)
    sizes, added = [], 0
    for one in ordered:
        share = _share(one, deployment, to_add, added)
        sizes.append(size(one) + share)
        added += share
    if sizes and to_add:
        sizes[0] = max(sizes[0] + to_add - added, 0)  # the largest takes what rounding left
    return list(zip(ordered, sizes, strict=True))


def _share(replica_set: ReplicaSet, deployment: Deployment, to_add: int, added: int) -> int:
    if to_add in (0, added):
        return 0
    share = _fraction(replica_set, deployment)
    return min(share, to_add - added) if to_add > 0 else max(share, to_add - added)


def _fraction(replica_set: ReplicaSet, deployment: Deployment) -> int:
    """By how much a set's part of the whole changes."""
    present = size(replica_set)
    if not wanted(deployment):
        return -present
    before = number_in(replica_set, MAX_REPLICAS) or (deployment.get("status") or {}).get("replicas") or 0
    if not before:
        return 0  # somebody took the annotation away, and there are no pods to go by
    exact = present * (wanted(deployment) + max_surge(deployment)) / before
    return math.floor(exact + 0.5) - present
