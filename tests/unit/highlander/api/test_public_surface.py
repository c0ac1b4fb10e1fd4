"""Every path of the public project, with its fields: whoever reads them goes on reading them."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from steersman.highlander.state import WorkloadKind
from tests.support.highlander import lively, pod_of
from tests.unit.highlander.api.serving import data_of, serving

STATUS = {
    "isLeader", "leaderSince", "lastLeaderTransition", "uptime", "leaderID", "clusterName", "clusterHealth",
    "dbConnected", "storageType", "controllerState", "workloadStatus", "readyForTraffic", "version", "buildInfo",
    "lastError", "failoverCount", "leadershipTransitions", "currentLeader", "lastLeader",
    "lastLeadershipChangeReason", "dbFailureCount",
}  # fmt: skip
WORKLOAD = {"name", "type", "active", "healthy", "lastError", "lastTransition", "details"}
POD = {"name", "namespace", "status", "node", "age", "createdAt", "controllerId", "clusterName", "labels",
       "annotations"}  # fmt: skip

#: A path, where in `data` to look, and what must be there.
FIELDS: list[tuple[str, tuple[str | int, ...], set[str]]] = [
    ("/status", (), STATUS),
    ("/api/status", (), STATUS),
    ("/status", ("workloadStatus", "processes", "ledger-writer"), {"active", "namespace"}),
    ("/debug/status", (), {"healthStatus", "uptime", "startTime", "goroutineCount", "memoryStats", "serverInfo"}),
    ("/debug/status", ("healthStatus",), STATUS),
    ("/debug/status", ("memoryStats",), {"alloc", "sys", "numGC"}),
    ("/debug/status", ("serverInfo",), {"dbInfo", "port"}),
    ("/api/dbinfo", (), {"type", "address", "connected", "details"}),
    ("/api/workloads", (), {"processes", "cronjobs", "service", "persistent"}),
    ("/api/workloads", ("processes", "ledger-writer"), WORKLOAD),
    ("/api/workloads/ledger-writer", (), WORKLOAD),
    ("/api/workloads/ledger-writer", ("details",), {"podPhase", "podIP", "hostIP"}),
    ("/api/workloads/nightly-report", (), WORKLOAD),
    ("/api/pods", (0,), POD),
]  # fmt: skip


@pytest.mark.parametrize(
    "path, place, fields", FIELDS, ids=[" ".join(map(str, (case[0], *case[1]))) for case in FIELDS]
)
def test_fields_that_the_public_project_has(
    path: str, place: tuple[str | int, ...], fields: set[str]
) -> None:
    async def check() -> None:
        async with serving(lively()) as (_, client):
            found: Any = await data_of(client, path)
            for step in place:
                found = found[step]
            assert fields - found.keys() == set()

    asyncio.run(check())


#: Types as Go's JSON has them.
TYPES = {"isLeader": bool, "leaderSince": str, "uptime": str, "clusterHealth": bool, "failoverCount": int,
         "leadershipTransitions": int, "dbFailureCount": int, "readyForTraffic": bool}  # fmt: skip


def test_their_types() -> None:
    async def check() -> None:
        async with serving(lively()) as (_, client):
            status = await data_of(client, "/status")
            assert {name: type(status[name]) for name in TYPES} == TYPES
            names = await data_of(client, "/api/workload-names")
            assert "ledger-writer" in names
            database = await data_of(client, "/api/dbinfo")
            assert database["connected"] is True
            assert database["details"] == {"type": "Redis"}

    asyncio.run(check())


TEXTS = [
    ("/healthz", 200, "text/plain", b"ok"),
    ("/readyz", 200, "text/plain", b"ok"),
    ("/health", 200, "text/plain", b"ok"),
    ("/metrics", 200, "text/plain", b"k8_highlander_is_leader"),
    ("/", 200, "text/html", b"<!doctype html>"),
]


@pytest.mark.parametrize("path, code, kind, text", TEXTS, ids=[case[0] for case in TEXTS])
def test_what_is_no_json(path: str, code: int, kind: str, text: bytes) -> None:
    async def check() -> None:
        async with serving(lively()) as (_, client):
            answer = await client.request("GET", path)
            assert (answer.status, (answer.headers.get("content-type") or "").partition(";")[0]) == (
                code,
                kind,
            )
            assert text in answer.content

    asyncio.run(check())


def test_errors_have_the_envelope_and_the_words() -> None:
    async def check() -> None:
        async with serving(lively()) as (_, client):
            answer = await client.request("GET", "/api/workloads/none")
            assert answer.status == 404
            assert orjson.loads(answer.content) == {"status": "error", "error": "workload not found"}

    asyncio.run(check())


def test_pods_are_told_with_their_labels_but_events_need_not_carry_them() -> None:
    async def check() -> None:
        tenant = lively()
        labelled = pod_of(
            WorkloadKind.PROCESS, "one", "one-pod", labels={"cluster-name": "primary"}, host_ip="10.0.0.7"
        )
        tenant.show(WorkloadKind.PROCESS, "one", pods=(labelled,))
        async with serving(tenant) as (_, client):
            pod = await data_of(client, "/api/pods/singletons/one-pod")
            assert (pod["clusterName"], pod["labels"]) == ("primary", {"cluster-name": "primary"})
            workload = await data_of(client, "/api/workloads/one")
            assert workload["details"]["hostIP"] == "10.0.0.7"
            assert "labels" not in workload["pods"][0]

    asyncio.run(check())
