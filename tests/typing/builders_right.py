"""What a type checker accepts: checked by test_builders.py, never run."""

from __future__ import annotations

from typing import Any, assert_type

from steersman.objects.builders import (
    ClusterRole,
    ConfigMap,
    Container,
    Deployment,
    Labels,
    PersistentVolumeClaim,
    PolicyRule,
    Probe,
    Resource,
    Secret,
    Selector,
    Service,
    StatefulSet,
    Volume,
)
from steersman.objects.resource_type import ResourceType, Typed


def chains_keep_their_type() -> None:
    assert_type(Deployment("web").label("a", "b").replicas(1).raw("x", 1).copy(), Deployment)
    assert_type(Container("app").image("a").port(80).env("A", 1), Container)
    assert_type(Probe.http("/", "http").period(1), Probe)
    assert_type(Volume.pvc("a", "b"), Volume)
    assert_type(Deployment.from_object({}).replicas(1), Deployment)
    assert_type(Deployment("web").to_object(), dict[str, Any])
    assert_type(Deployment.resource_type, ResourceType)
    assert_type(ConfigMap("c").value("a"), str | None)
    assert_type(Secret("s").value("a"), bytes | None)
    assert_type(Deployment("web").namespace, str | None)


def every_shorthand_is_accepted() -> None:
    Service("web").selector(Selector().insert("a", "b")).selector({"a": "b"}).selector(a="b")
    Service("web").labels(Labels().insert("a", "b")).labels({"a": "b"}).labels(a="b")
    Service("web").port(80).port(81, 8080).port(82, "http", protocol="UDP")
    PolicyRule().verbs("get", "list").verbs(["get"]).verbs(())
    Secret("s").data("a", b"b").data("a", "b").data({"a": "b", "c": b"d"})
    StatefulSet("db").volume_claim_template(PersistentVolumeClaim("a").access_mode("ReadWriteOnce"))


def builders_are_typed_resources(owner: Deployment) -> None:
    typed: Typed = Deployment("web")
    kind: type[Typed] = ClusterRole
    resource: Resource = ConfigMap("c").owner(owner).owner({"kind": "Pod"}).owner(typed)
    print(kind, resource)
