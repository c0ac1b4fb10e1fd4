"""What rights follow from what an operator declares."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.election import Lease, RaftConfig, RedisLock
from steersman.objects.builders import ConfigMap, Namespace, Secret
from steersman.operator import Operator, OperatorError
from steersman.operator.packaging import manifests, permissions, rbac
from steersman.webhooks import AdmissionRequest

from .things import Sugar, Tea, release, working


def granted(operator: Operator[Any]) -> set[str]:
    found = permissions([operator], namespace="kitchen", name="tea-operator")
    return {f"{each.verb} {each.namespace or '*'}/{each.resource} {each.name}".strip() for each in found}


BASIC = {
    "get */teas",
    "list */teas",
    "watch */teas",
    "patch */teas/status",
    "create */events",
    "patch */events",
}


@pytest.mark.parametrize(
    ("operator", "more"),
    [
        (working(Tea), set()),
        (working(Tea).with_finalizer(), {"patch */teas"}),
        (
            working(Tea).owns(ConfigMap),
            {f"{verb} */configmaps" for verb in ("list", "watch", "create", "patch", "delete")}
            | {"update */teas/finalizers"},
        ),
        (
            working(Tea).watches(Namespace, lambda change: ()),
            {"list */namespaces", "watch */namespaces"},
        ),
        (working(Tea).uses(Secret, "get").uses(Secret, "get", "list"), {"get */secrets", "list */secrets"}),
        (
            working(Tea).with_leader_election(Lease("tea")),
            {"get kitchen/leases tea", "update kitchen/leases tea", "create kitchen/leases"},
        ),
        (
            working(Tea).with_leader_election(Lease("tea", "pantry")),
            {"get pantry/leases tea", "update pantry/leases tea", "create pantry/leases"},
        ),
        (
            working(Tea).with_leader_election(RaftConfig("tea").service_name("tea-headless")),
            {"get kitchen/statefulsets tea-operator"},
        ),
        (working(Tea).with_leader_election(RedisLock("redis://store", "tea")), set()),
        (
            working(Tea).with_sharding("tea"),
            {f"{verb} kitchen/leases" for verb in ("get", "list", "watch", "create", "update", "delete")},
        ),
        (
            working(Tea).in_namespaces(selector="tea=yes"),
            {"list */namespaces", "watch */namespaces"},
        ),
    ],
    ids=[
        "kind",
        "finalizer",
        "owns",
        "watches",
        "uses",
        "lease",
        "lease elsewhere",
        "raft",
        "redis",
        "sharding",
        "namespace selector",
    ],
)
def test_rights_follow_from_what_is_declared(operator: Operator[Any], more: set[str]) -> None:
    assert granted(operator) == BASIC | more


def test_an_operator_of_some_namespaces_has_rights_only_there() -> None:
    found = granted(working(Tea).watches(Namespace, lambda change: ()).in_namespaces("a", "b"))
    here = {right.replace("*/", f"{place}/") for right in BASIC for place in "ab"}
    assert found == here | {"list */namespaces", "watch */namespaces"}


def test_events_about_cluster_resources_are_in_one_namespace() -> None:
    found = granted(working(Sugar))
    events = {"create default/events", "patch default/events"}
    assert found == {"get */sugars", "list */sugars", "watch */sugars", *events}


def test_what_is_allowed_everywhere_is_not_allowed_again() -> None:
    everywhere, here = working(Tea), working(Tea, name="other").in_namespaces("a")
    found = permissions([here, everywhere], namespace="kitchen", name="tea-operator")
    assert {each.namespace for each in found} == {""}


def test_uses_says_what_is_done() -> None:
    with pytest.raises(OperatorError, match="what is done with secrets"):
        working(Tea).uses(Secret)


def test_roles_are_where_the_rights_are() -> None:
    operator = working(Tea).with_leader_election(Lease("tea")).in_namespaces("a")
    found = permissions([operator], namespace="kitchen", name="tea-operator")
    made = rbac(found, name="tea-operator", namespace="kitchen")
    places = [(each["kind"], each["metadata"].get("namespace")) for each in made]
    assert places == [
        ("ServiceAccount", "kitchen"),
        ("Role", "a"),
        ("RoleBinding", "a"),
        ("Role", "kitchen"),
        ("RoleBinding", "kitchen"),
    ]
    subject = {"kind": "ServiceAccount", "name": "tea-operator", "namespace": "kitchen"}
    assert [each["subjects"] for each in made if "subjects" in each] == [[subject], [subject]]


def test_webhooks_keep_their_secret_and_their_registration() -> None:
    operator = Operator(Tea)

    @operator.validate
    async def check(request: AdmissionRequest[Tea]) -> None: ...

    found = granted(operator)
    name = "teas.example.com"
    assert found == {
        "create kitchen/secrets",
        "get kitchen/secrets teas-example-com-webhook-certs",
        "update kitchen/secrets teas-example-com-webhook-certs",
        "create */validatingwebhookconfigurations",
        f"get */validatingwebhookconfigurations {name}",
        f"update */validatingwebhookconfigurations {name}",
    }
    services = [each for each in manifests(release(operator)) if each["kind"] == "Service"]
    assert [each["metadata"]["name"] for each in services] == [
        "tea-operator-metrics",
        "teas-example-com-webhooks",
    ]
