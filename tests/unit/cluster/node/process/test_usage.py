"""What containers use."""

from __future__ import annotations

import os
import time
from pathlib import Path

from steersman.cluster.node.process.usage import UsageMeter


def write(group: Path, **files: str) -> None:
    for name, text in files.items():
        (group / name.replace("_", ".", 1)).write_text(text)


def test_memory_that_can_be_freed_does_not_count(tmp_path: Path) -> None:
    write(
        tmp_path,
        memory_current="5000\n",
        memory_stat="anon 1\ninactive_file 2000\n",
        cpu_stat="usage_usec 0\n",
    )
    assert UsageMeter().usage("c", 1, str(tmp_path), time.time()).memory_bytes == 3000


def test_the_first_look_is_an_average_since_the_start(tmp_path: Path) -> None:
    write(tmp_path, cpu_stat="usage_usec 5000000\n")
    usage = UsageMeter().usage("c", 1, str(tmp_path), time.time() - 10)
    assert 0.4 < usage.cpu_cores <= 0.5


def test_later_looks_are_about_the_time_between(tmp_path: Path) -> None:
    write(tmp_path, cpu_stat="usage_usec 5000000\n")
    meter = UsageMeter()
    first = meter.usage("c", 1, str(tmp_path), time.time() - 10)
    write(tmp_path, cpu_stat="usage_usec 9000000\n")
    # Too soon to say anything new.
    assert meter.usage("c", 1, str(tmp_path), 0.0) == first
    meter.forget("c")
    assert meter.usage("c", 1, str(tmp_path), time.time() - 10).cpu_cores > first.cpu_cores


def test_without_groups_the_session_counts() -> None:
    usage = UsageMeter().usage("c", os.getsid(0), "", time.time() - 10)
    assert usage.memory_bytes > 0
    assert UsageMeter().usage("c", -1, "", time.time()).memory_bytes == 0
