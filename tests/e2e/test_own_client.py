"""Steersman's own client and a real server process that ends, gracefully or not, and comes back."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from steersman.client import Client, Unreachable, WatchEvents
from steersman.objects.resource_type import ResourceType
from tests.support.manifests import config_map
from tests.support.steer import DEADLINE_S, running

pytestmark = pytest.mark.slow

CONFIG_MAPS = ResourceType("", "v1", "ConfigMap", "configmaps")


async def outcome(events: WatchEvents) -> str:
    """How a watch ends."""
    try:
        async for _ in events:
            pass
    except Unreachable:
        return "broken"
    return "ended"


@pytest.mark.parametrize(
    ("number", "expected"), [(signal.SIGTERM, "ended"), (signal.SIGKILL, "broken")], ids=["stopped", "killed"]
)
def test_a_client_outlives_its_server(number: signal.Signals, expected: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(2 * DEADLINE_S):
            with running(data=tmp_path) as first:
                client = Client.load(kubeconfig=first.kubeconfig)
                port = urlsplit(first.announced["server"]).port
                assert port
                await client.create(config_map("a", x="1"))
                async with client.watch(CONFIG_MAPS, "default") as events:
                    watching = asyncio.create_task(outcome(events))
                    await asyncio.to_thread(first.stop, number)
                    assert await watching == expected
            with pytest.raises(Unreachable) as caught:
                await client.get(CONFIG_MAPS, "a")
            assert not caught.value.maybe_done
            with running(data=tmp_path, port=port):
                assert (await client.get(CONFIG_MAPS, "a"))["data"] == {"x": "1"}
                await client.patch(CONFIG_MAPS, "a", {"data": {"x": "2"}})
                await client.close()

    asyncio.run(main())
