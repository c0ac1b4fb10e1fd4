"""What a node takes and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.node.pod_admission import NodeLoad, claim_of, refusal

Object = dict[str, Any]


def node(*, taints: list[Object] | None = None, pressure: tuple[str, ...] = (), **allocatable: str) -> Object:
    return {
        "metadata": {"name": "n", "labels": {"kubernetes.io/os": "linux", "zone": "a", "cores": "8"}},
        "spec": {"taints": taints or []},
        "status": {
            "nodeInfo": {"operatingSystem": "linux"},
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "2", "example.com/gpu": "1", **allocatable},
            "conditions": [{"type": kind, "status": "True"} for kind in pressure],
        },
    }


def pod(requests: Object | None = None, ports: list[Object] | None = None, **spec: Any) -> Object:
    container = {"name": "c", "resources": {"requests": requests or {}}, "ports": ports or []}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}


def affinity(*terms: Object) -> Object:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


NO_EXECUTE: Object = {"key": "gone", "value": "yes", "effect": "NoExecute"}
NO_SCHEDULE: Object = {"key": "gone", "value": "yes", "effect": "NoSchedule"}
PORT: Object = {"containerPort": 80, "hostPort": 80}
FULL = pod({"cpu": "3", "example.com/gpu": "1"}, [PORT])
SHM: Object = {"name": "kernel.shm_rmid_forced", "value": "1"}
FAILED = "Predicate {} failed: "

CASES: dict[str, tuple[Object, Object, list[Object], tuple[str, str] | None]] = {
    "fits": (pod({"cpu": "4"}), node(), [], None),
    "fits beside another": (pod({"cpu": "1"}), node(), [FULL], None),
    "no CPU": (
        pod({"cpu": "2"}),
        node(),
        [FULL],
        ("OutOfcpu", "Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000"),
    ),
    "no memory": (
        pod({"memory": "9Gi"}),
        node(),
        [],
        (
            "OutOfmemory",
            "Node didn't have enough resource: memory, requested: 9663676416, used: 0, capacity: 8589934592",
        ),
    ),
    "no device": (
        pod({"example.com/gpu": "1"}),
        node(),
        [FULL],
        (
            "OutOfexample.com/gpu",
            "Node didn't have enough resource: example.com/gpu, requested: 1, used: 1, capacity: 1",
        ),
    ),
    "a device of nobody": (pod({"example.com/quantum": "1"}), node(), [], None),
    "too many pods": (
        pod(),
        node(),
        [pod(), pod()],
        ("OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2"),
    ),
    "a setting of its own": (pod(securityContext={"sysctls": [SHM]}), node(), [], None),
    "a setting of everybody's": (
        pod(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
        node(),
        [],
        ("SysctlForbidden", 'forbidden sysctl: "kernel.msgmax" not allowlisted'),
    ),
    "a setting that it shares": (
        pod(securityContext={"sysctls": [SHM]}, hostIPC=True),
        node(),
        [],
        (
            "SysctlForbidden",
            'forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host ipc enabled',
        ),
    ),
    "another node": (
        pod(nodeSelector={"zone": "b"}),
        node(),
        [],
        ("NodeAffinity", FAILED.format("NodeAffinity") + "node(s) didn't match Pod's node affinity/selector"),
    ),
    "a taken port": (
        pod(ports=[{**PORT, "hostIP": "10.0.0.1"}]),
        node(),
        [FULL],
        (
            "NodePorts",
            FAILED.format("NodePorts") + "node(s) didn't have free ports for the requested pod ports",
        ),
    ),
    "the same port of another protocol": (pod(ports=[{**PORT, "protocol": "UDP"}]), node(), [FULL], None),
    "a taint": (
        pod(),
        node(taints=[NO_EXECUTE]),
        [],
        (
            "TaintToleration",
            FAILED.format("TaintToleration") + "node(s) had taints that the pod didn't tolerate",
        ),
    ),
    "a tolerated taint": (pod(tolerations=[{"operator": "Exists"}]), node(taints=[NO_EXECUTE]), [], None),
    "a taint for schedulers": (pod(), node(taints=[NO_SCHEDULE]), [], None),
    "another system": (
        pod(os={"name": "windows"}),
        node(),
        [],
        ("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"),
    ),
    "memory pressure": (
        pod(),
        node(pressure=("MemoryPressure",)),
        [],
        ("Evicted", "The node had condition: [MemoryPressure]. "),
    ),
    "memory pressure and a request": (pod({"cpu": "1"}), node(pressure=("MemoryPressure",)), [], None),
    "disk pressure": (
        pod({"cpu": "1"}),
        node(pressure=("DiskPressure",)),
        [],
        ("Evicted", "The node had condition: [DiskPressure]. "),
    ),
    "a critical pod under pressure": (
        pod(priority=2_000_000_000),
        node(pressure=("DiskPressure",)),
        [],
        None,
    ),
}


@pytest.mark.parametrize(("wanted", "there", "others", "refused"), CASES.values(), ids=CASES.keys())
def test_what_a_node_takes(
    wanted: Object, there: Object, others: list[Object], refused: tuple[str, str] | None
) -> None:
    load = NodeLoad()
    for other in others:
        load.add(claim_of(other["spec"]))
    assert refusal(wanted, claim_of(wanted["spec"]), there, load) == refused


def test_a_pod_claims_its_overhead_and_what_it_asks_for_as_a_whole() -> None:
    spec = pod({"cpu": "1"}, resources={"requests": {"cpu": "3"}}, overhead={"cpu": "250m"})["spec"]
    assert claim_of(spec).amounts == {"cpu": 3250}
