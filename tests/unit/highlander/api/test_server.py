from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from steersman.highlander.api import Api
from steersman.highlander.api.routes import ROUTES
from steersman.highlander.state import ControllerPhase, WorkloadKind
from tests.support.highlander import PretendedTenant, lively
from tests.unit.highlander.api.serving import AUTHORIZED, data_of, error_of, serving


def test_status_has_the_public_projects_fields() -> None:
    async def check() -> None:
        async with serving(lively()) as (_, client):
            status = await data_of(client, "/status")
            assert {
                "isLeader", "leaderSince", "lastLeaderTransition", "uptime", "leaderID", "clusterName",
                "clusterHealth", "dbConnected", "storageType", "controllerState", "workloadStatus",
                "readyForTraffic", "version", "buildInfo", "lastError", "failoverCount",
                "leadershipTransitions", "currentLeader", "lastLeader", "lastLeadershipChangeReason",
                "dbFailureCount",
            } <= status.keys()  # fmt: skip
            assert (status["isLeader"], status["epoch"], status["uptime"]) == (True, 42, "26h23m20s")
            assert status["workloadStatus"]["processes"]["ledger-writer"] == {
                "active": True,
                "namespace": "singletons",
            }
            assert (await data_of(client, "/api/status")).keys() == status.keys()
            debug = await data_of(client, "/debug/status")
            assert debug["leadershipHistory"][-1]["to"] == "controller-1_b00t"

    asyncio.run(check())


def test_workloads_are_found_by_kind_by_name_and_by_path() -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant) as (_, client):
            groups = await data_of(client, "/api/workloads")
            assert list(groups) == ["processes", "cronjobs", "service", "persistent"]
            known = groups["processes"]["fx-importer"]
            assert (known["type"], known["active"], known["healthy"]) == ("process", False, False)
            assert await data_of(client, "/api/workloads/fx-importer") == known
            assert await data_of(client, "/api/workloads/process/singletons/fx-importer") == known
            assert "queue-store" in await data_of(client, "/api/workload-names")
            assert await error_of(client, "GET", "/api/workloads/none") == (404, "workload not found")
            tenant.show(WorkloadKind.PROCESS, "fx-importer", namespace="other")
            code, error = await error_of(client, "GET", "/api/workloads/fx-importer")
            assert code == 409
            assert "/api/workloads/process/other/fx-importer" in error
            assert "other/fx-importer" in (await data_of(client, "/api/workloads"))["processes"]

    asyncio.run(check())


def test_pods_and_their_logs() -> None:
    async def check() -> None:
        async with serving(lively()) as (_, client):
            pods = await data_of(client, "/api/pods")
            assert pods[0]["controllerId"] == "controller-1"
            assert await data_of(client, "/api/pods/singletons/queue-store-0") in pods
            path = "/api/pods/singletons/mail-poller-pod/logs"
            assert (await error_of(client, "GET", path))[0] == 401
            answer = await client.request("GET", f"{path}?tail=2", headers=AUTHORIZED)
            assert answer.content.count(b"\n") == 2
            assert b" mail-poller " in answer.content
            answer = await client.request("GET", f"{path}?container=metrics-sidecar", headers=AUTHORIZED)
            assert b" metrics-sidecar " in answer.content
            for query, code in (
                ("container=none", 404),
                ("tail=0", 400),
                ("tail=x", 400),
                ("tail=99999", 400),
            ):
                assert (await error_of(client, "GET", f"{path}?{query}", AUTHORIZED))[0] == code

    asyncio.run(check())


ACTIONS = [
    ("/api/workloads/process/singletons/fx-importer/pause", "pause process/singletons/fx-importer"),
    ("/api/workloads/process/singletons/fx-importer/resume", "resume process/singletons/fx-importer"),
    ("/api/workloads/process/singletons/fx-importer/restart", "restart process/singletons/fx-importer"),
    ("/api/step-down", "step-down"),
    ("/api/drain", "drain"),
    ("/api/undrain", "undrain"),
    ("/api/reload", "reload"),
]


@pytest.mark.parametrize("path, asked", ACTIONS, ids=[asked for _, asked in ACTIONS])
def test_actions_reach_the_tenant_only_with_the_token(path: str, asked: str) -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant) as (_, client):
            assert (await error_of(client, "POST", path))[0] == 401
            assert (await error_of(client, "GET", path))[0] == 405
            assert tenant.asked == []
            answer = await client.request("POST", path, headers=AUTHORIZED)
            assert (answer.status, tenant.asked) == (200, [asked])

    asyncio.run(check())


def test_stepping_down_may_have_a_reason() -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant) as (_, client):
            bad = await client.request("POST", "/api/step-down", headers=AUTHORIZED, content=b"[")
            assert (bad.status, tenant.asked) == (400, [])
            body = b'{"reason": "maintenance"}'
            await client.request("POST", "/api/step-down", headers=AUTHORIZED, content=body)
            assert (await data_of(client, "/api/history"))[-1]["reason"] == "maintenance"

    asyncio.run(check())


def test_what_an_action_meets_is_told() -> None:
    async def check() -> None:
        follower = lively(leads=False)
        async with serving(follower) as (_, client):
            path = "/api/workloads/process/singletons/fx-importer/pause"
            assert await error_of(client, "POST", path, AUTHORIZED) == (
                409,
                "this controller is not the leader",
            )
            path = "/api/workloads/process/singletons/none/pause"
            assert await error_of(client, "POST", path, AUTHORIZED) == (404, "workload not found")

    asyncio.run(check())


def test_a_tenant_is_chosen_by_name_and_the_first_one_without() -> None:
    async def check() -> None:
        async with serving(PretendedTenant("a"), PretendedTenant("b", leads=False)) as (api, client):
            assert (await data_of(client, "/status"))["tenant"] == "a"
            assert (await data_of(client, "/status?tenant=b"))["isLeader"] is False
            assert [one["tenant"] for one in await data_of(client, "/api/tenants")] == ["a", "b"]
            assert (await error_of(client, "GET", "/status?tenant=c"))[0] == 404
            api.remove("a")
            assert (await data_of(client, "/status"))["tenant"] == "b"

    asyncio.run(check())


READINESS: list[tuple[str, bool, dict[str, Any], float, int]] = [
    ("leader", True, {}, 10, 200),
    ("follower", False, {}, 0, 200),
    ("leader that takes over", True, {"phase": ControllerPhase.TAKING_OVER}, 10, 200),
    ("not yet started", False, {"phase": ControllerPhase.STARTING}, 0, 503),
    ("drained", False, {"phase": ControllerPhase.DRAINED}, 0, 503),
    ("leader whose lease ran out", True, {}, 0, 503),
    ("storage is gone", False, {"storage_healthy": False}, 0, 503),
    ("cluster is gone", True, {"cluster_healthy": False, "cluster_error": "refused"}, 10, 503),
]


@pytest.mark.parametrize(
    "leads, fields, margin_s, code", [case[1:] for case in READINESS], ids=[case[0] for case in READINESS]
)
def test_readiness(leads: bool, fields: dict[str, Any], margin_s: float, code: int) -> None:
    async def check() -> None:
        tenant = PretendedTenant(leads=leads)
        tenant.margin_s = margin_s
        tenant.board.change(**fields)
        async with serving(tenant) as (_, client):
            answer = await client.request("GET", "/readyz")
            assert answer.status == code, answer.content
            assert answer.content == b"ok" if code == 200 else answer.content.startswith(b"not ready - ")
            assert (await client.request("GET", "/healthz")).content == b"ok"
            assert (await data_of(client, "/status"))["readyForTraffic"] is (code == 200)

    asyncio.run(check())


def test_a_tenant_that_goes_does_not_make_the_process_unready() -> None:
    async def check() -> None:
        going = PretendedTenant("going")
        going.board.change(phase=ControllerPhase.STOPPING)
        async with serving(PretendedTenant("staying"), going) as (api, client):
            assert (await client.request("GET", "/readyz")).status == 503
            api.retire("going")
            assert (await client.request("GET", "/readyz")).status == 200
            assert len(await data_of(client, "/api/tenants")) == 2
            api.remove("going")
            api.add(going)
            assert (await client.request("GET", "/readyz")).status == 503

    asyncio.run(check())


def test_without_a_tenant_it_is_not_ready() -> None:
    async def check() -> None:
        async with serving() as (_, client):
            assert (await client.request("GET", "/readyz")).status == 503
            assert (await error_of(client, "GET", "/status"))[0] == 404

    asyncio.run(check())


def test_every_route_is_answered_and_described() -> None:
    async def check() -> None:
        async with serving(lively()) as (_, client):
            document = orjson.loads((await client.request("GET", "/openapi.json")).content)
            for route in ROUTES:
                assert callable(getattr(Api, f"_{route.name}")), route
                operation = document["paths"][route.path][route.method.lower()]
                assert ("security" in operation) is route.guarded
            names = [one["operationId"] for path in document["paths"].values() for one in path.values()]
            assert len(set(names)) == len(names) == len(ROUTES)
            schemas = document["components"]["schemas"]
            for reference in _references(document):
                assert reference.removeprefix("#/components/schemas/") in schemas
            fields = schemas["Controller"]["properties"].keys()
            assert fields == (await data_of(client, "/api/controller")).keys()
            assert (
                schemas["LeadershipChange"]["properties"].keys()
                == (await data_of(client, "/api/history"))[0].keys()
            )

    asyncio.run(check())


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [found for one in value.values() for found in _references(one)]
    return [found for one in value for found in _references(one)] if isinstance(value, list) else []


def test_paths_and_methods_that_are_not_there() -> None:
    async def check() -> None:
        async with serving(lively()) as (_, client):
            assert (await error_of(client, "GET", "/none"))[0] == 404
            answer = await client.request("POST", "/status")
            assert (answer.status, answer.headers.get("allow")) == (405, "GET, HEAD")
            answer = await client.request("GET", "/api/drain")
            assert (answer.status, answer.headers.get("allow")) == (405, "POST")
            assert (await client.request("HEAD", "/status")).status == 200

    asyncio.run(check())


def test_the_dashboard_takes_nothing_from_elsewhere() -> None:
    async def check() -> None:
        async with serving(lively()) as (_, client):
            for path, kind in (
                ("/", "text/html"),
                ("/dashboard.css", "text/css"),
                ("/dashboard.js", "text/javascript"),
            ):
                answer = await client.request("GET", path)
                assert (answer.headers.get("content-type") or "").startswith(kind)
                assert "default-src 'none'" in (answer.headers.get("content-security-policy") or "")
                text = answer.content.decode().replace("http://www.w3.org/2000/svg", "")
                assert "http://" not in text
                assert "https://" not in text
                assert "innerHTML" not in text
                tag = (answer.headers.get("etag") or "").encode()
                again = await client.request("GET", path, headers=((b"If-None-Match", tag),))
                assert (again.status, again.content) == (304, b"")

    asyncio.run(check())
