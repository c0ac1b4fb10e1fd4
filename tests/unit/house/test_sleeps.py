"""CONTRIBUTING.md: nothing sleeps to wait.

A test waits for a condition with a deadline (`eventually`, tests/support/waiting.py) or runs on the virtual clock,
where a sleep takes no time. Time that has to pass by itself passes in `pass_time`, with its reason.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.unit.house.sources import ROOT, calls, python_files, text

#: Where a sleep may be, and why.
ALLOWED = {
    "tests/support/waiting.py": "what all others call",
    # Programs that tests run, which import nothing of the tests.
    "tests/e2e/raft/member.py": "a program: the pace of its load",
    "tests/integration/election/contender.py": "a program: the pace of its work",
    "tests/integration/runtime/operator_process.py": "a program: how long its reconcile takes",
    "tests/support/ending.py": "a process that ends what tests leave behind, with a deadline",
    "tests/support/ordinary_user.py": "a process that ends what a user leaves behind",
    # What tests of several clocks share: their callers run them on the virtual one.
    "tests/conformance/election/test_electors.py": "the arena's clock: virtual, or hurried beside real servers",
    "tests/sim/model_api.py": "a simulated API server",
    "tests/support/raft_here.py": "the delay of messages between simulated nodes",
    "tests/unit/election/lock_world.py": "simulated contenders",
}
SLEEPS = ("asyncio.sleep", "time.sleep")
#: What runs a test, or a helper of tests, on the virtual clock.
_virtual = re.compile(r"\b(run_virtual|virtual_time|VirtualClock)\b").search
_imported = re.compile(r"^from (tests[.\w]+|\.\w+) import", re.MULTILINE).findall


def is_on_the_virtual_clock(path: Path) -> bool:
    """Whether a file runs what it has on the virtual clock, or has it from a module of tests that does."""
    return uses_the_virtual_clock(path) or any(
        uses_the_virtual_clock(each) for each in modules_imported(path) if each.exists()
    )


@cache
def uses_the_virtual_clock(path: Path) -> bool:
    return _virtual(text(path)) is not None


def modules_imported(path: Path) -> list[Path]:
    """The modules of tests that a file imports."""
    return [
        (path.parent / name[1:] if name.startswith(".") else ROOT / name.replace(".", "/")).with_suffix(".py")
        for name in _imported(text(path))
    ]


def sleeps(path: Path) -> list[str]:
    """The calls that let real time pass; to sleep for 0 is to let others run."""
    if "sleep(" not in text(path) or is_on_the_virtual_clock(path):
        return []
    return [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for call, name in calls(path)
        if name in SLEEPS and not (isinstance(call.args[0], ast.Constant) and call.args[0].value == 0)
    ]


def test_no_test_sleeps_to_wait() -> None:
    files = python_files("tests", "examples")
    found = [line for path in files for line in sleeps(path)]
    assert [line for line in found if line.rpartition(":")[0] not in ALLOWED] == []


def test_every_exception_is_still_needed() -> None:
    assert [name for name in ALLOWED if not sleeps(ROOT / name)] == []
