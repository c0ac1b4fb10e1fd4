"""Builders as objects: reading, copies, the objects of the API, owners and names."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from steersman.objects.builders import (
    BuildError,
    ConfigMap,
    Container,
    Deployment,
    Job,
    Labels,
    Namespace,
    Pod,
    PriorityClass,
    Resource,
    Secret,
    Service,
)

LIVE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "uid": "u-1", "resourceVersion": "7"},
    "spec": {"replicas": 1, "futureField": {"kept": True}, "selector": {"matchLabels": {"app": "x"}}},
    "status": {"availableReplicas": 1},
}


def deployment() -> Deployment:
    return Deployment("web", namespace="shop").container(Container("app").image("nginx:1.27"))


def test_reading_an_object_of_the_api() -> None:
    live = Deployment.from_object(LIVE)
    assert (live.name, live.namespace, live.uid) == ("web", "shop", "u-1")
    assert live.metadata["resourceVersion"] == "7"
    assert live.spec["replicas"] == 1
    assert live.status == {"availableReplicas": 1}


def test_what_is_absent_reads_as_empty() -> None:
    config = ConfigMap("settings")
    assert (config.name, config.namespace, config.uid) == ("settings", None, "")
    assert config.spec == config.status == {}
    assert config.value("a") is None
    assert Secret("s").value("a") is None


def test_unknown_fields_of_an_object_are_kept() -> None:
    assert Deployment.from_object(LIVE).to_object() == LIVE


def test_changing_a_builder_does_not_change_the_object_it_was_made_from() -> None:
    changed = Deployment.from_object(LIVE).replicas(5).label("a", "b")
    assert changed.spec["replicas"] == 5
    assert LIVE["spec"]["replicas"] == 1
    assert "labels" not in LIVE["metadata"]


def test_an_object_of_the_api_is_not_completed_or_checked_again() -> None:
    """A live object may hold what the builder would refuse, or lack what was not requested."""
    made = Deployment.from_object(LIVE).replicas(5).to_object()
    assert made == {**LIVE, "spec": {**LIVE["spec"], "replicas": 5}}


def test_item_of_a_list_gets_its_kind_and_version() -> None:
    made = Deployment.from_object({"metadata": {"name": "web"}}).to_object()
    assert made == {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}


def test_any_mapping_can_be_read() -> None:
    live = Deployment.from_object(MappingProxyType(LIVE)).replicas(2)
    assert live.spec["replicas"] == 2
    assert LIVE["spec"]["replicas"] == 1


def test_metadata_alone_can_be_read() -> None:
    assert Deployment.from_object({**LIVE, "kind": "PartialObjectMetadata"}).name == "web"


def test_object_belongs_to_the_caller() -> None:
    built = deployment()
    built.to_object()["spec"]["template"]["spec"]["containers"].clear()
    assert len(built.to_object()["spec"]["template"]["spec"]["containers"]) == 1


def test_part_is_read_when_it_is_given() -> None:
    container = Container("app").image("nginx:1.27")
    built = Pod("web").container(container)
    container.image("other")
    assert built.spec["containers"][0]["image"] == "nginx:1.27"


def test_copy_goes_its_own_way() -> None:
    base = deployment()
    more = base.copy().replicas(3).label("a", "b")
    assert "replicas" not in base.spec
    assert more.spec["replicas"] == 3
    assert base.to_object()["metadata"] == {"name": "web", "namespace": "shop"}


def test_copy_of_an_object_of_the_api_is_still_one() -> None:
    copy = Deployment.from_object(LIVE).copy()
    copy.replicas(2)
    assert LIVE["spec"]["replicas"] == 1
    assert copy.to_object()["spec"]["selector"] == {"matchLabels": {"app": "x"}}


def test_builders_are_equal_when_they_have_built_the_same() -> None:
    assert deployment() == deployment()
    assert deployment() != deployment().replicas(2)
    assert ConfigMap("a") != Secret("a")
    assert Container("a") != "a"


@pytest.mark.parametrize("resource", [Secret("login").data("password", "hunter2")], ids=["secret"])
def test_content_is_not_shown(resource: Resource) -> None:
    assert repr(resource) == "Secret('login')"


def test_secret_is_encoded_and_decoded() -> None:
    secret = Secret("login").data("text", "grün").data("bytes", b"\x00\xff")
    assert secret.to_object()["data"] == {"text": "Z3LDvG4=", "bytes": "AP8="}
    assert secret.value("text") == "grün".encode()
    assert secret.value("bytes") == b"\x00\xff"


def test_config_key_is_text_or_binary_but_not_both() -> None:
    config = ConfigMap("c").data("a", "text").binary_data("a", b"\xff")
    assert config.to_object() == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c"},
        "binaryData": {"a": "/w=="},
    }
    assert config.data("a", "text").value("a") == "text"


def test_docker_registry_secret_holds_the_login() -> None:
    login = Secret.docker_registry("r", "registry.example.com", "me", "pw", namespace="shop")
    assert login.namespace == "shop"
    assert login.value(".dockerconfigjson") == (
        b'{"auths":{"registry.example.com":{"username":"me","password":"pw","auth":"bWU6cHc="}}}'
    )


@pytest.mark.parametrize(
    "built",
    [
        Service("web").labels(Labels().insert("a", "b").insert("c/d", "e")),
        Service("web").labels({"a": "b", "c/d": "e"}),
        Service("web").labels({"c/d": "e"}, a="b"),
        Service("web").label("a", "b").label("c/d", "e"),
    ],
    ids=["helper", "mapping", "keywords", "one by one"],
)
def test_labels_can_be_given_in_any_way(built: Service) -> None:
    assert built.metadata["labels"] == {"a": "b", "c/d": "e"}


def test_owner_becomes_a_reference() -> None:
    built = deployment().owner(Deployment.from_object(LIVE))
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u-1"}
    assert built.metadata["ownerReferences"] == [
        {**reference, "controller": True, "blockOwnerDeletion": True}
    ]
    built.owner(LIVE, controller=False, block_deletion=False)
    assert built.metadata["ownerReferences"] == [reference], "the same owner again takes its own place"


def test_owner_can_be_any_typed_object() -> None:
    class Custom:
        resource_type = Deployment.resource_type

        @classmethod
        def from_object(cls, obj: Any, /) -> Custom:
            return cls()

        def to_object(self) -> dict[str, Any]:
            return {"apiVersion": "example.com/v1", "kind": "Web", "metadata": {"name": "w", "uid": "u"}}

    reference = ConfigMap("c").owner(Custom()).metadata["ownerReferences"][0]
    assert (reference["apiVersion"], reference["kind"], reference["name"]) == ("example.com/v1", "Web", "w")


def test_cluster_wide_owner_can_own_anything() -> None:
    owner = Namespace.from_object({"metadata": {"name": "n", "uid": "u"}})
    assert PriorityClass("p", 1).owner(owner).metadata["ownerReferences"][0]["kind"] == "Namespace"
    assert deployment().owner(owner).metadata["ownerReferences"][0]["kind"] == "Namespace"


def test_finalizer_is_there_once() -> None:
    built = ConfigMap("c").finalizer("example.com/a").finalizer("example.com/a")
    assert built.metadata["finalizers"] == ["example.com/a"]


def test_generated_name_takes_the_place_of_the_name() -> None:
    job = Job("once").generate_name("once-")
    assert job.metadata == {"generateName": "once-"}
    assert job.name == "once-"


def test_live_object_without_metadata_can_be_labelled() -> None:
    assert ConfigMap.from_object({}).label("a", "b").metadata == {"labels": {"a": "b"}}


def test_wrong_kind_is_refused() -> None:
    with pytest.raises(BuildError):
        Service.from_object(LIVE)
