"""A server to attack, accounts to attack it with, and the check that it is well after every attack."""

from __future__ import annotations

import itertools
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.steer import DEADLINE_S, Answer, Api, Steer, running

#: How soon a server that is well answers, whatever was done to it before.
HEALTHY_S = 1.0
#: How long one hostile request may keep the server busy.
BOUND_S = 10.0

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Steer]:
    with running() as steer:
        yield steer


@pytest.fixture
def api(server: Steer) -> Api:
    """The API as the admin."""
    return server.api


@pytest.fixture
def namespace(api: Api) -> str:
    name = f"attack-{next(_numbers)}"
    assert api.post("/api/v1/namespaces", {"metadata": {"name": name}}).status == 201
    return name


@pytest.fixture(autouse=True)
def healthy(server: Steer) -> Iterator[None]:
    """Whatever a test did, the server answers quickly afterwards."""
    yield
    for path in ("/readyz", "/api/v1/namespaces/default"):
        before = time.monotonic()
        answer = server.api.get(path)
        assert answer.status == 200, answer.text
        assert time.monotonic() - before < HEALTHY_S, path
    assert server.process.poll() is None
    assert "Traceback" not in server.errors


@contextmanager
def bounded(seconds: float = BOUND_S) -> Iterator[None]:
    before = time.monotonic()
    yield
    assert time.monotonic() - before < seconds


@dataclass(frozen=True)
class Account:
    """A service account with just the rights it was given."""

    api: Api
    namespace: str
    name: str
    token: str

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        return self.api.request(method, path.replace("NS", self.namespace), body, token=self.token, **options)

    def with_headers(self, path: str, headers: list[tuple[str, str]]) -> Answer:
        """A GET with more headers, which may repeat."""
        connection = self.api.connect()
        try:
            connection.putrequest("GET", path.replace("NS", self.namespace))
            for name, value in [("Authorization", f"Bearer {self.token}"), *headers]:
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.headers), answer.read().decode())
        finally:
            connection.close()


RBAC = "/apis/rbac.authorization.k8s.io/v1"


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> dict[str, Any]:
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split(), **more}


@pytest.fixture
def account(api: Api, namespace: str) -> Callable[..., Account]:
    """`account(rule(…), …)`: a new account that has these rights in its namespace."""

    def make(*rules: dict[str, Any], cluster: bool = False) -> Account:
        name = f"mallory-{next(_numbers)}"
        place = "" if cluster else f"/namespaces/{namespace}"
        kind = "ClusterRole" if cluster else "Role"
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        metadata = {"metadata": {"name": name}}
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        posts = (
            (accounts, metadata),
            (f"{RBAC}{place}/{kind.lower()}s", {**metadata, "rules": list(rules)}),
            (f"{RBAC}{place}/{kind.lower()}bindings", {**metadata, "roleRef": ref, "subjects": [subject]}),
        )
        for path, body in posts:
            assert api.post(path, body).status == 201
        token = api.post(f"{accounts}/{name}/token", {"spec": {}}).json["status"]["token"]
        return Account(api, namespace, name, token)

    return make


class Peer:
    """A client that sends exactly the bytes it is told to."""

    def __init__(self, api: Api) -> None:
        self.token = api.token
        raw = socket.create_connection(
            (api.address.hostname or "", api.address.port or 0), timeout=DEADLINE_S
        )
        context = api.tls()
        context.set_alpn_protocols(["http/1.1"])
        self.socket = context.wrap_socket(raw, server_hostname=api.address.hostname)

    def send(self, text: str | bytes) -> None:
        """TOKEN stands for the admin's."""
        data = text.encode("latin-1") if isinstance(text, str) else text
        self.socket.sendall(data.replace(b"TOKEN", self.token.encode()))

    def rest(self) -> bytes:
        """Everything until the server closes, whether properly or not."""
        data = b""
        try:
            while part := self.socket.recv(1 << 16):
                data += part
        except (ConnectionError, ssl.SSLError):
            pass
        return data

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def peer(api: Api) -> Iterator[Callable[[], Peer]]:
    made: list[Peer] = []

    def connect() -> Peer:
        made.append(Peer(api))
        return made[-1]

    yield connect
    for each in made:
        each.close()
