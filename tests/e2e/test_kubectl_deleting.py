"""kubectl delete and wait: propagation, grace, finalizers, selectors, conditions."""

from __future__ import annotations

import shlex

import pytest

from tests.support.kubectl import WAIT, Kubectl
from tests.support.manifests import config_map, deployment, pod

pytestmark = pytest.mark.slow


def test_delete_is_final(kubectl: Kubectl) -> None:
    kubectl.create(config_map("cm"))
    assert kubectl("delete", "cm", "cm").out.startswith('configmap "cm" deleted')
    assert kubectl("get", "cm", "cm", "--ignore-not-found").out == ""
    assert kubectl("delete", "cm", "cm", "--ignore-not-found").out == ""


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ("-l a=1", ["configmap/three"]),
        ("-l a!=1", ["configmap/one", "configmap/two"]),
        ("--all", []),
        ("one three", ["configmap/two"]),
        ("--field-selector=metadata.name!=two", ["configmap/two"]),
    ],
)
def test_delete_several(kubectl: Kubectl, options: str, left: list[str]) -> None:
    kubectl.create(
        config_map("one", {"a": "1"}), config_map("two", {"a": "1"}), config_map("three", {"a": "2"})
    )
    kubectl("delete", "cm", *shlex.split(options))
    assert kubectl("get", "cm", "-o", "name").lines == left


@pytest.mark.parametrize(
    ("cascade", "finalizers"),
    [("foreground", ["foregroundDeletion"]), ("orphan", ["orphan"]), ("background", None)],
)
def test_cascade_leaves_the_work_to_the_collector(
    kubectl: Kubectl, cascade: str, finalizers: list[str] | None
) -> None:
    kubectl.create(deployment("web"))
    kubectl("delete", "deployment", "web", f"--cascade={cascade}", "--wait=false")
    if finalizers is None:
        assert kubectl("get", "deployment", "-o", "name").out == ""
        return
    metadata = kubectl.get("deployment web")["metadata"]
    assert metadata["finalizers"] == finalizers
    assert metadata["deletionTimestamp"]
    assert metadata["deletionGracePeriodSeconds"] == 0
    # What the garbage collector does when it is done.
    kubectl("patch", "deployment", "web", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert kubectl("get", "deployment", "-o", "name").out == ""


def test_finalizers_hold_an_object_until_they_are_gone(kubectl: Kubectl) -> None:
    manifest = config_map("held")
    manifest["metadata"]["finalizers"] = ["example.com/hold"]
    kubectl.create(manifest)
    kubectl("delete", "cm", "held", "--wait=false")
    held = kubectl.get("cm held")["metadata"]
    assert held["deletionTimestamp"]
    said = kubectl.fails("patch", "cm", "held", "-p", '{"metadata":{"finalizers":["example.com/new"]}}')
    assert (
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted"
        in said
    )
    waiting = kubectl.start("wait", "--for=delete", "cm/held", WAIT)
    try:
        kubectl("patch", "cm", "held", "--type=json", "-p", '[{"op":"remove","path":"/metadata/finalizers"}]')
        _, err = waiting.communicate(timeout=20)
    finally:
        waiting.kill()
    assert waiting.returncode == 0, err
    assert kubectl("get", "cm", "held", "--ignore-not-found").out == ""


def test_a_pod_on_a_node_is_given_its_grace_period(kubectl: Kubectl) -> None:
    kubectl.create(pod("p", nodeName="somewhere", terminationGracePeriodSeconds=17))
    kubectl("delete", "pod", "p", "--wait=false")
    metadata = kubectl.get("pod p")["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 17
    assert kubectl("get", "pod", "p").rows[0][2] == "Terminating"
    kubectl("delete", "pod", "p", "--grace-period=5", "--wait=false")
    assert kubectl.get("pod p")["metadata"]["deletionGracePeriodSeconds"] == 5
    done = kubectl("delete", "pod", "p", "--grace-period=0", "--force")
    assert "Immediate deletion does not wait for confirmation" in done.err
    assert kubectl("get", "pods", "-o", "name").out == ""


def test_a_pod_without_a_node_is_gone_at_once(kubectl: Kubectl) -> None:
    kubectl.create(pod("p"))
    kubectl("delete", "pod", "p")
    assert kubectl("get", "pods", "-o", "name").out == ""


def test_now_means_one_second(kubectl: Kubectl) -> None:
    kubectl.create(pod("p", nodeName="somewhere"))
    kubectl("delete", "pod", "p", "--now", "--wait=false")
    assert kubectl.get("pod p")["metadata"]["deletionGracePeriodSeconds"] == 1


def test_delete_by_file_and_by_type_and_name(kubectl: Kubectl) -> None:
    kubectl.create(config_map("cm"), deployment("web"))
    out = kubectl("delete", "-f", "-", stdin=[config_map("cm"), deployment("web")]).out
    assert 'configmap "cm" deleted' in out
    assert 'deployment.apps "web" deleted' in out
    assert kubectl("get", "cm,deployment", "-o", "name").out == ""


def test_a_namespace_terminates(cluster_kubectl: Kubectl, kubectl: Kubectl) -> None:
    kubectl("delete", "namespace", kubectl.namespace, "--wait=false")
    namespace = cluster_kubectl.get(f"namespace {kubectl.namespace}")
    assert namespace["status"]["phase"] == "Terminating"
    said = kubectl.fails("create", "configmap", "late")
    assert said == (
        f'error: failed to create configmap: configmaps "late" is forbidden: unable to create new content in '
        f"namespace {kubectl.namespace} because it is being terminated"
    )


def test_wait_for_condition_and_jsonpath(kubectl: Kubectl) -> None:
    kubectl.create(deployment("web"))
    waiting = [
        kubectl.start("wait", "--for=condition=Available", "deployment/web", WAIT),
        kubectl.start("wait", "--for=jsonpath={.status.readyReplicas}=2", "deployment/web", WAIT),
    ]
    status = '{"status":{"readyReplicas":2,"replicas":2,"conditions":[{"type":"Available","status":"True"}]}}'
    try:
        kubectl("patch", "deployment", "web", "--subresource=status", "--type=strategic", "-p", status)
        outputs = [process.communicate(timeout=20) for process in waiting]
    finally:
        for process in waiting:
            process.kill()
    assert [process.returncode for process in waiting] == [0, 0]
    assert [out for out, _ in outputs] == ["deployment.apps/web condition met\n"] * 2


def test_wait_gives_up(kubectl: Kubectl) -> None:
    kubectl.create(deployment("web"))
    said = kubectl.fails("wait", "--for=condition=Available", "deployment/web", "--timeout=1s")
    assert said == "error: timed out waiting for the condition on deployments/web"
