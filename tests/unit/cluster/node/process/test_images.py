"""Images that are programs or folders of this machine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from steersman.cluster.node.cri import PodSandboxConfig
from steersman.cluster.node.errors import NotHere, RuntimeFailed
from steersman.cluster.node.process.image_index import ImageConfig, ImageIndex, is_own_root
from steersman.cluster.node.process.image_store import ProcessImages

SANDBOX = PodSandboxConfig("uid", "default", "pod")


@pytest.fixture
def index(tmp_path: Path) -> ImageIndex:
    return ImageIndex(tmp_path / "images.json")


@pytest.mark.parametrize("name", ["host/sh", "host/sh:latest", "host/sh:1.2", "host/bin/sh"])
def test_programs_are_images(index: ImageIndex, name: str) -> None:
    found = ProcessImages(index).resolve(name)
    assert found.config.entrypoint[0].endswith("/sh")
    assert found.folder == ""
    assert found.status.id.startswith(f"{name.partition(':')[0]}@sha256:")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nginx:1.27", r'^no image "nginx:1.27" on this machine: use host/<program>, or register a folder '
         r"with steer image add nginx:1.27 <folder>$"),
        ("host/no-such-program", r'^no image "host/no-such-program" on this machine: there is no program '
         r'"no-such-program" in its PATH$'),
    ],
    ids=["unknown", "no program"],
)  # fmt: skip
def test_what_is_not_here_says_what_to_do(index: ImageIndex, name: str, words: str) -> None:
    images = ProcessImages(index)
    assert asyncio.run(images.image_status(name)) is None
    with pytest.raises(NotHere, match=words):
        asyncio.run(images.pull_image(name, SANDBOX, "main"))
    assert images.list_images() == ()


def test_registered_folders_are_images_at_once(tmp_path: Path, index: ImageIndex) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "image.json").write_text('{"entrypoint": ["serve"], "stopSignal": "SIGQUIT", "user": "12:34"}')
    (folder / "data").write_bytes(b"x" * 1000)
    images = ProcessImages(index)
    assert asyncio.run(images.image_status("shop")) is None
    # Another process does so.
    ImageIndex(tmp_path / "images.json").add("shop", folder)
    found = images.resolve("shop:latest")
    assert found.folder == str(folder)
    assert (found.config.entrypoint, found.config.stop_signal, found.config.user) == (
        ("serve",),
        "SIGQUIT",
        "12:34",
    )
    assert found.status.size_bytes >= 1000
    assert images.folder("shop") == folder
    assert asyncio.run(images.pull_image("shop", SANDBOX, "main")) in images.list_images()
    assert index.remove("shop:latest")
    assert not index.remove("shop")
    assert asyncio.run(images.image_status("shop")) is None
    assert folder.exists()


def test_what_was_said_goes_before_what_the_folder_says(tmp_path: Path, index: ImageIndex) -> None:
    (tmp_path / "image.json").write_text(
        '{"entrypoint": ["a"], "cmd": ["b"], "env": {"X": "1", "Y": "1"}, "user": "7", "workingDir": "/a"}'
    )
    index.add("some", tmp_path, ImageConfig(env={"Y": "2"}, working_dir="/b"))
    index.add("other", tmp_path, ImageConfig(entrypoint=("c",)))
    # As another process reads it.
    images = ProcessImages(ImageIndex(tmp_path / "images.json"))
    some = images.resolve("some").config
    assert some == ImageConfig(("a",), ("b",), {"X": "1", "Y": "2"}, "/b", user="7")
    other = images.resolve("other").config
    assert (other.entrypoint, other.cmd) == (("c",), ()), "a program does not get another one's arguments"


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("bin/sh", True),
        ("usr/bin/sh", True),
        ("etc/os-release", True),
        ("usr/lib/os-release", True),
        ("usr/bin/tool", False),
        ("server.py", False),
    ],
)
def test_the_root_of_a_system_is_known_by_what_it_has(
    tmp_path: Path, index: ImageIndex, path: str, own: bool
) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    # A link that leads nowhere from here, as those of systems do.
    (tmp_path / path).symlink_to("/nowhere/at/all")
    assert is_own_root(tmp_path) is own
    index.add("some", tmp_path)
    assert ProcessImages(index).resolve("some").own_root is own


def test_whoever_waits_is_told_how_far_it_is(tmp_path: Path, index: ImageIndex) -> None:
    (tmp_path / "image").mkdir()
    (tmp_path / "image/a").write_bytes(b"xx")
    (tmp_path / "image/deeper").mkdir()
    (tmp_path / "image/deeper/b").write_bytes(b"x")
    told: list[tuple[int, int]] = []
    index.add("some", tmp_path / "image", seen=lambda *so_far: told.append(so_far))
    assert told == [(1, 2), (2, 3)]


def test_what_cannot_be_an_image(tmp_path: Path, index: ImageIndex) -> None:
    with pytest.raises(RuntimeFailed, match="is not a folder"):
        index.add("a", tmp_path / "missing")
    (tmp_path / "image.json").write_text('{"entrypoint": "not a list"}')
    with pytest.raises(RuntimeFailed, match=r"image\.json: Expected `array`"):
        index.add("a", tmp_path)
    assert index.list() == {}


@pytest.mark.parametrize("name", ["pause", "registry.k8s.io/pause:3.10", "k8s.gcr.io/pause@sha256:00"])
def test_pause_is_built_in(index: ImageIndex, name: str) -> None:
    assert ProcessImages(index).resolve(name).config.entrypoint[0] == "/bin/sh"
