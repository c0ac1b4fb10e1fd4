"""What an operator does in a day, in virtual time, against a real API server in the same process."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import orjson
import pytest

from steersman.client import Client, Forbidden
from steersman.client.credentials import TokenFile
from steersman.election.lease import Lease
from steersman.objects.builders import ConfigMap, Deployment, Secret, ServiceAccount
from steersman.objects.resource_type import ResourceType
from steersman.operator import Settings
from steersman.testing import Cluster, virtual_time
from tests.integration.testing.webapps import WebApps, web_app

MINUTE_S = 60.0
HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
LEASES = ResourceType("coordination.k8s.io", "v1", "Lease", "leases")
BINDINGS = ResourceType(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)


@virtual_time
async def test_a_converged_operator_looks_every_five_minutes_and_writes_nothing() -> None:
    """The watches end every few minutes; none of it costs a list, a write or a reconcile too many."""
    apps = WebApps(requeue_s=5 * MINUTE_S)
    async with Cluster() as cluster, cluster.run_operator(apps.operator()) as operator:
        await cluster.client().create(web_app("a"))
        await cluster.clock.advance(MINUTE_S)
        apps.calls.clear()
        with cluster.assert_no_writes() as seen:
            await cluster.clock.advance(DAY_S)
        assert len(apps.calls) == pytest.approx(DAY_S / (5 * MINUTE_S), abs=4)
        gaps = [later - earlier for earlier, later in itertools.pairwise(apps.times)]
        assert max(gaps) == pytest.approx(5 * MINUTE_S)
        assert operator.manager is not None
        for informer in operator.manager.informers:
            assert informer.stats.relists == 0
            assert informer.stats.failures == 0
            assert 24 * 6 <= informer.stats.watches <= 24 * 13
        assert {request.verb for request in seen.requests} == {"watch"}


@virtual_time
async def test_everything_is_looked_at_again_each_ten_hours() -> None:
    apps = WebApps()
    async with Cluster() as cluster, cluster.run_operator(apps.operator()):
        for number in range(10):
            await cluster.client().create(web_app(f"a{number}"))
        await cluster.clock.advance(HOUR_S)
        apps.calls.clear()
        with cluster.assert_no_writes():
            await cluster.clock.advance(11 * HOUR_S)
        # Its own resync, and that of the Deployments it owns.
        assert 10 <= len(apps.calls) <= 20
        assert all("resync" in " ".join(reasons) for _, reasons in apps.calls)


@virtual_time
async def test_failures_are_retried_after_up_to_five_minutes_and_forgotten_after_a_success() -> None:
    apps = WebApps(failure=RuntimeError("not today"))
    async with Cluster() as cluster, cluster.run_operator(apps.operator()):
        client = cluster.client()
        await client.create(web_app("a"))
        await cluster.clock.advance(2 * HOUR_S)
        gaps = [later - earlier for earlier, later in itertools.pairwise(apps.times)]
        assert gaps[:10] == [pytest.approx(wait_s) for wait_s in (1, 2, 4, 8, 16, 32, 64, 128, 256, 300)]
        assert gaps[10:] == [pytest.approx(300)] * len(gaps[10:])
        apps.failure = None
        await cluster.clock.advance(5 * MINUTE_S)
        assert await client.find(Deployment, "a") is not None
        apps.failure = RuntimeError("again")
        apps.calls.clear()
        await client.patch(type(web_app("a")), "a", {"spec": {"replicas": 2}})
        await cluster.clock.advance(4)
        assert [time - apps.times[0] for time in apps.times] == [0, pytest.approx(1), pytest.approx(3)]


@virtual_time
async def test_a_leader_leads_on_and_hands_over_when_stopped() -> None:
    first, second = WebApps(requeue_s=MINUTE_S), WebApps(requeue_s=MINUTE_S)
    async with Cluster() as cluster:
        client = cluster.client()
        one = await cluster.run_operator(first.operator().with_leader_election(Lease("a", identity="one")))
        await cluster.clock.advance(1)
        await cluster.run_operator(second.operator().with_leader_election(Lease("a", identity="two")))
        await client.create(web_app("a"))
        with cluster.record() as seen:
            await cluster.clock.advance(HOUR_S / 2)
        renewals = [request for request in seen.writes if request.resource == "leases"]
        assert len(renewals) == pytest.approx(HOUR_S / 2 / 2, rel=0.05)
        lease = (await client.get(LEASES, "a"))["spec"]
        assert (lease["holderIdentity"], lease.get("leaseTransitions", 0)) == ("one", 1)
        assert second.calls == []
        stopped_at = cluster.clock.monotonic()
        await one.stop()
        await cluster.clock.advance(MINUTE_S)
        assert second.calls
        assert second.times[0] - stopped_at < 5
        assert first.times[-1] <= stopped_at


async def issue_token(client: Client, number: int) -> str:
    """A token of the operator's service account that is good as long as a Secret is there."""
    made = await client.create(Secret(f"bound-{number}"))
    path = "/api/v1/namespaces/default/serviceaccounts/operator/token"
    reference = {"apiVersion": "v1", "kind": "Secret", "name": made.name, "uid": made.metadata["uid"]}
    body: dict[str, Any] = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"boundObjectRef": reference},
    }
    token: str = orjson.loads(await client.request("POST", path, body=body))["status"]["token"]
    return token


@virtual_time
async def test_tokens_are_replaced_all_day_without_a_failed_reconcile(tmp_path: Path) -> None:
    apps = WebApps(requeue_s=10 * MINUTE_S)
    async with Cluster() as cluster:
        client = cluster.client()
        await client.create(ServiceAccount("operator"))
        subject = {"kind": "ServiceAccount", "name": "operator", "namespace": "default"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        binding = {"metadata": {"name": "operator"}, "subjects": [subject], "roleRef": role}
        await client.create(binding, kind=BINDINGS)
        file = tmp_path / "token"
        file.write_text(await issue_token(client, 0))
        credentials = TokenFile(file, cluster.clock)
        async with cluster.run_operator(apps.operator(), credentials=credentials) as operator:
            for hour in range(1, 24):
                file.write_text(await issue_token(client, hour))
                # The last token is good for a while after there is a new one.
                await cluster.clock.advance(5 * MINUTE_S)
                await client.delete(Secret, f"bound-{hour - 1}")
                await client.create(web_app(f"a{hour}"))
                await cluster.clock.advance(55 * MINUTE_S)
                assert await client.find(Deployment, f"a{hour}") is not None, f"hour {hour}"
            assert operator.manager is not None
            assert all(informer.stats.failures == 0 for informer in operator.manager.informers)


@virtual_time
async def test_a_rejected_token_is_read_again_at_once(tmp_path: Path) -> None:
    async with Cluster() as cluster:
        admin = cluster.client()
        await admin.create(ServiceAccount("operator"))
        file = tmp_path / "token"
        file.write_text(await issue_token(admin, 0))
        client = cluster.client(credentials=TokenFile(file, cluster.clock))
        with pytest.raises(Forbidden, match="cannot list"):
            await client.list(ConfigMap, "default")
        await admin.delete(Secret, "bound-0")
        file.write_text(await issue_token(admin, 1))
        with pytest.raises(Forbidden, match="cannot list"):
            await client.list(ConfigMap, "default")
        assert cluster.clock.monotonic() == 0


@virtual_time
async def test_a_shorter_resync_is_kept_to() -> None:
    apps = WebApps()
    async with Cluster() as cluster:
        settings = Settings(address=None, resync_s=HOUR_S)
        async with cluster.run_operator(apps.operator(), settings=settings):
            await cluster.client().create(web_app("a"))
            await cluster.clock.advance(6 * HOUR_S)
            resyncs = [reasons for _, reasons in apps.calls if "resync" in reasons]
            assert 5 <= len(resyncs) <= 7
