"""When tokens are asked for, and what if there is no answer."""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any, cast

import orjson
import pytest

from steersman.client import Client, Unreachable
from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.cluster.node.volumes.tokens import ProjectedTokenRequest, Tokens
from steersman.objects.times import format_time

REQUEST = ProjectedTokenRequest("ns", "robot", "p", "uid-1", "vault", 1000)


class Clock:
    """Shows the time it is told to."""

    def __init__(self) -> None:
        self.now = 1_780_000_000.0

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, delay_s: float) -> None:
        raise AssertionError("nothing sleeps here")


class Issuer:
    """Answers requests for tokens like the API, while it is there."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.asked: list[Any] = []
        self.there = True

    async def request(self, method: str, path: str, *, body: Any) -> bytes:
        assert (method, path) == ("POST", "/api/v1/namespaces/ns/serviceaccounts/robot/token")
        if not self.there:
            raise Unreachable("nobody is there", maybe_done=False)
        self.asked.append(body["spec"])
        expires = datetime.fromtimestamp(self._clock.now + body["spec"]["expirationSeconds"], UTC)
        status = {"token": f"token-{len(self.asked)}", "expirationTimestamp": format_time(expires)}
        return orjson.dumps({"spec": body["spec"], "status": status})


class World:
    def __init__(self) -> None:
        self.clock = Clock()
        self.issuer = Issuer(self.clock)
        self.tokens = Tokens(cast(Client, self.issuer), self.clock, rand=lambda: 0.0)

    def get(self, request: ProjectedTokenRequest = REQUEST, known: bytes = b"") -> str:
        return asyncio.run(self.tokens.get(request, known)).text


def test_a_token_is_bound_to_its_pod() -> None:
    world = World()
    assert world.get() == "token-1"
    assert world.issuer.asked == [
        {
            "expirationSeconds": 1000,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-1"},
            "audiences": ["vault"],
        }
    ]


@pytest.mark.parametrize(
    ("life_s", "kept_s"), [(1000, 800), (86_400, 69_120), (1_000_000, 86_400)], ids=["short", "day", "long"]
)
def test_a_token_is_renewed_when_most_of_its_life_is_over_or_after_a_day(life_s: int, kept_s: int) -> None:
    world = World()
    request = REQUEST._replace(life_s=life_s)
    assert world.get(request) == "token-1"
    world.clock.now += kept_s - 1
    assert world.get(request) == "token-1"
    world.clock.now += 2
    assert world.get(request) == "token-2"


def test_an_old_token_is_used_until_it_expires_while_nobody_gives_a_new_one() -> None:
    world = World()
    world.get()
    world.issuer.there = False
    world.clock.now += 900
    assert world.get() == "token-1"
    world.clock.now += 101
    with pytest.raises(VolumeProblem, match="token expired and refresh failed: nobody is there"):
        world.get()


def test_without_any_token_the_volume_waits() -> None:
    world = World()
    world.issuer.there = False
    with pytest.raises(VolumeProblem, match="failed to fetch token: nobody is there"):
        world.get()


def test_what_a_pod_had_is_forgotten_with_it() -> None:
    world = World()
    world.get()
    world.tokens.forget("another")
    assert world.get() == "token-1"
    world.tokens.forget("uid-1")
    assert world.get() == "token-2"


def jwt(now: float, uid: str = "uid-1", audience: str = "vault", left_s: float = 900) -> bytes:
    claims = {
        "aud": [audience], "iat": int(now + left_s - 1000), "exp": int(now + left_s),
        "kubernetes.io": {"pod": {"name": "p", "uid": uid}},
    }  # fmt: skip
    return b".".join((b"e30", urlsafe_b64encode(orjson.dumps(claims)).rstrip(b"="), b"sig"))


@pytest.mark.parametrize(
    ("changes", "used"),
    [({}, True), ({"uid": "other"}, False), ({"audience": "other"}, False), ({"left_s": 100}, False)],
    ids=["good", "of another pod", "for somebody else", "too old"],
)
def test_the_token_in_a_file_is_used_if_it_is_the_right_one(changes: dict[str, Any], used: bool) -> None:
    world = World()
    known = jwt(world.clock.now, **changes)
    assert world.get(known=known) == (known.decode() if used else "token-1")


@pytest.mark.parametrize("known", [b"", b"x", b"a.b", b"a.!.c", b"a.W10.c", b"\xff.\xff.\xff"])
def test_what_is_no_token_is_not_used(known: bytes) -> None:
    assert World().get(known=known) == "token-1"
