"""The semver library: `semver('1.2.3').isLessThan(semver('v1.10', true))`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.functions import Function, function, member, overload
from steersman.cluster.cel.library import costs
from steersman.cluster.cel.types import BOOL, INT, STRING, opaque
from steersman.cluster.cel.values import Frame

__all__ = ["FUNCTIONS", "SEMVER", "Version"]

SEMVER: Final = opaque("kubernetes.Semver")
_LONGEST_NUMBER: Final = 20
_ALLOWED: Final = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-")


class _Invalid(ValueError):
    """An invalid version."""


@dataclass(frozen=True, slots=True)
class Version:
    """A semantic version."""

    cel_type: ClassVar[str] = "kubernetes.Semver"
    numbers: tuple[int, int, int]
    prerelease: tuple[str, ...]

    def order(self) -> tuple[Any, ...]:
        """Sorts as versions do: a prerelease is before its release, numbers before words."""
        parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in self.prerelease)
        return (self.numbers, not self.prerelease, parts)


def _number(name: str, text: str) -> int:
    if not text.isdecimal() or not text.isascii():
        raise _Invalid(f"Invalid character(s) found in {name.lower()} number {json.dumps(text)}")
    if len(text) > 1 and text[0] == "0":
        raise _Invalid(f"{name} number must not contain leading zeroes {json.dumps(text)}")
    if len(text) > _LONGEST_NUMBER or int(text) >= 2**64:
        raise _Invalid(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _parse(text: str) -> Version:
    if text == "":
        raise _Invalid("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise _Invalid("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    numbers = (_number("Major", parts[0]), _number("Minor", parts[1]), _number("Patch", patch))
    words = prerelease.split(".") if dash else []
    for word in words:
        _check_word(word, "Prerelease")
        if word.isdecimal() and len(word) > 1 and word[0] == "0":
            raise _Invalid(f"Numeric PreRelease version must not contain leading zeroes {json.dumps(word)}")
    for word in build.split(".") if plus else []:
        if word == "":
            raise _Invalid("Build meta data is empty")
        if not _ALLOWED.issuperset(word):
            raise _Invalid(f"Invalid character(s) found in build meta data {json.dumps(word)}")
    return Version(numbers, tuple(words))


def _check_word(word: str, what: str) -> None:
    if word == "":
        raise _Invalid(f"{what} is empty")
    if not _ALLOWED.issuperset(word):
        raise _Invalid(f"Invalid character(s) found in {what.lower()} {json.dumps(word)}")


def _normalized(text: str) -> str:
    """`v1.02` is `1.2.0`: no `v`, no leading zeroes, three numbers."""
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            part = part.lstrip("0")
            parts[index] = part if part[:1].isdecimal() and part else "0" + part
    if len(parts) < 3:
        last = parts[-1]
        if "+" in last or "-" in last:
            raise _Invalid("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _semver(_frame: Frame, text: str, normalize: bool = False) -> Version:
    try:
        return _parse(_normalized(text) if normalize else text)
    except _Invalid as error:
        raise EvaluationError(str(error)) from error


def _is_semver(frame: Frame, text: str, normalize: bool = False) -> bool:
    try:
        _semver(frame, text, normalize)
    except EvaluationError:
        return False
    return True


def _compare(_frame: Frame, left: Version, right: Version) -> int:
    return (left.order() > right.order()) - (left.order() < right.order())


_PAIR: Final = [SEMVER, SEMVER]
_SCAN: Final = costs.of_argument(0)

FUNCTIONS: Final[list[Function]] = [
    function(
        "semver",
        overload("string_to_semver", [STRING], SEMVER, _semver, _SCAN),
        overload("string_bool_to_semver", [STRING, BOOL], SEMVER, _semver, _SCAN),
    ),
    function(
        "isSemver",
        overload("is_semver_string", [STRING], BOOL, _is_semver, _SCAN),
        overload("is_semver_string_bool", [STRING, BOOL], BOOL, _is_semver, _SCAN),
    ),
    function(
        "isGreaterThan", member("semver_is_greater_than", _PAIR, BOOL, lambda f, a, b: _compare(f, a, b) > 0)
    ),
    function("isLessThan", member("semver_is_less_than", _PAIR, BOOL, lambda f, a, b: _compare(f, a, b) < 0)),
    function("compareTo", member("semver_compare_to", _PAIR, INT, _compare)),
    *(
        function(name, member(f"semver_{name}", [SEMVER], INT, lambda _f, v, i=index: v.numbers[i]))
        for index, name in enumerate(("major", "minor", "patch"))
    ),
]
