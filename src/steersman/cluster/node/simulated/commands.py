"""The duration and exit code of a simulated command, where its text shows them (`sleep 300`). Pure.

    sleep 300                   300 s, then 0
    sh -c 'sleep 2 && exit 3'   2 s, then 3
    sh -c 'exit 0'              at once, 0
    an image called pause       for ever
    nginx -g 'daemon off;'      unknown

The engine asks, so that Jobs and init containers which wait or fail do so without any annotation.
"""

from __future__ import annotations

import math
import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from steersman.objects.kinds.types.core_v1 import Container

__all__ = ["CommandRun", "life_of"]

_SHELLS: Final = frozenset({"sh", "ash", "bash", "dash"})
_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_duration = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([smhd]?)")
#: With any of these a script does more than can be told.
_elaborate = re.compile(r"[$`|<>(){}*?\\#]|(?<!&)&(?!&)")


class CommandRun(NamedTuple):
    """The duration and exit code of a command."""

    run_s: float
    code: int


def life_of(container: Container) -> CommandRun | None:
    """What is known of a container by its command; None if it has none, or one that says nothing."""
    command = container.get("command") or ()
    if not command:
        return CommandRun(math.inf, 0) if _pauses(container.get("image") or "") else None
    words = [*command, *(container.get("args") or ())]
    if posixpath.basename(words[0]) in _SHELLS:
        return _script_life(words[2]) if len(words) == 3 and words[1] == "-c" else None
    return _one_life(words)


def _pauses(image: str) -> bool:
    """Whether an image is what sandboxes and tests use to have something that does nothing."""
    return re.split("[:@]", posixpath.basename(image))[0] == "pause"


def _script_life(script: str) -> CommandRun | None:
    if _elaborate.search(script):
        return None
    run_s, code = 0.0, 0
    try:
        for only_after_success, words in _commands(script):
            if only_after_success and code:
                continue
            life = _one_life(words)
            if life is None:
                return None
            run_s, code = run_s + life.run_s, life.code
            if words[0] == "exit" or run_s == math.inf:
                break
    except ValueError:  # a quote that is not closed
        return None
    return CommandRun(run_s, code)


def _commands(script: str) -> Iterator[tuple[bool, list[str]]]:
    """The commands of a script, and whether each is for the case that the last one succeeded."""
    words: list[str] = []
    only_after_success = False
    for word in [*shlex.shlex(script.replace("\n", ";"), posix=True, punctuation_chars=";&"), ";"]:
        if not word.strip(";&"):
            if words:
                yield only_after_success, words
                words, only_after_success = [], word == "&&"
        else:
            words.append(word)


def _one_life(words: Sequence[str]) -> CommandRun | None:
    match [posixpath.basename(words[0]), *words[1:]]:
        case ["sleep", text]:
            run_s = _seconds(text)
            return None if run_s is None else CommandRun(run_s, 0)
        case ["exit", text] if text.isdecimal():
            return CommandRun(0.0, int(text) & 0xFF)
        case ["true" | ":" | "exit"] | ["echo", *_]:
            return CommandRun(0.0, 0)
        case ["false"]:
            return CommandRun(0.0, 1)
    return None


def _seconds(text: str) -> float | None:
    if text in ("inf", "infinity"):
        return math.inf
    match = _duration.fullmatch(text)
    return float(match[1]) * _UNITS[match[2]] if match else None
