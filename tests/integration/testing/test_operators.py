"""Operators under test: started, stopped, killed, dying; and what they write."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from steersman.client import Unreachable
from steersman.election.lease import Lease
from steersman.objects.builders import ConfigMap, Deployment
from steersman.objects.resource_type import ResourceType
from steersman.operator import Operator
from steersman.testing import Cluster, OperatorDied, WritesMade, eventually, mark_ready, virtual_time
from tests.integration.testing.webapps import WebApp, WebApps, web_app

LEASES = ResourceType("coordination.k8s.io", "v1", "Lease", "leases")


@virtual_time
async def test_an_operator_works_until_it_is_stopped() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        async with cluster.run_operator(WebApps().operator()):
            await client.create(web_app("a"))
            await eventually(lambda: client.find(Deployment, "a"))
            await mark_ready(client, Deployment, "a")
            await cluster.clock.settle()
            assert (await client.get(WebApp, "a")).status.ready == 1
        await client.create(web_app("b"))
        await cluster.clock.advance(60)
        assert await client.find(Deployment, "b") is None


def test_in_plain_code_it_is_ready_when_it_is_there() -> None:
    with Cluster() as cluster:
        client = cluster.client()
        operator = cluster.run_operator(WebApps().operator())
        assert operator.manager is not None
        assert operator.manager.probes.problems() == {}
        cluster.run(client.create(web_app("a")))
        cluster.run(eventually(lambda: client.find(Deployment, "a")))
        cluster.run(operator.stop())
        operator.check()


def test_it_can_be_awaited_in_another_loop() -> None:
    async def main(cluster: Cluster) -> None:
        client = cluster.client()
        async with cluster.run_operator(WebApps().operator()):
            await client.create(web_app("a"))
            await eventually(lambda: client.find(Deployment, "a"))

    with Cluster() as cluster:
        asyncio.run(main(cluster))


def test_what_is_left_running_ends_with_the_cluster() -> None:
    with Cluster() as cluster:
        cluster.run_operator(WebApps().operator())


def test_it_outlives_a_restart_of_the_api_server(tmp_path: Path) -> None:
    with Cluster(data=str(tmp_path / "cluster")) as cluster:
        client = cluster.client()
        cluster.run_operator(WebApps().operator())
        cluster.run(client.create(web_app("a")))
        cluster.run(eventually(lambda: client.find(Deployment, "a")))
        cluster.run(cluster.restart())
        cluster.run(eventually(lambda: client.create(web_app("b"))))
        cluster.run(eventually(lambda: client.find(Deployment, "b"), 30))


def test_faults_can_be_injected_from_outside_of_the_clusters_thread() -> None:
    with Cluster() as cluster:
        client = cluster.client()
        cluster.run_operator(WebApps().operator())
        cluster.run(eventually(lambda: cluster.faults.drop_watches("webapps")))
        with cluster.faults.hold_watches("webapps"):
            cluster.run(client.create(web_app("a")))
        cluster.run(eventually(lambda: client.find(Deployment, "a"), 30))


@virtual_time
async def test_an_operator_that_dies_is_reported() -> None:
    async with Cluster() as cluster:
        idle = cluster.run_operator(Operator(WebApp))
        with pytest.raises(OperatorDied, match=r"OperatorError: the operator .* has nothing to do"):
            await idle
        assert idle.error is not None
        with pytest.raises(OperatorDied):
            idle.check()


def test_an_operator_that_dies_at_once_is_reported_in_plain_code() -> None:
    with Cluster() as cluster, pytest.raises(OperatorDied):
        cluster.run_operator(Operator(WebApp))


@virtual_time
async def test_a_killed_leader_keeps_its_lease_and_nothing_of_it_comes_through() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        first, second = WebApps(), WebApps()
        one = await cluster.run_operator(first.operator().with_leader_election(Lease("kit", identity="one")))
        await client.create(web_app("a"))
        await eventually(lambda: client.find(Deployment, "a"))
        two = await cluster.run_operator(second.operator().with_leader_election(Lease("kit", identity="two")))
        with cluster.record() as seen:
            await one.kill()
            await cluster.clock.advance(1)
        assert seen.writes == []
        assert (await client.get(LEASES, "kit"))["spec"]["holderIdentity"] == "one"
        killed_at = cluster.clock.monotonic()
        await eventually(lambda: second.calls, 60)
        assert 5 < cluster.clock.monotonic() - killed_at < 25
        assert (await client.get(LEASES, "kit"))["spec"]["holderIdentity"] == "two"
        await two.stop()
        assert not (await client.get(LEASES, "kit"))["spec"].get("holderIdentity")


@virtual_time
async def test_a_request_can_kill_its_sender() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        operator = await cluster.run_operator(WebApps().operator())
        cluster.faults.call(operator.kill_nowait, verb="apply", times=1)
        await client.create(web_app("a"))
        await cluster.clock.advance(600)
        assert await client.find(Deployment, "a") is None
        async with cluster.run_operator(WebApps().operator()):
            await eventually(lambda: client.find(Deployment, "a"))


@virtual_time
async def test_a_converged_operator_writes_nothing() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        apps = WebApps(requeue_s=300)
        async with cluster.run_operator(apps.operator()):
            for number in range(20):
                await client.create(web_app(f"a{number}"))
            await cluster.clock.advance(10)
            apps.calls.clear()
            with cluster.assert_no_writes():
                await cluster.clock.advance(3600)
            assert len(apps.calls) == 20 * 12


@virtual_time
async def test_writes_are_listed() -> None:
    async with Cluster() as cluster:
        client = cluster.client()

        async def write() -> None:
            await client.create(ConfigMap("a"))
            await client.list(ConfigMap)
            await client.create(ConfigMap("b"), dry_run=True)
            await client.delete(ConfigMap, "a", dry_run=True)
            await client.delete(ConfigMap, "a")

        with pytest.raises(WritesMade) as caught, cluster.assert_no_writes():
            await write()
        assert str(caught.value).splitlines() == [
            "2 writes were made:",
            "  create configmaps default",
            "  delete configmaps default/a",
        ]


@virtual_time
async def test_ignored_resources_may_be_written() -> None:
    async with Cluster() as cluster:
        with cluster.assert_no_writes(ignore=("configmaps",)) as seen:
            await cluster.client().create(ConfigMap("a"))
        assert [str(request) for request in seen.requests] == ["create configmaps default"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_writes_of_other_programs_are_seen_if_asked_for() -> None:
    with Cluster() as cluster:
        with cluster.assert_no_writes():
            cluster.run(cluster.kubectl("create", "configmap", "a"))
        with pytest.raises(WritesMade, match="write of /core/configmaps/default/b by another writer"):
            with cluster.assert_no_writes(by_anyone=True):
                cluster.run(cluster.kubectl("create", "configmap", "b"))
        with cluster.assert_no_writes(by_anyone=True):
            cluster.run(cluster.kubectl("create", "configmap", "c", "--dry-run=server"))


@virtual_time
async def test_only_faulty_clients_suffer() -> None:
    async with Cluster() as cluster:
        cluster.faults.lose_requests()
        await cluster.client().list(ConfigMap)
        with pytest.raises(Unreachable):
            await cluster.client(faulty=True).list(ConfigMap)
