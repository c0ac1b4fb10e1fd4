"""A manager's life: start, stand by, lead, lose, stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.client import Client
from steersman.client.credentials import FixedFields, bearer
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.election import LeaseElector
from steersman.http import Client as HttpClient
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import EVENTS, LEASES
from steersman.runtime.controller import Controller
from steersman.runtime.events import Recorder
from steersman.runtime.manager import Manager
from steersman.runtime.requests import Request
from tests.integration.runtime.embedded import CONFIG_MAPS, config_map, in_cluster, until
from tests.integration.runtime.informing import BreakableTransport
from tests.sim.virtual_time import VirtualClock, run_virtual

WIDGETS = ResourceType("example.com", "v1", "Widget", "widgets")
CRDS = ResourceType(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False
)


class Replica:
    """A process of an operator that copies each ConfigMap's name into a list."""

    def __init__(self, client: Client, identity: str = "", *, takes_s: float = 0.0, **options: Any) -> None:
        clock = VirtualClock()
        elector = LeaseElector(client, "lock", identity=identity, clock=clock) if identity else None
        self.manager = Manager(client, elector=elector, clock=clock, address=None, **options)
        self.seen: list[str] = []
        self.cancelled = 0
        self._takes_s = takes_s
        controller = Controller("copier", self.reconcile, clock=clock)
        self.informer = self.manager.informers.get(CONFIG_MAPS, namespace="default")
        self.manager.add(controller.primary(self.informer))

    async def reconcile(self, request: Request) -> None:
        assert self.informer.synced
        try:
            await asyncio.sleep(self._takes_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.seen.append(request.name)

    @property
    def ready(self) -> bool:
        return not self.manager.probes.problems()


@asynccontextmanager
async def running(*replicas: Replica) -> AsyncIterator[list[asyncio.Task[None]]]:
    async with Scope() as scope:
        yield [scope.start(replica.manager.run()) for replica in replicas]


async def has(client: Client, *names: str) -> None:
    for name in names:
        await client.create(config_map(name))


@in_cluster
async def test_controllers_see_what_is_there_and_what_comes(client: Client) -> None:
    await has(client, "a")
    replica = Replica(client)
    assert replica.manager.probes.problems() == {"informer-sync": "not started"}
    async with running(replica) as [task]:
        await until(lambda: "a" in replica.seen)
        assert replica.ready
        await has(client, "b")
        await until(lambda: "b" in replica.seen)
        replica.manager.stop()
        assert replica.manager.probes.problems() == {"shutdown": "stopping"}
        await task


@in_cluster
async def test_a_standby_is_ready_and_works_at_once_when_its_turn_comes(client: Client) -> None:
    await has(client, "a")
    leader, standby = Replica(client, "one"), Replica(client, "two")
    async with running(leader) as [leading]:
        await until(lambda: "a" in leader.seen)
        async with running(standby):
            await until(lambda: standby.ready)
            await has(client, "b")
            await until(
                lambda: "b" in leader.seen and len(standby.informer.cache) == len(leader.informer.cache)
            )
            assert standby.seen == []
            assert (leader.manager.is_leader, standby.manager.is_leader) == (True, False)
            leader.manager.stop()
            await leading
            await until(lambda: {"a", "b"} <= set(standby.seen))
            content = standby.manager.metrics.render()[0].decode()
            assert 'leader_election_master_status{name="lock"} 1.0' in content


def test_a_new_leader_sees_all_that_the_last_one_did_before_it_acts() -> None:
    async def body() -> None:
        async with LocalCluster(ClusterConfig(controllers=()), VirtualClock()) as cluster:
            deaf = BreakableTransport(cluster.transport())
            credentials = FixedFields(bearer(cluster.token))
            leader = Replica(cluster.client(), "one")
            standby = Replica(Client(deaf, credentials=credentials), "two")
            await has(cluster.client(), "a")
            async with running(leader) as [leading], running(standby):
                await until(lambda: standby.ready)
                deaf.silence_watches()
                await has(cluster.client(), "b")
                await until(lambda: "b" in leader.seen)
                assert len(standby.informer.cache) < len(leader.informer.cache)
                leader.manager.stop()
                await leading
                await until(lambda: bool(standby.seen))
                assert len(standby.informer.cache) == len(leader.informer.cache)

    run_virtual(body())


@in_cluster
async def test_stopping_waits_for_reconciles_and_then_frees_the_lease(client: Client) -> None:
    await has(client, "a")
    replica = Replica(client, "one", takes_s=10.0)
    async with running(replica) as [task]:
        await until(lambda: replica.manager.is_leader)
        await asyncio.sleep(1)
        replica.manager.stop()
        await asyncio.sleep(1)
        assert (await client.get(LEASES, "lock"))["spec"]["holderIdentity"] == "one"
        await task
    assert "a" in replica.seen
    assert replica.cancelled == 0
    assert not (await client.get(LEASES, "lock"))["spec"].get("holderIdentity")


@in_cluster
async def test_reconciles_are_cut_off_when_the_grace_is_over(client: Client) -> None:
    await has(client, "a")
    replica = Replica(client, takes_s=1e6, grace_s=5.0)
    async with running(replica) as [task]:
        await until(lambda: replica.ready)
        await asyncio.sleep(1)
        started = asyncio.get_running_loop().time()
        replica.manager.stop()
        await task
        assert asyncio.get_running_loop().time() - started == pytest.approx(5, abs=0.5)
    assert replica.cancelled > 0


@pytest.mark.ours("virtual time")
@in_cluster
async def test_losing_leadership_cancels_reconciles_and_leads_back_to_standby(client: Client) -> None:
    await has(client, "a")
    replica = Replica(client, "one", takes_s=60.0)
    async with running(replica) as [task]:
        await until(lambda: replica.manager.is_leader)
        await asyncio.sleep(5)
        await client.patch(LEASES, "lock", {"spec": {"holderIdentity": "thief"}})
        await until(lambda: replica.cancelled)
        assert not replica.manager.is_leader
        assert replica.ready
        assert replica.seen == []
        await until(lambda: "a" in replica.seen)
        assert replica.manager.is_leader
        replica.manager.stop()
        await task


@in_cluster
async def test_a_standby_stops_at_once(client: Client) -> None:
    leader, standby = Replica(client, "one"), Replica(client, "two")
    async with running(leader):
        await until(lambda: leader.manager.is_leader)
        async with running(standby) as [task]:
            await until(lambda: standby.ready)
            standby.manager.stop()
            await task
        assert leader.manager.is_leader


@in_cluster
async def test_leadership_lost_while_stopping_does_not_keep_it_from_ending(client: Client) -> None:
    await has(client, "a")
    replica = Replica(client, "one", takes_s=25.0)
    async with running(replica) as [task]:
        await until(lambda: replica.manager.is_leader)
        await asyncio.sleep(1)
        replica.manager.stop()
        await client.patch(LEASES, "lock", {"spec": {"holderIdentity": "thief"}})
        async with asyncio.timeout(10):
            await task
    assert replica.cancelled > 0


@in_cluster
async def test_a_resource_that_is_not_there_yet_is_picked_up_when_it_is(client: Client) -> None:
    replica = Replica(client)
    widgets = replica.manager.informers.get(WIDGETS)
    seen: list[str] = []

    async def reconcile(request: Request) -> None:
        seen.append(request.name)

    replica.manager.add(Controller("widgets", reconcile, clock=replica.manager.clock).primary(widgets))
    await has(client, "a")
    async with running(replica):
        await until(lambda: "a" in replica.seen)
        assert replica.manager.probes.problems() == {"informer-sync": "not synced: widgets.v1.example.com"}
        names = {"kind": "Widget", "plural": "widgets"}
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        await client.create(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "widgets.example.com"},
                "spec": {
                    "group": "example.com",
                    "scope": "Namespaced",
                    "names": names,
                    "versions": [version],
                },
            },
            kind=CRDS,
        )
        await until(lambda: replica.ready)
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
        await client.create(widget, kind=WIDGETS)
        await until(lambda: seen == ["w"])


@in_cluster
async def test_controllers_and_services_can_be_added_while_it_runs(client: Client) -> None:
    await has(client, "a")
    replica = Replica(client, "one")
    services: list[str] = []

    def service(name: str) -> Any:
        async def run() -> None:
            services.append(name)
            await asyncio.Event().wait()

        return run

    replica.manager.add_service("early", service("early"), leader_only=True)
    async with running(replica):
        await until(lambda: replica.seen)
        seen: list[str] = []

        async def reconcile(request: Request) -> None:
            seen.append(request.name)

        late = Controller("late", reconcile, clock=replica.manager.clock).primary(replica.informer)
        replica.manager.add(late)
        replica.manager.add_service("late", service("late"))
        await until(lambda: "a" in seen)
        assert services == ["early", "late"]
        with pytest.raises(ValueError, match="'late' already"):
            replica.manager.add(late)


@in_cluster
async def test_a_service_that_fails_ends_the_manager(client: Client) -> None:
    for leader_only in (True, False):
        replica = Replica(client, "one")

        async def fail() -> None:
            await asyncio.sleep(5)
            raise ValueError("no certificate")

        replica.manager.add_service("webhooks", fail, leader_only=leader_only)
        with pytest.raises(ValueError, match="no certificate"):
            await replica.manager.run()
        assert not (await client.get(LEASES, "lock"))["spec"].get("holderIdentity")


@in_cluster
async def test_the_last_events_are_sent_before_it_ends(client: Client) -> None:
    replica = Replica(client)
    recorder = replica.manager.add_recorder(Recorder(client, "example.com/op", "me", clock=VirtualClock()))
    async with running(replica) as [task]:
        await until(lambda: replica.ready)
        recorder.event(config_map("a", namespace="default", uid="u"), "Normal", "Bye", "for now")
        replica.manager.stop()
        await task
    assert [event["reason"] for event in await client.list(EVENTS, "default")] == ["Bye"]


@pytest.mark.ours("virtual time")
@in_cluster
async def test_an_event_loop_that_was_blocked_is_not_healthy(client: Client) -> None:
    class Late(VirtualClock):
        blocked_s = 0.0

        def monotonic(self) -> float:
            return super().monotonic() + self.blocked_s

    clock = Late()
    manager = Manager(client, clock=clock, address=None)
    async with Scope() as scope:
        scope.start(manager.run())
        await asyncio.sleep(2.5)
        assert manager.probes.problems("healthz") == {}
        clock.blocked_s = 30.0
        assert manager.probes.problems("healthz") == {"event-loop": "the event loop is 30 s late"}
        await asyncio.sleep(2)
        assert manager.probes.problems("healthz") == {}


def test_probes_and_metrics_are_served() -> None:
    async def main() -> None:
        async with LocalCluster(ClusterConfig()) as cluster, asyncio.timeout(30):
            manager = Manager(cluster.client(), address="127.0.0.1:0")
            async with Scope() as scope:
                scope.start(manager.run())
                while not manager.probes.port:
                    await asyncio.sleep(0)
                async with HttpClient(f"http://127.0.0.1:{manager.probes.port}") as http:
                    assert (await http.request("GET", "/healthz")).content == b"ok"
                    assert b"workqueue_depth" in (await http.request("GET", "/metrics")).content
            assert manager.probes.port == 0

    asyncio.run(main())
