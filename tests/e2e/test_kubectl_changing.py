"""kubectl changes what is there: patch, label, annotate, scale, set, rollout, nodes, status."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.kubectl import Kubectl
from tests.support.manifests import config_map, deployment, pod

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("kind", "patch", "ports"),
    [
        pytest.param(
            "strategic",
            {"spec": {"ports": [{"port": 443, "name": "https"}]}},
            [("https", 443), ("http", 80)],
            id="strategic merges lists by key",
        ),
        pytest.param(
            "strategic",
            {"spec": {"ports": [{"port": 443}, {"port": 80, "$patch": "delete"}]}},
            [(None, 443)],
            id="strategic deletes by directive",
        ),
        pytest.param(
            "merge", {"spec": {"ports": [{"port": 443}]}}, [(None, 443)], id="merge replaces lists"
        ),
        pytest.param(
            "json",
            [
                {"op": "test", "path": "/spec/ports/0/port", "value": 80},
                {"op": "replace", "path": "/spec/ports/0/port", "value": 81},
                {"op": "add", "path": "/spec/ports/-", "value": {"port": 82, "name": "more"}},
            ],
            [("http", 81), ("more", 82)],
            id="json does as told",
        ),
    ],
)  # fmt: skip
def test_patch(kubectl: Kubectl, kind: str, patch: Any, ports: list[tuple[str | None, int]]) -> None:
    service = {"metadata": {"name": "s"}, "spec": {"ports": [{"name": "http", "port": 80}]}}
    kubectl.create({"apiVersion": "v1", "kind": "Service", **service})
    done = kubectl("patch", "service", "s", f"--type={kind}", "-p", json.dumps(patch))
    assert done.out == "service/s patched\n"
    patched = kubectl.get("service s")["spec"]["ports"]
    assert [(port.get("name"), port["port"]) for port in patched] == ports


def test_patch_that_changes_nothing(kubectl: Kubectl) -> None:
    kubectl.create(config_map("cm", a="1"))
    version = kubectl.get("cm cm")["metadata"]["resourceVersion"]
    out = kubectl("patch", "cm", "cm", "--type=merge", "-p", '{"data":{"a":"1"}}').out
    assert out == "configmap/cm patched (no change)\n"
    assert kubectl.get("cm cm")["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize(
    ("kind", "patch", "expected"),
    [
        (
            "json",
            '[{"op":"remove","path":"/data/none"}]',
            "The request is invalid: the server rejected our request due to an error in our request",
        ),
        (
            "json",
            '[{"op":"test","path":"/data/a","value":"2"}]',
            "The request is invalid: the server rejected our request due to an error in our request",
        ),
        ("merge", '{"metadata":{"name":"other"}}', "does not match the name on the URL (cm)"),
    ],
    ids=["path is missing", "test fails", "name cannot change"],
)
def test_patch_that_cannot_be_done(kubectl: Kubectl, kind: str, patch: str, expected: str) -> None:
    kubectl.create(config_map("cm", a="1"))
    assert expected in kubectl.fails("patch", "cm", "cm", f"--type={kind}", "-p", patch)
    assert kubectl.get("cm cm")["data"] == {"a": "1"}


def test_label_and_annotate(kubectl: Kubectl) -> None:
    kubectl.create(config_map("cm", {"old": "1"}))
    assert kubectl("label", "cm/cm", "new=1", "old-").out == "configmap/cm labeled\n"
    said = kubectl.fails("label", "cm/cm", "new=2")
    assert said == "error: 'new' already has a value (1), and --overwrite is false"
    kubectl("label", "cm/cm", "new=2", "--overwrite")
    assert kubectl("annotate", "cm/cm", "note=a b").out == "configmap/cm annotated\n"
    metadata = kubectl.get("cm cm")["metadata"]
    assert metadata["labels"] == {"new": "2"}
    assert metadata["annotations"] == {"note": "a b"}
    kubectl("annotate", "cm", "--all", "note-")
    assert "annotations" not in kubectl.get("cm cm")["metadata"]


@pytest.mark.parametrize("what", ["deployment", "replicaset", "statefulset", "replicationcontroller"])
def test_scale(kubectl: Kubectl, what: str) -> None:
    manifest = deployment("web", replicas=2)
    if what == "replicaset":
        manifest["kind"] = "ReplicaSet"
    elif what == "statefulset":
        manifest["kind"] = "StatefulSet"
        manifest["spec"]["serviceName"] = "web"
    elif what == "replicationcontroller":
        manifest |= {"apiVersion": "v1", "kind": "ReplicationController"}
        manifest["spec"]["selector"] = {"app": "web"}
    kubectl.create(manifest)
    kubectl("scale", what, "web", "--replicas=5", "--current-replicas=2")
    scaled = kubectl.get(f"{what} web")
    assert scaled["spec"]["replicas"] == 5
    assert scaled["metadata"]["generation"] == 2
    scale = kubectl("get", what, "web", "--subresource=scale", "-o", "json").json
    assert scale["spec"] == {"replicas": 5}
    assert scale["status"] == {"replicas": 0, "selector": "app=web"}


def test_scale_minds_its_precondition(kubectl: Kubectl) -> None:
    kubectl.create(deployment("web", replicas=2))
    said = kubectl.fails("scale", "deployment/web", "--replicas=5", "--current-replicas=3")
    assert said == "error: Expected replicas to be 3, was 2"
    said = kubectl.fails("scale", "deployment/web", "--replicas=5", "--resource-version=1")
    assert said.startswith("error: Expected resource version to be 1, was ")


def containers(kubectl: Kubectl, what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = kubectl.get(what)["spec"]["template"]["spec"]["containers"]
    return found


def test_set_image_env_and_resources(kubectl: Kubectl) -> None:
    kubectl.create(deployment("web"))
    assert (
        kubectl("set", "image", "deployment/web", "main=nginx:1.28").out
        == "deployment.apps/web image updated\n"
    )
    kubectl("set", "env", "deployment/web", "A=1", "B=2")
    kubectl("set", "env", "deployment/web", "A-")
    kubectl("set", "resources", "deployment/web", "--limits=cpu=1500m,memory=1Gi", "--requests=cpu=0.5")
    kubectl("set", "serviceaccount", "deployment/web", "robot")
    changed = kubectl.get("deployment web")
    [container] = changed["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "nginx:1.28"
    assert container["env"] == [{"name": "B", "value": "2"}]
    assert container["resources"] == {
        "limits": {"cpu": "1500m", "memory": "1Gi"},
        "requests": {"cpu": "500m"},
    }
    assert changed["spec"]["template"]["spec"]["serviceAccountName"] == "robot"
    assert changed["metadata"]["generation"] == 6


def test_rollout_without_controllers(kubectl: Kubectl) -> None:
    kubectl.create(deployment("web"))
    assert kubectl("rollout", "pause", "deployment/web").out == "deployment.apps/web paused\n"
    assert kubectl.get("deployment web")["spec"]["paused"] is True
    assert kubectl.fails("rollout", "pause", "deployment/web").endswith("is already paused")
    assert kubectl("rollout", "resume", "deployment/web").out == "deployment.apps/web resumed\n"
    assert kubectl("rollout", "restart", "deployment/web").out == "deployment.apps/web restarted\n"
    template = kubectl.get("deployment web")["spec"]["template"]
    assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]


def test_rollout_history_of_controller_revisions(kubectl: Kubectl) -> None:
    manifest = deployment("web")
    manifest["kind"] = "StatefulSet"
    kubectl.create(manifest)
    owner = kubectl.get("statefulset web")
    reference = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": "web",
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    for number in (1, 2):
        template = {"$patch": "replace", **owner["spec"]["template"]}
        kubectl.create(
            {
                "apiVersion": "apps/v1",
                "kind": "ControllerRevision",
                "metadata": {
                    "name": f"web-{number}",
                    "labels": {"app": "web"},
                    "ownerReferences": [reference],
                    "annotations": {"kubernetes.io/change-cause": f"cause {number}"},
                },
                "data": {"spec": {"template": template}},
                "revision": number,
            }
        )
    rows = [row for row in kubectl("rollout", "history", "statefulset/web").rows if row]
    assert [row[0] for row in rows] == ["REVISION", "1", "2"]


def test_rollout_undo_takes_the_template_of_the_replica_set(kubectl: Kubectl) -> None:
    manifest = deployment("web", image="nginx:2")
    manifest["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "2"}
    kubectl.create(manifest)
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": kubectl.get("deployment web")["metadata"]["uid"],
        "controller": True,
    }
    for number in ("1", "2"):
        replica_set = deployment("web", replicas=0, image=f"nginx:{number}")
        replica_set["kind"] = "ReplicaSet"
        replica_set["metadata"] |= {
            "name": f"web-{number}",
            "annotations": {"deployment.kubernetes.io/revision": number},
            "ownerReferences": [owner],
        }
        kubectl.create(replica_set)
    history = kubectl("rollout", "history", "deployment/web").lines
    assert [line.split()[0] for line in history if line] == ["deployment.apps/web", "REVISION", "1", "2"]
    assert kubectl("rollout", "undo", "deployment/web").out == "deployment.apps/web rolled back\n"
    assert containers(kubectl, "deployment web")[0]["image"] == "nginx:1"


def test_edit(kubectl: Kubectl) -> None:
    kubectl.create(config_map("cm", a="before"))
    assert kubectl("edit", "cm", "cm", editor="sed -i s/before/after/").out == "configmap/cm edited\n"
    assert kubectl.get("cm cm")["data"] == {"a": "after"}


def test_a_pod_is_debugged_by_an_ephemeral_container(kubectl: Kubectl) -> None:
    kubectl.create(pod("p"))
    kubectl("debug", "p", "--image=busybox:1", "--container=look", "--profile=general")
    changed = kubectl.get("pod p")
    [ephemeral] = changed["spec"]["ephemeralContainers"]
    assert (ephemeral["name"], ephemeral["image"]) == ("look", "busybox:1")
    assert [container["name"] for container in changed["spec"]["containers"]] == ["main"]


def test_status_changes_only_through_its_subresource(kubectl: Kubectl) -> None:
    kubectl.create(deployment("web"))
    patch = '{"spec":{"replicas":9},"status":{"replicas":3,"readyReplicas":2,"observedGeneration":1}}'
    kubectl("patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", patch)
    result = kubectl.get("deployment web")
    assert (result["spec"]["replicas"], result["metadata"]["generation"]) == (1, 1)
    assert result["status"] == {"replicas": 3, "readyReplicas": 2, "observedGeneration": 1}
    kubectl("patch", "deployment", "web", "--type=merge", "-p", '{"status":{"replicas":7}}')
    assert kubectl.get("deployment web")["status"]["replicas"] == 3
    assert kubectl("get", "deployment", "web").rows[0][1] == "2/1"
