"""A program that is no member, and nodes on their own threads: who is served, and what is said."""

from __future__ import annotations

import asyncio
import itertools
import logging
from contextlib import suppress
from pathlib import Path

import grpc
import msgspec
import pytest

from steersman.raft.client import RaftClient
from steersman.raft.core import NotLeader
from steersman.raft.errors import NotAllowed, OutcomeUnknown
from steersman.raft.manager import RaftNodeManager
from steersman.raft.state_machine import Located, Put
from steersman.raft.transport.channels import SERVICE, open_channel
from steersman.raft.transport.requests import Write, Written, decode_replies, encode
from steersman.raft.transport.tls import TlsFiles
from tests.e2e.raft.certificates import TestAuthority
from tests.integration.raft.nodes import cluster, leader_of, until

pytestmark = [pytest.mark.slow]

PATIENCE_S = 30.0


def client_of(managers: list[RaftNodeManager], tls: TlsFiles | None = None) -> RaftClient:
    located = [manager.config.located for manager in managers]
    return RaftClient([f"{at.name}={at.address}" for at in located], tls=tls, timeout_s=PATIENCE_S)


def test_a_client_shares_the_members_state_whichever_it_asks_first():
    async def main() -> None:
        async with cluster(3) as managers:
            leader = await leader_of(managers)
            await leader.put("theirs", bytes(3 << 20))
            for manager in managers:
                async with client_of([manager]) as client:
                    key = f"from-{manager.config.node}"
                    assert await client.get(key) is None
                    assert await client.put(key, b"1", over=0)
                    value = await client.get(key)
                    assert value is not None
                    assert value == await leader.get(key)
                    assert not await client.put(key, b"2", over=value.version + 1)
                    assert await client.put(key, b"2", over=value.version)
                    assert await client.delete(key)
                    assert await leader.get(key) is None
                    theirs = await client.get("theirs")
                    assert theirs is not None
                    assert len(theirs.data) == 3 << 20
                    with pytest.raises(
                        NotAllowed, match="keys that begin with steersman/ are the cluster's own"
                    ):
                        await client.put("steersman/size", b"0")
                    assert leader.size is None

    asyncio.run(main())


def test_leadership_that_is_handed_over_costs_a_client_no_outcome():
    async def main() -> None:
        async with cluster(3) as managers, client_of(managers) as client:
            term, handed_over = (await leader_of(managers)).term, 0
            done: list[int] = []
            unknown: list[OutcomeUnknown] = []
            stop = asyncio.Event()

            async def write(writer: int) -> None:
                """Count up, and read what was written."""
                for number in itertools.count(1):
                    if stop.is_set():
                        return
                    try:
                        assert await client.put(f"k{writer}", b"%d" % number)
                    except OutcomeUnknown as error:
                        unknown.append(error)
                        continue
                    value = await client.get(f"k{writer}")
                    assert value is not None
                    assert value.data == b"%d" % number
                    done.append(number)

            async def more() -> None:
                target = len(done) + 50
                await until(lambda: len(done) >= target)

            async with asyncio.TaskGroup() as tasks:
                for writer in range(8):
                    tasks.create_task(write(writer))
                for _ in range(3):
                    await more()
                    leader = await leader_of(managers)
                    with suppress(NotLeader):
                        await leader.transfer()
                        handed_over += 1
                        await until(lambda leader=leader: not leader.is_leader)
                await more()
                stop.set()
            # A machine that is too busy for heartbeats elects without being asked to.
            if (await leader_of(managers)).term == term + handed_over:
                assert unknown == []

    asyncio.run(main())


def test_with_certificates_only_a_members_is_served(tmp_path: Path):
    async def main() -> None:
        authority = TestAuthority()

        def shape(config):
            return config.tls(authority.write(tmp_path / str(config.node), f"node-{config.node}"))

        async with cluster(2, shape) as managers:
            for node in range(2):
                async with client_of(managers, TlsFiles.folder(tmp_path / str(node))) as client:
                    assert await client.put("k", b"%d" % node)
            outsider = TlsFiles.folder(authority.write(tmp_path / "outsider", "webserver"))
            async with client_of(managers, outsider) as client:
                for asking in (client.put("k", b"!"), client.get("k")):
                    with pytest.raises(NotAllowed, match="the certificate of webserver is not a member's"):
                        await asking
            value = await managers[0].get("k")
            assert value is not None
            assert value.data == b"1"

    asyncio.run(main())


@pytest.mark.parametrize("method", ["Probe", "Join", "Order"])
@pytest.mark.parametrize("message", [b"", b"\xc1", b"\x93\x01\x02\x03"], ids=["empty", "garbage", "numbers"])
def test_questions_that_make_no_sense_end_with_a_status(method, message, caplog):
    async def main() -> None:
        async with cluster(1) as [manager]:
            channel = open_channel(manager.config.located, None)
            try:
                with pytest.raises(grpc.aio.AioRpcError) as failure:
                    await channel.unary_unary(f"/{SERVICE}/{method}")(message, timeout=PATIENCE_S)
            finally:
                await channel.close()
            assert failure.value.code() is grpc.StatusCode.INVALID_ARGUMENT

    asyncio.run(main())
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_requests_that_make_no_sense_end_with_a_status_and_harm_nobody(caplog):
    async def main() -> None:
        async with cluster(1) as [manager]:
            members_own = msgspec.msgpack.encode([["write", 2, ["new", 1, ["n", "host:1"]]]])
            for message in (b"", b"\xc1", msgspec.msgpack.encode([["drop", 1]]), members_own):
                assert await _after(manager.config.located, message) is grpc.StatusCode.INVALID_ARGUMENT
            async with client_of([manager]) as client:
                assert await client.put("k", b"")

    asyncio.run(main())
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def _after(at: Located, message: bytes) -> grpc.StatusCode:
    """How a stream ends that has begun well."""
    channel = open_channel(at, None)
    try:
        stream = channel.stream_stream(f"/{SERVICE}/Requests")()
        await stream.read()
        await stream.write(encode([Write(1, Put("k", b""))]))
        assert decode_replies(await stream.read()) == [Written(1, True)]
        await stream.write(message)
        code: grpc.StatusCode = await stream.code()
        return code
    finally:
        await channel.close()
