"""Requests as the API understands them, and which of them a description fits."""

from __future__ import annotations

import pytest

from steersman.objects.builders import Deployment
from steersman.objects.resource_type import ResourceType
from steersman.testing import ApiRequest
from steersman.testing.requests import Match, Matching

APPLY = ((b"Content-Type", b"application/apply-patch+yaml"),)
MERGE = ((b"Content-Type", b"application/merge-patch+json"),)
DEPLOYMENTS = "/apis/apps/v1/namespaces/x/deployments"


@pytest.mark.parametrize(
    ("method", "target", "headers", "text", "writes"),
    [
        ("GET", "/api/v1/namespaces/x/pods/a", (), "get pods x/a", False),
        ("GET", "/api/v1/pods?limit=500", (), "list pods", False),
        ("GET", "/api/v1/namespaces/x/pods?watch=true&resourceVersion=3", (), "watch pods x", False),
        ("GET", "/api/v1/namespaces/x", (), "get namespaces x", False),
        ("GET", "/apis/apps/v1", (), "get", False),
        ("GET", "/healthz", (), "get", False),
        ("POST", DEPLOYMENTS, (), "create deployments x", True),
        ("POST", f"{DEPLOYMENTS}?dryRun=All", (), "create deployments x", False),
        ("PUT", f"{DEPLOYMENTS}/a/status", (), "update deployments/status x/a", True),
        ("PATCH", f"{DEPLOYMENTS}/a", MERGE, "patch deployments x/a", True),
        ("PATCH", f"{DEPLOYMENTS}/a?fieldManager=m", APPLY, "apply deployments x/a", True),
        ("PATCH", f"{DEPLOYMENTS}/a?dryRun=All", APPLY, "apply deployments x/a", False),
        ("DELETE", f"{DEPLOYMENTS}/a", (), "delete deployments x/a", True),
        ("DELETE", DEPLOYMENTS, (), "deletecollection deployments x", True),
        ("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%3Ab", (), "delete clusterroles a:b", True),
    ],
)  # fmt: skip
def test_a_request_is_understood(
    method: str, target: str, headers: tuple[tuple[bytes, bytes], ...], text: str, writes: bool
) -> None:
    request = ApiRequest.of(method, target, headers)
    assert str(request) == text
    assert request.writes is writes


def test_a_delete_says_in_its_body_that_it_is_a_dry_run() -> None:
    assert not ApiRequest.of("DELETE", f"{DEPLOYMENTS}/a", content=b'{"dryRun":["All"]}').writes


PATCHED = ApiRequest.of("PATCH", f"{DEPLOYMENTS}/a", APPLY)
STATUS = ApiRequest.of("PATCH", f"{DEPLOYMENTS}/a/status", MERGE)


@pytest.mark.parametrize(
    ("matching", "fits", "fits_status"),
    [
        ({}, True, True),
        ({"verb": "patch"}, True, True),
        ({"verb": "apply"}, True, False),
        ({"verb": "write"}, True, True),
        ({"verb": ("create", "apply")}, True, False),
        ({"verb": "read"}, False, False),
        ({"resource": "deployments"}, True, False),
        ({"resource": "deployments/status"}, False, True),
        ({"resource": "deployments/*"}, True, True),
        ({"resource": "pods"}, False, False),
        ({"resource": Deployment}, True, False),
        ({"resource": ResourceType("apps", "v1", "Deployment", "deployments")}, True, False),
        ({"namespace": "x", "name": "a"}, True, True),
        ({"namespace": "y"}, False, False),
        ({"name": "b"}, False, False),
        ({"verb": "patch", "resource": "deployments", "namespace": "x"}, True, False),
    ],
)
def test_a_description_fits_as_rbac_would_have_it(matching: Matching, fits: bool, fits_status: bool) -> None:
    match = Match.of(matching)
    assert (match.fits(PATCHED), match.fits(STATUS)) == (fits, fits_status)
