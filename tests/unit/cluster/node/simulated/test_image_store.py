"""Images of simulated nodes, and when they have to be pulled."""

from __future__ import annotations

import pytest

from steersman.cluster.node.cri import PodSandboxConfig
from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.images import with_tag
from steersman.cluster.node.simulated import SimulatedImages
from steersman.testing import VirtualClock, virtual_time


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1", "nginx:1"),
        ("localhost:5000/nginx", "localhost:5000/nginx:latest"),
        ("nginx@sha256:abc", "nginx@sha256:abc"),
    ],
)
def test_the_tag_that_is_meant(given: str, meant: str) -> None:
    assert with_tag(given) == meant


@virtual_time
async def test_a_pull_takes_its_time_and_the_same_name_is_the_same_image() -> None:
    clock = VirtualClock()
    images, others = SimulatedImages(clock, {"pull-time": "5s"}), SimulatedImages(clock)
    config = PodSandboxConfig("u", "n", "p")
    assert await images.image_status("registry:5000/app:1") is None
    pulled = await images.pull_image("registry:5000/app:1", config, "c")
    assert clock.monotonic() == 5
    assert await images.image_status("registry:5000/app:1") == pulled
    assert pulled == await others.pull_image("registry:5000/app:1", config, "c")
    assert pulled.names[0].startswith("registry:5000/app@sha256:")
    await images.remove_image("registry:5000/app:1")
    assert images.list_images() == ()


@virtual_time
async def test_a_pull_fails_as_scripted() -> None:
    annotations = {"c.simulated.steersman.dev/pull-error": "denied"}
    images = SimulatedImages(VirtualClock())
    with pytest.raises(RuntimeFailed, match="denied"):
        await images.pull_image("app:1", PodSandboxConfig("u", "n", "p", annotations=annotations), "c")
    await images.pull_image("app:1", PodSandboxConfig("u", "n", "p", annotations=annotations), "other")
