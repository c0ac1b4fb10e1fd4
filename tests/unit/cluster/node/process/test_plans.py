"""What a container's configuration becomes."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.node.cri import ContainerConfig, ImageStatus, Mount
from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.process.identities import ProcessIdentity
from steersman.cluster.node.process.image_index import ImageConfig
from steersman.cluster.node.process.image_store import Image
from steersman.cluster.node.process.plans import command_of, launch_spec, linked, mounts_of, stop_signal


def config(**fields: Any) -> ContainerConfig:
    container = fields.pop("container", {"name": "main"})
    return ContainerConfig("main", 0, "i", "i", container, **fields)


def image(folder: str = "", **fields: Any) -> Image:
    return Image(ImageStatus("i", 0, ("i",)), ImageConfig(**fields), folder)


@pytest.mark.parametrize(
    ("command", "args", "expected"),
    [
        ((), (), ["entry", "cmd"]),
        ((), ("arg",), ["entry", "arg"]),
        (("own",), (), ["own"]),
        (("own",), ("arg",), ["own", "arg"]),
    ],
    ids=["image's", "own arguments", "own command", "both own"],
)
def test_command(command: tuple[str, ...], args: tuple[str, ...], expected: list[str]) -> None:
    made = command_of(config(command=command, args=args), image(entrypoint=("entry",), cmd=("cmd",)))
    assert made == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((), ["/usr/bin/sh"]),
        (("-c", "echo hi"), ["/usr/bin/sh", "-c", "echo hi"]),
        (("sh", "-c", "echo hi"), ["/usr/bin/sh", "-c", "echo hi"]),
        (("sh",), ["/usr/bin/sh"]),
        (("/bin/sh", "-c", "echo hi"), ["/bin/sh", "-c", "echo hi"]),
        (("/srv/run.sh",), ["/usr/bin/sh", "/srv/run.sh"]),
        (("bash", "-c", "echo hi"), ["/usr/bin/sh", "bash", "-c", "echo hi"]),
        (("./sh",), ["/usr/bin/sh", "./sh"]),
    ],
)
def test_arguments_that_begin_with_the_images_own_program_are_the_whole_command(
    args: tuple[str, ...], expected: list[str]
) -> None:
    program = image(entrypoint=("/usr/bin/sh",))._replace(program="/usr/bin/sh")
    assert command_of(config(args=args), program) == expected


def test_what_is_in_a_folder_is_run_as_its_image_says() -> None:
    made = command_of(config(args=("sh", "-c")), image("/image", entrypoint=("/bin/sh",)))
    assert made == ["/bin/sh", "sh", "-c"]


def test_nothing_to_run_is_an_error() -> None:
    with pytest.raises(RuntimeFailed, match="no command specified"):
        command_of(config(), image())


@pytest.mark.parametrize(
    ("own", "images", "expected"),
    [
        ("", "", signal.SIGTERM),
        ("", "SIGQUIT", signal.SIGQUIT),
        ("SIGUSR1", "SIGQUIT", signal.SIGUSR1),
        ("", "INT", signal.SIGINT),
        ("", "9", signal.SIGKILL),
        ("SIGRTMIN+3", "", signal.SIGRTMIN + 3),
    ],
)
def test_stop_signal(own: str, images: str, expected: int) -> None:
    container = {"name": "main", "lifecycle": {"stopSignal": own}}
    assert stop_signal(config(container=container), image(stop_signal=images)) == expected


def test_unknown_stop_signal() -> None:
    with pytest.raises(RuntimeFailed, match='unknown signal "NOPE"'):
        stop_signal(config(), image(stop_signal="NOPE"))


def test_outer_mounts_come_first_and_messages_have_a_file() -> None:
    mounts = (Mount("/a/b/c", "/1"), Mount("/a", "/2"), Mount("a/b/", "/3"))
    found = mounts_of(config(mounts=mounts), Path("/folder"))
    assert [(one.container_path, one.host_path) for one in found] == [
        ("/a", "/2"),
        ("/a/b", "/3"),
        ("/dev/termination-log", "/folder/termination-log"),
        ("/a/b/c", "/1"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data", "/r/data"),
        ("/data/x", "/r/data/x"),
        ("--file=/data/x", "--file=/r/data/x"),
        ("cat /data/x>/etc/app;", "cat /r/data/x>/r/etc/app;"),
        ("/data/deep/x", "/r/data/deep/x"),
        ("/database", "/database"),
        ("/other/data", "/other/data"),
        ("http://host/data", "http://host/data"),
        ("/data.txt", "/data.txt"),
        ("A:/data:/etc/app", "A:/r/data:/r/etc/app"),
        ("nothing", "nothing"),
    ],
)
def test_paths_that_are_linked(text: str, expected: str) -> None:
    assert linked(text, Path("/r"), ["/data", "/etc/app", "/data/deep"]) == expected


def spec_of(tmp_path: Path, made: ContainerConfig, what: Image, **fields: Any) -> dict[str, Any]:
    options = {"roots": "overlay", "controllers": (), "tag": "tag", **fields}
    return launch_spec(
        "id", made, what, ProcessIdentity(), folder=tmp_path, log=tmp_path / "0.log", **options
    )


def test_a_root_of_its_own(tmp_path: Path) -> None:
    made = config(
        mounts=(Mount("/data", "/host", readonly=True),),
        container={"name": "main", "securityContext": {"readOnlyRootFilesystem": True}},
    )
    spec = spec_of(tmp_path, made, image("/image", entrypoint=("run",), working_dir="/srv"))
    assert spec["root"]["image"] == "/image"
    assert ("/host", "/data", True) in spec["root"]["mounts"]
    assert spec["root"]["readonly"]
    assert (spec["argv"], spec["cwd"]) == (["run"], "/srv")


def test_links_in_place_of_mounts(tmp_path: Path) -> None:
    made = config(mounts=(Mount("/data", "/host"),), args=("/data/x",), env={"D": "/data"})
    spec = spec_of(tmp_path, made, image(entrypoint=("run",)), roots="links")
    root = tmp_path / "root"
    assert "root" not in spec
    assert spec["argv"] == ["run", f"{root}/data/x"]
    assert spec["env"]["D"] == f"{root}/data"
    assert spec["env"]["STEERSMAN_ROOT"] == spec["cwd"] == str(root)
    assert (root / "data").readlink() == Path("/host")


def test_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/host/bin")
    monkeypatch.setenv("TOKEN", "secret")
    made = config(env={"A": "own"})
    env = spec_of(tmp_path, made, image(entrypoint=("run",), env={"A": "image", "B": "image"}))["env"]
    assert {name: env.get(name) for name in ("A", "B", "PATH", "TOKEN", "STEERSMAN_CONTAINER")} == {
        "A": "own",
        "B": "image",
        "PATH": "/host/bin",
        "TOKEN": None,
        "STEERSMAN_CONTAINER": "tag/id",
    }


@pytest.mark.parametrize(
    ("folders", "own_root", "path"),
    [
        ((), False, "/host/bin:/usr/bin"),
        (("usr/bin", "bin"), False, "/usr/bin:/bin:/host/bin"),
        ((), True, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ],
    ids=["files without programs", "files with programs", "the root of a system"],
)
def test_programs_of_an_image_are_found_before_the_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: tuple[str, ...], own_root: bool, path: str
) -> None:
    monkeypatch.setenv("PATH", "/host/bin:/usr/bin")
    for folder in folders:
        (tmp_path / "image" / folder).mkdir(parents=True)
    what = image(str(tmp_path / "image"), entrypoint=("run",))._replace(own_root=own_root)
    spec = spec_of(tmp_path, config(), what)
    assert spec["env"]["PATH"] == path
    assert spec["root"]["own_root"] is own_root


def test_a_root_of_its_own_takes_nothing_from_the_nodes_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/somebodys")
    monkeypatch.setenv("LANG", "xx_XX")
    what = image(str(tmp_path), entrypoint=("run",))._replace(own_root=True)
    env = spec_of(tmp_path, config(), what)["env"]
    assert (env["HOME"], env.get("LANG")) == ("/", None)


@pytest.mark.parametrize(
    ("controllers", "rlimits"),
    [((), {"RLIMIT_DATA": 64 << 20}), (("cpu", "memory"), None)],
    ids=["without groups", "with groups"],
)
def test_limits(tmp_path: Path, controllers: tuple[str, ...], rlimits: dict[str, int] | None) -> None:
    resources = {"limits": {"memory": "64Mi", "cpu": "250m"}}
    made = config(container={"name": "main", "resources": resources})
    spec = spec_of(tmp_path, made, image(entrypoint=("run",)), controllers=controllers)
    assert spec["limits"] == {"memory": 64 << 20, "cpu": 0.25}
    assert spec.get("rlimits") == rlimits
