"""Who may act as whom, and as who they then act."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.apiserver.pipeline.access import path_action
from steersman.cluster.auth.users import User
from steersman.objects.status import StatusError
from tests.unit.cluster.apiserver.access_world import ADMIN, ANN, World, action, in_world, refused, rule

Object = dict[str, Any]
Headers = list[tuple[str, str]]

PODS = action("list", "/api/v1/namespaces/n/pods")
AUTH = "authentication.k8s.io"


def headers(user: str = "", *more: tuple[str, str]) -> Headers:
    return [("accept", "*/*"), *([("impersonate-user", user)] if user else []), *more]


def refusal(world: World, given: Headers, who: User = ANN, code: int = 403) -> str:
    with pytest.raises(StatusError) as error:
        world.access.acting(who, given, PODS)
    return refused(code, error.value)


@in_world
async def test_without_headers_one_is_oneself(world: World) -> None:
    assert world.access.acting(ANN, headers(), PODS) is ANN
    assert world.access.acting(ANN, [*headers(), ("impersonate-other", "x")], PODS) is ANN


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (headers("bob"), User("bob", groups=("system:authenticated",))),
        (
            headers("bob", ("impersonate-group", "a"), ("impersonate-group", "b")),
            User("bob", groups=("a", "b", "system:authenticated")),
        ),
        (
            headers("bob", ("impersonate-group", "system:authenticated")),
            User("bob", groups=("system:authenticated",)),
        ),
        (
            headers("bob", ("impersonate-group", "system:unauthenticated")),
            User("bob", groups=("system:unauthenticated",)),
        ),
        (headers("system:anonymous"), User("system:anonymous", groups=("system:unauthenticated",))),
        (
            headers("system:serviceaccount:n:bot"),
            User(
                "system:serviceaccount:n:bot",
                groups=("system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"),
            ),
        ),
        (
            headers("system:serviceaccount:n:bot", ("impersonate-group", "g")),
            User("system:serviceaccount:n:bot", groups=("g", "system:authenticated")),
        ),
        (
            headers("system:serviceaccount:N:bot"),
            User("system:serviceaccount:N:bot", groups=("system:authenticated",)),
        ),
        (
            headers("system:node:x"),
            User("system:node:x", groups=("system:nodes", "system:authenticated")),
        ),
        (
            headers(
                "bob",
                ("impersonate-uid", "u"),
                ("impersonate-extra-acme.com%2fproject", "a"),
                ("impersonate-extra-acme.com%2fproject", "b"),
            ),
            User("bob", "u", ("system:authenticated",), {"acme.com/project": ["a", "b"]}),
        ),
        (
            headers("bob", ("impersonate-group", "system:masters")),
            User("bob", groups=("system:masters", "system:authenticated")),
        ),
    ],
    ids=lambda part: str(part)[:70],
)
@in_world
async def test_who_one_becomes(world: World, given: Headers, expected: User) -> None:
    assert world.access.acting(ADMIN, given, PODS) == expected


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (
            [("impersonate-group", "g")],
            '&user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)}',
        ),
        (
            [("impersonate-uid", "u")],
            '&user.DefaultInfo{Name:"", UID:"u", Groups:[]string(nil), Extra:map[string][]string(nil)}',
        ),
        (
            [("impersonate-extra-b", "x"), ("impersonate-extra-a", "y")],
            '&user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), '
            'Extra:map[string][]string{"a":[]string{"y"}, "b":[]string{"x"}}}',
        ),
        (
            [("impersonate-user", ""), ("impersonate-user", "bob"), ("impersonate-group", "g")],
            '&user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)}',
        ),
    ],
    ids=["group", "uid", "extra", "the first name counts"],
)
@in_world
async def test_nobody_has_groups_without_a_name(world: World, given: Headers, shown: str) -> None:
    assert refusal(world, given, ADMIN, 400) == f"requested {shown} without impersonating a user name"


LEGACY = [
    (headers("bob"), [rule("impersonate", "users")]),
    (headers("bob"), [rule("impersonate", "users", names="bob")]),
    (headers("system:serviceaccount:n:bot"), [rule("impersonate", "serviceaccounts", names="bot")]),
    (
        headers("bob", ("impersonate-group", "g"), ("impersonate-group", "h")),
        [rule("impersonate", "users groups", names="bob g h")],
    ),
    (
        headers("bob", ("impersonate-uid", "u"), ("impersonate-extra-scopes", "s")),
        [rule("impersonate", "users"), rule("impersonate", "uids userextras/scopes", AUTH)],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "rules"), LEGACY, ids=lambda part: str(part)[:60])
@in_world
async def test_each_part_needs_its_right(world: World, given: Headers, rules: list[Object]) -> None:
    refusal(world, given)
    await world.grant("ann", *rules)
    assert world.access.acting(ANN, given, PODS).name == given[1][1]
    refusal(world, [*given, ("impersonate-group", "other")])
    refusal(world, [*given, ("impersonate-extra-other", "x")])
    refusal(world, [*given[:1], ("impersonate-user", "system:serviceaccount:n:other"), *given[2:]])


@in_world
async def test_a_right_to_names_is_none_to_accounts_and_back(world: World) -> None:
    await world.grant("ann", rule("impersonate", "users"))
    refusal(world, headers("system:serviceaccount:kube-system:admin"))
    await world.grant("ann", rule("impersonate", "serviceaccounts"), namespace="n")
    world.access.acting(ANN, headers("system:serviceaccount:n:bot"), PODS)
    refusal(world, headers("system:serviceaccount:kube-system:admin"))
    await world.grant("ann", rule("impersonate", "serviceaccounts"))
    refusal(world, headers("bob"))


@in_world
async def test_the_refusal_names_the_first_right_that_was_missing(world: World) -> None:
    assert refusal(world, headers("bob")) == (
        'pods is forbidden: User "ann" cannot impersonate-on:user-info:list resource "pods" in API group "" '
        'in the namespace "n"'
    )
    assert "impersonate-on:serviceaccount:list" in refusal(world, headers("system:serviceaccount:n:bot"))
    assert "impersonate-on:arbitrary-node:list" in refusal(world, headers("system:node:x"))
    await world.grant("ann", rule("impersonate", "users"))
    group = refusal(world, headers("bob", ("impersonate-group", "system:masters")))
    assert "impersonate-on:user-info:list" in group
    asked = path_action("GET", "/metrics")
    with pytest.raises(StatusError) as error:
        world.access.acting(User("eve"), headers("bob"), asked)
    assert refused(403, error.value) == (
        'forbidden: User "eve" cannot impersonate-on:user-info:get path "/metrics"'
    )


@in_world
async def test_impersonation_does_not_chain(world: World) -> None:
    """Rights of who one acts as do not help to act as others: the headers are read once."""
    await world.grant("ann", rule("impersonate", "users", names="bob"))
    await world.grant("bob", rule("impersonate", "users groups"), name="bobs")
    acting = world.access.acting(ANN, headers("bob"), PODS)
    assert acting.name == "bob"
    refusal(world, headers("root"))
    refusal(world, headers("bob", ("impersonate-group", "system:masters")))


# The narrower ways


def constrained(way: str, resource: str, names: str = "") -> list[Object]:
    return [
        rule(f"impersonate:{way}", resource, AUTH, names),
        rule(f"impersonate-on:{way}:list", "pods"),
    ]


@pytest.mark.parametrize(
    ("way", "resource", "name"),
    [
        ("user-info", "users", "bob"),
        ("serviceaccount", "serviceaccounts", "system:serviceaccount:n:bot"),
        ("arbitrary-node", "nodes", "system:node:x"),
    ],
)
@in_world
async def test_a_narrow_right_holds_for_what_it_says(
    world: World, way: str, resource: str, name: str
) -> None:
    who, what = constrained(way, resource)
    await world.grant("ann", who)
    refusal(world, headers(name))
    await world.grant("ann", what)
    refusal(world, headers(name))
    await world.grant("ann", who, what)
    assert world.access.acting(ANN, headers(name), PODS).name == name
    with pytest.raises(StatusError):
        world.access.acting(ANN, headers(name), action("get", "/api/v1/namespaces/n/secrets/s"))


@in_world
async def test_nodes_and_accounts_bring_nothing_but_their_name(world: World) -> None:
    # Not even with the right to more in the same way.
    more = "groups uids userextras/a.b/c"
    await world.grant(
        "ann",
        *constrained("arbitrary-node", f"nodes {more}"),
        *constrained("serviceaccount", f"serviceaccounts {more}"),
    )
    for name in ("system:node:x", "system:serviceaccount:n:bot"):
        world.access.acting(ANN, headers(name), PODS)
        for more in (
            ("impersonate-group", "g"),
            ("impersonate-uid", "u"),
            ("impersonate-extra-a.b%2fc", "x"),
        ):
            refusal(world, headers(name, more))
    for name in ("system:node:Not_A_Node", "system:node:", "system:serviceaccount:n:Bad_Name"):
        refusal(world, headers(name))


@in_world
async def test_the_way_for_other_users_is_for_others_only(world: World) -> None:
    await world.grant("ann", *constrained("user-info", "users serviceaccounts nodes"))
    world.access.acting(ANN, headers("bob"), PODS)
    refusal(world, headers("system:node:x"))
    refusal(world, headers("system:serviceaccount:n:bot"))


@in_world
async def test_what_somebody_was_last_allowed_by_is_what_a_refusal_is_about(world: World) -> None:
    assert "impersonate-on:user-info:" in refusal(world, headers("eve"))
    await world.grant("ann", rule("impersonate", "users", names="bob"))
    world.access.acting(ANN, headers("bob"), PODS)
    assert refusal(world, headers("eve")) == (
        'users "eve" is forbidden: User "ann" cannot impersonate resource "users" in API group "" '
        "at the cluster scope"
    )


@in_world
async def test_masters_and_emptiness_are_never_impersonated_narrowly(world: World) -> None:
    await world.grant("ann", *constrained("user-info", "users groups userextras/a.b/c", ""))
    world.access.acting(ANN, headers("bob", ("impersonate-group", "g")), PODS)
    for group, why in (
        ("system:masters", "impersonating the system:masters group is not allowed"),
        ("", "impersonating the empty string group is not allowed"),
    ):
        assert refusal(world, headers("bob", ("impersonate-group", group))).endswith(why)
    for key, value, why in (
        ("noprefix", "x", 'must be a domain-prefixed path (such as "acme.io/foo")'),
        ("a.b%2fc", "", "impersonating the empty string value in extra is not allowed"),
        ("", "x", "impersonating the empty string key in extra is not allowed"),
    ):
        assert refusal(world, headers("bob", (f"impersonate-extra-{key}", value))).endswith(why)
    refusal(world, headers("system:node:x", ("impersonate-group", "g")))
    refusal(world, headers("system:serviceaccount:n:bot", ("impersonate-uid", "u")))


@in_world
async def test_many_groups_at_once_by_the_right_to_all(world: World) -> None:
    await world.grant(
        "ann", *constrained("user-info", "users"), rule("impersonate:user-info", "groups", AUTH, "*")
    )
    many = [("impersonate-group", f"g{number}") for number in range(4)]
    world.access.acting(ANN, headers("bob", *many), PODS)
    refusal(world, headers("bob", *many[:3]))


@in_world
async def test_many_extras_at_once_by_the_right_to_all(world: World) -> None:
    await world.grant(
        "ann", *constrained("user-info", "users"), rule("impersonate:user-info", "userextras/*", AUTH, "*")
    )
    many = [("impersonate-extra-a.b%2fc", f"v{number}") for number in range(4)]
    world.access.acting(ANN, headers("bob", *many), PODS)
    refusal(world, headers("bob", *many[:3]))
    await world.grant("ann", *constrained("user-info", "users"))
    refusal(world, headers("bob", *many))


@in_world
async def test_a_pods_account_acts_as_its_own_node(world: World) -> None:
    agent = User("system:serviceaccount:n:agent", extra={"authentication.kubernetes.io/node-name": ["mine"]})
    await world.grant(agent.name, *constrained("associated-node", "nodes", "*"))
    became = world.access.acting(agent, headers("system:node:mine"), PODS)
    assert became == User("system:node:mine", groups=("system:nodes", "system:authenticated"))
    refusal(world, headers("system:node:other"), agent)
    refusal(world, headers("system:node:mine"), User(agent.name))
    refusal(world, headers("system:node:mine", ("impersonate-group", "system:nodes")), agent)
