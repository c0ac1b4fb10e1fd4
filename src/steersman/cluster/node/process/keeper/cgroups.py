"""Control groups (v2) of a node's containers: their processes, limits and usage.

    <hierarchy>/steersman-<tag>/<container>

Which controllers can be had differs by machine; without any, a group still knows its processes and their
CPU time, and kills them.
"""

from __future__ import annotations

import os

from .stragglers import kill_all

__all__ = [
    "NodeGroups",
    "groups_of_node",
    "kill",
    "processes",
    "read_number",
    "remove",
    "was_out_of_memory",
]

_WANTED = ("cpu", "memory", "pids")
#: The period that `cpu.max` counts in, in microseconds.
_PERIOD_US = 100_000
#: What the kernel calls a limit that is none.
_NONE = "max"


class NodeGroups:
    """The control group of a node, which contains one for each container."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.controllers = tuple(name for name in _WANTED if name in _read(f"{path}/cgroup.subtree_control"))

    def of(self, container: str) -> str:
        return f"{self.path}/{container[:24]}"

    def make(self, container: str, limits: dict[str, float]) -> str:
        """A container's group; `limits` are `memory` (bytes), `cpu` (cores) and `pids`."""
        path = self.of(container)
        os.makedirs(path, exist_ok=True)
        self.limit(path, dict(limits))
        return path

    def limit(self, path: str, limits: dict[str, float | None]) -> None:
        """Limit a group; None takes a limit away."""
        given = {name: limit for name, limit in limits.items() if name in self.controllers}
        if "memory" in given:
            memory = given["memory"]
            _write(f"{path}/memory.max", str(int(memory)) if memory else _NONE)
            _write(f"{path}/memory.swap.max", "0" if memory else _NONE)
            # One process out of memory ends the container, not just that process.
            _write(f"{path}/memory.oom.group", "1")
        if "cpu" in given:
            cpu = given["cpu"]
            quota = str(max(int(cpu * _PERIOD_US), 1000)) if cpu else _NONE
            _write(f"{path}/cpu.max", f"{quota} {_PERIOD_US}")
        if "pids" in given:
            pids = given["pids"]
            _write(f"{path}/pids.max", str(int(pids)) if pids else _NONE)

    def clear(self) -> None:
        """Kill and remove all there is."""
        for entry in os.listdir(self.path):
            path = f"{self.path}/{entry}"
            if os.path.isdir(path):
                kill(path)
                remove(path)

    def close(self) -> bool:
        """Remove the node's group; whether it is gone."""
        self.clear()
        return remove(self.path)


def groups_of_node(tag: str) -> NodeGroups | None:
    """The groups of a node on this machine; None where there can be none."""
    best: NodeGroups | None = None
    for base in _bases():
        path = f"{base}/steersman-{tag}"
        try:
            os.makedirs(path, exist_ok=True)
        except OSError:
            continue
        for name in _WANTED:
            if name in _read(f"{base}/cgroup.controllers"):
                _write(f"{base}/cgroup.subtree_control", f"+{name}")
                _write(f"{path}/cgroup.subtree_control", f"+{name}")
        groups = NodeGroups(path)
        if best is None or len(groups.controllers) > len(best.controllers):
            if best is not None:
                remove(best.path)
            best = groups
        else:
            remove(path)
    return best


def _bases() -> list[str]:
    """Where groups can be made: at the root of the hierarchy, or where this process is."""
    for line in _read("/proc/self/mountinfo").splitlines():
        fields, _, rest = line.partition(" - ")
        if rest.startswith("cgroup2 "):
            root = fields.split(" ")[4]
            break
    else:
        return []
    own = next((line[3:] for line in _read("/proc/self/cgroup").splitlines() if line.startswith("0::")), "/")
    return list(dict.fromkeys((root, (root + own).rstrip("/"))))


def processes(path: str) -> list[int]:
    return [int(pid) for pid in _read(f"{path}/cgroup.procs").split()]


def kill(path: str) -> None:
    """Kill everything in a group."""
    if os.path.exists(f"{path}/cgroup.kill"):
        _write(f"{path}/cgroup.kill", "1")
        return
    kill_all(lambda: processes(path))


def remove(path: str) -> bool:
    """Remove an empty group; whether it is gone."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def was_out_of_memory(path: str) -> bool:
    return read_number(f"{path}/memory.events", "oom_kill") > 0


def read_number(path: str, key: str = "") -> int:
    """The number in a file, or behind a key in it; 0 if there is none."""
    for line in _read(path).splitlines():
        name, _, value = line.rpartition(" ")
        if name == key and value.isdigit():
            return int(value)
    return 0


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    """What cannot be limited here is not."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return
