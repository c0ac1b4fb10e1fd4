"""What people do with kubectl in a cluster where things happen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support import waiting
from tests.support.kubectl import WAIT, Kubectl
from tests.support.steer import DEADLINE_S


def soon(check: Callable[[], Any]) -> Any:
    """What `check` returns once that is true."""
    return waiting.soon(check, DEADLINE_S, every_s=0.1)


def web(kubectl: Kubectl, replicas: int = 2, image: str = "nginx:1") -> None:
    kubectl("create", "deployment", "web", f"--image={image}", f"--replicas={replicas}")
    kubectl("rollout", "status", "deployment/web", WAIT)


def pods(kubectl: Kubectl, *more: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = kubectl("get", "pods", "-o", "json", *more).json["items"]
    return items


def test_a_deployment_becomes_running_pods_on_nodes(kubectl: Kubectl) -> None:
    web(kubectl, replicas=3)
    found = pods(kubectl)
    assert [pod["status"]["phase"] for pod in found] == ["Running"] * 3
    assert len({pod["spec"]["nodeName"] for pod in found}) == 3
    assert len({pod["status"]["podIP"] for pod in found}) == 3


def test_a_rollout_is_paused_resumed_undone_and_remembered(kubectl: Kubectl) -> None:
    web(kubectl)
    kubectl("rollout", "pause", "deployment/web")
    kubectl("set", "image", "deployment/web", "nginx=nginx:2")
    assert [pod["spec"]["containers"][0]["image"] for pod in pods(kubectl)] == ["nginx:1"] * 2
    kubectl("rollout", "resume", "deployment/web")
    kubectl("rollout", "status", "deployment/web", WAIT)
    soon(lambda: [pod["spec"]["containers"][0]["image"] for pod in pods(kubectl)] == ["nginx:2"] * 2)
    history = kubectl("rollout", "history", "deployment/web").out
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["1", "2"]
    kubectl("rollout", "undo", "deployment/web")
    kubectl("rollout", "status", "deployment/web", WAIT)
    soon(lambda: [pod["spec"]["containers"][0]["image"] for pod in pods(kubectl)] == ["nginx:1"] * 2)
    kubectl("rollout", "restart", "deployment/web")
    kubectl("rollout", "status", "deployment/web", WAIT)


def test_scaling_up_and_down(kubectl: Kubectl) -> None:
    web(kubectl, replicas=1)
    kubectl("scale", "deployment/web", "--replicas=4")
    kubectl("wait", "deployment/web", "--for=jsonpath={.status.readyReplicas}=4", WAIT)
    kubectl("scale", "deployment/web", "--replicas=0")
    soon(lambda: not pods(kubectl))


def test_an_exposed_deployment_has_endpoints(kubectl: Kubectl) -> None:
    web(kubectl)
    kubectl("expose", "deployment/web", "--port=80")
    addresses = soon(
        lambda: [
            address
            for item in kubectl("get", "endpointslices", "-o", "json").json["items"]
            for endpoint in item["endpoints"] or ()
            for address in endpoint["addresses"]
        ]
    )
    assert set(addresses) <= {pod["status"]["podIP"] for pod in pods(kubectl)}


@pytest.mark.parametrize(
    ("cascade", "left"), [("background", 0), ("foreground", 0), ("orphan", 1)], ids=lambda value: str(value)
)
def test_deleting_an_owner(kubectl: Kubectl, cascade: str, left: int) -> None:
    web(kubectl, replicas=1)
    kubectl("delete", "deployment/web", f"--cascade={cascade}")
    soon(lambda: len(kubectl("get", "replicasets", "-o", "name").lines) == left)
    soon(lambda: len(pods(kubectl)) == left)


def test_a_deleted_namespace_is_emptied_and_gone(kubectl: Kubectl) -> None:
    web(kubectl)
    kubectl("create", "configmap", "settings", "--from-literal=a=b")
    kubectl("delete", "namespace", kubectl.namespace, WAIT)
    assert "not found" in kubectl.fails("get", "namespace", kubectl.namespace)


def test_a_namespace_has_its_service_account_and_root_certificate(kubectl: Kubectl) -> None:
    soon(lambda: "serviceaccount/default" in kubectl("get", "serviceaccounts", "-o", "name").lines)
    soon(lambda: "configmap/kube-root-ca.crt" in kubectl("get", "configmaps", "-o", "name").lines)
    assert "BEGIN CERTIFICATE" in kubectl("get", "configmap", "kube-root-ca.crt", "-o", "yaml").out


def test_a_job_runs_to_its_end_and_one_is_made_from_a_cron_job(kubectl: Kubectl) -> None:
    kubectl("create", "cronjob", "tick", "--image=busybox", "--schedule=0 0 1 1 *", "--", "true")
    kubectl("patch", "cronjob", "tick", "-p", _ENDS)
    kubectl("create", "job", "now", "--from=cronjob/tick")
    kubectl("wait", "job/now", "--for=condition=Complete", WAIT)
    assert kubectl("get", "job", "now", "-o", "jsonpath={.status.succeeded}").out == "1"


_ENDS = (
    '{"spec":{"jobTemplate":{"spec":{"template":{"metadata":'
    '{"annotations":{"simulated.steersman.dev/run-time":"100ms"}}}}}}}'
)


def test_a_drained_node_is_empty_until_it_is_uncordoned(kubectl: Kubectl) -> None:
    web(kubectl, replicas=3)
    node = pods(kubectl)[0]["spec"]["nodeName"]
    try:
        kubectl("drain", node, "--ignore-daemonsets", "--force", WAIT)
        kubectl("rollout", "status", "deployment/web", WAIT)
        assert all(pod["spec"]["nodeName"] != node for pod in pods(kubectl))
        assert "SchedulingDisabled" in kubectl("get", "node", node).out
    finally:
        kubectl("uncordon", node)
    kubectl("get", "node", node)


def test_a_pod_that_fits_nowhere_says_why(kubectl: Kubectl) -> None:
    kubectl(
        "run",
        "huge",
        "--image=nginx:1",
        '--overrides={"spec":{"containers":[{"name":"huge","image":"nginx:1",'
        '"resources":{"requests":{"cpu":"500"}}}]}}',
    )
    told = soon(lambda: [line for line in kubectl("get", "events").lines if "FailedScheduling" in line])
    assert "0/3 nodes are available" in told[0]
    assert "Insufficient cpu" in told[0]


def test_a_stateful_set_comes_in_order_with_its_claims_names(kubectl: Kubectl) -> None:
    kubectl.apply(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
         "spec": {"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"port": 1}]}},
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
         "spec": {"serviceName": "db", "replicas": 2, "selector": {"matchLabels": {"app": "db"}},
                  "template": {"metadata": {"labels": {"app": "db"}},
                               "spec": {"containers": [{"name": "db", "image": "db:1"}]}}}},
    )  # fmt: skip
    kubectl("rollout", "status", "statefulset/db", WAIT)
    assert sorted(pod["metadata"]["name"] for pod in pods(kubectl)) == ["db-0", "db-1"]


def test_a_daemon_set_is_on_every_node(kubectl: Kubectl) -> None:
    kubectl.apply(
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"},
         "spec": {"selector": {"matchLabels": {"app": "agent"}},
                  "template": {"metadata": {"labels": {"app": "agent"}},
                               "spec": {"containers": [{"name": "agent", "image": "agent:1"}]}}}},
    )  # fmt: skip
    kubectl("rollout", "status", "daemonset/agent", WAIT)
    assert len({pod["spec"]["nodeName"] for pod in pods(kubectl)}) == 3


def test_a_plain_job_completes(kubectl: Kubectl) -> None:
    kubectl("create", "job", "plain", "--image=busybox", "--", "true")
    kubectl("wait", "job/plain", "--for=condition=Complete", WAIT)


def test_a_busy_deployment_is_given_more_pods(kubectl: Kubectl) -> None:
    kubectl.apply(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "busy"},
         "spec": {"selector": {"matchLabels": {"app": "busy"}},
                  "template": {"metadata": {"labels": {"app": "busy"},
                                            "annotations": {"simulated.steersman.dev/cpu": "500m"}},
                               "spec": {"containers": [{"name": "app", "image": "app:1",
                                                        "resources": {"requests": {"cpu": "250m"}}}]}}}},
    )  # fmt: skip
    kubectl("rollout", "status", "deployment/busy", WAIT)
    kubectl("autoscale", "deployment/busy", "--min=1", "--max=3", "--cpu-percent=50")
    kubectl("wait", "deployment/busy", "--for=jsonpath={.spec.replicas}=3", WAIT)


def test_a_load_balancer_gets_an_address(kubectl: Kubectl) -> None:
    kubectl("create", "service", "loadbalancer", "web", "--tcp=80")
    kubectl("wait", "service/web", "--for=jsonpath={.status.loadBalancer.ingress[0].ip}", WAIT)
