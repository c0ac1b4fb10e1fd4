"""The checks of a Pod Security level and version, and their evaluation for a pod."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from steersman.cluster.admission.pod_security.baseline import BASELINE
from steersman.cluster.admission.pod_security.levels import LevelVersion
from steersman.cluster.admission.pod_security.restricted import RESTRICTED
from steersman.cluster.admission.pod_security.violations import Check, Violation

__all__ = ["evaluate"]

#: Restricted checks that say all that a baseline check says, and more.
_OVERRIDES: Final = {
    "capabilities_restricted": "capabilities_baseline",
    "procMount_restricted": "procMount",
    "restrictedVolumes": "hostPathVolumes",
    "seccompProfile_restricted": "seccompProfile_baseline",
}
#: Nothing changed since this version, so later ones mean the same.
_LAST: Final = max(
    minor for checks in (BASELINE, RESTRICTED) for each in checks.values() for minor, _ in each
)


def evaluate(
    policy: LevelVersion, metadata: Mapping[str, Any], spec: Mapping[str, Any]
) -> tuple[Violation, ...]:
    """What a level does not allow about a pod; nothing when it may be."""
    if policy.level == "privileged":
        return ()
    minor = _LAST if policy.minor is None else min(policy.minor, _LAST)
    found = (check(metadata, spec) for check in _checks(policy.level, minor))
    return tuple(finding for finding in found if finding is not None)


@lru_cache(maxsize=128)
def _checks(level: str, minor: int) -> tuple[Check, ...]:
    baseline = _at(BASELINE, minor)
    if level == "baseline":
        return tuple(baseline.values())
    restricted = _at(RESTRICTED, minor)
    for name, overridden in _OVERRIDES.items():
        if name in restricted:
            del baseline[overridden]
    return (*baseline.values(), *restricted.values())


def _at(checks: dict[str, tuple[tuple[int, Check], ...]], minor: int) -> dict[str, Check]:
    """The newest form of each check that a version has."""
    chosen = {}
    for name in sorted(checks):
        for since, check in checks[name]:
            if since <= minor:
                chosen[name] = check
    return chosen
