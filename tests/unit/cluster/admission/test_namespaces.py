"""NamespaceLifecycle."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission.namespaces import NamespaceLifecycle
from steersman.objects.status import StatusError

from .conftest import Stored, write


@pytest.fixture
def plugin(stored: Stored) -> NamespaceLifecycle:
    stored.add("", "namespaces", "default", status={"phase": "Active"})
    stored.add("", "namespaces", "going", status={"phase": "Terminating"})
    stored.add("", "namespaces", "blank", status={})
    return NamespaceLifecycle(stored)


@pytest.mark.parametrize(
    ("operation", "group", "plural", "subresource", "cares"),
    [
        ("CREATE", "", "pods", "", True),
        ("CREATE", "", "pods", "binding", True),
        ("CREATE", "authorization.k8s.io", "localsubjectaccessreviews", "", False),
        ("UPDATE", "", "pods", "", False),
        ("DELETE", "", "pods", "", False),
        ("DELETE", "", "namespaces", "", True),
        ("DELETE", "example.com", "namespaces", "", False),
    ],
)
def test_what_it_cares_about(
    plugin: NamespaceLifecycle, operation: str, group: str, plural: str, subresource: str, cares: bool
) -> None:
    assert plugin.handles(operation, group, plural, subresource) is cares


@pytest.mark.parametrize(
    "attributes",
    [
        {"plural": "pods"},
        {"plural": "pods", "namespace": "blank"},
        {"plural": "nodes", "namespace": ""},
        {"plural": "namespaces", "namespace": "new", "name": "new"},
        {"plural": "namespaces", "operation": "DELETE", "name": "other"},
    ],
    ids=str,
)
def test_what_may_pass(plugin: NamespaceLifecycle, attributes: dict[str, Any]) -> None:
    plugin.admit(write(**attributes))


def test_a_missing_namespace_is_not_found(plugin: NamespaceLifecycle) -> None:
    with pytest.raises(StatusError) as refused:
        plugin.admit(write("pods", namespace="nope"))
    assert refused.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'namespaces "nope" not found',
        "reason": "NotFound",
        "details": {"name": "nope", "kind": "namespaces"},
        "code": 404,
    }


def test_nothing_new_comes_into_a_namespace_on_its_way_out(plugin: NamespaceLifecycle) -> None:
    with pytest.raises(StatusError) as refused:
        plugin.admit(write("deployments", group="apps", namespace="going", name="d"))
    error = refused.value
    assert (error.code, error.reason) == (403, "Forbidden")
    assert error.message == (
        'deployments.apps "d" is forbidden: unable to create new content in namespace going because it is '
        "being terminated"
    )
    assert error.details == {
        "name": "d",
        "group": "apps",
        "kind": "deployments",
        "causes": [
            {
                "reason": "NamespaceTerminating",
                "message": "namespace going is being terminated",
                "field": "metadata.namespace",
            }
        ],
    }


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_essential_namespaces_stay(plugin: NamespaceLifecycle, name: str) -> None:
    message = f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    with pytest.raises(StatusError, match=message) as refused:
        plugin.admit(write("namespaces", operation="DELETE", name=name, namespace=name))
    assert refused.value.code == 403
