"""What cells say about objects in the states that a fresh object is never in."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.apiserver.resources.columns import cells, columns_for, rows
from steersman.cluster.apiserver.resources.columns.scales import scale_table

NOW = 1767229200.0  # 2026-01-01T01:00:00Z
CREATED = "2026-01-01T00:00:00Z"
MINUTES_AGO_5 = "2026-01-01T00:55:00Z"

Object = dict[str, Any]


def named(**fields: Any) -> Object:
    metadata = {"name": "x", "creationTimestamp": CREATED, **fields.pop("metadata", {})}
    return {"metadata": metadata, **fields}


def cell(group: str, plural: str, column: str, obj: Object, version: str = "v1") -> Any:
    names = [definition.name for definition in columns_for(group, version, plural)]
    return cells(group, version, plural, obj, NOW)[names.index(column)]


@pytest.mark.parametrize(
    ("group", "plural", "shown"),
    [
        ("", "configmaps", []),
        ("", "limitranges", None),
        ("rbac.authorization.k8s.io", "roles", None),
        ("rbac.authorization.k8s.io", "rolebindings", []),
        ("storage.k8s.io", "csistoragecapacities", None),
        ("apiextensions.k8s.io", "customresourcedefinitions", None),
    ],
)
def test_no_rows_are_null_for_some(group: str, plural: str, shown: list[Object] | None) -> None:
    assert rows(group, "v1", plural, [], NOW) == shown


def waiting(reason: str) -> Object:
    return {"state": {"waiting": {"reason": reason}}}


def ended(code: int, **more: Any) -> Object:
    return {"state": {"terminated": {"exitCode": code, **more}}}


RUNNING: Object = {"ready": True, "state": {"running": {}}}
READY = {"type": "Ready", "status": "True"}


def pod(
    *containers: Object,
    init: list[Object] | None = None,
    init_specs: list[Object] | None = None,
    phase: str = "Running",
    deleted: bool = False,
    **status: Any,
) -> Object:
    metadata = {"deletionTimestamp": CREATED} if deleted else {}
    spec: Object = {"containers": [{"name": f"c{i}"} for i in range(len(containers))]}
    if init is not None:
        spec["initContainers"] = init_specs or [{"name": f"i{n}"} for n in range(2)]
        status["initContainerStatuses"] = [{"name": f"i{n}", **each} for n, each in enumerate(init)]
    return named(
        metadata=metadata, spec=spec, status={"phase": phase, "containerStatuses": list(containers), **status}
    )


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(pod(RUNNING), "Running", id="running"),
        pytest.param(pod(waiting("CrashLoopBackOff")), "CrashLoopBackOff", id="waiting"),
        pytest.param(pod(ended(0, reason="Completed"), phase="Succeeded"), "Completed", id="completed"),
        pytest.param(pod(ended(1, reason="Error"), phase="Failed"), "Error", id="error"),
        pytest.param(pod(ended(3)), "ExitCode:3", id="exit-code"),
        pytest.param(pod(ended(137, signal=9)), "Signal:9", id="signal"),
        pytest.param(pod(waiting("A"), waiting("B")), "A", id="first-counts"),
        pytest.param(
            pod(ended(0, reason="Completed"), RUNNING, conditions=[READY]), "Running", id="still-running"
        ),
        pytest.param(pod(ended(0, reason="Completed"), RUNNING), "NotReady", id="running-not-ready"),
        pytest.param(
            pod(ended(0, reason="Completed"), ended(2, reason="Error")),
            "Error",
            id="an-error-outweighs-completion",
        ),
        pytest.param(
            pod(RUNNING, init=[ended(0), {"state": {"running": {}}}]), "Init:1/2", id="init-progress"
        ),
        pytest.param(pod(RUNNING, init=[waiting("PodInitializing")]), "Init:0/2", id="init-starting"),
        pytest.param(
            pod(RUNNING, init=[waiting("ImagePullBackOff")]), "Init:ImagePullBackOff", id="init-waiting"
        ),
        pytest.param(pod(RUNNING, init=[ended(1)]), "Init:ExitCode:1", id="init-exit-code"),
        pytest.param(pod(RUNNING, init=[ended(1, signal=9)]), "Init:Signal:9", id="init-signal"),
        pytest.param(pod(RUNNING, init=[ended(1, reason="Error")]), "Init:Error", id="init-error"),
        pytest.param(
            pod(
                waiting("Odd"),
                init=[waiting("PodInitializing")],
                conditions=[{"type": "Initialized", "status": "True"}],
            ),
            "Odd",
            id="initialized-all-the-same",
        ),
        pytest.param(pod(RUNNING, deleted=True), "Terminating", id="terminating"),
        pytest.param(
            pod(ended(0, reason="Completed"), phase="Succeeded", deleted=True), "Completed", id="over"
        ),
        pytest.param(pod(deleted=True, reason="NodeLost"), "Unknown", id="node-lost"),
        pytest.param(pod(phase="Failed", reason="Evicted"), "Evicted", id="reason"),
        pytest.param(
            pod(phase="Pending", conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]),
            "SchedulingGated",
            id="gated",
        ),
    ],
)
def test_status_of_a_pod(obj: Object, expected: str) -> None:
    assert cell("", "pods", "Status", obj) == expected


def restarted(count: int, finished: str = MINUTES_AGO_5) -> Object:
    return {**deepcopy(RUNNING), "restartCount": count, "lastState": {"terminated": {"finishedAt": finished}}}


SIDECAR = [{"name": "i0", "restartPolicy": "Always"}, {"name": "i1"}]


@pytest.mark.parametrize(
    ("obj", "ready", "restarts"),
    [
        pytest.param(pod(RUNNING, waiting("x")), "1/2", "0", id="never"),
        pytest.param(pod({**RUNNING, "restartCount": 2}), "1/1", "2", id="time-unknown"),
        pytest.param(pod(restarted(3), restarted(1, CREATED)), "2/2", "4 (5m ago)", id="latest-counts"),
        pytest.param(
            pod(RUNNING, init=[restarted(2) | ended(0)]), "1/1", "0", id="init-restarts-are-forgotten"
        ),
        pytest.param(
            pod(RUNNING, init=[restarted(2) | waiting("x")]), "0/1", "2 (5m ago)", id="init-restarts"
        ),
        pytest.param(
            pod(RUNNING, init=[restarted(2) | {"started": True}], init_specs=SIDECAR),
            "2/2",
            "2 (5m ago)",
            id="sidecar",
        ),
    ],
)
def test_readiness_and_restarts_of_a_pod(obj: Object, ready: str, restarts: str) -> None:
    assert cell("", "pods", "Ready", obj) == ready
    assert cell("", "pods", "Restarts", obj) == restarts


def test_wide_cells_of_a_pod() -> None:
    obj = pod(
        RUNNING,
        podIPs=[{"ip": "10.0.0.9"}],
        nominatedNodeName="n2",
        conditions=[{"type": "g1", "status": "True"}],
    )
    obj["spec"] |= {"nodeName": "n1", "readinessGates": [{"conditionType": "g1"}, {"conditionType": "g2"}]}
    assert cells("", "v1", "pods", obj, NOW)[4:] == ["60m", "10.0.0.9", "n1", "n2", "1/2"]


def test_a_finished_pod_says_so_in_its_row() -> None:
    [row] = rows("", "v1", "pods", [pod(phase="Failed")], NOW)
    assert row.conditions == [
        {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}
    ]


def service(kind: str, **fields: Any) -> Object:
    status = {"loadBalancer": {"ingress": fields.pop("ingress", [])}}
    return named(spec={"type": kind, **fields}, status=status)


def node(labels: dict[str, str] | None = None, conditions: list[Object] | None = None, **spec: Any) -> Object:
    return named(metadata={"labels": labels or {}}, spec=spec, status={"conditions": conditions or []})


def job(deleted: bool = False, **fields: Any) -> Object:
    conditions = [{"type": each, "status": "True"} for each in fields.pop("conditions", [])]
    times = {key: fields.pop(key) for key in ("startTime", "completionTime", "succeeded") if key in fields}
    metadata = {"deletionTimestamp": CREATED} if deleted else {}
    return named(metadata=metadata, spec=fields, status={"conditions": conditions, **times})


def autoscaler(*metrics: Object, current: list[Object] | None = None, **fields: Any) -> Object:
    return named(spec={"metrics": list(metrics), **fields}, status={"currentMetrics": current or []})


def cpu(side: str, **values: Any) -> Object:
    return {"type": "Resource", "resource": {"name": "cpu", side: values}}


def outside(side: str, **values: Any) -> Object:
    return {"type": "External", "external": {side: values}}


def claim(**fields: Any) -> Object:
    return named(
        spec=fields,
        status={
            "phase": "Bound",
            "capacity": {"storage": "2Gi"},
            "accessModes": ["ReadWriteOncePod", "ReadWriteOnce"],
        },
    )


HOSTS = [{"host": f"h{n}"} for n in range(5)]
LABEL_SELECTOR = {
    "matchLabels": {"a": "b"},
    "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}],
}


@pytest.mark.parametrize(
    ("resource", "column", "obj", "expected"),
    [
        pytest.param("/services", "External-IP", service("LoadBalancer"), "<pending>", id="balancer-pending"),
        pytest.param(
            "/services",
            "External-IP",
            service("LoadBalancer", ingress=[{"hostname": "b"}, {"ip": "1.2.3.4"}], externalIPs=["9.9.9.9"]),
            "1.2.3.4,b,9.9.9.9",
            id="balancer-addresses",
        ),
        pytest.param(
            "/services", "External-IP", service("NodePort", externalIPs=["1.1.1.1"]), "1.1.1.1", id="external"
        ),
        pytest.param(
            "/services",
            "Port(s)",
            service(
                "NodePort",
                ports=[{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
            ),
            "80:30080/TCP,53/UDP",
            id="ports",
        ),
        pytest.param("/nodes", "Status", node(), "Unknown", id="node-unknown"),
        pytest.param("/nodes", "Status", node(conditions=[READY]), "Ready", id="node-ready"),
        pytest.param(
            "/nodes",
            "Status",
            node(conditions=[{"type": "Ready", "status": "Unknown"}], unschedulable=True),
            "NotReady,SchedulingDisabled",
            id="node-cordoned",
        ),
        pytest.param(
            "/nodes",
            "Roles",
            node(
                {
                    "node-role.kubernetes.io/worker": "",
                    "node-role.kubernetes.io/": "",
                    "kubernetes.io/role": "edge",
                }
            ),
            "edge,worker",
            id="node-roles",
        ),
        pytest.param(
            "/endpoints",
            "Endpoints",
            named(
                subsets=[
                    {"addresses": [{"ip": "::1"}, {"ip": "1.1.1.1"}], "ports": [{"port": 1}, {"port": 2}]}
                ]
            ),
            "[::1]:1,1.1.1.1:1,[::1]:2 + 1 more...",
            id="endpoints",
        ),
        pytest.param(
            "/endpoints",
            "Endpoints",
            named(subsets=[{"addresses": [{"ip": "1.1.1.1"}]}]),
            "1.1.1.1",
            id="headless",
        ),
        pytest.param(
            "/resourcequotas",
            "Limit",
            named(status={"hard": {"limits.cpu": "2", "pods": "3"}, "used": {"limits.cpu": "1"}}),
            "limits.cpu: 1/2",
            id="quota-limits",
        ),
        pytest.param(
            "/resourcequotas",
            "Request",
            named(status={"hard": {"pods": "3"}}),
            "pods: 0/3",
            id="quota-requests",
        ),
        pytest.param(
            "/persistentvolumeclaims", "Access Modes", claim(volumeName="v"), "RWO,RWOP", id="claim-modes"
        ),
        pytest.param(
            "/persistentvolumeclaims", "Capacity", claim(volumeName="v"), "2Gi", id="claim-capacity"
        ),
        pytest.param("/persistentvolumeclaims", "Capacity", claim(), "", id="claim-unbound"),
        pytest.param(
            "apps/controllerrevisions",
            "Controller",
            named(
                metadata={
                    "ownerReferences": [
                        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True}
                    ]
                }
            ),
            "daemonset.apps/d",
            id="controller",
        ),
        pytest.param(
            "batch/jobs",
            "Status",
            job(conditions=["SuccessCriteriaMet", "Complete"]),
            "Complete",
            id="job-complete",
        ),
        pytest.param("batch/jobs", "Status", job(conditions=["Suspended"]), "Suspended", id="job-suspended"),
        pytest.param(
            "batch/jobs",
            "Status",
            job(deleted=True, conditions=["Suspended"]),
            "Terminating",
            id="job-deleted",
        ),
        pytest.param(
            "batch/jobs", "Completions", job(completions=3, succeeded=1), "1/3", id="job-completions"
        ),
        pytest.param("batch/jobs", "Completions", job(parallelism=2), "0/1 of 2", id="job-queue"),
        pytest.param("batch/jobs", "Completions", job(parallelism=1), "0/1", id="job-single"),
        pytest.param("batch/jobs", "Duration", job(startTime=MINUTES_AGO_5), "5m", id="job-running"),
        pytest.param(
            "batch/jobs",
            "Duration",
            job(startTime=CREATED, completionTime="2026-01-01T00:00:42Z"),
            "42s",
            id="job-done",
        ),
        pytest.param(
            "batch/cronjobs",
            "Last Schedule",
            named(status={"lastScheduleTime": MINUTES_AGO_5}),
            "5m",
            id="last-schedule",
        ),
        pytest.param(
            "autoscaling/horizontalpodautoscalers", "Targets", autoscaler(), "<none>", id="no-metrics"
        ),
        pytest.param(
            "autoscaling/horizontalpodautoscalers",
            "Targets",
            autoscaler(cpu("target", averageUtilization=80), current=[cpu("current", averageUtilization=12)]),
            "cpu: 12%/80%",
            id="utilization",
        ),
        pytest.param(
            "autoscaling/horizontalpodautoscalers",
            "Targets",
            autoscaler(
                outside("target", averageValue="5"),
                outside("target", value="7"),
                cpu("target", averageValue="1"),
            ),
            "<unknown>/5 (avg), <unknown>/7 + 1 more...",
            id="two-shown",
        ),
        pytest.param(
            "autoscaling/horizontalpodautoscalers",
            "Targets",
            autoscaler(outside("target", value="7"), current=[outside("current", averageValue="1")]),
            "<nil>/7",
            id="value-missing",
        ),
        pytest.param(
            "autoscaling/horizontalpodautoscalers",
            "Targets",
            named(spec={"targetCPUUtilizationPercentage": 70}, status={"currentCPUUtilizationPercentage": 9}),
            "cpu: 9%/70%",
            id="first-version",
        ),
        pytest.param(
            "networking.k8s.io/ingresses",
            "Hosts",
            named(spec={"rules": HOSTS}),
            "h0,h1,h2 + 2 more...",
            id="hosts",
        ),
        pytest.param(
            "networking.k8s.io/ingresses",
            "Hosts",
            named(spec={"rules": HOSTS[:3]}),
            "h0,h1,h2",
            id="three-hosts",
        ),
        pytest.param("networking.k8s.io/ingresses", "Hosts", named(spec={"rules": [{}]}), "*", id="any-host"),
        pytest.param("networking.k8s.io/ingresses", "Ports", named(spec={"tls": [{}]}), "80, 443", id="tls"),
        pytest.param(
            "networking.k8s.io/ingressclasses",
            "Parameters",
            named(spec={"parameters": {"apiGroup": "g.io", "kind": "K", "name": "p"}}),
            "K.g.io/p",
            id="class-parameters",
        ),
        pytest.param(
            "networking.k8s.io/ingressclasses",
            "Name",
            named(metadata={"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}),
            "x (default)",
            id="default-ingress-class",
        ),
        pytest.param(
            "networking.k8s.io/ipaddresses",
            "ParentRef",
            named(spec={"parentRef": {"resource": "services", "namespace": "n", "name": "s"}}),
            "services/n/s",
            id="address-parent",
        ),
        pytest.param(
            "policy/poddisruptionbudgets",
            "Max Unavailable",
            named(spec={"maxUnavailable": "20%"}),
            "20%",
            id="budget",
        ),
        pytest.param(
            "discovery.k8s.io/endpointslices",
            "Ports",
            named(ports=[{"port": 1}, {"name": "n"}, {}, {"port": 4}]),
            "1,n,* + 1 more...",
            id="slice-ports",
        ),
        pytest.param("discovery.k8s.io/endpointslices", "Endpoints", named(), "<unset>", id="slice-empty"),
        pytest.param(
            "certificates.k8s.io/certificatesigningrequests",
            "Condition",
            named(status={"conditions": [{"type": "Approved"}, {"type": "Failed"}], "certificate": "x"}),
            "Approved,Failed,Issued",
            id="signing-request",
        ),
        pytest.param(
            "certificates.k8s.io/certificatesigningrequests",
            "RequestedDuration",
            named(spec={"expirationSeconds": 86400 * 8}),
            "8d",
            id="requested-duration",
        ),
        pytest.param(
            "admissionregistration.k8s.io/validatingadmissionpolicybindings",
            "ParamRef",
            named(spec={"paramRef": {"name": "p"}}),
            "*/p",
            id="parameter-by-name",
        ),
        pytest.param(
            "admissionregistration.k8s.io/validatingadmissionpolicybindings",
            "ParamRef",
            named(spec={"paramRef": {"selector": LABEL_SELECTOR}}),
            "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{"
            "LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}",
            id="parameters-by-label",
        ),
        pytest.param(
            "apiregistration.k8s.io/apiservices",
            "Available",
            named(
                status={
                    "conditions": [{"type": "Available", "status": "False", "reason": "MissingEndpoints"}]
                }
            ),
            "False (MissingEndpoints)",
            id="service-unavailable",
        ),
        pytest.param(
            "apiextensions.k8s.io/customresourcedefinitions",
            "Versions",
            named(
                spec={
                    "versions": [
                        {"name": "v2", "served": True, "storage": True},
                        {"name": "v1", "served": True},
                        {"name": "v0"},
                    ]
                }
            ),
            "v1,v2(storage)",
            id="served-versions",
        ),
        pytest.param(
            "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
            "Queues",
            named(spec={"limited": {"limitResponse": {"queuing": {"queues": 64}}}}),
            64,
            id="queues",
        ),
        pytest.param(
            "flowcontrol.apiserver.k8s.io/flowschemas",
            "MissingPL",
            named(status={"conditions": [{"type": "Dangling", "status": "False"}]}),
            "False",
            id="dangling",
        ),
        pytest.param(
            "resource.k8s.io/resourceclaims",
            "State",
            named(metadata={"deletionTimestamp": CREATED}, status={"allocation": {}, "reservedFor": [{}]}),
            "deleted,allocated,reserved",
            id="device-claim",
        ),
        pytest.param(
            "storagemigration.k8s.io/storageversionmigrations",
            "Resource",
            named(spec={"resource": {"group": "apps", "resource": "deployments"}}),
            "deployments.apps",
            id="migrated-resource",
        ),
        pytest.param("storage.k8s.io/csidrivers", "AttachRequired", named(), True, id="attach-by-default"),
        pytest.param("rbac.authorization.k8s.io/roles", "Created At", named(), CREATED, id="default-columns"),
        pytest.param(
            "rbac.authorization.k8s.io/rolebindings",
            "Users",
            named(subjects=[{"kind": "User", "name": "u"}, {"kind": "User", "name": "v"}]),
            "u, v",
            id="users",
        ),
    ],
)
def test_cell(resource: str, column: str, obj: Object, expected: Any) -> None:
    group, plural = resource.split("/")
    assert cell(group, plural, column, obj) == expected


EVENT = named(
    type="Warning",
    reason="BackOff",
    message=" gone \n",
    involvedObject={"kind": "Pod", "name": "p", "fieldPath": "spec"},
    source={"component": "kubelet", "host": "n1"},
    firstTimestamp=CREATED,
    lastTimestamp=MINUTES_AGO_5,
    count=7,
)
NEWER_EVENT = named(
    type="Warning",
    reason="BackOff",
    note="gone",
    regarding={"kind": "Pod", "name": "p", "fieldPath": "spec"},
    reportingController="kubelet",
    reportingInstance="n1",
    eventTime="2026-01-01T00:00:00.000000Z",
    series={"count": 7, "lastObservedTime": "2026-01-01T00:55:00.000000Z"},
)


@pytest.mark.parametrize(
    ("group", "event"), [("", EVENT), ("events.k8s.io", NEWER_EVENT)], ids=["core", "newer"]
)
def test_an_event_reads_the_same_in_both_groups(group: str, event: Object) -> None:
    expected = ["5m", "Warning", "BackOff", "pod/p", "spec", "kubelet, n1", "gone", "60m", 7, "x"]
    assert cells(group, "v1", "events", event, NOW) == expected


def test_an_event_that_happened_once_counts_one() -> None:
    assert cell("", "events", "Count", named(eventTime=MINUTES_AGO_5)) == 1
    assert cell("", "events", "Last Seen", named(eventTime=MINUTES_AGO_5)) == "5m"
    assert cell("", "events", "Last Seen", named()) == "<unknown>"


def test_the_newest_default_storage_class_is_the_default() -> None:
    def storage_class(name: str, created: str) -> Object:
        annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
        return {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}}

    classes = [
        storage_class("a", CREATED),
        storage_class("b", MINUTES_AGO_5),
        storage_class("c", MINUTES_AGO_5),
    ]
    found = rows("storage.k8s.io", "v1", "storageclasses", classes, NOW)
    assert [row.cells[0] for row in found or ()] == ["a", "b (default)", "c"]
    # One by itself does not know.
    [alone] = rows("storage.k8s.io", "v1", "storageclasses", classes[1:2], NOW, listed=False) or ()
    assert alone.cells[0] == "b"


def test_flow_schemas_are_listed_in_the_order_they_are_tried() -> None:
    schemas = [
        {"metadata": {"name": name}, "spec": {"matchingPrecedence": at}}
        for name, at in (("b", 9), ("a", 9), ("c", 1))
    ]
    found = rows("flowcontrol.apiserver.k8s.io", "v1", "flowschemas", schemas, NOW)
    assert [row.object["metadata"]["name"] for row in found] == ["c", "a", "b"]


def test_an_unknown_resource_shows_name_and_creation() -> None:
    assert [column.name for column in columns_for("example.com", "v1", "widgets")] == ["Name", "Created At"]
    assert cells("example.com", "v1", "widgets", named(), NOW) == ["x", CREATED]


def test_scales_of_built_in_resources_show_their_replicas() -> None:
    table = scale_table(custom=False)
    shown = [(column.name, column.type, column.format) for column in table.columns]
    assert shown == [
        ("Name", "string", ""),
        ("Desired", "integer", ""),
        ("Available", "integer", ""),
        ("Age", "string", ""),
    ]
    assert table.cells(named(spec={"replicas": 2}, status={"replicas": 1}), NOW) == ["x", 2, 1, "60m"]
    assert table.cells(named(spec={}, status={"replicas": 0}), NOW) == ["x", 0, 0, "60m"]
