"""The index of registered images (folders of this machine), a small file that several processes may
change.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from steersman.cluster.machine.folders import state_folder
from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.images import with_tag

__all__ = [
    "ImageConfig",
    "ImageIndex",
    "RegisteredImage",
    "config_of",
    "default_index_file",
    "is_own_root",
]

#: What the root of a system has, by any of which it is known.
_OF_ROOTS: Final = ("bin/sh", "usr/bin/sh", "etc/os-release", "usr/lib/os-release")


class ImageConfig(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The configuration of an image: the contents of its `image.json`, or given at registration."""

    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    env: dict[str, str] = {}
    working_dir: str = ""
    stop_signal: str = ""
    user: str = ""

    def over(self, other: ImageConfig) -> ImageConfig:
        """What this says, and what else the other does. A program does not get another one's arguments."""
        return ImageConfig(
            self.entrypoint or other.entrypoint,
            self.cmd if self.cmd or self.entrypoint else other.cmd,
            {**other.env, **self.env},
            self.working_dir or other.working_dir,
            self.stop_signal or other.stop_signal,
            self.user or other.user,
        )


class RegisteredImage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A registered image."""

    folder: str
    size_bytes: int = 0
    config: ImageConfig = ImageConfig()


_decode = msgspec.json.Decoder(dict[str, RegisteredImage]).decode
_decode_config = msgspec.json.Decoder(ImageConfig).decode


class ImageIndex:
    """The registered images. Reads the file again whenever it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None
        self._images: dict[str, RegisteredImage] = {}

    def add(
        self,
        name: str,
        folder: Path,
        config: ImageConfig = ImageConfig(),  # noqa: B008 - never changed
        seen: Callable[[int, int], None] = lambda *_: None,
    ) -> RegisteredImage:
        """Have a folder be an image. Raises `RuntimeFailed` if it cannot be one.

        `config` goes before what the folder says itself. `seen` is told every now and then how many files and
        bytes there are so far.
        """
        folder = folder.resolve()
        if not folder.is_dir():
            raise RuntimeFailed(f"{folder} is not a folder")
        config_of(folder)
        image = RegisteredImage(str(folder), _size(folder, seen), config)
        self._change(lambda images: {**images, with_tag(name): image})
        return image

    def remove(self, name: str) -> bool:
        """Whether there was such an image. The folder stays."""
        known = with_tag(name) in self.list()
        self._change(lambda images: {key: one for key, one in images.items() if key != with_tag(name)})
        return known

    def list(self) -> Mapping[str, RegisteredImage]:
        """All images by name."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return {}
        if self._seen != (found.st_ino, found.st_mtime_ns):
            try:
                self._images = _decode(self._path.read_bytes())
            except msgspec.DecodeError as error:
                raise RuntimeFailed(f"{self._path}: {error}") from error
            self._seen = (found.st_ino, found.st_mtime_ns)
        return self._images

    def _change(self, change: Callable[[Mapping[str, RegisteredImage]], Mapping[str, Any]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{self._path}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            written = msgspec.json.format(msgspec.json.encode(change(self.list())))
            fresh = self._path.with_suffix(".new")
            fresh.write_bytes(written)
            os.replace(fresh, self._path)


def default_index_file() -> Path:
    """The images of this machine's user."""
    return state_folder() / "images.json"


def config_of(folder: Path) -> ImageConfig:
    """What a folder says about how it is run."""
    path = folder / "image.json"
    try:
        return _decode_config(path.read_bytes())
    except FileNotFoundError:
        return ImageConfig()
    except msgspec.DecodeError as error:
        raise RuntimeFailed(f"{path}: {error}") from error


def is_own_root(folder: Path) -> bool:
    """Whether a folder is the root of a system, not just some files. Its links are not followed: they lead
    somewhere within it."""
    return any(os.path.lexists(folder / path) for path in _OF_ROOTS)


def _size(folder: Path, seen: Callable[[int, int], None]) -> int:
    total = count = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except OSError:
                continue
        count += len(names)
        seen(count, total)
    return total
