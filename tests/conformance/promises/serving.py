"""Promises about services and names: a cluster whose pods, services and DNS are really there.

One cluster for all tests of a module, in their own process. Servers are small programs that listen at their
pod's address; what a pod finds when it asks others is its last word.
"""

from __future__ import annotations

import asyncio
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.client import HTTPException
from typing import Any

from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.machine.ports import may_listen
from steersman.objects.resources import NAMESPACES, NODES, PODS, SERVICES
from steersman.testing import eventually

__all__ = [
    "KEPT",
    "NAMESPACE",
    "PATIENCE_S",
    "Object",
    "Running",
    "Serving",
    "answers",
    "can_serve",
    "get",
    "promise",
    "promised",
    "running_cluster",
]

Object = dict[str, Any]

NAMESPACE = "serving"
PATIENCE_S = 60.0
#: The promises kept here, by name without the tags in brackets.
KEPT: set[str] = set()

_DNS_PORT = 53

#: Answers with the pod's name: HTTP at its first ports, datagrams at those after the dash.
_SERVER = """
import http.server, os, socket, sys, threading
name = os.environ["POD_NAME"].encode()
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(name)))
        self.end_headers()
        self.wfile.write(name)
    def log_message(self, *_): pass
def datagrams(port):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((os.environ["POD_IP"], port))
    while True:
        sock.sendto(name, sock.recvfrom(1000)[1])
cut = sys.argv.index("-")
for port in sys.argv[cut + 1:]:
    threading.Thread(target=datagrams, args=(int(port),)).start()
for port in sys.argv[1:cut]:
    server = http.server.ThreadingHTTPServer((os.environ["POD_IP"], int(port)), Answer)
    threading.Thread(target=server.serve_forever).start()
print("listening", flush=True)
"""


def promised(name: str) -> str:
    """Note that a test keeps a promise."""
    assert name not in KEPT, f"{name!r} has a test already"
    KEPT.add(name)
    return name


class Serving:
    def __init__(self, cluster: LocalCluster) -> None:
        self.client: Client = cluster.client(namespace=NAMESPACE)
        self.node_address = ""

    async def wait_for_node(self) -> None:
        async def found() -> Object | None:
            return next(iter(await self.client.list(NODES)), None)

        node = await eventually(found, PATIENCE_S)
        self.node_address = node["status"]["addresses"][0]["address"]

    async def serve(self, name: str, *tcp: int, udp: tuple[int, ...] = (), **spec: Any) -> Object:
        """A pod with the label `app` of its name's first part, ready when it answers."""
        ports = [*map(str, tcp), "-", *map(str, udp)]
        env = [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ]
        container = {"name": "main", "image": "host/python3", "args": ["-c", _SERVER, *ports], "env": env}
        if tcp:
            container["readinessProbe"] = {"tcpSocket": {"port": tcp[0]}, "periodSeconds": 1}
        metadata = {"name": name, "namespace": NAMESPACE, "labels": {"app": name.partition("-")[0]}}
        pod = {
            "metadata": metadata,
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
        }
        await self.client.create(pod, kind=PODS)

        async def ready() -> Object | None:
            pod = await self.client.get(PODS, name)
            conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions") or ()}
            return pod if conditions.get("Ready") == "True" else None

        return await eventually(ready, PATIENCE_S)

    async def service(self, name: str, *ports: Object, **spec: Any) -> Object:
        """By default for the pods of the same app, at port 80 and 8080 of theirs."""
        given = list(ports) or [{"port": 80, "targetPort": 8080}]
        if spec.get("type") != "ExternalName":
            spec = {"selector": {"app": name}, "ports": given, **spec}
        body = {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}
        return await self.client.create(body, kind=SERVICES)

    async def change(self, name: str, **spec: Any) -> Object:
        return await self.client.patch(SERVICES, name, {"spec": spec})

    async def last_word(self, name: str, script: str, **spec: Any) -> str:
        """What a pod prints that runs a Python script to its end."""
        code = f"import sys; sys.stdout = open('/dev/termination-log', 'w')\n{script}"
        container = {"name": "main", "image": "host/python3", "args": ["-c", code]}
        body = {
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"containers": [container], "restartPolicy": "Never", **spec},
        }
        await self.client.create(body, kind=PODS)

        async def over() -> Object | None:
            pod = await self.client.get(PODS, name)
            return pod if pod["status"]["phase"] in ("Succeeded", "Failed") else None

        pod = await eventually(over, PATIENCE_S)
        state: Object = pod["status"]["containerStatuses"][0]["state"]["terminated"]
        assert state["exitCode"] == 0, state
        return str(state.get("message", "")).strip()


Keeping = Callable[[Serving], Coroutine[Any, Any, None]]
Running = tuple[asyncio.Runner, Serving]


@asynccontextmanager
async def serving() -> AsyncIterator[Serving]:
    config = ClusterConfig(process_nodes=1, controllers=("all",))
    async with LocalCluster(config) as cluster:
        world = Serving(cluster)
        await world.client.create({"metadata": {"name": NAMESPACE}}, kind=NAMESPACES)
        await world.wait_for_node()
        yield world


@contextmanager
def running_cluster() -> Iterator[Running]:
    """For the tests of a module; what they do not wait for goes on in the next."""
    with asyncio.Runner() as runner:
        context = serving()
        world = runner.run(context.__aenter__())
        try:
            yield runner, world
        finally:
            runner.run(context.__aexit__(None, None, None))


def promise(name: str) -> Callable[[Keeping], Callable[[Running], None]]:
    """Make a test of an async function that keeps the promise, with the fixture `running`."""
    promised(name)

    def decorate(test: Keeping) -> Callable[[Running], None]:
        def run(running: Running) -> None:
            runner, world = running
            runner.run(test(world))

        run.__name__, run.__doc__ = test.__name__, f"{name}."
        return run

    return decorate


def can_serve() -> bool:
    """Whether services can have ports such as 80, and names be asked for at 53."""
    return may_listen(_DNS_PORT)


async def get(address: str, port: int) -> str:
    """What answers by HTTP; empty if nothing does."""

    def fetch() -> str:
        try:
            with urllib.request.urlopen(f"http://{address}:{port}/", timeout=5) as answer:
                return str(answer.read().decode())
        except (OSError, HTTPException):
            return ""

    return await asyncio.to_thread(fetch)


async def answers(ask: Callable[[], Awaitable[str]], count: int = 12) -> Counter[str]:
    return Counter([await ask() for _ in range(count)])
