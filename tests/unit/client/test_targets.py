"""Paths and queries."""

from __future__ import annotations

import pytest

from steersman.client.targets import Query, collection, one, with_query
from steersman.objects.resource_type import ResourceType

PODS = ResourceType("", "v1", "Pod", "pods")
ROLES = ResourceType("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (one(PODS, "a", "x"), "/api/v1/namespaces/x/pods/a"),
        (one(PODS, "a", "x", "status"), "/api/v1/namespaces/x/pods/a/status"),
        (
            one(ROLES, "system:node", "x"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
        ),
        (collection(PODS, None), "/api/v1/pods"),
        (collection(PODS, "x"), "/api/v1/namespaces/x/pods"),
        (collection(ROLES, "x"), "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
        (one(PODS, "a/b?c d", "x"), "/api/v1/namespaces/x/pods/a%2Fb%3Fc%20d"),
        (one(PODS, "a", "x/pods"), "/api/v1/namespaces/x%2Fpods/pods/a"),
    ],
)
def test_objects_and_collections_have_their_paths(path: str, expected: str) -> None:
    assert path == expected


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_what_would_address_something_else_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid name of an object"):
        one(PODS, name, "x")
    with pytest.raises(ValueError, match="is not a valid namespace of an object"):
        one(PODS, "a", name)


def test_an_empty_namespace_is_not_all_namespaces() -> None:
    with pytest.raises(ValueError, match="is not a valid namespace"):
        collection(PODS, "")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "/p"),
        ({"a": "", "b": None, "c": False}, "/p"),
        ({"watch": True, "limit": 500}, "/p?watch=true&limit=500"),
        ({"labelSelector": "a=b,c in (d,e)"}, "/p?labelSelector=a%3Db%2Cc%20in%20%28d%2Ce%29"),
        ({"command": ["sh", "-c", "a b"]}, "/p?command=sh&command=-c&command=a%20b"),
        ({"a b&c": "d"}, "/p?a%20b%26c=d"),
        ({"a": "x/y:z@é"}, "/p?a=x%2Fy%3Az%40%C3%A9"),
    ],
    ids=["none", "nothing set", "flags", "selector", "repeated", "odd name", "like a path"],
)
def test_queries_hold_what_is_set(query: Query, expected: str) -> None:
    assert with_query("/p", query) == expected
