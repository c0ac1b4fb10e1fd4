"""Replicas of an operator, and a leader that is killed, paused or cut off in the middle of its work.

Another takes over and finishes it, and no child is written by a leader after one of a later term has written:
neither do leaders that are no longer, nor do their requests that arrive late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from steersman.aio import Scope
from steersman.client import Client
from tests.support.postgres_server import postgres_server
from tests.support.redis_server import redis_server

from .replicas import Engine, Fleet, Replica, until
from .replicated_apps import Apps, Audited, audited_server, terms_of_writes

pytestmark = pytest.mark.slow

APPS = [f"web-{number}" for number in range(30)]
HALF = len(APPS) // 2


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    with audited_server(tmp_path_factory.mktemp("audited")) as server:
        yield server


@pytest.fixture(params=["lease", "redis", "postgres"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "redis":
        with redis_server() as redis:
            yield Engine("redis", redis.socket, lambda port: f"redis://127.0.0.1:{port}/0")
    elif request.param == "postgres":
        with postgres_server() as postgres:
            address = "postgresql://postgres@127.0.0.1:{}/postgres?sslmode=disable"
            yield Engine("postgres", postgres.socket, address.format)
    else:
        yield Engine("lease")


async def fail_over(fleet: Fleet, apps: Apps, fault: str, *, after: int = HALF) -> Replica:
    """Something happens to the leader when so many apps are changed, and another does the rest. The old one."""
    leader = fleet.leader
    term = leader.term
    apps.next_version()
    await apps.roll_out(APPS[:after])
    getattr(leader, fault)()
    await apps.roll_out(APPS[after:])
    await apps.converge()
    assert fleet.leader is not leader
    assert fleet.leader.term > term
    return leader


async def stays_led(fleet: Fleet, apps: Apps) -> None:
    """The leader goes on to work, and its followers send nothing but looks at the lease, if there is one."""
    leader, followers = fleet.leader, fleet.followers
    before = [replica.requests for replica in followers]
    apps.next_version()
    await apps.roll_out(APPS)
    await apps.converge()
    assert fleet.leader is leader
    for replica, earlier in zip(followers, before, strict=True):
        sent = {method for method, count in replica.requests.items() if count != earlier.get(method)}
        assert sent <= ({"GET"} if fleet.engine.name == "lease" else set())


def test_a_leader_that_fails_is_replaced_and_never_writes_after_its_successor(
    audited: Audited, engine: Engine, tmp_path: Path
) -> None:
    namespace = f"replicas-{engine.name}"

    async def scenario() -> list[int]:
        async with Client.load(kubeconfig=audited.server.kubeconfig) as client, Scope() as scope:
            made = await client.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            )
            with Fleet(audited.server, engine, namespace, tmp_path, scope) as fleet:
                await fleet.start(3)
                apps = Apps(client, namespace, APPS)
                await apps.create()
                await stays_led(fleet, apps)

                fleet.remove(await fail_over(fleet, apps, "kill"))
                paused = await fail_over(fleet, apps, "pause")
                paused.resume()
                await stays_led(fleet, apps)

                cut_off = await fail_over(fleet, apps, "cut_off", after=0)
                cut_off.connect()
                late = str(cut_off.term)
                await until(lambda: late in audited.refused_terms(namespace), "its late writes are refused")
                cut_off.forgotten()
                await apps.converge()
                # Only former leaders are refused; one that was paused while it sent a write may be among them.
                assert max(map(int, audited.refused_terms(namespace))) < fleet.leader.term
                return await terms_of_writes(client, namespace, made["metadata"]["resourceVersion"])

    terms = asyncio.run(scenario())
    assert terms == sorted(terms)
    # One for each fault and the first; a machine that is too busy to renew a lease adds more.
    assert len(set(terms)) >= 4
