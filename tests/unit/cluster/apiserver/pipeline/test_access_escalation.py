"""Nobody grants what they do not hold: by roles, by bindings, by gathering, by any detour."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.cluster.apiserver.bootstrap.role_installation import install_default_roles
from steersman.cluster.apiserver.controllers.role_aggregation import RoleAggregation, aggregated_rules
from steersman.objects.status import StatusError
from tests.unit.cluster.apiserver.access_world import (
    ADMIN,
    ANN,
    RBAC_GROUP,
    World,
    action,
    in_world,
    refused,
    rule,
)

Object = dict[str, Any]

ROLES = f"/apis/{RBAC_GROUP}/v1/namespaces/n/roles"
CLUSTER_ROLES = f"/apis/{RBAC_GROUP}/v1/clusterroles"
BINDINGS = f"/apis/{RBAC_GROUP}/v1/namespaces/n/rolebindings"
CLUSTER_BINDINGS = f"/apis/{RBAC_GROUP}/v1/clusterrolebindings"
EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
ALL_PATHS = {"verbs": ["*"], "nonResourceURLs": ["*"]}
PODS = rule("get list", "pods")


def role(*rules: Object, name: str = "r", **more: Any) -> Object:
    return {"metadata": {"name": name, **more.pop("metadata", {})}, "rules": list(rules), **more}


def binding(name: str, kind: str = "ClusterRole", subject: str = "ann") -> Object:
    ref = {"apiGroup": RBAC_GROUP, "kind": kind, "name": name}
    return {"metadata": {"name": "b"}, "roleRef": ref, "subjects": [{"kind": "User", "name": subject}]}


def gathering(*rules: Object) -> Object:
    return role(*rules, aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]})


def create(world: World, path: str, obj: Object) -> None:
    world.access.check_write(ANN, action("create", path), obj, None)


def update(world: World, path: str, new: Object, old: Object) -> None:
    world.access.check_write(ANN, action("update", f"{path}/{new['metadata']['name']}"), new, old)


def refusal(world: World, path: str, obj: Object, old: Object | None = None) -> str:
    asked = action("create", path) if old is None else action("update", f"{path}/{obj['metadata']['name']}")
    with pytest.raises(StatusError) as error:
        world.access.check_write(ANN, asked, obj, old)
    return refused(403, error.value)


@in_world
async def test_a_role_may_hold_what_its_writer_holds(world: World) -> None:
    await world.grant("ann", PODS, namespace="n")
    create(world, ROLES, role(rule("get", "pods")))
    create(world, ROLES, role(rule("get", "pods", names="one")))
    assert refusal(world, ROLES, role(rule("get create", "pods pods/exec"))) == (
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "ann" (groups=["dev" '
        '"system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
        '{APIGroups:[""], Resources:["pods"], Verbs:["create"]}\n'
        '{APIGroups:[""], Resources:["pods/exec"], Verbs:["get" "create"]}'
    )


@in_world
async def test_rights_in_a_namespace_make_no_cluster_role(world: World) -> None:
    await world.grant("ann", EVERYTHING, ALL_PATHS, namespace="n")
    create(world, ROLES, role(EVERYTHING))
    assert "not currently held" in refusal(world, CLUSTER_ROLES, role(rule("get", "pods")))
    other = ROLES.replace("/n/", "/other/")
    assert "not currently held" in refusal(world, other, role(rule("get", "pods")))


@in_world
async def test_a_role_is_checked_when_it_is_changed(world: World) -> None:
    await world.grant("ann", PODS, rule("get create update patch", "roles", RBAC_GROUP), namespace="n")
    old = role(rule("get", "pods"))
    update(world, ROLES, role(rule("list", "pods")), old)
    assert "not currently held" in refusal(world, ROLES, role(EVERYTHING), old)
    # Also what is there already and not held cannot be touched, only collected.
    above = role(EVERYTHING)
    relabelled = role(EVERYTHING, metadata={"labels": {"x": "y"}})
    assert "not currently held" in refusal(world, ROLES, relabelled, above)
    update(world, ROLES, role(EVERYTHING, metadata={"finalizers": ["x/y"], "ownerReferences": [{}]}), above)


@in_world
async def test_escalate_lifts_the_check_where_it_is_given(world: World) -> None:
    await world.grant("ann", rule("escalate", "roles", RBAC_GROUP, names="mine"), namespace="n")
    old = role(name="mine")
    update(world, ROLES, role(EVERYTHING, name="mine"), old)
    assert "not currently held" in refusal(world, ROLES, role(EVERYTHING, name="other"), role(name="other"))
    assert "not currently held" in refusal(world, ROLES, role(EVERYTHING, name="mine"))
    assert "not currently held" in refusal(world, CLUSTER_ROLES, role(EVERYTHING, name="mine"), old)


@in_world
async def test_masters_may_grant_anything(world: World) -> None:
    world.access.check_write(ADMIN, action("create", CLUSTER_ROLES), gathering(EVERYTHING), None)
    world.access.check_write(ADMIN, action("create", CLUSTER_BINDINGS), binding("nothing"), None)


@in_world
async def test_gathering_needs_everything(world: World) -> None:
    await world.grant("ann", EVERYTHING)
    text = (
        'clusterroles.rbac.authorization.k8s.io "r" is forbidden: must have cluster-admin privileges to use '
        "the aggregationRule"
    )
    # Everything on resources includes escalate, so the check is lifted…
    create(world, CLUSTER_ROLES, gathering())
    # …which a holder of all verbs but that does not have.
    await world.grant("ann", {**EVERYTHING, "verbs": ["get", "create"]})
    assert refusal(world, CLUSTER_ROLES, gathering()) == text
    assert refusal(world, CLUSTER_ROLES, role(), gathering()) == text
    assert refusal(world, CLUSTER_ROLES, gathering(), role()) == text


@in_world
async def test_a_label_that_is_gathered_gives_only_what_its_writer_holds(world: World) -> None:
    await install_default_roles(world.api)
    await world.grant("ann", PODS, rule("create update", "clusterroles", RBAC_GROUP))
    labels = {"labels": {"rbac.authorization.k8s.io/aggregate-to-admin": "true"}}
    create(world, CLUSTER_ROLES, role(rule("get", "pods"), metadata=labels))
    assert "not currently held" in refusal(world, CLUSTER_ROLES, role(EVERYTHING, metadata=labels))
    assert "not currently held" in refusal(
        world, CLUSTER_ROLES, role(EVERYTHING, metadata=labels), role(EVERYTHING)
    )


@in_world
async def test_a_binding_gives_only_what_its_writer_holds(world: World) -> None:
    await world.put("clusterroles", "pods", {"rules": [PODS]}, group=RBAC_GROUP)
    await world.put("clusterroles", "all", {"rules": [EVERYTHING]}, group=RBAC_GROUP)
    await world.put("roles", "secrets", {"rules": [rule("get", "secrets")]}, "n", RBAC_GROUP)
    await world.grant("ann", PODS, rule("*", "rolebindings", RBAC_GROUP), namespace="n")
    create(world, BINDINGS, binding("pods"))
    assert "not currently held" in refusal(world, CLUSTER_BINDINGS, binding("pods"))
    assert refusal(world, BINDINGS, binding("secrets", "Role")).endswith(
        'not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
    )
    assert "not currently held" in refusal(world, BINDINGS, binding("all"))
    # To somebody else, or by adding a subject to an existing binding, is no different.
    assert "not currently held" in refusal(world, BINDINGS, binding("all", subject="bob"))
    assert "not currently held" in refusal(world, BINDINGS, binding("all"), binding("all", subject="bob"))


@in_world
async def test_bind_lifts_the_check_for_the_role_it_names(world: World) -> None:
    await world.put("clusterroles", "all", {"rules": [EVERYTHING]}, group=RBAC_GROUP)
    await world.put("clusterroles", "more", {"rules": [EVERYTHING]}, group=RBAC_GROUP)
    await world.put("roles", "all", {"rules": [EVERYTHING]}, "n", RBAC_GROUP)
    await world.grant("ann", rule("bind", "clusterroles", RBAC_GROUP, names="all"), namespace="n")
    create(world, BINDINGS, binding("all"))
    assert "not currently held" in refusal(world, BINDINGS, binding("more"))
    assert "not currently held" in refusal(world, BINDINGS, binding("all", "Role"))
    assert "not currently held" in refusal(world, CLUSTER_BINDINGS, binding("all"))
    assert "not currently held" in refusal(world, BINDINGS.replace("/n/", "/o/"), binding("all"))


@in_world
async def test_a_role_that_is_not_there_cannot_be_bound_in_advance(world: World) -> None:
    await world.grant("ann", PODS)
    for kind in ("ClusterRole", "Role"):
        with pytest.raises(StatusError) as error:
            create(world, BINDINGS, binding("later", kind))
        assert refused(404, error.value) == 'rolebindings.rbac.authorization.k8s.io "later" not found'
    assert "unsupported role reference kind" in refusal(world, BINDINGS, binding("x", "Group"))


@in_world
async def test_other_resources_are_not_looked_at(world: World) -> None:
    create(world, "/api/v1/namespaces/n/pods", {})
    create(world, "/apis/example.com/v1/namespaces/n/roles", {"rules": [EVERYTHING]})


# Gathering


def test_what_a_role_gathers() -> None:
    def labelled(name: str, *rules: Object) -> Object:
        return role(*rules, name=name, metadata={"labels": {"x": "y"}})

    first, second = rule("get", "a"), rule("get", "b")
    roles = [
        labelled("a", first),
        labelled("b", first, second),
        role(EVERYTHING, name="c"),
        labelled("r", ALL_PATHS),
    ]
    assert aggregated_rules(gathering(), roles) == [first, second]
    assert aggregated_rules(role(), roles) == []
    broken = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "x", "operator": "Near"}]}]}
    assert aggregated_rules(role(aggregationRule=broken), roles) == []


@in_world
async def test_roles_gather_what_comes_and_lose_what_goes(world: World) -> None:
    await install_default_roles(world.api)
    aggregation = RoleAggregation(world.api)
    world.api.scope.start(aggregation.run(), name="aggregation")
    async with asyncio.timeout(20):
        await aggregation.settled()
        view = world.read("clusterroles", "view", group=RBAC_GROUP)["rules"]
        edit = world.read("clusterroles", "edit", group=RBAC_GROUP)["rules"]
        admin = world.read("clusterroles", "admin", group=RBAC_GROUP)["rules"]
        assert (len(view), len(edit), len(admin)) == (12, 27, 29)
        assert all(each in edit for each in view)
        assert all(each in admin for each in edit)
        labels = {"labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}
        mine = rule("get", "widgets", "example.com")
        await world.put(
            "clusterroles", "widgets", role(mine, name="widgets", metadata=labels), group=RBAC_GROUP
        )
        await aggregation.settled()
        for name in ("view", "edit", "admin"):
            assert mine in world.read("clusterroles", name, group=RBAC_GROUP)["rules"]
        await world.store.delete(f"/{RBAC_GROUP}/clusterroles/widgets")
        await aggregation.settled()
        assert world.read("clusterroles", "admin", group=RBAC_GROUP)["rules"] == admin
        revision = world.store.revision
        await world.put("clusterroles", "other", role(PODS, name="other"), group=RBAC_GROUP)
        await aggregation.settled()
        assert world.store.revision == revision + 1


@in_world
async def test_rules_written_into_a_gathering_role_do_not_stay(world: World) -> None:
    await world.put("clusterroles", "r", gathering(PODS), group=RBAC_GROUP)
    aggregation = RoleAggregation(world.api)
    world.api.scope.start(aggregation.run(), name="aggregation")
    async with asyncio.timeout(20):
        await aggregation.settled()
    assert world.read("clusterroles", "r", group=RBAC_GROUP)["rules"] == []
