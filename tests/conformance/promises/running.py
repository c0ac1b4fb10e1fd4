"""Promises about programs that run: a whole cluster with nodes of this machine, in a thread of its own.

`running` (see `conftest`) is that cluster for the tests of a module. Objects are made in `NAMESPACE`; what a
promise needs several of is made by its test, under names that no other test uses.
"""

from __future__ import annotations

import asyncio
import shutil
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, contextmanager
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest

from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.machine.ports import may_listen
from steersman.cluster.node.process.image_index import ImageIndex
from steersman.objects.conditions import find_condition
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS
from steersman.testing import eventually
from tests.support.kubectl import Done, Kubectl

__all__ = [
    "KEPT",
    "NAMESPACE",
    "PATIENCE_S",
    "STATE",
    "STATE_MOUNT",
    "Object",
    "Running",
    "can_serve",
    "in_background",
    "is_ready",
    "promise",
    "promised",
    "running_cluster",
    "script",
    "server",
]

T = TypeVar("T")
Object = dict[str, Any]

NAMESPACE = "running"
#: For a machine that does many other things.
PATIENCE_S = 90.0
#: The promises kept here, by name without the tags in brackets.
KEPT: set[str] = set()

#: A folder of a pod's own at /state. (Without root, /tmp is everybody's.)
STATE: Object = {"name": "state", "emptyDir": {}}
STATE_MOUNT: Object = {"name": "state", "mountPath": "/state"}

_DNS_PORT = 53
#: Which folders are images, in the folder of tests.
_IMAGES = "images.json"
#: Answers everything by HTTP with the pod's name, as long as /state/sick is not there.
_SERVER = """
import http.server, os, sys
name = os.environ["HOSTNAME"].encode()
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(503 if os.path.exists("/state/sick") else 200)
        self.send_header("Content-Length", str(len(name)))
        self.end_headers()
        self.wfile.write(name)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer((os.environ["POD_IP"], int(sys.argv[1])), Answer).serve_forever()
"""


def promised(name: str) -> str:
    """Note that a test keeps a promise; for cases of a table."""
    assert name not in KEPT, f"{name!r} has a test already"
    KEPT.add(name)
    return name


class Running:
    """What tests ask of the cluster, from their own thread."""

    def __init__(self, cluster: LocalCluster, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.cluster = cluster
        self.client: Client = cluster.client(namespace=NAMESPACE)
        #: For files of tests.
        self.folder = folder
        self.images = ImageIndex(folder / _IMAGES)
        self._kubectl = Kubectl(cluster.kubeconfig, folder, NAMESPACE)
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.start(work).result(4 * PATIENCE_S)

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Have something go on while tests are run."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def kubectl(self, *arguments: str, stdin: Any = None) -> Done:
        if not shutil.which("kubectl"):
            pytest.skip("there is no kubectl on the PATH")
        return await asyncio.to_thread(self._kubectl, *arguments, stdin=stdin)

    async def ask(self, method: str, path: str) -> tuple[int, bytes]:
        """The API's answer as it is: its code and its body."""
        context = ssl.create_default_context(cadata=self.cluster.authority.pem.decode())
        url = urlsplit(self.cluster.url)

        def ask() -> tuple[int, bytes]:
            connection = HTTPSConnection(str(url.hostname), url.port, context=context, timeout=PATIENCE_S)
            with closing(connection):
                connection.request(method, path, headers={"Authorization": f"Bearer {self.cluster.token}"})
                answer = connection.getresponse()
                return answer.status, answer.read()

        return await asyncio.to_thread(ask)

    async def make(self, kind: ResourceType, name: str, spec: Object, **metadata: Any) -> Object:
        return await self.client.create({"metadata": {"name": name, **metadata}, "spec": spec}, kind=kind)

    async def pod(self, name: str, *containers: Object, **spec: Any) -> Object:
        spec = {"terminationGracePeriodSeconds": 0, "containers": list(containers), **spec}
        return await self.make(PODS, name, spec)

    async def until(self, kind: ResourceType, name: str, holds: Callable[[Object], Any]) -> Object:
        async def found() -> Object | None:
            obj = await self.client.find(kind, name)
            return obj if obj is not None and holds(obj) else None

        return await eventually(found, PATIENCE_S, what=f"{kind.kind} {name}")

    async def phase(self, name: str, phase: str) -> Object:
        return await self.until(PODS, name, lambda pod: pod["status"]["phase"] == phase)

    async def ready(self, name: str) -> Object:
        return await self.until(PODS, name, is_ready)

    async def pods(self, labels: str) -> list[Object]:
        """Those that are not being deleted, by name."""
        found = await self.client.list(PODS, NAMESPACE, labels=labels)
        present = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
        return sorted(present, key=lambda pod: str(pod["metadata"]["name"]))

    async def gone(self, kind: ResourceType, name: str) -> None:
        async def absent() -> bool:
            return await self.client.find(kind, name) is None

        await eventually(absent, PATIENCE_S, what=f"no {kind.kind} {name}")

    async def change(
        self, kind: ResourceType, name: str, change: Mapping[str, Any], subresource: str = ""
    ) -> Object:
        """Merged by the names of containers and the like."""
        return await self.client.patch(kind, name, dict(change), type="strategic", subresource=subresource)


def is_ready(pod: Object) -> bool:
    condition = find_condition(pod["status"].get("conditions"), "Ready")
    return condition is not None and condition["status"] == "True"


def script(text: str, name: str = "main", **fields: Any) -> Object:
    """A container that runs a shell script."""
    return {"name": name, "image": "host/sh", "command": ["sh", "-c", text], **fields}


def server(port: int, name: str = "main", **fields: Any) -> Object:
    """A container that answers with its pod's name, and is ready unless somebody has made it sick. Its pod
    has the volume `STATE`."""
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    probe = {"httpGet": {"path": "/", "port": port}, "periodSeconds": 1, "failureThreshold": 1}
    return {
        "name": name,
        "image": "host/python3",
        "args": ["-c", _SERVER, str(port)],
        "env": [address],
        "readinessProbe": probe,
        "volumeMounts": [STATE_MOUNT],
        **fields,
    }


Keeping = Callable[[Running], Coroutine[Any, Any, None]]


def promise(name: str) -> Callable[[Keeping], Callable[[Running], None]]:
    """Make a test of an async function that keeps the promise."""
    promised(name)

    def decorate(test: Keeping) -> Callable[[Running], None]:
        def run(running: Running) -> None:
            running.run(test(running))

        run.__name__, run.__doc__ = test.__name__, f"{name}."
        return run

    return decorate


# --- the cluster


def can_serve() -> bool:
    """Whether services can have ports such as 80, and names be asked for at 53."""
    return may_listen(_DNS_PORT)


@contextmanager
def in_background(
    context: Callable[[], AbstractAsyncContextManager[T]],
) -> Iterator[tuple[T, asyncio.AbstractEventLoop]]:
    """What an async context manager gives, on a loop that runs in another thread until the block is left."""
    started: Future[tuple[T, asyncio.AbstractEventLoop]] = Future()
    stopping = asyncio.Event()

    async def main() -> None:
        async with context() as value:
            started.set_result((value, asyncio.get_running_loop()))
            await stopping.wait()

    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(asyncio.run, main())
        both: tuple[Future[Any], ...] = (started, ended)
        wait(both, return_when=FIRST_COMPLETED)
        if not started.done():
            ended.result()
        value, loop = started.result()
        try:
            yield value, loop
        finally:
            loop.call_soon_threadsafe(stopping.set)
            ended.result()


@contextmanager
def running_cluster(folder: Path, nodes: int) -> Iterator[Running]:
    """A cluster with everything, its pods processes of this machine. `folder` is for files of tests."""

    @asynccontextmanager
    async def started() -> AsyncIterator[LocalCluster]:
        config = ClusterConfig(process_nodes=nodes, controllers=("all",), images=folder / _IMAGES)
        async with LocalCluster(config) as cluster:
            client = cluster.client(namespace=NAMESPACE)
            await client.create({"metadata": {"name": NAMESPACE}}, kind=NAMESPACES)
            await eventually(lambda: _can_have_pods(client, nodes), PATIENCE_S)
            yield cluster

    with in_background(started) as (cluster, loop):
        yield Running(cluster, folder, loop)


async def _can_have_pods(client: Client, nodes: int) -> bool:
    found = await client.list(NODES)
    return (
        sum(map(is_ready, found)) == nodes
        and await client.find(SERVICE_ACCOUNTS, "default", NAMESPACE) is not None
    )
