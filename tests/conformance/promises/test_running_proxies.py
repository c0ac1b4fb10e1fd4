"""Promises about ways to pods that lead through the API server or the node."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

import orjson
import pytest

from steersman.cluster.auth.pki import Authority
from steersman.objects.resources import DEPLOYMENTS, PODS, SECRETS, SERVICES
from steersman.testing import eventually

from .running import NAMESPACE, PATIENCE_S, Object, Running, can_serve, promise

pytestmark = pytest.mark.skipif(not can_serve(), reason="needs rights to listen at low ports")

#: Serves what variables such as SERVE_PORT_80 and SERVE_TLS_PORT_443 say, for each its own port.
_PORTER = """
import http.server, json, os, ssl, sys, threading
class Answer(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.server.text
        if sys.argv[1:] == ["--json"]:
            body = json.dumps({"Method": self.command, "Body": body, "Path": self.path})
        body = body.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if sys.argv[1:] else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer
    def log_message(self, *_): pass
for name, text in os.environ.items():
    if not name.startswith("SERVE_"):
        continue
    server = http.server.ThreadingHTTPServer((os.environ["POD_IP"], int(name.rpartition("_")[2])), Answer)
    server.text = text
    if "TLS" in name:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("/keys/tls.crt", "/keys/tls.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever).start()
"""


def porter(serves: dict[str, str], *arguments: str, ready: int = 80, **fields: Any) -> Object:
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    variables = [{"name": f"SERVE_{name}", "value": text} for name, text in serves.items()]
    return {
        "name": "main",
        "image": "host/python3",
        "args": ["-c", _PORTER, *arguments],
        "env": [address, *variables],
        "readinessProbe": {"tcpSocket": {"port": ready}, "periodSeconds": 1},
        **fields,
    }


def path_to(kind: str, name: str, rest: str = "") -> str:
    return f"/api/v1/namespaces/{NAMESPACE}/{kind}/{name}/proxy{rest}"


_LINK = '<a href="/rewriteme">test</a>'
_SERVED = {
    "PORT_80": _LINK,
    "PORT_1080": _LINK,
    "PORT_160": "foo",
    "PORT_162": "bar",
    "TLS_PORT_443": _LINK,
    "TLS_PORT_460": "tls baz",
    "TLS_PORT_462": "tls qux",
}
_PORTS = (
    ("portname1", 80, "dest1"),
    ("portname2", 81, 162),
    ("tlsportname1", 443, "tlsdest1"),
    ("tlsportname2", 444, 462),
)


@promise("Proxy version v1 should proxy through a service and a pod")
async def test_services_and_pods_by_every_port(running: Running) -> None:
    pair = Authority.make("porter").issue("porter", names=["porter"], server=True)
    keys = {"tls.crt": pair.certificate.decode(), "tls.key": pair.key.decode()}
    named = {"name": "porter", "namespace": NAMESPACE}
    await running.client.create({"metadata": named, "stringData": keys}, kind=SECRETS)
    labels = {"proxy-service-target": "true"}
    ports = [{"name": name, "port": port, "targetPort": target} for name, port, target in _PORTS]
    await running.make(SERVICES, "porter", {"selector": labels, "ports": ports})
    numbers = {"": 80, "dest1": 160, "dest2": 162, "tlsdest1": 460, "tlsdest2": 462}
    container = porter(
        _SERVED,
        ports=[
            {"containerPort": number} | ({"name": name} if name else {}) for name, number in numbers.items()
        ],
        volumeMounts=[{"name": "keys", "mountPath": "/keys"}],
    )
    pod = {
        "containers": [container],
        "volumes": [{"name": "keys", "secret": {"secretName": "porter"}}],
        "terminationGracePeriodSeconds": 0,
    }
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    await running.make(DEPLOYMENTS, "porter", spec)
    await running.until(DEPLOYMENTS, "porter", lambda found: found["status"].get("availableReplicas") == 1)
    (found,) = await running.pods("proxy-service-target=true")
    name = found["metadata"]["name"]
    expected = {
        path_to("services", f"{scheme}porter:{port}", "/"): text
        for schemes, port, text in (
            (("", "http:"), "portname1", "foo"),
            (("", "http:"), "portname2", "bar"),
            (("https:",), "tlsportname1", "tls baz"),
            (("https:",), "tlsportname2", "tls qux"),
        )
        for scheme in schemes
    }
    for target, text in (
        (name, _LINK),
        (f"{name}:1080", _LINK),
        (f"http:{name}:1080", _LINK),
        (f"{name}:160", "foo"),
        (f"http:{name}:160", "foo"),
        (f"{name}:162", "bar"),
        (f"http:{name}:162", "bar"),
        (f"https:{name}:443", _LINK),
        (f"https:{name}:460", "tls baz"),
        (f"https:{name}:462", "tls qux"),
    ):
        path = path_to("pods", target)
        expected[f"{path}/"] = text.replace("/rewriteme", f"{path}/rewriteme")

    async def known() -> bool:
        return await running.ask("GET", path_to("services", "porter:portname1", "/")) == (200, b"foo")

    await eventually(known, PATIENCE_S)
    answers = await asyncio.gather(*(running.ask("GET", path) for path in expected))
    got = {path: body.decode() for path, (_, body) in zip(expected, answers, strict=True)}
    assert got == expected
    assert {code for code, _ in answers} == {200}
    await running.client.delete(DEPLOYMENTS, "porter")


# --- with every verb

_VERBS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")


async def make_echo(running: Running, name: str) -> None:
    spec = {"containers": [porter({"PORT_80": "foo"}, "--json")], "terminationGracePeriodSeconds": 0}
    await running.make(PODS, name, spec, labels={"test": name})
    await running.make(SERVICES, name, {"selector": {"test": name}, "ports": [{"port": 80}]})
    await running.ready(name)

    async def known() -> bool:
        code, _ = await running.ask("GET", path_to("services", name, "/"))
        return code == 200

    await eventually(known, PATIENCE_S)


def check_echo(verb: str, code: int, body: bytes) -> None:
    assert code == 200, body
    if verb != "HEAD":
        echo = orjson.loads(body)
        assert (echo["Method"], echo["Body"]) == (verb, "foo")


@promise("Proxy version v1 A set of valid responses are returned for both pod and service ProxyWithPath")
async def test_paths_with_every_verb(running: Running) -> None:
    await make_echo(running, "echo-paths")
    for kind, verb in product(("pods", "services"), _VERBS):
        path = path_to(kind, "echo-paths", f"/some/path/with/{verb}")
        check_echo(verb, *await running.ask(verb, path))


@promise("Proxy version v1 A set of valid responses are returned for both pod and service Proxy")
async def test_no_path_with_every_verb(running: Running) -> None:
    """Who wants to look around is sent to where names are relative to."""
    await make_echo(running, "echo")
    for kind, verb in product(("pods", "services"), _VERBS):
        code, body = await running.ask(verb, path_to(kind, "echo", f"?method={verb}"))
        if verb in ("GET", "HEAD"):
            assert code == 301
        else:
            check_echo(verb, code, body)
