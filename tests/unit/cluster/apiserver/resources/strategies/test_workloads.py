from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.apiserver.resources.strategies import apply_scale, scale_of, strategy_for
from steersman.cluster.apiserver.resources.strategies.certificates import record_requester

Object = dict[str, Any]
Make = Callable[..., Object]
GENERATED = {
    "batch.kubernetes.io/controller-uid": "u",
    "batch.kubernetes.io/job-name": "x",
    "controller-uid": "u",
    "job-name": "x",
}


def template(image: str = "i:1", labels: Object | None = None) -> Object:
    return {"metadata": {"labels": labels or {}}, "spec": {"containers": [{"name": "c", "image": image}]}}


def updated(old: Object, group: str, plural: str, change: Callable[[Object], Any]) -> Object:
    new = deepcopy(old)
    change(new)
    strategy_for(group, plural).prepare_update(new, old)
    return new


def created(make: Make, api_version: str, kind: str, plural: str, **fields: Any) -> Object:
    obj = make(api_version, kind, **fields)
    strategy = strategy_for(api_version.rpartition("/")[0], plural)
    strategy.prepare_create(obj)
    strategy.complete_create(obj)
    return obj


def test_a_deployment_counts_changes_of_spec_and_annotations(make: Make) -> None:
    old = created(make, "apps/v1", "Deployment", "deployments", spec={"template": template()})
    assert old["metadata"]["generation"] == 1

    def annotate(obj: Object) -> None:
        obj["metadata"]["annotations"] = {"a": "b"}

    def label(obj: Object) -> None:
        obj["metadata"]["labels"] = {"a": "b"}

    def scale(obj: Object) -> None:
        apply_scale(obj, 7)

    assert updated(old, "apps", "deployments", annotate)["metadata"]["generation"] == 2
    assert updated(old, "apps", "deployments", scale)["metadata"]["generation"] == 2
    assert updated(old, "apps", "deployments", label)["metadata"]["generation"] == 1


def test_a_daemon_set_counts_its_templates(make: Make) -> None:
    key = "deprecated.daemonset.template.generation"
    old = created(make, "apps/v1", "DaemonSet", "daemonsets", spec={"template": template()})
    assert old["metadata"]["annotations"] == {key: "1"}

    def upgrade(obj: Object) -> None:
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = "i:2"
        del obj["metadata"]["annotations"]

    new = updated(old, "apps", "daemonsets", upgrade)
    assert new["metadata"]["annotations"] == {key: "2"}
    assert new["metadata"]["generation"] == 2
    del new["metadata"]["annotations"]
    strategy_for("apps", "daemonsets").prepare_subresource("status", new, old)
    assert new["metadata"]["annotations"] == {key: "1"}


def test_a_job_selects_its_pods_by_its_uid(make: Make) -> None:
    job = created(make, "batch/v1", "Job", "jobs", spec={"template": template()})
    assert job["spec"]["template"]["metadata"]["labels"] == GENERATED
    assert job["metadata"]["labels"] == GENERATED
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}


def test_a_job_has_its_templates_labels_only_once_it_is_known_to_be_good(make: Make) -> None:
    job = make("batch/v1", "Job", spec={"template": template()})
    strategy_for("batch", "jobs").prepare_create(job)
    assert "labels" not in job["metadata"]


def test_a_job_with_a_generated_name_has_its_own_copy_of_the_templates_labels(make: Make) -> None:
    spec = {"template": template(labels={"a": "b"})}
    job = created(make, "batch/v1", "Job", "jobs", metadata={"generateName": "gen-"}, spec=spec)
    assert job["metadata"]["labels"] == {"a": "b"}
    assert job["spec"]["template"]["metadata"]["labels"].keys() == {"a", *GENERATED}


def test_labels_of_a_jobs_template_are_the_jobs_unless_it_has_its_own(make: Make) -> None:
    spec = {"template": template(labels={"a": "b"})}
    job = created(make, "batch/v1", "Job", "jobs", spec=spec)
    assert job["metadata"]["labels"] == GENERATED | {"a": "b"}
    reported = deepcopy(job)
    del reported["metadata"]["labels"]
    strategy_for("batch", "jobs").prepare_subresource("status", reported, job)
    assert reported["metadata"]["labels"] == job["metadata"]["labels"]
    own = created(make, "batch/v1", "Job", "jobs", spec=spec, metadata={"labels": {"mine": "1"}})
    assert own["metadata"]["labels"] == {"mine": "1"}


def test_a_job_with_a_selector_of_its_own_is_left_alone(make: Make) -> None:
    spec = {
        "manualSelector": True,
        "selector": {"matchLabels": {"a": "b"}},
        "template": template(labels={"a": "b"}),
    }
    job = created(make, "batch/v1", "Job", "jobs", spec=spec)
    assert job["spec"]["selector"] == {"matchLabels": {"a": "b"}}
    assert job["spec"]["template"]["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("api_version", "kind", "plural", "selector"),
    [
        ("apps/v1", "Deployment", "deployments", {"matchLabels": {"a": "b"}}),
        ("apps/v1", "ReplicaSet", "replicasets", {"matchLabels": {"a": "b"}}),
        ("apps/v1", "StatefulSet", "statefulsets", {"matchLabels": {"a": "b"}}),
        ("v1", "ReplicationController", "replicationcontrollers", {"a": "b"}),
    ],
)
def test_scale_shows_replicas_and_selector(
    make: Make, api_version: str, kind: str, plural: str, selector: Object
) -> None:
    obj = make(api_version, kind, {"namespace": "n"}, spec={"replicas": 2, "selector": selector})
    obj["status"]["replicas"] = 1
    assert scale_of(api_version.rpartition("/")[0], plural, obj) == {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "x", "namespace": "n", "uid": "u"},
        "spec": {"replicas": 2},
        "status": {"replicas": 1, "selector": "a=b"},
    }


def test_a_scale_of_nothing_leaves_replicas_out(make: Make) -> None:
    obj = make("apps/v1", "Deployment", spec={"replicas": 0, "selector": {}})
    assert scale_of("apps", "deployments", obj)["spec"] == {}
    with pytest.raises(KeyError):
        scale_of("apps", "daemonsets", obj)


# --- Others


def test_a_namespace_gets_its_finalizer_and_keeps_it(make: Make) -> None:
    old = created(make, "v1", "Namespace", "namespaces", spec={"finalizers": ["mine"]})
    assert old["spec"]["finalizers"] == ["mine", "kubernetes"]

    def finish(obj: Object) -> None:
        obj["spec"] = {}
        obj["metadata"].pop("labels")

    new = updated(old, "", "namespaces", finish)
    assert new == old
    done = deepcopy(old)
    done["spec"] = {}
    strategy_for("", "namespaces").prepare_subresource("finalize", done, old)
    assert done["spec"] == {}


def test_a_node_registers_with_its_status(make: Make) -> None:
    node = created(make, "v1", "Node", "nodes", status={"phase": "Running"})
    assert node["status"]["phase"] == "Running"


def test_references_of_a_service_account_are_names_only(make: Make) -> None:
    account = created(
        make,
        "v1",
        "ServiceAccount",
        "serviceaccounts",
        secrets=[{"name": "s", "namespace": "n", "kind": "Secret"}],
    )
    assert account["secrets"] == [{"name": "s"}]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"dataSource": {"kind": "PersistentVolumeClaim", "name": "p", "apiGroup": None}},
            {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "p", "apiGroup": None}},
        ),
        (
            {"dataSourceRef": {"kind": "Foo", "apiGroup": "g", "name": "p"}},
            {"dataSource": {"kind": "Foo", "apiGroup": "g", "name": "p"}},
        ),
        ({"dataSource": {"kind": "Foo", "apiGroup": "g", "name": "p"}}, {}),
        ({"dataSourceRef": {"kind": "Foo", "apiGroup": "g", "name": "p", "namespace": "n"}}, {}),
    ],
)
def test_data_sources_of_a_claim_agree_or_are_dropped(make: Make, spec: Object, expected: Object) -> None:
    claim = created(make, "v1", "PersistentVolumeClaim", "persistentvolumeclaims", spec=spec)
    sources = {key: claim["spec"][key] for key in ("dataSource", "dataSourceRef") if key in claim["spec"]}
    assert sources == ((spec | expected) if expected else {})


def test_a_certificate_request_is_whose_who_made_it(make: Make) -> None:
    request = created(
        make,
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        spec={"username": "someone-else", "groups": ["system:masters"]},
    )
    assert "username" not in request["spec"]
    assert "groups" not in request["spec"]
    record_requester(request, "me", groups=["system:authenticated"])
    assert request["spec"]["username"] == "me"
    assert request["spec"]["groups"] == ["system:authenticated"]


def test_approval_changes_conditions_and_stamps_them(make: Make) -> None:
    strategy = strategy_for("certificates.k8s.io", "certificatesigningrequests")
    old = make("certificates.k8s.io/v1", "CertificateSigningRequest", spec={"signerName": "s/s"})
    strategy.prepare_create(old)
    new = deepcopy(old)
    new["status"] = {"certificate": "eA==", "conditions": [{"type": "Approved", "status": "True"}]}
    strategy.prepare_subresource("approval", new, old)
    assert "certificate" not in new["status"]
    assert new["status"]["conditions"][0]["lastTransitionTime"]
    signed = deepcopy(new)
    signed["status"] |= {"certificate": "eA==", "conditions": [{"type": "Approved", "status": "False"}]}
    strategy.prepare_subresource("status", signed, new)
    assert signed["status"]["certificate"] == "eA=="
    assert signed["status"]["conditions"] == new["status"]["conditions"]


def test_a_volume_remembers_when_its_phase_changed(make: Make) -> None:
    strategy = strategy_for("", "persistentvolumes")
    old = make("v1", "PersistentVolume")
    strategy.prepare_create(old)
    old["status"]["lastPhaseTransitionTime"] = "2020-01-01T00:00:00Z"
    same = deepcopy(old)
    del same["status"]["lastPhaseTransitionTime"]
    strategy.prepare_subresource("status", same, old)
    assert same["status"]["lastPhaseTransitionTime"] == "2020-01-01T00:00:00Z"
    bound = deepcopy(old)
    bound["status"]["phase"] = "Bound"
    strategy.prepare_subresource("status", bound, old)
    assert bound["status"]["lastPhaseTransitionTime"] > "2020-01-01T00:00:00Z"


def test_a_definition_remembers_the_versions_it_stored(make: Make) -> None:
    def versions(stored: str) -> list[Object]:
        return [{"name": name, "storage": name == stored, "served": True} for name in ("v1", "v2")]

    old = created(
        make,
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        spec={"versions": versions("v1")},
    )
    assert old["status"]["storedVersions"] == ["v1"]
    new = updated(
        old,
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        lambda obj: obj["spec"].update(versions=versions("v2")),
    )
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert old["status"]["storedVersions"] == ["v1"]


def test_a_v1_client_cannot_write_an_autoscalers_status_through_annotations(make: Make) -> None:
    strategy = strategy_for("autoscaling", "horizontalpodautoscalers")
    prefix = "autoscaling.alpha.kubernetes.io/"
    old = make("autoscaling/v1", "HorizontalPodAutoscaler")
    strategy.prepare_create(old)
    new = deepcopy(old)
    new["metadata"]["annotations"] = {prefix + "conditions": "[]", prefix + "metrics": "[]"}
    strategy.prepare_update(new, old)
    assert new["metadata"]["annotations"] == {prefix + "metrics": "[]"}
    assert new["metadata"]["generation"] == 2


def test_an_endpoint_slice_counts_content_and_labels(make: Make) -> None:
    old = created(make, "discovery.k8s.io/v1", "EndpointSlice", "endpointslices", addressType="IPv4")

    def label(obj: Object) -> None:
        obj["metadata"]["labels"] = {"a": "b"}

    def annotate(obj: Object) -> None:
        obj["metadata"]["annotations"] = {"a": "b"}

    assert updated(old, "discovery.k8s.io", "endpointslices", label)["metadata"]["generation"] == 2
    assert updated(old, "discovery.k8s.io", "endpointslices", annotate)["metadata"]["generation"] == 1


def test_an_endpoint_slice_counts_what_is_dropped(make: Make) -> None:
    endpoints = [{"addresses": ["10.0.0.1"]}]
    old = created(make, "discovery.k8s.io/v1", "EndpointSlice", "endpointslices", endpoints=endpoints)

    def place(obj: Object) -> None:
        obj["endpoints"][0]["deprecatedTopology"] = {"a": "b"}

    new = updated(old, "discovery.k8s.io", "endpointslices", place)
    assert new["metadata"]["generation"] == 2
    assert "deprecatedTopology" not in new["endpoints"][0]
