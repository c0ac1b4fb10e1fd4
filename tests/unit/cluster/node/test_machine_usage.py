"""What a machine uses, from files as Linux has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steersman.cluster.node.machine_usage import machine_usage

TICKS = os.sysconf("SC_CLK_TCK")
MEMINFO = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n"


def write_stat(proc: Path, busy_s: float, idle_s: float) -> None:
    user, idle = int(busy_s * TICKS), int(idle_s * TICKS)
    (proc / "stat").write_text(f"cpu  {user} 0 0 {idle} {idle} 0 0 0 {user} 0\ncpu0 1 1 1 1\n")


def test_processors_are_measured_between_two_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("steersman.cluster.node.machine_usage.monotonic", lambda: now)
    (tmp_path / "meminfo").write_text(MEMINFO)
    write_stat(tmp_path, 10, 1000)
    look = machine_usage(tmp_path)
    assert look is not None
    now += 10
    write_stat(tmp_path, 25, 1005)
    assert look() == (1.5, 600 << 10)
    # Sooner than it makes sense: the same again.
    now += 0.5
    write_stat(tmp_path, 100, 1005)
    assert look().cpu_cores == 1.5
    now += 9.5
    write_stat(tmp_path, 26, 1005)
    assert look().cpu_cores == pytest.approx(0.1)


def test_where_nothing_can_be_measured_nothing_is(tmp_path: Path) -> None:
    assert machine_usage(tmp_path) is None
