"""Images that are programs or folders of this machine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from steersman.cluster.node.cri import PodSandboxConfig
from steersman.cluster.node.errors import NotHere, RuntimeFailed
from steersman.cluster.node.process.image_index import ImageIndex
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


def test_what_cannot_be_an_image(tmp_path: Path, index: ImageIndex) -> None:
    with pytest.raises(RuntimeFailed, match="is no folder"):
        index.add("a", tmp_path / "missing")
    (tmp_path / "image.json").write_text('{"entrypoint": "not a list"}')
    with pytest.raises(RuntimeFailed, match=r"image\.json: Expected `array`"):
        index.add("a", tmp_path)
    assert index.list() == {}


@pytest.mark.parametrize("name", ["pause", "registry.k8s.io/pause:3.10", "k8s.gcr.io/pause@sha256:00"])
def test_pause_is_built_in(index: ImageIndex, name: str) -> None:
    assert ProcessImages(index).resolve(name).config.entrypoint[0] == "/bin/sh"
