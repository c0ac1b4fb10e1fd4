"""Who may do what on a started server: anonymous, token, client certificates."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from steersman.cluster.auth.pki import KeyPair, StoredAuthority
from tests.support.steer import Steer, running

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Steer]:
    with running(data=folder) as steer:
        yield steer


def kept(folder: Path, pair: KeyPair) -> tuple[Path, Path]:
    """The files of a certificate and its key."""
    certificate, key = folder / "client.crt", folder / "client.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    return certificate, key


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version", "/livez?verbose"])
def test_anonymous_may_see_health_and_version(server: Steer, path: str) -> None:
    assert server.api.get(path, token="").status == 200


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/", 'User "system:anonymous" cannot get path "/"'),
        ("GET", "/api", 'User "system:anonymous" cannot get path "/api"'),
        ("GET", "/apis", 'User "system:anonymous" cannot get path "/apis"'),
        ("GET", "/openapi/v3", 'User "system:anonymous" cannot get path "/openapi/v3"'),
        ("GET", "/metrics", 'User "system:anonymous" cannot get path "/metrics"'),
        ("POST", "/healthz", 'User "system:anonymous" cannot post path "/healthz"'),
        (
            "GET",
            "/api/v1/namespaces",
            'User "system:anonymous" cannot list resource "namespaces" in API group "" at the cluster scope',
        ),
        (
            "GET",
            "/api/v1/namespaces/default/pods?watch=1",
            'User "system:anonymous" cannot watch resource "pods" in API group "" in the namespace "default"',
        ),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/default/deployments/x",
            'User "system:anonymous" cannot delete resource "deployments" in API group "apps" in the namespace '
            '"default"',
        ),
    ],
    ids=lambda value: value if value.startswith("/") else "",
)
def test_anonymous_may_do_nothing_else(server: Steer, method: str, path: str, message: str) -> None:
    answer = server.api.request(method, path, token="")
    assert answer.status == 403
    assert answer.json["reason"] == "Forbidden"
    assert message in answer.json["message"]


@pytest.mark.parametrize("path", ["/api/v1/namespaces", "/healthz"])
def test_a_wrong_token_is_refused_everywhere(server: Steer, path: str) -> None:
    answer = server.api.get(path, token="wrong")
    assert answer.status == 401
    assert answer.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


def test_a_certificate_of_the_cluster_is_a_user(server: Steer, folder: Path, tmp_path: Path) -> None:
    authority = StoredAuthority.open(folder)
    master = kept(tmp_path, authority.issue("ann", organizations=["devs", "system:masters"]))
    assert server.api.get("/api/v1/namespaces", token="", certificate=master).status == 200
    nobody = kept(tmp_path, authority.issue("bob", organizations=["devs"]))
    answer = server.api.get("/api/v1/namespaces", token="", certificate=nobody)
    assert answer.status == 403
    assert 'User "bob" cannot list resource "namespaces"' in answer.json["message"]


def test_a_certificate_of_another_authority_is_refused(server: Steer, tmp_path: Path) -> None:
    stranger = kept(tmp_path, StoredAuthority.make("other").issue("ann", organizations=["system:masters"]))
    answer = server.api.get("/api/v1/namespaces", token="", certificate=stranger)
    assert (answer.status, answer.json["reason"]) == (401, "Unauthorized")


def test_a_certificate_for_servers_is_no_user(server: Steer, folder: Path, tmp_path: Path) -> None:
    pair = StoredAuthority.open(folder).issue(
        "ann", organizations=["system:masters"], names=["ann"], server=True
    )
    answer = server.api.get("/api/v1/namespaces", token="", certificate=kept(tmp_path, pair))
    assert answer.status == 401


def test_the_servers_certificate_has_its_names(server: Steer) -> None:
    address = (server.api.address.hostname, server.api.address.port)
    with (
        socket.create_connection(address, timeout=20) as raw,
        server.api.tls().wrap_socket(raw, server_hostname="kubernetes.default.svc") as stream,
    ):
        certificate = stream.getpeercert()
    assert certificate
    names = {str(entry[1]) for entry in certificate["subjectAltName"]}
    assert {"localhost", "127.0.0.1", "10.96.0.1", "kubernetes.default.svc.cluster.local"} <= names
