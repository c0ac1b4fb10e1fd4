"""What paths of the machine pods may see."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.cluster.node.volumes.host_paths import check_host_path, part_of_volume, read_part


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("", "folder"),
        ("", "file"),
        ("Directory", "folder"),
        ("DirectoryOrCreate", "folder"),
        ("File", "file"),
        ("FileOrCreate", "file"),
        ("Socket", "socket"),
        ("CharDevice", "/dev/null"),
    ],
)
def test_what_is_as_asked_for_is_fine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, name: str
) -> None:
    # The names of sockets are short.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        check_host_path(name, kind)


@pytest.mark.parametrize(
    ("kind", "made"), [("", "dir"), ("DirectoryOrCreate", "dir"), ("FileOrCreate", "file")]
)
def test_what_is_missing_may_be_made(tmp_path: Path, kind: str, made: str) -> None:
    path = tmp_path / "new"
    check_host_path(str(path), kind)
    assert path.is_dir() if made == "dir" else path.is_file()


@pytest.mark.parametrize(
    ("kind", "name", "problem"),
    [
        ("File", "folder", "hostPath type check failed: {} is not a file, it's a Directory"),
        ("DirectoryOrCreate", "file", "hostPath type check failed: {} is not a directory, it's a File"),
        ("Socket", "file", "hostPath type check failed: {} is not a socket file, it's a File"),
        ("BlockDevice", "file", "hostPath type check failed: {} is not a block device, it's a File"),
        ("CharDevice", "file", "hostPath type check failed: {} is not a character device, it's a File"),
        (
            "Directory",
            "none",
            "hostPath type check failed, {0} is not a directory, unable to determine its type: "
            "stat {0}: no such file or directory",
        ),
        ("Tape", "file", "Tape is an invalid volume type"),
        ("", "a/../b", "invalid HostPath `{}`: must not contain '..'"),
    ],
)
def test_what_is_something_else_is_refused(tmp_path: Path, kind: str, name: str, problem: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    path = f"{tmp_path}/{name}"
    with pytest.raises(VolumeProblem) as raised:
        check_host_path(path, kind)
    assert str(raised.value) == problem.format(path)


def test_a_part_of_a_volume_is_found_or_made_with_the_volumes_mode(tmp_path: Path) -> None:
    volume = tmp_path / "v"
    volume.mkdir()
    volume.chmod(0o777)
    (volume / "there").write_text("x")
    assert part_of_volume(volume, "there", fixed=True) == volume / "there"
    made = part_of_volume(volume, "a/b/c", fixed=True)
    assert made == volume / "a/b/c"
    assert [path.stat().st_mode & 0o777 for path in (made, made.parent)] == [0o777, 0o777]


def test_a_part_of_a_volume_that_pods_cannot_write_to_is_named_by_its_link(tmp_path: Path) -> None:
    (tmp_path / "..stamped").mkdir()
    (tmp_path / "..stamped/key").write_text("x")
    (tmp_path / "..data").symlink_to("..stamped")
    (tmp_path / "key").symlink_to("..data/key")
    assert part_of_volume(tmp_path, "key", fixed=False) == tmp_path / "key"
    assert part_of_volume(tmp_path, "key", fixed=True) == tmp_path / "..stamped/key"


@pytest.mark.parametrize("part", ["out", "out/x", "folder/up/x", "absolute/x"])
def test_links_that_lead_out_of_a_volume_are_refused(tmp_path: Path, part: str) -> None:
    volume = tmp_path / "v"
    (volume / "folder").mkdir(parents=True)
    (volume / "out").symlink_to("..")
    (volume / "folder/up").symlink_to("../..")
    (volume / "absolute").symlink_to("/tmp")
    with pytest.raises(VolumeProblem, match="leads out of the volume"):
        part_of_volume(volume, part, fixed=True)
    assert sorted(os.listdir(tmp_path)) == ["v"]


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ("/etc", "error SubPath `/etc` must not be an absolute path"),
        ("a/../b", "unable to provision SubPath `a/../b`: must not contain '..'"),
    ],
)
def test_paths_that_cannot_be_parts(tmp_path: Path, part: str, problem: str) -> None:
    with pytest.raises(VolumeProblem) as raised:
        part_of_volume(tmp_path, part, fixed=True)
    assert str(raised.value) == problem


def test_a_file_in_a_volume_is_read_whatever_the_pod_put_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a\xff")
    assert read_part(tmp_path, "file") == "a\udcff"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(VolumeProblem, match="pipe is not a file"):
        read_part(tmp_path, "pipe")
    (tmp_path / "out").symlink_to("/etc/passwd")
    with pytest.raises(VolumeProblem, match="leads out of the volume"):
        read_part(tmp_path, "out")
    with pytest.raises(FileNotFoundError):
        read_part(tmp_path, "none")
