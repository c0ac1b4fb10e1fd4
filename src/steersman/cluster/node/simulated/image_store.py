"""The images of a simulated node: names that were pulled. Nothing is downloaded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache

from steersman.aio import Clock
from steersman.cluster.node.cri import ImageStatus, PodSandboxConfig
from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.image_names import image_name_problem
from steersman.cluster.node.simulated.script import ContainerScript

__all__ = ["SimulatedImages"]


class SimulatedImages:
    """The `ImageService` of a simulated node."""

    def __init__(self, clock: Clock, defaults: Mapping[str, str] | None = None) -> None:
        self._clock = clock
        self._defaults = defaults
        self._images: dict[str, ImageStatus] = {}

    def name_problem(self, image: str) -> str:
        return image_name_problem(image)

    async def image_status(self, image: str) -> ImageStatus | None:
        return self._images.get(image)

    async def pull_image(self, image: str, sandbox: PodSandboxConfig, container: str) -> ImageStatus:
        script = ContainerScript(sandbox.annotations, container, self._defaults)
        if delay_s := script.seconds("pull-time"):
            await self._clock.sleep(delay_s)
        if problem := script.text("pull-error"):
            raise RuntimeFailed(problem)
        self._images[image] = _image(image)
        return self._images[image]

    async def remove_image(self, image: str) -> None:
        self._images.pop(image, None)

    def list_images(self) -> Sequence[ImageStatus]:
        return tuple(self._images.values())


@lru_cache(4096)
def _image(name: str) -> ImageStatus:
    """The same for every node: an image's name decides its digest and size."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    repository = name.partition("@")[0]
    head, _, last = repository.rpartition("/")
    repository = f"{head}/{last.partition(':')[0]}" if head else last.partition(":")[0]
    reference = f"{repository}@sha256:{digest}"
    return ImageStatus(reference, 1_000_000 + int(digest[:6], 16) * 10, (reference, name))
