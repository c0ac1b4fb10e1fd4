"""Logs through the API server: what is asked of the node, what is made of its answers."""

from __future__ import annotations

import asyncio
import base64

import pytest

from steersman.client.errors import ApiError
from steersman.http import Client as Http
from steersman.http import Request, Response, client_tls
from tests.support.streaming_node import StreamingWorld
from tests.support.waiting import pass_time

LOG = "/api/v1/namespaces/default/pods/{}/log"


def ask(world: StreamingWorld, query: str = "", pod: str = "one") -> bytes:
    return world.run(world.client.request("GET", f"{LOG.format(pod)}{query}"))


def refused(world: StreamingWorld, query: str = "", pod: str = "one") -> ApiError:
    with pytest.raises(ApiError) as error:
        ask(world, query, pod)
    return error.value


def test_a_log_is_read_from_the_node(world: StreamingWorld) -> None:
    world.node.log = Response(200, b"one\ntwo\n")
    assert ask(world) == b"one\ntwo\n"
    assert world.node.asked[-1] == ("/containerLogs/default/one/main", {})


def test_options_are_passed_on(world: StreamingWorld) -> None:
    world.node.log = Response(200, b"")
    ask(
        world,
        "?container=second&previous=true&timestamps=1&tailLines=0&limitBytes=9&follow=false"
        "&sinceTime=2026-01-02T03%3A04%3A05%2B01%3A00",
        "two",
    )
    assert world.node.asked[-1] == (
        "/containerLogs/default/two/second",
        {
            "previous": ["true"],
            "timestamps": ["true"],
            "tailLines": ["0"],
            "limitBytes": ["9"],
            "sinceTime": ["2026-01-02T03:04:05+01:00"],
        },
    )


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        (
            "?tailLines=-1",
            422,
            'PodLogOptions "one" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
        ),
        (
            "?limitBytes=0",
            422,
            'PodLogOptions "one" is invalid: limitBytes: Invalid value: 0: must be greater than 0',
        ),
        (
            "?sinceSeconds=0",
            422,
            'PodLogOptions "one" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0',
        ),
        (
            "?sinceSeconds=1&sinceTime=2026-01-02T03:04:05Z",
            422,
            'PodLogOptions "one" is invalid: []: Forbidden: '
            "at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
        ("?stream=Stdout", 422, 'PodLogOptions "one" is invalid: stream: Forbidden: may not be specified'),
        ("?tailLines=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        (
            "?sinceTime=yesterday",
            400,
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
        ),
        ("?container=no", 400, "container no is not valid for pod one"),
    ],
)
def test_wrong_options_are_refused(world: StreamingWorld, query: str, code: int, message: str) -> None:
    error = refused(world, query)
    assert (error.code, error.message) == (code, message)


def test_of_several_containers_one_must_be_named(world: StreamingWorld) -> None:
    error = refused(world, pod="two")
    assert error.message == "a container name must be specified for pod two, choose one of: [first second]"


@pytest.mark.parametrize(
    ("code", "said", "reason", "message"),
    [
        (400, "waiting to start", "BadRequest", "waiting to start"),
        (500, "no disk", "InternalError", "Internal error occurred: no disk"),
        (404, "?", "NotFound", "the server could not find the requested resource ( pods/log one)"),
        (403, "not you", "Forbidden", "not you ( pods/log one)"),
        (
            503,
            "",
            "ServiceUnavailable",
            "the server is currently unable to handle the request ( pods/log one)",
        ),
        (
            501,
            "simulated",
            "InternalError",
            'an error on the server ("simulated") has prevented the request from succeeding ( pods/log one)',
        ),
    ],
)
def test_refusals_of_the_node_become_the_apis(
    world: StreamingWorld, code: int, said: str, reason: str, message: str
) -> None:
    world.node.log = Response(code, said.encode())
    error = refused(world)
    assert (error.code, error.reason, error.message) == (code, reason, message)


def test_a_long_log_is_passed_on_whole(world: StreamingWorld) -> None:
    lines = b"".join(b"%08d\n" % number for number in range(200_000))
    world.node.log = Response(200, lines)
    assert ask(world) == lines


def test_a_followed_log_comes_line_by_line_and_ends_with_the_client(world: StreamingWorld) -> None:
    left = asyncio.Event()

    async def follow(request: Request) -> Response | None:
        stream = request.stream(200, ())
        stream.on_close(left.set)
        number = 0
        while not stream.closed:
            stream.write(b"line %d\n" % number)
            number += 1
            await pass_time(0.005, "the pace at which the container writes")
        return None

    async def read() -> list[bytes]:
        world.node.log = follow
        async with world.client.follow_logs("one") as lines:
            seen = [await anext(lines) for _ in range(20)]
        await left.wait()
        return seen

    assert world.run(read()) == [b"line %d" % number for number in range(20)]


@pytest.mark.parametrize("protocol", ["binary.k8s.io", "base64.binary.k8s.io", None])
def test_a_log_is_told_over_a_websocket(world: StreamingWorld, protocol: str | None) -> None:
    world.node.log = Response(200, b"container is alive\n\xff")

    async def read() -> list[bytes | str]:
        headers = [(b"Authorization", f"Bearer {world.cluster.token}".encode())]
        async with Http(world.cluster.url, ssl=client_tls(ca=world.cluster.authority.pem)) as http:
            asked = (protocol,) if protocol else ()
            socket = await http.websocket(f"{LOG.format('one')}?container=main", asked, headers=headers)
            assert socket.subprotocol == protocol
            return [message async for message in socket]

    greeting, *said = world.run(read())
    assert not greeting
    if protocol == "base64.binary.k8s.io":
        assert b"".join(map(base64.b64decode, said)) == b"container is alive\n\xff"
    else:
        assert b"".join(map(bytes, said)) == b"container is alive\n\xff"  # type: ignore[arg-type]
