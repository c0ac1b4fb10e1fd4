"""kubectl get and describe: every output form, selectors, order, paging."""

from __future__ import annotations

import shlex

import pytest
import yaml

from tests.support.kubectl import Kubectl
from tests.support.manifests import config_map, deployment, pod
from tests.support.steer import Steer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shop(cluster_kubectl: Kubectl) -> Kubectl:
    """A namespace with a deployment, three config maps and two pods that all tests here only read."""
    kubectl = cluster_kubectl.within("reading")
    kubectl("create", "namespace", "reading")
    kubectl.create(
        deployment("web", replicas=3),
        config_map("b", {"tier": "front", "track": "stable"}, key="2"),
        config_map("a", {"tier": "back", "track": "stable"}, key="3"),
        config_map("c", {"tier": "front", "track": "canary"}, key="1"),
        pod("first", {"app": "web"}),
        pod("second", {"app": "web"}, nodeName="node-1"),
    )
    return kubectl


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("configmaps -o name", ["configmap/a", "configmap/b", "configmap/c"], id="name"),
        pytest.param("cm a -o jsonpath={.data.key}", ["3"], id="jsonpath"),
        pytest.param(
            "cm -o 'jsonpath={range .items[*]}{.metadata.name}={.data.key};{end}'", ["a=3;b=2;c=1;"], id="range"
        ),
        pytest.param(
            "cm -o custom-columns=N:.metadata.name,K:.data.key --sort-by=.data.key",
            ["N     K", "c     1", "b     2", "a     3"],
            id="custom columns, sorted",
        ),
        pytest.param("cm -l tier=front -o name", ["configmap/b", "configmap/c"], id="equality"),
        pytest.param("cm -l tier!=front,track -o name", ["configmap/a"], id="inequality and existence"),
        pytest.param("cm -l !tier,missing -o name", [], id="absence"),
        pytest.param(
            "cm -l 'tier in (front, back),track notin (canary)' -o name", ["configmap/a", "configmap/b"], id="sets"
        ),
        pytest.param("cm --field-selector=metadata.name=b -o name", ["configmap/b"], id="field"),
        pytest.param("pods --field-selector=spec.nodeName=node-1 -o name", ["pod/second"], id="pod's node"),
        pytest.param(
            "pods --field-selector=status.phase!=Pending -o name", [], id="pod's phase"
        ),
        pytest.param("cm --chunk-size=1 -o name", ["configmap/a", "configmap/b", "configmap/c"], id="chunks"),
        pytest.param("cm/a deploy/web -o name", ["configmap/a", "deployment.apps/web"], id="several kinds"),
        pytest.param("cm a c -o name", ["configmap/a", "configmap/c"], id="several names"),
        pytest.param("cm a none -o name --ignore-not-found", ["configmap/a"], id="ignore not found"),
        pytest.param("cm -o 'go-template={{len .items}}'", ["3"], id="go template"),
        pytest.param("deploy web -o template={{.spec.replicas}}", ["3"], id="template"),
        pytest.param("deploy web --no-headers -o custom-columns=R:.spec.replicas", ["3"], id="no headers"),
    ],
)  # fmt: skip
def test_get_prints(shop: Kubectl, command: str, expected: list[str]) -> None:
    assert shop("get", *shlex.split(command)).lines == expected


@pytest.mark.parametrize(
    ("command", "header", "row"),
    [
        ("deploy web", "NAME READY UP-TO-DATE AVAILABLE AGE", "web 0/3 0 0"),
        (
            "deploy web -o wide",
            "NAME READY UP-TO-DATE AVAILABLE AGE CONTAINERS IMAGES SELECTOR",
            "web 0/3 0 0 AGE main nginx:1.27 app=web",
        ),
        ("cm a", "NAME DATA AGE", "a 1"),
        ("cm a --show-labels", "NAME DATA AGE LABELS", "a 1 AGE tier=back,track=stable"),
        ("cm a -L tier", "NAME DATA AGE TIER", "a 1 AGE back"),
        ("cm a --show-kind", "NAME DATA AGE", "configmap/a 1"),
        (
            "pod second -o wide",
            "NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES",
            "second 0/1 Pending 0 AGE <none> node-1 <none> <none>",
        ),
        (
            "cm -A --field-selector=metadata.name=a,metadata.namespace=reading",
            "NAMESPACE NAME DATA AGE",
            "reading a 1",
        ),
        ("ns reading", "NAME STATUS AGE", "reading Active"),
        (
            "svc kubernetes -n default -o wide",
            "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE SELECTOR",
            "kubernetes ClusterIP 10.96.0.1 <none> 443/TCP AGE <none>",
        ),
    ],
)
def test_get_prints_the_servers_table(shop: Kubectl, command: str, header: str, row: str) -> None:
    first, *rows = (line.split() for line in shop("get", *command.split()).lines)
    assert " ".join(first) == header
    assert len(rows) == 1
    for cell, expected in zip(rows[0], row.split(), strict=False):
        assert expected in ("AGE", cell)


def test_yaml_and_json_are_the_same_complete_object(shop: Kubectl) -> None:
    from_json = shop.get("cm a")
    assert from_json == yaml.safe_load(shop("get", "cm", "a", "-o", "yaml").out)
    assert from_json["kind"] == "ConfigMap"
    assert from_json["data"] == {"key": "3"}
    assert set(from_json["metadata"]) == {
        "creationTimestamp",
        "labels",
        "name",
        "namespace",
        "resourceVersion",
        "uid",
    }


def test_managed_fields_are_there_on_request(shop: Kubectl) -> None:
    [entry] = shop.get("cm a", "--show-managed-fields")["metadata"]["managedFields"]
    assert entry["manager"] == "kubectl-create"
    assert entry["operation"] == "Update"
    assert entry["fieldsV1"]["f:data"] == {".": {}, "f:key": {}}


def test_sort_by_creation_and_name(shop: Kubectl) -> None:
    names = shop("get", "cm", "-o", "name", "--sort-by={.metadata.name}").lines
    assert names == ["configmap/a", "configmap/b", "configmap/c"]
    table = shop("get", "cm", "--sort-by=.data.key").rows
    assert [row[0] for row in table] == ["c", "b", "a"]


def test_get_all_shows_the_category(shop: Kubectl) -> None:
    names = shop("get", "all", "-o", "name").lines
    assert names == ["pod/first", "pod/second", "deployment.apps/web"]


def test_nothing_found_is_no_failure(shop: Kubectl) -> None:
    done = shop("get", "secrets")
    assert (done.out, done.err) == ("", "No resources found in reading namespace.\n")


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (
            "deploy/web",
            [
                "Replicas:               3 desired | 0 updated | 0 total | 0 available | 0 unavailable",
                "RollingUpdateStrategy:  25% max unavailable, 25% max surge",
                "Image:         nginx:1.27",
            ],
        ),
        ("pod/second", ["Node:             node-1/", "Status:           Pending", "BestEffort"]),
        ("cm/a", ["Labels:       tier=back", "              track=stable", "key:\n----\n3"]),
        ("ns/reading", ["Status:       Active", "kubernetes.io/metadata.name=reading", "No resource quota."]),
    ],
)
def test_describe(shop: Kubectl, what: str, expected: list[str]) -> None:
    out = shop("describe", what).out
    for text in expected:
        assert text in out


def test_events_are_shown_for_their_object(kubectl: Kubectl) -> None:
    kubectl.create(pod("worker"))
    uid = kubectl.get("pod worker")["metadata"]["uid"]
    about = {"apiVersion": "v1", "kind": "Pod", "name": "worker", "namespace": kubectl.namespace, "uid": uid}
    now = "2026-01-02T03:04:05Z"
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "worker.1"},
        "involvedObject": about,
        "reason": "Pulled",
        "message": "Image is here",
        "type": "Normal",
        "source": {"component": "kubelet"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 2,
    }
    other = event | {
        "metadata": {"name": "other.1"},
        "involvedObject": about | {"name": "other", "uid": "x"},
        "type": "Warning",
        "reason": "Failed",
    }
    kubectl.create(event, other)
    [shown] = kubectl("events", "--for=pod/worker").rows
    assert shown[-6:] == ["Normal", "Pulled", "Pod/worker", "Image", "is", "here"]
    assert "Pulled" in kubectl("describe", "pod", "worker").out
    assert "Failed" not in kubectl("describe", "pod", "worker").out
    failed = kubectl("get", "events", "--field-selector=type=Warning,involvedObject.name=other").rows
    assert [row[1:] for row in failed] == [["Warning", "Failed", "pod/other", "Image", "is", "here"]]
    # The other group's version of the same events.
    newer = kubectl.get("events.events.k8s.io worker.1")
    assert newer["note"] == "Image is here"
    assert newer["regarding"]["name"] == "worker"
    assert newer["deprecatedCount"] == 2


def test_all_namespaces_lists_more_than_one(shop: Kubectl, server: Steer) -> None:
    namespaces = {row[0] for row in shop("get", "svc,cm", "-A").rows if row}
    assert {"reading", "default"} <= namespaces
