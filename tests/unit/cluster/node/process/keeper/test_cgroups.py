"""Control groups, with a folder in place of the kernel's."""

from __future__ import annotations

from pathlib import Path

from steersman.cluster.node.process.keeper import cgroups


def node_group(tmp_path: Path, controllers: str) -> cgroups.NodeGroups:
    (tmp_path / "cgroup.subtree_control").write_text(controllers)
    return cgroups.NodeGroups(str(tmp_path))


def test_limits_are_written_where_there_are_controllers(tmp_path: Path) -> None:
    groups = node_group(tmp_path, "cpu memory pids")
    path = Path(groups.make("abc", {"memory": 1 << 20, "cpu": 0.5, "pids": 7}))
    assert path == tmp_path / "abc"
    found = {file.name: file.read_text() for file in path.iterdir()}
    assert found == {
        "memory.max": "1048576",
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "cpu.max": "50000 100000",
        "pids.max": "7",
    }


def test_without_controllers_or_limits_nothing_is_limited(tmp_path: Path) -> None:
    assert list(Path(node_group(tmp_path, "").make("a", {"memory": 1.0, "cpu": 1})).iterdir()) == []
    assert list(Path(node_group(tmp_path, "cpu memory").make("b", {})).iterdir()) == []


def test_limits_can_be_changed_and_taken_away(tmp_path: Path) -> None:
    groups = node_group(tmp_path, "cpu memory")
    path = Path(groups.make("abc", {"memory": 1 << 20, "cpu": 0.5}))
    groups.limit(str(path), {"memory": 2 << 20, "cpu": None, "pids": 7})
    assert (path / "memory.max").read_text() == "2097152"
    assert (path / "cpu.max").read_text() == "max 100000"
    assert not (path / "pids.max").exists()
    groups.limit(str(path), {"memory": None})
    assert [(path / name).read_text() for name in ("memory.max", "memory.swap.max")] == ["max", "max"]


def test_numbers_of_groups(tmp_path: Path) -> None:
    (tmp_path / "memory.current").write_text("4096\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 1500\nuser_usec 500\n")
    (tmp_path / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
    (tmp_path / "cgroup.procs").write_text("12\n13\n")
    assert cgroups.read_number(f"{tmp_path}/memory.current") == 4096
    assert cgroups.read_number(f"{tmp_path}/cpu.stat", "usage_usec") == 1500
    assert cgroups.read_number(f"{tmp_path}/missing") == 0
    assert cgroups.was_out_of_memory(str(tmp_path))
    assert cgroups.processes(str(tmp_path)) == [12, 13]
    (tmp_path / "memory.events").write_text("oom_kill 0\n")
    assert not cgroups.was_out_of_memory(str(tmp_path))


def test_a_group_that_is_gone_is_removed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert cgroups.remove(f"{tmp_path}/empty")
    assert cgroups.remove(f"{tmp_path}/empty")
    assert not cgroups.remove(str(tmp_path.parent))
