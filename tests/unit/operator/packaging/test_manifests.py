"""Objects for a cluster: which there are, what the pods are allowed, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.election import Lease, RaftConfig
from steersman.objects.builders import ConfigMap
from steersman.operator import AdmissionRequest, Operator, OperatorError
from steersman.operator.packaging import Engine, default_name, manifests, take_part

from .things import Tea, release, working

Object = dict[str, Any]


def elected() -> Operator[Tea]:
    return working(Tea).owns(ConfigMap).with_leader_election(Lease("tea"))


def by_raft(**options: Any) -> Operator[Tea]:
    operator = working(Tea)
    take_part([operator], Engine.RAFT, name="tea-operator", namespace="kitchen")
    return operator


def pod(objects: list[Object]) -> Object:
    [workload] = [each for each in objects if each["kind"] in ("Deployment", "StatefulSet")]
    spec: Object = workload["spec"]["template"]["spec"]
    return spec


def test_the_same_operators_give_the_same_objects() -> None:
    assert manifests(release(elected())) == manifests(release(elected()))


@pytest.mark.parametrize(
    ("operator", "kinds"),
    [
        (working(Tea), ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Service", "Deployment"]),
        (
            elected(),
            ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service", "PodDisruptionBudget", "Deployment"],
        ),
        (
            by_raft(),
            ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service", "PodDisruptionBudget", "Service", "NetworkPolicy", "StatefulSet"],
        ),
    ],
    ids=["alone", "lease", "raft"],
)  # fmt: skip
def test_what_there_is_in_the_order_it_can_be_applied(operator: Operator[Tea], kinds: list[str]) -> None:
    assert [each["kind"] for each in manifests(release(operator))] == kinds


@pytest.mark.parametrize("operator", [Operator(Tea), by_raft()], ids=["deployment", "stateful set"])
def test_pods_may_do_nothing_they_need_not(operator: Operator[Tea]) -> None:
    [container] = pod(manifests(release(operator)))["containers"]
    assert container["securityContext"] == {
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
        "readOnlyRootFilesystem": True,
    }


def test_without_an_election_there_is_never_a_second_pod() -> None:
    deployment = manifests(release(working(Tea)))[-1]
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]["type"]) == (1, "Recreate")


def test_members_of_a_shard_may_be_several() -> None:
    deployment = manifests(release(working(Tea).with_sharding("tea")))[-1]
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]["type"]) == (2, "RollingUpdate")


def test_a_given_namespace_is_not_made() -> None:
    made = manifests(release(working(Tea)))
    assert made[0]["metadata"]["name"] == "kitchen"
    given = release(working(Tea))
    object.__setattr__(given, "namespace", "default")
    assert "Namespace" not in [each["kind"] for each in manifests(given)]


def test_nodes_talk_raft_among_themselves_only() -> None:
    made = manifests(release(by_raft()))
    [policy] = [each for each in made if each["kind"] == "NetworkPolicy"]
    among, asked = policy["spec"]["ingress"]
    assert [port["port"] for port in among["ports"]] == [7100]
    assert among["from"] == [{"podSelector": policy["spec"]["podSelector"]}]
    assert [port["port"] for port in asked["ports"]] == [8080, 8081]
    spec = pod(made)
    assert spec["containers"][0]["readinessProbe"]["httpGet"] == {"path": "/ready", "port": "raft-http"}
    assert {"name": "raft-tls", "secret": {"secretName": "tea-operator-raft-tls"}} in spec["volumes"]


def test_a_raft_node_with_webhooks_is_ready_when_they_are_served() -> None:
    operator = by_raft()

    @operator.validate
    async def check(request: AdmissionRequest[Tea]) -> None:
        return None

    [container] = pod(manifests(release(operator)))["containers"]
    assert container["startupProbe"]["httpGet"] == {"path": "/readyz", "port": "metrics"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/ready", "port": "raft-http"}


def test_a_raft_cluster_of_the_operators_own_choice() -> None:
    raft = RaftConfig("tea").service_name("tea-nodes").namespace("kitchen").insecure()
    made = manifests(release(working(Tea).with_leader_election(raft)))
    stateful_set = made[-1]
    assert stateful_set["spec"]["serviceName"] == "tea-nodes"
    assert "volumeClaimTemplates" not in stateful_set["spec"]
    assert [volume["name"] for volume in pod(made)["volumes"]] == ["tmp"]


def test_fencing_comes_with_it() -> None:
    kinds = [each["kind"] for each in manifests(release(elected(), fencing=True))]
    assert kinds[-2:] == ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]


def test_the_address_of_a_store_comes_from_a_secret() -> None:
    operator = working(Tea)
    assert take_part([operator], Engine.REDIS, name="tea-operator", namespace="kitchen")
    [container] = pod(manifests(release(operator, chosen_election=True)))["containers"]
    [url] = [each for each in container["env"] if each["name"] == "STEERSMAN_LOCK_URL"]
    assert url["valueFrom"] == {"secretKeyRef": {"name": "tea-operator-lock", "key": "url"}}


@pytest.mark.parametrize(
    ("operator", "options", "said"),
    [
        (working(Tea), {"wanted_replicas": 2}, "several replicas without leader election"),
        (working(Tea), {"fencing": True}, "needs leader election"),
        (
            working(Tea).with_leader_election(RaftConfig("tea").service_name("nodes")),
            {},
            "RaftConfig is for the namespace 'default', not for 'kitchen'",
        ),
        (
            working(Tea).with_leader_election(RaftConfig("tea").namespace("kitchen")),
            {},
            "names no headless Service",
        ),
    ],
    ids=["replicas", "fencing", "other namespace", "no service"],
)
def test_what_would_not_work_is_refused(operator: Operator[Tea], options: dict[str, Any], said: str) -> None:
    with pytest.raises(OperatorError, match=said):
        release(operator, **options)


def test_an_election_is_not_changed() -> None:
    operator = elected()
    assert not take_part([operator], Engine.LEASE, name="x", namespace="kitchen")
    with pytest.raises(OperatorError, match="leader election: lease"):
        take_part([operator], Engine.RAFT, name="x", namespace="kitchen")


def test_a_name_from_the_kind() -> None:
    assert default_name([Operator(Tea)]) == "tea-operator"
