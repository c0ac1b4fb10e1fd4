"""Promises about ways to pods that lead through the API server or the node."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

import orjson
import pytest

from steersman.cluster.auth.pki import StoredAuthority
from steersman.objects.resources import DEPLOYMENTS, NODES, PODS, SECRETS, SERVICES
from steersman.testing import eventually
from tests.support.ports import free_port

from .running import NAMESPACE, PATIENCE_S, Object, Running, can_serve, promise, script

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


async def available(running: Running, deployment: str, count: int) -> None:
    await running.until(
        DEPLOYMENTS, deployment, lambda found: found["status"].get("availableReplicas") == count
    )


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
    pair = StoredAuthority.make("porter").issue("porter", names=["porter"], server=True)
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
    await available(running, "porter", 1)
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


# --- ports of the node

_NAMED = """
import http.server, os, socket, sys, threading
name, where = os.environ["HOSTNAME"].encode(), os.environ["POD_IP"]
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(name)
    def log_message(self, *_): pass
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((where, 8080))
threading.Thread(target=http.server.HTTPServer((where, 8080), Answer).serve_forever).start()
while True:
    sock.sendto(name, sock.recvfrom(1000)[1])
"""


@promise(
    "HostPort validates that there is no conflict between pods with same hostPort but different hostIP and "
    "protocol"
)
async def test_ports_of_the_node(running: Running) -> None:
    node = (await running.client.list(NODES))[0]
    address, number = node["status"]["addresses"][0]["address"], free_port()
    env = [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    pods = {
        "host-port-1": ("127.0.0.1", "TCP"),
        "host-port-2": (address, "TCP"),
        "host-port-3": (address, "UDP"),
    }
    for name, (where, protocol) in pods.items():
        port = {"containerPort": 8080, "hostPort": number, "hostIP": where, "protocol": protocol}
        container: Object = {"name": "main", "image": "host/python3", "args": ["-c", _NAMED]}
        probe = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}
        container |= {"env": env, "ports": [port], "readinessProbe": probe}
        await running.pod(name, container, nodeSelector={"kubernetes.io/hostname": node["metadata"]["name"]})
    for name in pods:
        await running.ready(name)
    asking = f"""
import socket, sys, urllib.request
for host in ("127.0.0.1", {address!r}):
    print(urllib.request.urlopen(f"http://{{host}}:{number}/hostname", timeout=5).read().decode())
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.settimeout(5)
sock.sendto(b"hostname", ({address!r}, {number}))
print(sock.recv(1000).decode())
"""
    here = {"hostNetwork": True, "nodeName": node["metadata"]["name"]}
    await running.pod("host-exec", script("exec sleep 600"), **here)
    await running.ready("host-exec")

    async def answered() -> bool:
        done = await running.client.run("host-exec", ["python3", "-c", asking])
        return done.stdout.decode().split() == list(pods)

    await eventually(answered, PATIENCE_S)


# --- an application

_GUESTBOOK = """
import http.server, json, os, sys, time, urllib.parse, urllib.request
role, entries, replicas = sys.argv[1], {}, []
def get(host, path):
    return urllib.request.urlopen(f"http://{host}:6379{path}", timeout=10).read().decode()
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        asked = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        try:
            code, body = 200, self.answer(url.path, url.query, asked)
        except OSError as error:
            code, body = 500, str(error)
        self.send_response(code)
        self.end_headers()
        self.wfile.write(body.encode())
    def answer(self, path, query, asked):
        if path == "/guestbook":
            host = "agnhost-primary" if asked["cmd"] == "set" else "agnhost-replica"
            return get(host, f"/{asked['cmd']}?{query}")
        if path == "/get":
            return json.dumps({"data": entries.get(asked["key"], "")})
        if path == "/set":
            entries[asked["key"]] = asked["value"]
            for replica in replicas:
                get(replica, self.path)
            return json.dumps({"message": "Updated"})
        if path == "/register":
            replicas.append(asked["host"])
        return ""
    def log_message(self, *_): pass
port = 80 if role == "frontend" else 6379
server = http.server.ThreadingHTTPServer((os.environ["POD_IP"], port), Answer)
while role == "replica":
    try:
        get("agnhost-primary", "/register?host=" + os.environ["POD_IP"])
        break
    except OSError:
        time.sleep(0.1)
server.serve_forever()
"""


def guestbook(role: str, name: str, replicas: int, port: int) -> list[Object]:
    labels = {"app": "guestbook", "role": role}
    container = {
        "name": role,
        "image": "host/python3",
        "args": ["-c", _GUESTBOOK, role],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "ports": [{"containerPort": port}],
        "readinessProbe": {"httpGet": {"path": "/", "port": port}, "periodSeconds": 1},
    }
    pod = {"containers": [container], "terminationGracePeriodSeconds": 0}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    service = {"selector": labels, "ports": [{"port": port}]}
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": service},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec},
    ]


@promise("Kubectl client Guestbook application should create and stop a working application")
async def test_guestbook(running: Running) -> None:
    objects = [
        *guestbook("frontend", "frontend", 3, 80),
        *guestbook("primary", "agnhost-primary", 1, 6379),
        *guestbook("replica", "agnhost-replica", 2, 6379),
    ]
    await running.kubectl("create", "-f", "-", stdin=objects)
    for name, count in (("agnhost-primary", 1), ("agnhost-replica", 2), ("frontend", 3)):
        await available(running, name, count)

    async def says(query: str, expected: Object) -> None:
        async def answered() -> bool:
            code, body = await running.ask("GET", path_to("services", "frontend", f"/guestbook?{query}"))
            return code == 200 and bool(orjson.loads(body) == expected)

        await eventually(answered, PATIENCE_S)

    await says("cmd=get&key=messages", {"data": ""})
    await says("cmd=set&key=messages&value=TestEntry", {"message": "Updated"})
    await says("cmd=get&key=messages", {"data": "TestEntry"})
    await running.kubectl("delete", "-f", "-", stdin=objects)
    for name in ("frontend", "agnhost-primary", "agnhost-replica"):
        await running.gone(DEPLOYMENTS, name)
