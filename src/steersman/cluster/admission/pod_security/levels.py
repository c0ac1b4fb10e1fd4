"""The pod-security.kubernetes.io labels of a namespace: a level and a version for each of enforce, audit and
warn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from steersman.objects.fields import FieldError, Path, invalid

__all__ = ["PRIVILEGED", "LevelVersion", "NamespacePolicy", "policy_of", "strictness"]

PREFIX: Final = "pod-security.kubernetes.io/"
LEVELS: Final = ("privileged", "baseline", "restricted")
_version = re.compile(r"v1\.([0-9]|[1-9][0-9]*)").fullmatch
#: Longer numbers are beyond what Kubernetes reads.
_MOST_DIGITS: Final = 18


class LevelVersion(NamedTuple):
    """A Pod Security level at a Kubernetes version."""

    level: str = "privileged"
    #: The minor version whose rules count; None for the latest.
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"

    def equivalent(self, other: LevelVersion) -> bool:
        return self == other or self.level == other.level == "privileged"


PRIVILEGED: Final = LevelVersion()


class NamespacePolicy(NamedTuple):
    """The levels of a namespace for enforce, audit and warn."""

    enforce: LevelVersion = PRIVILEGED
    audit: LevelVersion = PRIVILEGED
    warn: LevelVersion = PRIVILEGED

    @property
    def fully_privileged(self) -> bool:
        return self.enforce.level == self.audit.level == self.warn.level == "privileged"

    def equivalent(self, other: NamespacePolicy) -> bool:
        return all(mine.equivalent(theirs) for mine, theirs in zip(self, other, strict=True))


def strictness(level: str) -> int:
    return LEVELS.index(level)


def policy_of(
    labels: Mapping[str, str], defaults: NamespacePolicy
) -> tuple[NamespacePolicy, list[FieldError]]:
    """What labels ask for. There is always an answer: where a label makes no sense enforcing becomes
    strict, auditing and warning become lax, and the error says so."""
    # Nearly every namespace has no such label.
    if not any(label.startswith(PREFIX) for label in labels):
        return defaults, []
    errors: list[FieldError] = []
    modes = {}
    for mode, given in zip(NamespacePolicy._fields, defaults, strict=True):
        level, minor = given
        if (text := labels.get(PREFIX + mode)) is not None:
            level = text
            if text not in LEVELS:
                level = "restricted" if mode == "enforce" else "privileged"
                errors.append(_error(mode, text, f"must be one of {', '.join(LEVELS)}"))
        version = f"{mode}-version"
        if (text := labels.get(PREFIX + version)) is not None:
            found = _version(text)
            minor = int(found[1]) if found and len(found[1]) <= _MOST_DIGITS else None
            if minor is None and text != "latest":
                errors.append(_error(version, text, 'must be "latest" or "v1.x"'))
        modes[mode] = LevelVersion(level, minor)
    enforce, warn = modes["enforce"], modes["warn"]
    named = labels.get(PREFIX + "enforce") in LEVELS
    if named and PREFIX + "warn" not in labels and strictness(enforce.level) > strictness(warn.level):
        # What is enforced for pods is worth a warning for what makes pods.
        minor = warn.minor if f"{PREFIX}warn-version" in labels else enforce.minor
        modes["warn"] = LevelVersion(enforce.level, minor)
    return NamespacePolicy(**modes), errors


def _error(label: str, value: str, detail: str) -> FieldError:
    return invalid(Path("metadata").child("labels").key(PREFIX + label), value, detail)
