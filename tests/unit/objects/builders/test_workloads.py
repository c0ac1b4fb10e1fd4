"""Workloads: how selectors and labels follow from what was said, and what pods are made of."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.builders import (
    Affinity,
    Container,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PersistentVolumeClaim,
    Pod,
    Selector,
    StatefulSet,
    Volume,
)

APP = Container("app").image("nginx:1.27")


def web() -> Deployment:
    return Deployment("web").container(APP)


def own(value: str) -> dict[str, Any]:
    return {"matchLabels": {"app": value}}


@pytest.mark.parametrize(
    ("built", "selector", "labels"),
    [
        (web(), own("web"), {"app": "web"}),
        (web().labels(app="shop"), own("shop"), {"app": "shop"}),
        (web().labels(team="a"), own("web"), {"app": "web"}),
        (web().pod_labels(app="shop"), own("shop"), {"app": "shop"}),
        (web().pod_labels(tier="a"), own("web"), {"tier": "a", "app": "web"}),
        (web().selector(tier="a"), {"matchLabels": {"tier": "a"}}, {"tier": "a"}),
        (
            web().selector({"a/b": "c"}, d="e"),
            {"matchLabels": {"a/b": "c", "d": "e"}},
            {"a/b": "c", "d": "e"},
        ),
        (web().selector(Selector(a="b"), c="d"), {"matchLabels": {"a": "b", "c": "d"}}, {"a": "b", "c": "d"}),
        (
            web().selector(Selector().is_in("tier", "a", "b")).pod_labels(tier="b"),
            {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}]},
            {"tier": "b"},
        ),
    ],
    ids=[
        "nothing said",
        "app label of the object",
        "other label of the object",
        "app label of the pods",
        "other label of the pods",
        "selector",
        "selector by mapping",
        "selector by helper and keyword",
        "selector by set",
    ],
)
def test_selector_and_pod_labels_follow_from_what_was_said(
    built: Deployment, selector: dict[str, Any], labels: dict[str, str]
) -> None:
    spec = built.to_object()["spec"]
    assert spec["selector"] == selector
    assert spec["template"]["metadata"]["labels"] == labels


def test_inference_is_made_anew_each_time() -> None:
    built = web()
    built.to_object()
    assert built.labels(app="shop").to_object()["spec"]["selector"] == own("shop")


def test_terms_without_selector_mean_the_pods_themselves() -> None:
    built = web().affinity(Affinity().forbid_pods().avoid_pods({"app": "db"})).topology_spread("rack")
    spec = built.to_object()["spec"]["template"]["spec"]
    anti = spec["affinity"]["podAntiAffinity"]
    required = anti["requiredDuringSchedulingIgnoredDuringExecution"]
    preferred = anti["preferredDuringSchedulingIgnoredDuringExecution"]
    assert required == [{"topologyKey": "kubernetes.io/hostname", "labelSelector": own("web")}]
    assert preferred[0]["podAffinityTerm"]["labelSelector"] == own("db")
    assert spec["topologySpreadConstraints"][0]["labelSelector"] == own("web")


def test_pod_counts_itself_by_its_labels() -> None:
    spec = Pod("web").labels(app="web").container(APP).topology_spread("rack").to_object()["spec"]
    assert spec["topologySpreadConstraints"][0]["labelSelector"] == own("web")


def test_claim_templates_are_volumes() -> None:
    claim = PersistentVolumeClaim("data").storage("1Gi")
    mounting = Container("db").image("redis:7").volume_mount("data", "/data")
    made = StatefulSet("db").container(mounting).volume_claim_template(claim).to_object()
    assert made["spec"]["volumeClaimTemplates"] == [
        {
            "metadata": {"name": "data"},
            "spec": {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]},
        }
    ]


def test_sidecar_is_an_init_container_that_is_always_restarted() -> None:
    pod = Pod("web").init_container(Container("first").image("a")).sidecar(Container("logs").image("b"))
    assert pod.container(APP).to_object()["spec"]["initContainers"] == [
        {"name": "first", "image": "a"},
        {"name": "logs", "image": "b", "restartPolicy": "Always"},
    ]


def test_quantities_are_spelled_as_the_api_stores_them() -> None:
    volume = Volume.empty_dir("a", size_limit="1024Mi").to_object()
    assert volume["emptyDir"] == {"sizeLimit": "1Gi"}


@pytest.mark.parametrize(
    ("built", "path"),
    [
        (Pod("a"), ()),
        (Deployment("a"), ("spec", "template")),
        (StatefulSet("a"), ("spec", "template")),
        (DaemonSet("a"), ("spec", "template")),
        (Job("a"), ("spec", "template")),
        (CronJob("a").schedule("@daily"), ("spec", "jobTemplate", "spec", "template")),
    ],
    ids=["Pod", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"],
)
def test_everything_with_pods_says_the_same_of_them(built: Pod, path: tuple[str, ...]) -> None:
    built.container(APP).service_account("robot").pod_labels(tier="web")
    pod = built.to_object()
    for step in path:
        pod = pod[step]
    assert pod["spec"]["serviceAccountName"] == "robot"
    assert pod["metadata"]["labels"]["tier"] == "web"


def test_a_variable_set_again_takes_the_place_of_the_former() -> None:
    container = Container("a").env("A", "1").env("B", "2").env_from_field("A", "metadata.name")
    assert container.to_object()["env"] == [
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "B", "value": "2"},
    ]


def test_words_can_be_given_as_arguments_or_as_a_list() -> None:
    assert Container("a").command("x", "y") == Container("a").command(["x", "y"])
    assert Container("a").args("x", ["y", "z"]).to_object()["args"] == ["x", "y", "z"]
