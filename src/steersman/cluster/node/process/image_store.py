"""The images of the process runtime: programs of this machine, and registered folders.

| image                   | runs                                                                          |
|-------------------------|-------------------------------------------------------------------------------|
| `host/NAME`             | the program NAME of the machine's PATH (`host/usr/bin/env`: of that path);    |
|                         | arguments that begin with the program itself are the whole command            |
| a registered name       | the command of its registration, or of `image.json` in its folder: with the   |
|                         | folder over the machine's root, or alone if it is the root of a system        |
| `…/pause`               | nothing, until it is stopped                                                  |

Nothing is ever fetched: an image is on this machine or it is not.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from steersman.cluster.node.cri import ImageStatus, PodSandboxConfig
from steersman.cluster.node.errors import NotHere
from steersman.cluster.node.images import with_tag
from steersman.cluster.node.process.accounts import Accounts, ImageAccounts, MachineAccounts
from steersman.cluster.node.process.image_index import ImageConfig, ImageIndex, config_of, is_own_root
from steersman.objects.fields import quote

__all__ = ["Image", "ProcessImages"]

_HOST: Final = "host/"
_PAUSE: Final = re.compile(r"(^|/)pause(:|@|$)")
#: Does nothing and ends well when it is told to, as the real one does.
_SLEEPER: Final = ("/bin/sh", "-c", 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done')


class Image(NamedTuple):
    """An image as it is run: program, folder and defaults."""

    status: ImageStatus
    config: ImageConfig
    #: Laid over the machine's root, or in its place; empty for programs of the machine.
    folder: str = ""
    #: Whether the folder is the root of a system, with nothing of the machine's beneath it.
    own_root: bool = False
    #: The program of the machine that the image is; empty for others.
    program: str = ""

    @property
    def accounts(self) -> Accounts:
        """Who is who for its programs."""
        own = ImageAccounts(self.folder)
        return own if self.own_root or (self.folder and own.exist) else MachineAccounts()


class ProcessImages:
    def __init__(self, index: ImageIndex) -> None:
        self._index = index
        self._used: dict[str, ImageStatus] = {}

    def name_problem(self, image: str) -> str:
        return ""  # programs have the names they have

    async def image_status(self, image: str) -> ImageStatus | None:
        found = self._find(image)
        if found is None:
            return None
        self._used[with_tag(image)] = found.status
        return found.status

    async def pull_image(self, image: str, sandbox: PodSandboxConfig, container: str) -> ImageStatus:
        found = await self.image_status(image)
        if found is None:
            raise NotHere(_missing(image))
        return found

    async def remove_image(self, image: str) -> None:
        """It is no longer listed; programs and folders stay."""
        self._used.pop(with_tag(image), None)

    def list_images(self) -> Sequence[ImageStatus]:
        return tuple(self._used.values())

    def resolve(self, image: str) -> Image:
        """What a container of this image runs. Raises `NotHere`."""
        found = self._find(image)
        if found is None:
            raise NotHere(_missing(image))
        return found

    def folder(self, image: str) -> Path | None:
        """The folder registered by this name."""
        registered = self._index.list().get(with_tag(image))
        return None if registered is None else Path(registered.folder)

    def _find(self, image: str) -> Image | None:
        name = with_tag(image)
        registered = self._index.list().get(name)
        if registered is not None:
            folder = Path(registered.folder)
            if not folder.is_dir():
                return None
            status = _status(name, f"{folder}:{folder.stat().st_mtime_ns}", registered.size_bytes)
            config = registered.config.over(config_of(folder))
            return Image(status, config, registered.folder, is_own_root(folder))
        if name.startswith(_HOST):
            return _of_host(name)
        if _PAUSE.search(name):
            return Image(_status(name, "pause", 0), ImageConfig(entrypoint=_SLEEPER))
        return None


def _of_host(name: str) -> Image | None:
    wanted = _repository(name).removeprefix(_HOST)
    path = shutil.which(f"/{wanted}" if "/" in wanted else wanted)
    if path is None:
        return None
    found = os.stat(path)
    status = _status(name, f"{path}:{found.st_size}:{found.st_mtime_ns}", found.st_size)
    return Image(status, ImageConfig(entrypoint=(path,)), program=path)


def _repository(name: str) -> str:
    head, slash, last = name.partition("@")[0].rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def _status(name: str, identity: str, size_bytes: int) -> ImageStatus:
    reference = f"{_repository(name)}@sha256:{hashlib.sha256(identity.encode()).hexdigest()}"
    return ImageStatus(reference, size_bytes, (reference, name))


def _missing(image: str) -> str:
    if image.startswith(_HOST):
        program = _repository(image).removeprefix(_HOST)
        return f"no image {quote(image)} on this machine: there is no program {quote(program)} in its PATH"
    return (
        f"no image {quote(image)} on this machine: use host/<program>, or register a folder with "
        f"steer image add {image} <folder>"
    )
