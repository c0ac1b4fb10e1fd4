"""Who may do what by which binding, and that changes count at once."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.errors import RoleMissing
from steersman.cluster.auth.rbac import RBAC, RoleRef
from steersman.cluster.auth.users import User
from steersman.cluster.store.memory import MemoryStore

Object = dict[str, Any]

ANN = User("ann", groups=("dev", "system:authenticated"))
BOT = User(
    "system:serviceaccount:ns:bot",
    groups=("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
)


def role(*rules: Object) -> Object:
    return {"rules": list(rules)}


def rule(verbs: str, resources: str, names: str = "") -> Object:
    made: Object = {"verbs": verbs.split(), "apiGroups": [""], "resources": resources.split()}
    return made | ({"resourceNames": names.split()} if names else {})


def binding(kind: str, name: str, *subjects: Object) -> Object:
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
    return {"roleRef": ref, "subjects": list(subjects)}


def user(name: str) -> Object:
    return {"kind": "User", "name": name}


def group(name: str) -> Object:
    return {"kind": "Group", "name": name}


def account(name: str, namespace: str = "") -> Object:
    return {"kind": "ServiceAccount", "name": name, **({"namespace": namespace} if namespace else {})}


def pods(verb: str, namespace: str = "ns", name: str = "", subresource: str = "") -> Action:
    return Action(verb, "", "v1", "pods", subresource, namespace, name)


@pytest.fixture
def rbac() -> RBAC:
    made = RBAC()
    made.change_role("", "reader", role(rule("get list", "pods")))
    made.change_role("ns", "reader", role(rule("get", "pods")))
    return made


@pytest.mark.parametrize(
    ("subject", "who", "allowed"),
    [
        (user("ann"), ANN, True),
        (user("Ann"), ANN, False),
        (group("dev"), ANN, True),
        (user("dev"), ANN, False),
        (group("ann"), ANN, False),
        (account("bot", "ns"), BOT, True),
        (account("bot"), BOT, True),
        (account("bot", "other"), BOT, False),
        (user("system:serviceaccount:ns:bot"), BOT, True),
        (group("system:serviceaccounts:ns"), BOT, True),
        ({"kind": "Robot", "name": "ann"}, ANN, False),
    ],
    ids=str,
)
def test_whom_a_binding_is_for(rbac: RBAC, subject: Object, who: User, allowed: bool) -> None:
    rbac.change_binding("ns", "b", binding("ClusterRole", "reader", subject))
    assert rbac.allows(who, pods("list")) is allowed


def test_an_account_without_namespace_is_nobody_cluster_wide(rbac: RBAC) -> None:
    rbac.change_binding("", "b", binding("ClusterRole", "reader", account("bot")))
    assert not rbac.allows(BOT, pods("list"))


def test_a_binding_in_a_namespace_gives_nothing_elsewhere(rbac: RBAC) -> None:
    rbac.change_binding("ns", "b", binding("ClusterRole", "reader", user("ann")))
    assert rbac.allows(ANN, pods("list", "ns"))
    assert not rbac.allows(ANN, pods("list", "other"))
    assert not rbac.allows(ANN, pods("list", ""))


def test_a_cluster_binding_gives_everywhere(rbac: RBAC) -> None:
    rbac.change_binding("", "b", binding("ClusterRole", "reader", user("ann")))
    assert rbac.allows(ANN, pods("list", "other"))
    assert rbac.allows(ANN, pods("list", ""))


def test_a_role_and_a_cluster_role_of_one_name_are_two(rbac: RBAC) -> None:
    rbac.change_binding("ns", "b", binding("Role", "reader", user("ann")))
    assert rbac.allows(ANN, pods("get"))
    assert not rbac.allows(ANN, pods("list"))


def test_a_cluster_binding_cannot_reach_a_role(rbac: RBAC) -> None:
    rbac.change_binding("", "b", binding("Role", "reader", user("ann")))
    assert not rbac.allows(ANN, pods("get"))
    with pytest.raises(RoleMissing):
        rbac.rules_of(RoleRef("Role", "reader"), "")


@pytest.mark.parametrize(
    ("action", "allowed"),
    [
        (pods("get", name="only"), True),
        (pods("get", name="other"), False),
        (pods("get"), False),
        (pods("list"), False),
        (pods("list", name="only"), True),
        (pods("watch", name="only"), True),
        (pods("watch"), False),
        (pods("deletecollection"), False),
        (pods("create"), False),
        (pods("get", name="only", subresource="log"), False),
    ],
    ids=str,
)
def test_names_limit_a_rule(action: Action, allowed: bool) -> None:
    rbac = RBAC()
    rbac.change_role("", "one", role(rule("get list watch deletecollection create", "pods", "only")))
    rbac.change_binding("", "b", binding("ClusterRole", "one", user("ann")))
    assert rbac.allows(ANN, action) is allowed
    assert rbac.decide(ANN, action).allowed is allowed


def test_a_change_counts_for_the_very_next_question(rbac: RBAC) -> None:
    rbac.change_binding("ns", "b", binding("ClusterRole", "reader", user("ann")))
    assert rbac.allows(ANN, pods("list"))
    rbac.change_role("", "reader", role(rule("get", "pods")))
    assert not rbac.allows(ANN, pods("list"))
    rbac.change_role("", "reader", role(rule("list", "pods")))
    assert rbac.allows(ANN, pods("list"))
    rbac.change_binding("ns", "b", binding("ClusterRole", "reader", user("bob")))
    assert not rbac.allows(ANN, pods("list"))
    assert rbac.allows(User("bob"), pods("list"))
    rbac.change_binding("ns", "b", None)
    assert not rbac.allows(User("bob"), pods("list"))


def test_one_binding_of_two_that_goes_leaves_the_other(rbac: RBAC) -> None:
    rbac.change_binding("ns", "a", binding("Role", "reader", user("ann")))
    rbac.change_binding("ns", "b", binding("ClusterRole", "reader", user("ann"), user("ann")))
    rbac.change_binding("ns", "a", None)
    assert rbac.allows(ANN, pods("list"))
    rbac.change_binding("ns", "b", None)
    assert not rbac.allows(ANN, pods("get"))
    assert not rbac._by_subject


def test_answers_are_remembered_until_something_changes(rbac: RBAC) -> None:
    rbac.change_binding("ns", "b", binding("ClusterRole", "reader", user("ann")))
    for who in (ANN, BOT):
        for name in ("x", "y"):
            rbac.allows(who, pods("get", name=name))
            rbac.allows(who, pods("list", name=name))
    assert [len(grants._answers) for grants in rbac._grants.values()] == [2, 2]
    rbac.change_role("ns", "other", role())
    assert not rbac._grants


@pytest.mark.parametrize(
    ("namespace", "made", "who", "reason"),
    [
        (
            "ns",
            binding("Role", "reader", user("x"), account("bot")),
            BOT,
            'RBAC: allowed by RoleBinding "b/ns" of Role "reader" to ServiceAccount "bot/ns"',
        ),
        (
            "",
            binding("ClusterRole", "reader", group("dev"), user("ann")),
            ANN,
            'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "dev"',
        ),
        (
            "ns",
            binding("ClusterRole", "reader", user("ann")),
            ANN,
            'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "reader" to User "ann"',
        ),
    ],
    ids=["account", "group", "user"],
)
def test_the_reason_names_the_binding(
    rbac: RBAC, namespace: str, made: Object, who: User, reason: str
) -> None:
    rbac.change_binding(namespace, "b", made)
    assert rbac.decide(who, pods("get")) == (True, reason)


def test_missing_roles_are_named_in_the_refusal(rbac: RBAC) -> None:
    rbac.change_binding("", "a", binding("ClusterRole", "gone", user("ann")))
    assert rbac.decide(ANN, pods("get")) == (
        False,
        'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
    )
    rbac.change_binding("ns", "b", binding("Role", "lost", user("ann")))
    assert rbac.decide(ANN, pods("get")).reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, '
        'role.rbac.authorization.k8s.io "lost" not found]'
    )
    rbac.change_binding("ns", "c", binding("ClusterRole", "reader", user("ann")))
    assert rbac.allows(ANN, pods("get"))


def test_paths_are_given_cluster_wide_only(rbac: RBAC) -> None:
    rbac.change_role("", "health", role({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/logs/*"]}))
    rbac.change_binding("ns", "b", binding("ClusterRole", "health", user("ann")))
    assert not rbac.allows(ANN, Action("get", path="/healthz"))
    rbac.change_binding("", "b", binding("ClusterRole", "health", user("ann")))
    for path, allowed in {
        "/healthz": True, "/healthz/": False, "//healthz": False, "/Healthz": False, "/logs/a": True,
        "/logs": False, "/": False, "/healthz%2f..": False, "/healthz/../metrics": False,
    }.items():  # fmt: skip
        assert rbac.allows(ANN, Action("get", path=path)) is allowed, path
    assert not rbac.allows(ANN, Action("post", path="/healthz"))


def test_a_resource_rule_gives_no_path_and_a_path_rule_no_resource() -> None:
    rbac = RBAC()
    rbac.change_role("", "r", role({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}))
    rbac.change_role("", "p", role({"verbs": ["*"], "nonResourceURLs": ["*"]}))
    rbac.change_binding("", "r", binding("ClusterRole", "r", user("ann")))
    rbac.change_binding("", "p", binding("ClusterRole", "p", user("bob")))
    assert not rbac.allows(ANN, Action("get", path="/metrics"))
    assert not rbac.allows(User("bob"), pods("get"))


def test_groups_given_as_a_list_work_too(rbac: RBAC) -> None:
    rbac.change_binding("ns", "b", binding("ClusterRole", "reader", group("dev")))
    assert rbac.allows(User("x", groups=["dev"]), pods("get"))


def test_asking_about_everything_does_not_fill_the_memory(rbac: RBAC) -> None:
    rbac.change_binding("ns", "b", binding("ClusterRole", "reader", user("ann")))
    for number in range(5000):
        rbac.allows(User(f"u{number}"), pods("get"))
        rbac.allows(ANN, Action("get", "", "v1", f"r{number}", "", "ns"))
    assert len(rbac._grants) <= 4096
    assert all(len(grants._answers) <= 4096 for grants in rbac._grants.values())
    assert rbac.allows(ANN, pods("get"))


def test_the_store_is_followed_from_what_is_there_on() -> None:
    prefix = "/rbac.authorization.k8s.io/"

    async def body() -> None:
        store = MemoryStore()
        await store.put(f"{prefix}clusterroles/reader", orjson.dumps(role(rule("get", "pods"))))
        rbac = RBAC()
        subscriptions = rbac.follow(store)
        made = binding("ClusterRole", "reader", user("ann"))
        await store.put(f"{prefix}rolebindings/ns/b", orjson.dumps(made))
        assert rbac.allows(ANN, pods("get"))
        await store.put(f"{prefix}clusterrolebindings/b", orjson.dumps(made))
        assert rbac.allows(ANN, pods("get", "other"))
        await store.delete(f"{prefix}clusterroles/reader")
        assert not rbac.allows(ANN, pods("get"))
        await store.put(f"{prefix}roles/ns/reader", orjson.dumps(role(rule("get", "pods"))))
        assert not rbac.allows(ANN, pods("get"))
        for subscription in subscriptions:
            subscription.cancel()
        await store.put(f"{prefix}clusterroles/reader", orjson.dumps(role(rule("get", "pods"))))
        assert not rbac.allows(ANN, pods("get"))
        await store.close()

    asyncio.run(body())
