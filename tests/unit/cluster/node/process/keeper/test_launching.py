"""Programs that cannot be started."""

from __future__ import annotations

import os

import pytest

from steersman.cluster.node.process.keeper.launching import spawn


def test_a_machine_without_room_for_processes_costs_no_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        with pytest.raises(BlockingIOError):
            spawn({"argv": ["true"], "env": {}}, (0, 1, 2), tty=False, group="", nofile=(64, 64))
    assert len(os.listdir("/proc/self/fd")) == len(before)
