"""The Lease engine against the API server: what is in the object, and what may go wrong with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.election import ElectionConfigError, Leadership, LeaseElector, default_identity
from steersman.objects.resources import LEASES
from tests.sim.virtual_time import VirtualClock, run_virtual


def with_client(test: Callable[[Client], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        async def main() -> None:
            async with LocalCluster(ClusterConfig()) as cluster:
                await test(cluster.client())

        run_virtual(main())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@asynccontextmanager
async def leading(client: Client, identity: str = "me", **options: Any) -> AsyncIterator[LeaseElector]:
    """A leader, for the time of the block."""
    elector = LeaseElector(client, "lock", identity=identity, clock=VirtualClock(), **options)
    elected = asyncio.Event()

    async def work(_: Leadership) -> None:
        elected.set()
        await asyncio.Event().wait()

    async with Scope() as scope:
        scope.start(elector.run(work))
        await elected.wait()
        yield elector


@with_client
async def test_the_lease_says_who_leads_since_when(client: Client) -> None:
    async with leading(client):
        spec = (await client.get(LEASES, "lock"))["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (
            "me",
            15,
            1,
        )
        assert spec["acquireTime"] == spec["renewTime"]
        await asyncio.sleep(7)
        later = (await client.get(LEASES, "lock"))["spec"]
        assert later["acquireTime"] == spec["acquireTime"]
        assert later["renewTime"] > spec["renewTime"]
    freed = (await client.get(LEASES, "lock"))["spec"]
    assert (freed.get("holderIdentity") or "", freed["leaseDurationSeconds"]) == ("", 1)


@with_client
async def test_edits_by_others_are_kept_and_do_not_end_leadership(client: Client) -> None:
    async with leading(client) as elector:
        await client.patch(LEASES, "lock", {"metadata": {"labels": {"team": "a"}}})
        await asyncio.sleep(20)
        assert elector.is_leader
        lease = await client.get(LEASES, "lock")
        assert lease["metadata"]["labels"] == {"team": "a"}
        assert lease["spec"]["leaseTransitions"] == 1


@with_client
async def test_a_lease_that_is_taken_away_ends_leadership_at_the_next_renewal(client: Client) -> None:
    async with leading(client) as elector:
        await client.patch(LEASES, "lock", {"spec": {"holderIdentity": "thief"}})
        await asyncio.sleep(2.5)
        assert not elector.is_leader
        assert elector.leader == "thief"
        await asyncio.sleep(30)
        assert elector.is_leader, "the thief never renewed"
        assert elector.term == 2


@with_client
async def test_a_lease_that_is_deleted_is_created_again(client: Client) -> None:
    async with leading(client) as elector:
        await client.delete(LEASES, "lock")
        await asyncio.sleep(5)
        assert elector.is_leader
        assert (await client.get(LEASES, "lock"))["spec"]["holderIdentity"] == "me"


@with_client
async def test_a_namespace_that_is_missing_is_waited_for(client: Client) -> None:
    elector = LeaseElector(client, "lock", "later", identity="me", clock=VirtualClock())

    async def work(_: Leadership) -> None:
        return

    async with Scope() as scope:
        running = scope.start(elector.run(work))
        await asyncio.sleep(10)
        assert not running.done()
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}})
        await running


@pytest.mark.ours("virtual time")
@with_client
async def test_moving_the_wall_clock_changes_nothing(client: Client) -> None:
    clock = VirtualClock()
    elector = LeaseElector(client, "lock", identity="me", clock=clock)
    leaderships: list[Leadership] = []

    async def work(leadership: Leadership) -> None:
        leaderships.append(leadership)
        await asyncio.Event().wait()

    async with Scope() as scope:
        scope.start(elector.run(work))
        scope.start(LeaseElector(client, "lock", identity="other", clock=VirtualClock()).run(work))
        for shift_s in (86_400.0, -86_400.0, 0.0):
            clock.wall_shift_s = shift_s
            await asyncio.sleep(60)
        assert [leadership.identity for leadership in leaderships] == ["me"]


@pytest.mark.ours("virtual time")
@with_client
async def test_a_leader_writes_every_two_seconds_and_no_more(client: Client) -> None:
    writes = 0
    replace = client.replace

    async def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal writes
        writes += 1
        return await replace(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "replace", counted)
        async with leading(client):
            await asyncio.sleep(601)
            assert writes == 300


def test_identities_differ_between_processes_of_one_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAME", "web-0")
    first, second = default_identity(), default_identity()
    assert first != second
    assert first.startswith("web-0_")


@with_client
async def test_a_lease_needs_a_name(client: Client) -> None:
    with pytest.raises(ElectionConfigError, match="name"):
        LeaseElector(client, "")
