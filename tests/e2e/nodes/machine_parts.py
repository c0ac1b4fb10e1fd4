"""An API server and a node of this machine as processes of their own, and what the node leaves on it."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import IO, Any

from steersman.cluster.machine import open_machine
from steersman.cluster.machine.addresses_in_use import listeners, neighbours
from steersman.cluster.machine.errors import RangeTaken
from steersman.cluster.machine.machine import _open_netlink
from steersman.cluster.machine.ranges import LOOPBACK, ROUTED, Ranges, take_first_free
from steersman.cluster.node.process.keeper.stragglers import MARK, marked
from tests.e2e.living.parts import NAMESPACE, Part, Parts, soon
from tests.support.steer import running

__all__ = ["CORE", "NODE", "Asking", "MachineParts", "Traces", "machine_parts", "service", "web"]

Object = dict[str, Any]

NODE = "node-1"
_LAST_LINES = 50
CORE = f"/api/v1/namespaces/{NAMESPACE}"
#: Of services: one at which an ordinary user may listen, too.
PORT = 8000
#: Answers with the number of its process, on port 8080 of its pod.
_SERVER = """
import http.server, os
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = str(os.getpid()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer((os.environ["POD_IP"], 8080), Page).serve_forever()
"""


def web(name: str, replicas: int) -> Object:
    """A Deployment that answers HTTP."""
    container = {
        "name": "web",
        "image": "host/python3",
        "args": ["-c", _SERVER],
        "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1},
    }
    labels = {"app": name}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 1}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def service(app: str, name: str = "") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name or app},
        "spec": {"selector": {"app": app}, "ports": [{"port": PORT, "targetPort": 8080}]},
    }


class Asking(threading.Thread):
    """Asks a service without pause, with one connection for many requests and with one for each."""

    def __init__(self, address: str) -> None:
        super().__init__(name="asking", daemon=True)
        self._address = address
        self._kept: http.client.HTTPConnection | None = None
        self._ended = threading.Event()
        self.answered = 0
        #: What went wrong, with its time.
        self.failures: list[tuple[float, str]] = []

    def run(self) -> None:
        while not self._ended.wait(0.01):
            for keep in (True, False):
                try:
                    self.ask(keep=keep)
                except (OSError, http.client.HTTPException, ValueError) as error:
                    # An answer that was cut off in its head has no length, and is empty.
                    self.failures.append((time.monotonic(), repr(error)))
                else:
                    self.answered += 1
        if self._kept is not None:
            self._kept.close()

    def ask(self, *, keep: bool = False) -> int:
        """Which process answers."""
        connection = self._kept if keep else None
        if connection is None:
            connection = http.client.HTTPConnection(self._address, PORT, timeout=5)
        self._kept = None if keep else self._kept
        try:
            connection.request("GET", "/")
            answer = int(connection.getresponse().read())
        except BaseException:
            connection.close()
            raise
        if keep:
            self._kept = connection
        else:
            connection.close()
        return answer

    def end(self) -> None:
        self._ended.set()
        self.join()


@dataclass(frozen=True, slots=True)
class Traces:
    """What there is of a node on this machine, found by its own marks."""

    #: By container: its processes.
    processes: dict[str, list[int]]
    pods: frozenset[str]
    groups: frozenset[str]
    mounts: tuple[str, ...]
    addresses: frozenset[str]
    #: Open descriptors, by process, without connections to the API: a client keeps some for later.
    descriptors: dict[str, int]


class MachineParts(Parts):
    """An API server with everything but nodes, and `nodes`: a `steer component nodes`."""

    def __init__(self, folder: Path, log: IO[str], servers: ExitStack, parts: ExitStack) -> None:
        self.ranges = _free_ranges(servers)
        self.folder = folder.parent / "nodes"
        self.folder.mkdir()
        super().__init__(folder, log, servers, parts)

    def start_server(self) -> None:
        options = ["--nodes=0", f"--service-cidr={self.ranges.services}"]
        self.server = self._servers.enter_context(running(*options, data=self._folder, port=self._port))

    def start_node(self) -> Part:
        cidr = f"--service-cidr={self.ranges.services}"
        return self.start("nodes", "nodes", f"--data={self.folder}", cidr, "--heartbeat=1")

    @property
    def agent(self) -> Part:
        return self.parts["nodes"]

    @property
    def tag(self) -> str:
        """What the node's processes and groups are marked with."""
        return hashlib.sha256(str((self.folder / NODE).resolve()).encode()).hexdigest()[:12]

    @property
    def keeper(self) -> int:
        """The process that has the containers; 0: there is none."""
        found = _processes(b"keeper.main", str(self.folder / NODE).encode())
        return next((pid for pid in found if not _is_guardian(pid)), 0)

    @property
    def forwarder(self) -> int:
        """The process that carries connections to services; 0: there is none."""
        return next(
            _processes(b"steersman.cluster.proxy.forwarder", str(self.folder / "services.sock").encode()), 0
        )

    def kill(self, pid: int) -> None:
        if pid:
            os.kill(pid, signal.SIGKILL)

    def end_keeper(self) -> None:
        """With all it keeps, in order. Without it nobody carries connections, either."""
        if keeper := self.keeper:
            os.kill(keeper, signal.SIGTERM)
        soon(lambda: not self.keeper and not self.forwarder)

    def cluster_ip(self, name: str) -> str:
        address: str = self.ask("GET", f"{CORE}/services/{name}")["spec"]["clusterIP"]
        return address

    def restarts(self) -> dict[str, tuple[str, int]]:
        """By pod: its container's ID and how often it was restarted."""
        found = {}
        for pod in self.pods():
            (status,) = pod["status"]["containerStatuses"]
            found[pod["metadata"]["name"]] = status["containerID"].split("://")[1], status["restartCount"]
        return found

    def traces(self) -> Traces:
        keeper, forwarder = soon(lambda: self.keeper), soon(lambda: self.forwarder)
        watched = {"agent": self.agent.pid, "keeper": keeper, "forwarder": forwarder}
        return Traces(
            self.processes(),
            frozenset(path.name for path in (self.folder / NODE / "pods").iterdir()),
            frozenset(path.name for base in self.groups() for path in base.iterdir() if path.is_dir()),
            self._mounts(),
            frozenset(self.addresses()),
            {name: self._descriptors(pid) for name, pid in watched.items()},
        )

    def _descriptors(self, pid: int) -> int:
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        to_api = {f"socket:[{line[9]}]" for line in lines if line[2].endswith(f":{self._port:04X}")}
        found = 0
        for entry in os.scandir(f"/proc/{pid}/fd"):
            try:
                found += os.readlink(entry.path) not in to_api
            except FileNotFoundError:
                continue
        return found

    def processes(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for pid in marked(f"{self.tag}/"):
            try:
                environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            mark = next(one for one in environ if one.startswith(MARK.encode())).decode()
            found.setdefault(mark.rpartition("/")[2], []).append(pid)
        return found

    def groups(self) -> list[Path]:
        """The node's control group, if it has one."""
        lines = Path("/proc/mounts").read_text().splitlines()
        roots = [Path(line.split()[1]) for line in lines if line.split()[2] == "cgroup2"]
        return [path for root in roots for path in root.rglob(f"steersman-{self.tag}")]

    def _mounts(self) -> tuple[str, ...]:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        return tuple(line for line in lines if str(self.folder) in line)

    def addresses(self) -> set[str]:
        """Of the node's ranges, as they are on the machine."""
        netlink = _open_netlink()
        if netlink is None:
            return set()
        try:
            found = netlink.addresses()
        finally:
            netlink.close()
        return {str(one) for one in found if any(one in network for network in self.ranges)}


def _processes(*words: bytes) -> Iterator[int]:
    """Those whose command line has all of these words."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            command = Path(f"/proc/{entry}/cmdline").read_bytes()
        except OSError:
            continue
        if all(word in command for word in words):
            yield int(entry)


def _is_guardian(pid: int) -> bool:
    """Whether it only waits for the end of another."""
    try:
        return Path(f"/proc/{pid}/comm").read_text() == "keeper-guardian\n"
    except OSError:
        return True


def _free_ranges(held: ExitStack) -> Ranges:
    """Ranges that no cluster has now; others look for theirs from the other end. Tests that run at the same
    time leave them alone while the node is not there to hold them."""
    netlink = _open_netlink()
    used: list[IPv4Network] = []
    if netlink is not None:
        used = [*netlink.networks(), *neighbours(netlink.addresses())]
        netlink.close()
    for ranges in reversed(LOOPBACK if netlink is None else ROUTED):
        try:
            guard = take_first_free([ranges], used, listeners())
        except RangeTaken:
            continue
        name = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        try:
            name.bind(f"\0steersman-tests/{ranges.services}")
        except OSError:
            continue
        finally:
            guard.close()
        return ranges
    raise AssertionError("all address ranges of this machine are in use")


@contextmanager
def machine_parts(folder: Path) -> Iterator[MachineParts]:
    """Both, with the node ready. What they logged is shown if something is wrong."""
    log_file = folder / "parts.log"
    try:
        with log_file.open("w") as log, ExitStack() as servers, ExitStack() as stack:
            parts = MachineParts(folder / "api", log, servers, stack)
            # Pods live on without an agent, and keep their addresses, but not after the tests.
            stack.callback(lambda: asyncio.run(_give_back(parts.folder)))
            stack.callback(parts.end_keeper)
            parts.start_node()
            soon(lambda: _is_ready(parts))
            yield parts
    except BaseException:
        print("\n".join(log_file.read_text().splitlines()[-_LAST_LINES:]))
        raise


async def _give_back(folder: Path) -> None:
    await (await open_machine(folder)).close()


def _is_ready(parts: MachineParts) -> bool:
    answer = parts.api.get(f"/api/v1/nodes/{NODE}")
    return answer.status == 200 and parts.node_ready(NODE) == "True"
