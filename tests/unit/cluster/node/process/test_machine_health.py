"""What a node says about the machine it is on."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.cluster.node.node_object import NodeHealth
from steersman.cluster.node.process import machine_health
from steersman.cluster.node.process.machine_health import MachineHealth, machine_capacity
from steersman.objects.quantities import Quantity


def test_capacity_is_the_machines(tmp_path: Path) -> None:
    capacity = machine_capacity(tmp_path)
    assert set(capacity) == {"cpu", "memory", "ephemeral-storage", "pods"}
    assert all(Quantity.parse(amount).value > 0 for amount in capacity.values())


@pytest.mark.parametrize(
    ("memory", "disk", "pids", "expected"),
    [
        (1 << 30, 1 << 40, 0.1, NodeHealth("engine")),
        (50 << 20, 1 << 40, 0.1, NodeHealth("engine", memory_pressure=True)),
        (0, 1 << 40, 0.1, NodeHealth("engine")),
        (1 << 30, 1 << 20, 0.1, NodeHealth("engine", disk_pressure=True)),
        (1 << 30, 1 << 40, 0.95, NodeHealth("engine", pid_pressure=True)),
    ],
    ids=["well", "memory", "memory unknown", "disk", "processes"],
)
def test_pressure(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    memory: int,
    disk: int,
    pids: float,
    expected: NodeHealth,
) -> None:
    monkeypatch.setattr(machine_health, "_memory", lambda _: memory)
    monkeypatch.setattr(machine_health, "_free", lambda _: disk)
    monkeypatch.setattr(machine_health, "_pids_used", lambda: pids)
    assert MachineHealth(tmp_path, lambda: "engine")({}) == expected


def test_the_machine_is_not_looked_at_each_time_but_the_engine_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    free = iter((1 << 20, 1 << 40))
    monkeypatch.setattr(machine_health, "_free", lambda _: next(free))
    problems = iter(("none yet", "", "gone"))
    health = MachineHealth(tmp_path, lambda: next(problems))
    found = [health({}) for _ in range(3)]
    assert [one.problem for one in found] == ["none yet", "", "gone"]
    assert all(one.disk_pressure for one in found)
