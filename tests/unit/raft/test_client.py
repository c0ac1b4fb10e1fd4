"""What a client does when nodes decline, hang and break, and what it says of the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from steersman.raft.client import RaftClient
from steersman.raft.errors import NodeStopped, NotAllowed, OutcomeUnknown, PeerUnavailable, SettingsError
from steersman.raft.state_machine import ClusterState, Located, Value
from steersman.raft.transport.requests import (
    Declined,
    Found,
    Read,
    Reply,
    Request,
    Unclear,
    Welcome,
    Written,
)
from steersman.raft.transport.tls import TlsFiles
from tests.support.waiting import until

SIZE = 3


class Node:
    """Takes streams, and does with requests what it was told to."""

    def __init__(self, network: Network, number: int) -> None:
        self.network = network
        self.at = Located(f"n{number}", f"host:{number}")
        #: For the next requests, one each; then they are done and answered.
        self.moods: list[str] = []
        self.up = True
        self.hangs = False
        self.streams: list[Stream] = []
        self.asked = 0
        #: Done, and not answered yet.
        self.kept: list[Reply] = []

    def answer(self, request: Request) -> Reply | None:
        """None: nothing comes yet. Raises PeerUnavailable: the stream breaks."""
        self.asked += 1
        if self.network.leader is not self:
            return Declined(request.id, "does not lead", self.network.named_by(self))
        mood = self.moods.pop(0) if self.moods else "do"
        match mood:
            case "decline":
                return Declined(request.id, "too much to do")
            case "lose":
                raise PeerUnavailable
            case "do and lose":
                self.network.do(request)
                raise PeerUnavailable
            case "do and keep":
                self.kept.append(self.network.do(request))
                return None
            case "do and be unclear":
                self.network.do(request)
                return Unclear(request.id, "it was stopped")
            case "be unclear":
                return Unclear(request.id, "it was stopped")
        return self.network.do(request)


class Network:
    def __init__(self) -> None:
        self.nodes = [Node(self, number) for number in range(SIZE)]
        self.leader: Node | None = self.nodes[0]
        self.term = 1
        self.state = ClusterState()
        self.index = 0
        self.silent = False

    def named_by(self, node: Node) -> Located | None:
        return None if self.silent or self.leader in (None, node) else self.leader.at

    def do(self, request: Request) -> Reply:
        if isinstance(request, Read):
            return Found(request.id, self.state.values.get(request.key))
        self.index += 1
        return Written(request.id, self.state.apply(self.index, ClusterState.encode(request.command)))

    def elect(self, number: int) -> None:
        self.leader = self.nodes[number]
        self.term += 1

    async def connect(self, at: Located, tls: TlsFiles | None) -> Stream:
        node = next(node for node in self.nodes if node.at.address == at.address)
        if node.hangs:
            await asyncio.Event().wait()
        if not node.up:
            raise PeerUnavailable(f"{at.name}: Connection refused")
        stream = Stream(node, Welcome(self.term, node is self.leader, self.named_by(node)))
        node.streams.append(stream)
        return stream

    def client(self, first: int = 0, *, timeout_s: float = 5.0) -> RaftClient:
        nodes = [*self.nodes[first:], *self.nodes[:first]]
        addresses = [f"{node.at.name}={node.at.address}" for node in nodes]
        return RaftClient(addresses, connect=self.connect, timeout_s=timeout_s)


class Stream:
    def __init__(self, node: Node, welcome: Welcome) -> None:
        self.node = node
        self.welcome = welcome
        self.frames: asyncio.Queue[Sequence[Reply] | None] = asyncio.Queue()
        self.sizes: list[int] = []
        self.closed = False

    async def send(self, requests: Sequence[Request]) -> None:
        self.sizes.append(len(requests))
        if self.node.hangs:
            return
        try:
            replies = [self.node.answer(request) for request in requests]
        except PeerUnavailable:
            self.frames.put_nowait(None)
        else:
            self.frames.put_nowait([reply for reply in replies if reply is not None])

    async def receive(self) -> Sequence[Reply]:
        frame = await self.frames.get()
        if frame is None:
            raise PeerUnavailable("the stream is broken")
        return frame

    async def close(self) -> None:
        self.closed = True


def run(check: Callable[[Network], Awaitable[None]]) -> None:
    async def main() -> None:
        network = Network()
        async with asyncio.timeout(30):
            await check(network)
        assert all(stream.closed for node in network.nodes for stream in node.streams)

    asyncio.run(main())


def test_it_reads_and_writes_as_a_member_does():
    async def check(network: Network) -> None:
        async with network.client() as client:
            assert await client.get("k") is None
            assert await client.put("k", b"1", over=0)
            value = await client.get("k")
            assert value == Value(b"1", 1)
            assert not await client.put("k", b"2", over=0)
            assert await client.put("k", b"2", over=value.version)
            assert not await client.delete("k", over=value.version)
            assert await client.delete("k")
            assert await client.get("k") is None
            assert len(network.nodes[0].streams) == 1

    run(check)


def test_whoever_is_asked_first_names_the_leader():
    async def check(network: Network) -> None:
        async with network.client(first=1) as client:
            assert await client.put("k", b"1")
        assert [len(node.streams) for node in network.nodes] == [1, 1, 0]
        assert [node.asked for node in network.nodes] == [1, 0, 0]

    run(check)


def test_what_gathers_leaves_together():
    async def check(network: Network) -> None:
        async with network.client() as client:
            assert await asyncio.gather(*(client.put(f"k{n}", b"") for n in range(64))) == [True] * 64
        [stream] = network.nodes[0].streams
        assert stream.sizes == [64]

    run(check)


def test_large_requests_leave_in_several_frames():
    async def check(network: Network) -> None:
        async with network.client() as client:
            await asyncio.gather(*(client.put(f"k{n}", bytes(400_000)) for n in range(6)))
        [stream] = network.nodes[0].streams
        assert stream.sizes == [2, 2, 2]

    run(check)


@pytest.mark.parametrize("hint", [True, False], ids=["names its successor", "names nobody"])
def test_a_node_that_no_longer_leads_is_left_for_the_one_that_does(hint):
    async def check(network: Network) -> None:
        async with network.client() as client:
            await client.put("k", b"1")
            network.elect(2)
            network.silent = not hint
            assert await asyncio.gather(*(client.put(f"k{n}", b"") for n in range(3))) == [True] * 3
        assert network.nodes[2].asked == 3
        assert network.index == 4, "nothing was done twice"

    run(check)


def test_what_was_declined_is_asked_again_until_the_time_is_up():
    async def check(network: Network) -> None:
        network.nodes[0].moods = ["decline"] * 3
        async with network.client() as client:
            assert await client.put("k", b"1")
        assert network.nodes[0].asked == 4
        network.nodes[0].moods = ["decline"] * 1000
        async with network.client(timeout_s=0.2) as client:
            with pytest.raises(
                PeerUnavailable, match=r"no answer within 0\.2 s: n0 at host:0: too much to do"
            ):
                await client.put("k", b"2")
        assert network.state.values["k"].data == b"1"

    run(check)


def put(over: int | None) -> Callable[[RaftClient], Awaitable[bool]]:
    return lambda client: client.put("k", b"new", over=over)


def delete(over: int | None) -> Callable[[RaftClient], Awaitable[bool]]:
    return lambda client: client.delete("k", over=over)


@pytest.mark.parametrize("mood", ["lose", "do and lose", "be unclear", "do and be unclear"])
@pytest.mark.parametrize(
    ("write", "repeated"),
    [
        pytest.param(put(None), False, id="put"),
        pytest.param(put(0), False, id="put over nothing"),
        pytest.param(delete(None), False, id="delete"),
        pytest.param(put(1), True, id="put over a version"),
        pytest.param(delete(1), True, id="delete over a version"),
    ],
)
def test_a_write_without_an_answer_is_repeated_only_if_it_cannot_be_done_twice(write, repeated, mood):
    """Of a repeated one the outcome is known if the first was not done."""

    async def check(network: Network) -> None:
        async with network.client() as client:
            assert await client.put("k", b"old")
            network.nodes[0].moods = [mood]
            if repeated and "do" not in mood.split():
                assert await write(client)
            else:
                with pytest.raises(OutcomeUnknown):
                    await write(client)
            assert network.nodes[0].asked == (3 if repeated else 2)

    run(check)


def test_a_read_without_an_answer_is_repeated():
    async def check(network: Network) -> None:
        network.nodes[0].moods = ["lose", "be unclear"]
        async with network.client() as client:
            assert await client.get("k") is None
        assert network.nodes[0].asked == 3

    run(check)


def test_answers_that_are_under_way_are_awaited_though_others_were_declined():
    async def check(network: Network) -> None:
        first = network.nodes[0]
        first.moods = ["do and keep"]
        async with network.client() as client:
            early = asyncio.create_task(client.put("k", b"1"))
            await until(lambda: first.kept)
            network.elect(1)
            assert await client.put("l", b"1"), "by the next leader"
            assert not early.done()
            [stream] = first.streams
            stream.frames.put_nowait(first.kept)
            assert await early
            await until(lambda: stream.closed)

    run(check)


def test_a_leader_that_hangs_is_left_when_another_leads():
    async def check(network: Network) -> None:
        async with network.client(timeout_s=20) as client:
            await client.put("k", b"1")
            network.nodes[0].hangs = True
            write, read = (asyncio.create_task(ask) for ask in (client.put("k", b"2"), client.get("k")))
            network.elect(2)
            assert (await read) == Value(b"1", 1)
            with pytest.raises(OutcomeUnknown, match="n0 at host:0 is silent, and n2 leads"):
                await write
            assert await client.put("k", b"3")

    run(check)


def test_a_leader_that_hangs_while_nobody_else_leads_is_waited_for_until_the_time_is_up():
    async def check(network: Network) -> None:
        async with network.client(timeout_s=0.2) as client:
            await client.put("k", b"1")
            network.nodes[0].hangs = True
            with pytest.raises(OutcomeUnknown, match=r"no answer within 0\.2 s"):
                await client.put("k", b"2")
            with pytest.raises(PeerUnavailable, match=r"no answer within 0\.2 s"):
                await client.get("k")

    run(check)


def test_nobody_there_is_said():
    async def check(network: Network) -> None:
        for node in network.nodes:
            node.up = False
        async with network.client(timeout_s=0.1) as client:
            for ask in (client.put("k", b""), client.get("k")):
                with pytest.raises(PeerUnavailable, match=r"no answer within 0\.1 s: n2: Connection refused"):
                    await ask
        network.nodes[1].up = True
        network.leader = None
        async with network.client(timeout_s=0.1) as client:
            with pytest.raises(PeerUnavailable, match=r"no answer within 0\.1 s"):
                await client.delete("k")

    run(check)


def test_what_nobody_may_do_is_said_at_once():
    async def refuse(at: Located, tls: TlsFiles | None) -> Stream:
        raise NotAllowed(f"{at.name}: not a member's")

    async def main() -> None:
        async with RaftClient(["n0=host:0", "n1=host:1"], connect=refuse) as client:
            with pytest.raises(NotAllowed, match="n1: not a member's"):
                await client.get("k")
            with pytest.raises(NotAllowed, match="key and value have 1048577 bytes together"):
                await client.put("k", bytes(1 << 20))

    asyncio.run(main())


def test_whoever_stops_waiting_is_not_sent():
    async def check(network: Network) -> None:
        network.leader = None
        async with network.client() as client:
            asking = asyncio.create_task(client.put("k", b"1"))
            await until(lambda: network.nodes[0].streams)
            asking.cancel()
            network.elect(0)
            assert await client.put("l", b"1")
        assert network.index == 1

    run(check)


def test_closing_tells_whoever_waits():
    async def check(network: Network) -> None:
        client = network.client()
        async with client:
            await client.put("k", b"1")
            network.nodes[0].hangs = True
            asking = [
                asyncio.create_task(ask)
                for ask in (client.put("k", b"2"), client.put("k", b"2", over=1), client.get("k"))
            ]
            await until(lambda: network.nodes[0].streams[0].sizes == [1, 3])
        outcomes = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [OutcomeUnknown, OutcomeUnknown, PeerUnavailable]
        with pytest.raises(NodeStopped, match="not open"):
            await client.get("k")

    run(check)


@pytest.mark.parametrize("turns", range(12))
def test_closing_leaves_no_stream_open_whenever_it_comes(turns):
    async def check(network: Network) -> None:
        async with network.client(first=1) as client:
            asking = asyncio.create_task(client.put("k", b"1"))
            for _ in range(turns):
                await asyncio.sleep(0)
        await asyncio.gather(asking, return_exceptions=True)

    run(check)


def test_addresses_that_are_none_are_refused():
    with pytest.raises(SettingsError, match="needs the address"):
        RaftClient([])
    with pytest.raises(SettingsError, match="expected HOST:PORT"):
        RaftClient(["nowhere"])
