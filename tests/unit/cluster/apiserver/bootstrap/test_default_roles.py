"""The default roles: the table, keeping it up, and what people get from it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steersman.cluster.apiserver.bootstrap.role_installation import complete, install_default_roles
from steersman.cluster.auth.default_roles import default_objects, default_rules
from steersman.cluster.auth.users import ANONYMOUS, User
from tests.recordings import FACTS
from tests.unit.cluster.apiserver.access_world import ADMIN, ANN, RBAC_GROUP, World, action, in_world

Object = dict[str, Any]


def test_the_table_has_what_kubernetes_has() -> None:
    found = {(each.plural, each.namespace, each.name): each.obj for each in default_objects()}
    for plural, expected in json.loads((FACTS / "rbac-bootstrap.json").read_text()).items():
        for fact in expected:
            obj = found.pop((plural, fact.get("namespace", ""), fact["name"]))
            if "roleRef" in fact:
                assert obj["roleRef"]["name"] == fact["roleRef"]
                assert obj.get("subjects") == fact.get("subjects")
                continue
            assert (obj["rules"] or []) == fact.get("rules", [])
            labels = {"kubernetes.io/bootstrapping": "rbac-defaults"} | fact.get("labels", {})
            assert obj["metadata"]["labels"] == labels
            selectors = (obj.get("aggregationRule") or {}).get("clusterRoleSelectors")
            assert selectors == fact.get("aggregate")
    assert not found


def test_the_rules_of_one_role() -> None:
    assert [rule.verbs for rule in default_rules("cluster-admin")] == [("*",), ("*",)]
    with pytest.raises(StopIteration):
        default_rules("nobody")


@in_world
async def test_what_the_defaults_allow(world: World) -> None:
    await install_default_roles(world.api)
    allows = world.access.authorizer.allows
    pods = action("list", "/api/v1/namespaces/x/pods")
    whoami = action("create", "/apis/authentication.k8s.io/v1/selfsubjectreviews")
    assert allows(User("x", groups=("system:masters",)), pods)
    assert not allows(ANN, pods)
    assert allows(ANN, whoami)
    assert not allows(ANONYMOUS, whoami)
    controller = User("system:serviceaccount:kube-system:replicaset-controller")
    assert allows(controller, action("create", "/api/v1/namespaces/x/pods"))
    assert not allows(controller, action("create", "/api/v1/namespaces/x/secrets"))
    node = User("system:node:n", groups=("system:nodes", "system:authenticated"))
    assert allows(node, action("list", "/api/v1/services"))
    assert not allows(node, action("get", "/api/v1/namespaces/x/secrets/s"))


@in_world
async def test_installing_twice_writes_nothing_new(world: World) -> None:
    await install_default_roles(world.api)
    revision = world.store.revision
    assert revision == len(default_objects())
    await install_default_roles(world.api)
    assert world.store.revision == revision


@in_world
async def test_what_was_taken_away_comes_back_and_what_was_added_stays(world: World) -> None:
    await install_default_roles(world.api)
    extra = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    role = world.read("clusterroles", "system:basic-user", group=RBAC_GROUP)
    kept = [role["rules"][0], extra]
    await world.put("clusterroles", "system:basic-user", {**role, "rules": kept}, group=RBAC_GROUP)
    binding = world.read("clusterrolebindings", "system:basic-user", group=RBAC_GROUP)
    mine = [{"kind": "User", "apiGroup": RBAC_GROUP, "name": "ann"}]
    await world.put(
        "clusterrolebindings", "system:basic-user", {**binding, "subjects": mine}, group=RBAC_GROUP
    )
    await install_default_roles(world.api)
    rules = world.read("clusterroles", "system:basic-user", group=RBAC_GROUP)["rules"]
    assert rules[:2] == kept
    assert rules[2:] == role["rules"][1:]
    subjects = world.read("clusterrolebindings", "system:basic-user", group=RBAC_GROUP)["subjects"]
    assert subjects == mine + binding["subjects"]


@in_world
async def test_protected_objects_are_left_alone(world: World) -> None:
    protected = {"metadata": {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}}
    await world.put("clusterroles", "system:basic-user", {**protected, "rules": []}, group=RBAC_GROUP)
    await install_default_roles(world.api)
    assert world.read("clusterroles", "system:basic-user", group=RBAC_GROUP)["rules"] == []


@in_world
async def test_a_binding_to_another_role_is_made_anew(world: World) -> None:
    wrong = {"roleRef": {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": RBAC_GROUP}}
    await world.put("clusterrolebindings", "system:basic-user", wrong, group=RBAC_GROUP)
    await install_default_roles(world.api)
    made = world.read("clusterrolebindings", "system:basic-user", group=RBAC_GROUP)
    assert made["roleRef"]["name"] == "system:basic-user"
    assert made["metadata"]["uid"] != "system:basic-user-uid"


def test_an_aggregation_that_is_not_meant_goes_and_one_that_is_comes() -> None:
    metadata: Object = {"annotations": {}, "labels": {}}
    plain: Object = {"metadata": metadata, "rules": []}
    gathering = {**plain, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    assert complete(gathering, plain) == plain
    assert complete(plain, gathering) == gathering
    own = {"clusterRoleSelectors": [{"matchLabels": {"c": "d"}}]}
    both = complete({**plain, "aggregationRule": own}, gathering)["aggregationRule"]["clusterRoleSelectors"]
    assert both == [{"matchLabels": {"c": "d"}}, {"matchLabels": {"a": "b"}}]


@in_world
async def test_masters_need_no_roles(world: World) -> None:
    assert world.access.authorizer.allows(ADMIN, action("delete", "/api/v1/nodes/n"))
