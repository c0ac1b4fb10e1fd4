"""`steer raft get|put|delete` against a running node."""

from __future__ import annotations

import asyncio
import json
import subprocess

import pytest

from tests.integration.raft.nodes import cluster
from tests.support.steer import DEADLINE_S, STEER

pytestmark = pytest.mark.slow


def test_the_nodes_state_is_read_and_written_from_the_command_line():
    async def main() -> None:
        async with cluster(1) as [manager]:

            async def steer(*arguments: str) -> tuple[int, str, str]:
                """Exit code, stdout and stderr."""
                command = [str(STEER), "raft", *arguments, "--address", manager.config.located.address]
                done = await asyncio.to_thread(
                    subprocess.run, command, capture_output=True, text=True, timeout=DEADLINE_S
                )
                return done.returncode, done.stdout, done.stderr

            assert await steer("put", "greeting", "hällo", "--over", "0") == (0, "", "")
            value = await manager.get("greeting")
            assert value is not None
            assert value.data.decode() == "hällo"
            await manager.put("binary", b"\xff")
            text, structured, binary, missing, conflict, own = await asyncio.gather(
                steer("get", "greeting"),
                steer("get", "greeting", "--output", "json"),
                steer("get", "binary", "--output", "json"),
                steer("get", "nothing"),
                steer("put", "greeting", "again", "--over", "0"),
                steer("delete", "steersman/size"),
            )
            assert text == (0, "hällo\n", "")
            assert json.loads(structured[1]) == {
                "key": "greeting",
                "value": "hällo",
                "version": value.version,
            }
            assert json.loads(binary[1])["base64"] == "/w=="
            assert missing == (1, "", "steer: key 'nothing' not found\n")
            assert conflict == (1, "", "steer: nothing was changed: greeting already exists\n")
            assert own == (1, "", "steer: keys that begin with steersman/ are the cluster's own\n")
            deleted = await steer("delete", "greeting", "--over", str(value.version), "--output", "json")
            assert deleted == (0, '{"key": "greeting"}\n', "")
            assert await manager.get("greeting") is None

    asyncio.run(main())
