"""What a URL path means."""

from __future__ import annotations

import pytest

from steersman.cluster.apiserver.pipeline.paths import ResourcePath, parse_path


@pytest.mark.parametrize(
    ("path", "meaning"),
    [
        ("/api/v1", ResourcePath("", "v1")),
        ("/api/v1/", ResourcePath("", "v1")),
        ("/apis/apps/v1", ResourcePath("apps", "v1")),
        ("/apis/apps/v1/", ResourcePath("apps", "v1")),
        ("/api/v1/pods", ResourcePath("", "v1", "pods")),
        ("/api/v1/pods/", ResourcePath("", "v1", "pods")),
        ("/api/v1/pods//", ResourcePath("", "v1", "pods")),
        ("/api/v1/nodes/n", ResourcePath("", "v1", "nodes", name="n")),
        ("/api/v1/nodes/n/status", ResourcePath("", "v1", "nodes", name="n", subresource="status")),
        ("/api/v1/namespaces", ResourcePath("", "v1", "namespaces")),
        ("/api/v1/namespaces/", ResourcePath("", "v1", "namespaces")),
        ("/api/v1/namespaces/x", ResourcePath("", "v1", "namespaces", name="x")),
        ("/api/v1/namespaces/x/", ResourcePath("", "v1", "namespaces", name="x")),
        (
            "/api/v1/namespaces/x/status",
            ResourcePath("", "v1", "namespaces", name="x", subresource="status"),
        ),
        (
            "/api/v1/namespaces/x/finalize",
            ResourcePath("", "v1", "namespaces", name="x", subresource="finalize"),
        ),
        ("/api/v1/namespaces/x/pods", ResourcePath("", "v1", "pods", "x")),
        ("/api/v1/namespaces/x/pods/p", ResourcePath("", "v1", "pods", "x", "p")),
        ("/api/v1/namespaces/x/pods/p/", ResourcePath("", "v1", "pods", "x", "p")),
        ("/api/v1/namespaces/x/pods/p/log", ResourcePath("", "v1", "pods", "x", "p", "log")),
        (
            "/apis/apps/v1/namespaces/x/deployments/d/scale",
            ResourcePath("apps", "v1", "deployments", "x", "d", "scale"),
        ),
        (
            "/api/v1/namespaces/x/pods/p/proxy/a/b",
            ResourcePath("", "v1", "pods", "x", "p", "proxy", "a/b"),
        ),
        ("/api/v1/namespaces/x/pods/p/proxy/", ResourcePath("", "v1", "pods", "x", "p", "proxy", "")),
        ("/api/v1/namespaces/x/pods/p/proxy/a/", ResourcePath("", "v1", "pods", "x", "p", "proxy", "a/")),
        ("/api/v1/watch/pods", ResourcePath("", "v1", "pods", watch=True)),
        ("/api/v1/watch/namespaces/x/pods", ResourcePath("", "v1", "pods", "x", watch=True)),
        ("/api/v1/watch/namespaces/x/pods/p", ResourcePath("", "v1", "pods", "x", "p", watch=True)),
        ("/apis/apps/v1/watch/deployments", ResourcePath("apps", "v1", "deployments", watch=True)),
        (
            "/apis/example.com/v1alpha1/things/a/b/c/d",
            ResourcePath("example.com", "v1alpha1", "things", "", "a", "b", "c/d"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_paths_of_resources(path: str, meaning: ResourcePath) -> None:
    assert parse_path(path) == meaning


@pytest.mark.parametrize(
    "path",
    ["", "/", "*", "/api", "/api/", "/apis", "/apis/", "/apis/apps", "/apis/apps/", "/version", "/openapi/v3",
     "/healthz/ping", "api/v1/pods", "/apiss/v1/pods", "/metrics"],
)  # fmt: skip
def test_other_paths(path: str) -> None:
    assert parse_path(path) is None
