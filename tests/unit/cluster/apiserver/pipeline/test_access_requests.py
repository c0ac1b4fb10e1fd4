"""From a request to the action that authorizers judge, and how a refusal reads."""

from __future__ import annotations

import pytest

from steersman.cluster.apiserver.bootstrap.role_installation import install_default_roles
from steersman.cluster.apiserver.pipeline.access import path_action
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import ANONYMOUS
from steersman.objects.status import StatusError
from tests.unit.cluster.apiserver.access_world import ANN, RBAC_GROUP, World, action, in_world, refused, rule


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (action("list", "/api/v1/pods"), Action("list", "", "v1", "pods")),
        (
            action("get", "/apis/apps/v1/namespaces/n/deployments/d/scale"),
            Action("get", "apps", "v1", "deployments", "scale", "n", "d"),
        ),
        (action("get", "/api/v1/namespaces/n"), Action("get", "", "v1", "namespaces", "", "n", "n")),
        (
            action("update", "/api/v1/namespaces/n/finalize"),
            Action("update", "", "v1", "namespaces", "finalize", "n", "n"),
        ),
        (action("list", "/api/v1/namespaces"), Action("list", "", "v1", "namespaces")),
        (
            action("list", "/api/v1/namespaces/n/pods", "fieldSelector=metadata.name%3Da"),
            Action("list", "", "v1", "pods", "", "n", "a", fields=(("metadata.name", "a"),)),
        ),
        (
            action("watch", "/api/v1/pods", "fieldSelector=spec.nodeName%3Dx,status.phase!%3DFailed"),
            Action("watch", "", "v1", "pods", fields=(("spec.nodeName", "x"),)),
        ),
        (
            action("list", "/api/v1/pods", "fieldSelector=metadata.name!%3Da"),
            Action("list", "", "v1", "pods"),
        ),
        (
            action("deletecollection", "/api/v1/namespaces/n/pods", "fieldSelector=metadata.name%3Da"),
            Action("deletecollection", "", "v1", "pods", "", "n", fields=(("metadata.name", "a"),)),
        ),
        (
            action("watch", "/api/v1/watch/namespaces/n/pods", "fieldSelector=metadata.name%3Da"),
            Action("watch", "", "v1", "pods", "", "n"),
        ),
        (action("list", "/api/v1/pods", "fieldSelector=%3D%3D,x"), Action("list", "", "v1", "pods")),
        (
            action("list", "/api/v1/pods", "fieldSelector=metadata.name%3D.."),
            Action("list", "", "v1", "pods", fields=(("metadata.name", ".."),)),
        ),
        (
            action("list", "/api/v1/pods", "fieldSelector=x%3Dy&fieldSelector=metadata.name%3Da"),
            Action("list", "", "v1", "pods", fields=(("x", "y"),)),
        ),
        (
            action("get", "/api/v1/namespaces/n/pods/p", "fieldSelector=metadata.name%3Da"),
            Action("get", "", "v1", "pods", "", "n", "p"),
        ),
    ],
    ids=str,
)
def test_what_a_request_is_about(given: Action, expected: Action) -> None:
    assert given == expected


@in_world
async def test_a_right_to_one_name_is_no_right_to_the_collection(world: World) -> None:
    verbs = "get list watch delete deletecollection"
    await world.grant("ann", rule(verbs, "secrets", names="mine"), namespace="n")
    may = world.access.authorizer.allows
    collection = "/api/v1/namespaces/n/secrets"
    assert may(ANN, action("get", f"{collection}/mine"))
    assert may(ANN, action("list", collection, "fieldSelector=metadata.name%3Dmine"))
    assert may(ANN, action("watch", collection, "fieldSelector=metadata.name%3Dmine"))
    for verb in ("list", "watch", "deletecollection"):
        assert not may(ANN, action(verb, collection))
        assert not may(ANN, action(verb, collection, "labelSelector=name%3Dmine"))
        assert not may(ANN, action(verb, collection, "fieldSelector=metadata.name%3Dother"))
        assert not may(ANN, action(verb, collection, "fieldSelector=metadata.name!%3Dmine"))
    assert not may(ANN, action("deletecollection", collection, "fieldSelector=metadata.name%3Dmine"))
    assert not may(
        ANN, action("watch", "/api/v1/watch/namespaces/n/secrets", "fieldSelector=metadata.name%3Dmine")
    )


@in_world
async def test_a_right_to_an_object_is_none_to_its_subresources(world: World) -> None:
    await world.grant("ann", rule("*", "pods"), namespace="n")
    may = world.access.authorizer.allows
    assert may(ANN, action("create", "/api/v1/namespaces/n/pods"))
    for part, verb in (
        ("exec", "create"),
        ("exec", "get"),
        ("log", "get"),
        ("status", "update"),
        ("token", "create"),
    ):
        assert not may(ANN, action(verb, f"/api/v1/namespaces/n/pods/p/{part}"))


@in_world
async def test_a_namespace_is_in_itself(world: World) -> None:
    await world.grant("ann", rule("get", "namespaces"), namespace="n")
    may = world.access.authorizer.allows
    assert may(ANN, action("get", "/api/v1/namespaces/n"))
    assert not may(ANN, action("get", "/api/v1/namespaces/other"))
    assert not may(ANN, action("list", "/api/v1/namespaces"))


@in_world
async def test_anonymous_may_ask_for_health_and_version_only(world: World) -> None:
    await install_default_roles(world.api)
    may = world.access.authorizer.allows
    for path in ("/healthz", "/livez", "/readyz", "/version", "/version/"):
        assert may(ANONYMOUS, path_action("GET", path)), path
        assert not may(ANONYMOUS, path_action("POST", path)), path
    for path in (
        "/", "/api", "/apis", "/metrics", "/openapi/v2", "//healthz", "/healthz/", "/HEALTHZ", "/healthz//",
        "/healthz/../metrics", "/healthz;x", "/healthz%2f", "/livez/ping", "/.well-known/openid-configuration",
    ):  # fmt: skip
        assert not may(ANONYMOUS, path_action("GET", path)), path
    assert may(ANN, path_action("GET", "/api/v1"))
    assert not may(ANN, path_action("GET", "/metrics"))
    assert not may(ANN, path_action("GET", "/API/v1"))
    assert not may(ANN, path_action("GET", "//api/v1"))


@in_world
async def test_refusals_read_as_people_know_them(world: World) -> None:
    cases = {
        action("list", "/api/v1/namespaces/n/pods"): (
            'pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the namespace "n"'
        ),
        action("get", "/api/v1/nodes/x"): (
            'nodes "x" is forbidden: User "ann" cannot get resource "nodes" in API group "" at the cluster scope'
        ),
        action("get", "/api/v1/namespaces/n/pods/p/log"): (
            'pods "p" is forbidden: User "ann" cannot get resource "pods/log" in API group "" '
            'in the namespace "n"'
        ),
        action("create", "/apis/apps/v1/namespaces/n/deployments"): (
            'deployments.apps is forbidden: User "ann" cannot create resource "deployments" in API group '
            '"apps" in the namespace "n"'
        ),
        path_action("GET", "/metrics"): 'forbidden: User "ann" cannot get path "/metrics"',
        path_action("GET", "/<b>&"): 'forbidden: User "ann" cannot get path "/&lt;b&gt;&amp;"',
    }
    for asked, message in cases.items():
        with pytest.raises(StatusError) as error:
            world.access.authorize(ANN, asked)
        assert refused(403, error.value) == message
    with pytest.raises(StatusError) as error:
        world.access.authorize(ANN, action("get", "/api/v1/namespaces/n/pods/p/log"))
    assert error.value.details == {"name": "p", "kind": "pods"}


@in_world
async def test_a_refusal_tells_of_roles_that_are_missing(world: World) -> None:
    ref = {"kind": "ClusterRole", "name": "gone", "apiGroup": RBAC_GROUP}
    subjects = [{"kind": "User", "name": "ann"}]
    await world.put("clusterrolebindings", "b", {"roleRef": ref, "subjects": subjects}, group=RBAC_GROUP)
    with pytest.raises(StatusError) as error:
        world.access.authorize(ANN, action("list", "/api/v1/nodes"))
    assert refused(403, error.value) == (
        'nodes is forbidden: User "ann" cannot list resource "nodes" in API group "" at the cluster scope: '
        'rbac: RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    )
