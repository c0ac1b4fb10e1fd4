"""Pulling images: imagePullPolicy, and back-off after errors (ImagePullBackOff).

Called by pod workers; the image service does the pulling.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from steersman.aio import Clock
from steersman.cluster.node.cri import ImageService, ImageStatus, PodSandboxConfig
from steersman.cluster.node.errors import RuntimeFailed, StartFailed
from steersman.cluster.node.events import NodeEvents
from steersman.cluster.node.restarts import IMAGE_FORGET_S, Backoffs, go_duration
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Container

__all__ = ["ImagePuller", "with_tag"]

#: So long the failure of a pull is shown before the wait for the next one is.
_SHOWN_S = 5.0
#: Failures that the image service names itself.
_NAMED = {
    "RegistryUnavailable": "the registry is unavailable",
    "SignatureValidationFailed": "the signature validation failed",
}


class ImagePuller:
    """Pulls a pod's images. One per pod, created on the first error, since it only remembers errors."""

    def __init__(self, service: ImageService, events: NodeEvents, clock: Clock) -> None:
        self._service = service
        self._events = events
        self._clock = clock
        self._backoffs = Backoffs(IMAGE_FORGET_S)
        self._failures: dict[str, str] = {}

    @property
    def failing(self) -> bool:
        return bool(self._failures)

    async def ensure(self, about: Mapping[str, Any], container: Container, sandbox: PodSandboxConfig) -> str:
        """Have the container's image on the node; returns its reference. Raises `StartFailed`.

        `about` is what events are about.
        """
        asked = container.get("image", "")
        policy = container.get("imagePullPolicy") or "IfNotPresent"
        if problem := self._service.name_problem(asked):
            parsing = f"couldn't parse image name {quote(asked)}: {problem}"
            message = f"Failed to apply default image tag {quote(asked)}: {parsing}"
            self._events.warning(about, "InspectFailed", message)
            raise StartFailed("InvalidImageName", message)
        image = with_tag(asked)
        present = None if policy == "Always" else await self._service.image_status(image)
        if present is not None:
            note = f"Container image {quote(asked)} already present on machine and can be accessed by the pod"
            self._events.normal(about, "Pulled", note)
            return present.id
        if policy == "Never":
            message = f"Container image {quote(asked)} is not present with pull policy of Never"
            self._events.warning(about, "ErrImageNeverPull", message)
            raise StartFailed("ErrImageNeverPull", message)
        return (await self._pull(about, asked, image, sandbox, container["name"])).id

    async def _pull(
        self, about: Mapping[str, Any], asked: str, image: str, sandbox: PodSandboxConfig, container: str
    ) -> ImageStatus:
        began = self._clock.monotonic()
        failed_at = self._backoffs.failed_at(asked)
        until = None if failed_at is None else self._backoffs.until(asked, failed_at, began)
        if until is not None:
            message = f"Back-off pulling image {quote(asked)}"
            self._events.normal(about, "BackOff", message)
            if known := self._failures.get(asked):
                message = f"{message}: {known}"
            raise StartFailed("ImagePullBackOff", message, until)
        self._failures.pop(asked, None)
        self._events.normal(about, "Pulling", f"Pulling image {quote(asked)}")
        try:
            pulled = await self._service.pull_image(image, sandbox, container)
        except RuntimeFailed as error:
            self._failed(about, asked, str(error))
        took = go_duration(int((self._clock.monotonic() - began) * 1000) / 1000)
        self._events.normal(
            about,
            "Pulled",
            f"Successfully pulled image {quote(asked)} in {took} ({took} including waiting). "
            f"Image size: {pulled.size_bytes} bytes.",
        )
        return pulled

    def _failed(self, about: Mapping[str, Any], asked: str, problem: str) -> NoReturn:
        now = self._clock.monotonic()
        self._events.warning(about, "Failed", f"Failed to pull image {quote(asked)}: {problem}")
        self._backoffs.advance(asked, now, now)
        reason, message = "ErrImagePull", problem
        for name, words in _NAMED.items():
            if problem.startswith(name):
                reason = name
                message = f"image pull failed for {asked} because {words}{problem.removeprefix(name)}"
        self._failures[asked] = f"{reason}: {message}"
        raise StartFailed(reason, message, now + _SHOWN_S)


def with_tag(image: str) -> str:
    """The image's name with the tag that is meant when there is none."""
    return image if "@" in image or ":" in image.rpartition("/")[2] else f"{image}:latest"
