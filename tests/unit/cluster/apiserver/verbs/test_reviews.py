"""Reviews: their answers' shape, and that they say what the authorizers would do."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.apiserver.verbs.reviews import Reviews, review_action
from steersman.cluster.auth.authorization import Action, AuthorizerChain
from steersman.cluster.auth.users import User
from steersman.objects.status import StatusError
from tests.unit.cluster.apiserver.access_world import ADMIN, ANN, World, content, in_world, refused, rule

Object = dict[str, Any]

ACCESS = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
LIST_PODS = {"namespace": "n", "verb": "list", "resource": "pods"}


async def ask(world: World, path: str, body: Object, user: User = ANN) -> Object:
    reviews = Reviews(world.access)
    call = world.call(path, body, user)
    assert reviews.handles(call.resource.group, call.resource.plural)
    answer = await reviews.review(world.api, call)
    assert answer.status == 201
    return content(answer)


async def refusal(world: World, path: str, body: Object, code: int, user: User = ANN) -> str:
    with pytest.raises(StatusError) as error:
        await ask(world, path, body, user)
    return refused(code, error.value)


@in_world
async def test_may_i(world: World) -> None:
    body = {"spec": {"resourceAttributes": LIST_PODS}}
    answer = await ask(world, f"{ACCESS}/selfsubjectaccessreviews", body)
    assert answer["status"] == {"allowed": False}
    await world.grant("ann", rule("list", "pods"), namespace="n")
    answer = await ask(world, f"{ACCESS}/selfsubjectaccessreviews", body)
    (entry,) = answer["metadata"].pop("managedFields")
    assert entry["fieldsV1"] == {
        "f:spec": {"f:resourceAttributes": {".": {}, "f:namespace": {}, "f:resource": {}, "f:verb": {}}}
    }
    assert answer == {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": body["spec"],
        "status": {
            "allowed": True,
            "reason": 'RBAC: allowed by RoleBinding "of-ann/n" of Role "of-ann" to User "ann"',
        },
    }


@in_world
async def test_may_they(world: World) -> None:
    await world.grant("bob", rule("list", "pods"), namespace="n")
    path = f"{ACCESS}/subjectaccessreviews"
    bob = {"spec": {"user": "bob", "resourceAttributes": LIST_PODS}}
    assert (await ask(world, path, bob))["status"]["allowed"] is True
    ann = {"spec": {"user": "ann", "groups": ["system:masters"], "resourceAttributes": LIST_PODS}}
    assert (await ask(world, path, ann))["status"] == {"allowed": True}
    metrics = {"spec": {"user": "bob", "nonResourceAttributes": {"path": "/metrics", "verb": "get"}}}
    assert (await ask(world, path, metrics))["status"] == {"allowed": False}


@in_world
async def test_authorizers_see_all_of_whom_is_asked_about(world: World) -> None:
    seen: list[tuple[User, Action]] = []

    class Recorder:
        def allows(self, user: User, action: Action) -> bool:
            seen.append((user, action))
            return True

    world.access.authorizer = AuthorizerChain({"recorder": Recorder()})
    spec = {"user": "bob", "uid": "u", "groups": ["g"], "extra": {"k": ["v"]}}
    asked = {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}
    await ask(world, f"{ACCESS}/subjectaccessreviews", {"spec": {**spec, **asked}})
    await ask(world, f"{ACCESS}/subjectaccessreviews", {"spec": {"user": "bob", **asked}})
    action = Action("get", path="/metrics")
    assert seen == [(User("bob", "u", ("g",), {"k": ["v"]}), action), (User("bob"), action)]


@in_world
async def test_a_local_review_stays_in_its_namespace(world: World) -> None:
    path = f"{ACCESS}/namespaces/n/localsubjectaccessreviews"
    body = {"spec": {"user": "bob", "resourceAttributes": LIST_PODS}}
    answer = await ask(world, path, body)
    assert answer["metadata"]["namespace"] == "n"
    elsewhere = {"spec": {"user": "bob", "resourceAttributes": {**LIST_PODS, "namespace": "other"}}}
    assert await refusal(world, path, elsewhere, 422) == (
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": '
        "must match metadata.namespace"
    )
    assert "does not match" in await refusal(world, path, {**body, "metadata": {"namespace": "other"}}, 400)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({}, "exactly one of nonResourceAttributes or resourceAttributes must be specified"),
        ({"resourceAttributes": LIST_PODS}, "at least one of user or group must be specified"),
    ],
    ids=["nothing asked", "nobody"],
)
@in_world
async def test_a_review_must_make_sense(world: World, spec: Object, text: str) -> None:
    assert text in await refusal(world, f"{ACCESS}/subjectaccessreviews", {"spec": spec}, 422)


@pytest.mark.parametrize(
    ("selectors", "fields", "problems"),
    [
        ({}, (), []),
        ({"fieldSelector": {"rawSelector": "spec.nodeName=x,a!=b"}}, (("spec.nodeName", "x"),), []),
        (
            {"fieldSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]}},
            (("a", "b"),),
            [],
        ),
        (
            {"fieldSelector": {"rawSelector": "=,,=x("}},
            None,
            None,
        ),
        (
            {"fieldSelector": {"requirements": [{"key": "a", "operator": "Exists"}]}},
            (),
            ["spec.resourceAttributes.fieldSelector ignored due to parse error"],
        ),
        (
            {
                "fieldSelector": {
                    "requirements": [
                        {"key": "a", "operator": "In", "values": ["b"]},
                        {"key": "c", "operator": "In", "values": ["d", "e"]},
                    ]
                }
            },
            (("a", "b"),),
            ["spec.resourceAttributes.fieldSelector partially ignored due to parse error"],
        ),
        (
            {"labelSelector": {"rawSelector": "a in ("}},
            (),
            ["spec.resourceAttributes.labelSelector ignored due to parse error"],
        ),
        ({"labelSelector": {"requirements": [{"key": "a", "operator": "Exists"}]}}, (), []),
        (
            {"labelSelector": {"requirements": [{"key": "a", "operator": "Near"}]}},
            (),
            ["spec.resourceAttributes.labelSelector ignored due to parse error"],
        ),
        (
            {"labelSelector": {"requirements": [{"key": "a", "operator": "In"}]}},
            (),
            ["spec.resourceAttributes.labelSelector ignored due to parse error"],
        ),
    ],
    ids=lambda part: str(part)[:60],
)
def test_selectors_narrow_the_question_as_far_as_they_are_understood(
    selectors: Object, fields: Any, problems: Any
) -> None:
    asked, found = review_action({"resourceAttributes": {**LIST_PODS, **selectors}})
    if fields is not None:
        assert (asked.fields, found) == (fields, problems)
    assert asked._replace(fields=()) == Action("list", "", "", "pods", "", "n")


@in_world
async def test_what_may_i_do(world: World) -> None:
    await world.grant("ann", rule("get list", "pods", names="a"), namespace="n")
    await world.grant("ann", {"verbs": ["get"], "nonResourceURLs": ["/x"]})
    answer = await ask(world, f"{ACCESS}/selfsubjectrulesreviews", {"spec": {"namespace": "n"}})
    assert answer == {
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {},
        "status": {
            "resourceRules": [
                {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}
            ],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
            "incomplete": False,
        },
    }
    path = f"{ACCESS}/selfsubjectrulesreviews"
    assert await refusal(world, path, {"spec": {}}, 400) == "no namespace on request"
    node = User("system:node:x", groups=("system:nodes",))
    status = (await ask(world, path, {"spec": {"namespace": "n"}}, node))["status"]
    assert status["incomplete"] is True
    assert status["evaluationError"] == "node authorizer does not support user rule resolution"


@in_world
async def test_who_am_i(world: World) -> None:
    user = User("ann", "u", ("a", "b"), {"k": ["v"]})
    answer = await ask(world, f"{AUTHENTICATION}/selfsubjectreviews", {}, user)
    assert list(answer["metadata"]) == ["creationTimestamp"]
    info = {"username": "ann", "uid": "u", "groups": ["a", "b"], "extra": {"k": ["v"]}}
    assert answer["status"] == {"userInfo": info}
    assert (await ask(world, f"{AUTHENTICATION}/selfsubjectreviews", {}, User("x")))["status"] == {
        "userInfo": {"username": "x"}
    }


@in_world
async def test_whose_token(world: World) -> None:
    path = f"{AUTHENTICATION}/tokenreviews"
    answer = await ask(world, path, {"spec": {"token": "ann-token"}}, ADMIN)
    assert answer["status"] == {
        "authenticated": True,
        "user": {"username": "ann", "groups": ["dev", "system:authenticated"]},
        "audiences": ["https://kubernetes.default.svc"],
    }
    answer = await ask(world, path, {"spec": {"token": "nope"}}, ADMIN)
    assert answer["status"] == {"user": {}, "error": "invalid bearer token"}
    answer = await ask(world, path, {"spec": {"token": "ann-token", "audiences": ["vault"]}}, ADMIN)
    assert answer["status"] == {"user": {}, "error": "invalid bearer token"}
    account = await world.put("serviceaccounts", "bot", {}, "n")
    token = world.access.tokens.issue(account, audiences=["a"], expires_in_s=600, bound={})
    answer = await ask(world, path, {"spec": {"token": token}}, ADMIN)
    assert answer["status"]["error"] == (
        '[invalid bearer token, token audiences ["a"] is invalid for the target audiences '
        '["https://kubernetes.default.svc"]]'
    )
    text = "token is required for TokenReview in authentication"
    assert await refusal(world, path, {"spec": {}}, 400) == text


@in_world
async def test_other_resources_are_not_reviews(world: World) -> None:
    reviews = Reviews(world.access)
    assert not reviews.handles("", "pods")
    assert not reviews.handles("example.com", "tokenreviews")
