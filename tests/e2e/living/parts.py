"""A cluster of separate processes, each of which can be killed and started again."""

from __future__ import annotations

import http.client
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from tests.support import waiting
from tests.support.steer import STEER, Api, Steer, running

__all__ = ["NAMESPACE", "Part", "Parts", "condition", "deployment", "insist", "is_ready", "soon", "started"]

Object = dict[str, Any]

NAMESPACE = "default"
#: Processes are started and leases run out within this, on a busy machine too.
PATIENCE_S = 60.0
LEASE_S = 3.0
#: A node beats once a second here, and is given up after this long.
GRACE_S = 6.0


def soon(check: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    """What `check` returns once that is true."""
    return waiting.soon(check, patience_s, every_s=0.1)


def insist(api: Api, method: str, path: str, body: Any = None, *, done: tuple[int, ...] = ()) -> None:
    """Ask until the API has heard it; `done` are the codes that say that it had before."""
    content_type = "application/apply-patch+yaml" if method == "PATCH" else "application/json"

    def heard() -> bool:
        try:
            answer = api.request(method, path, body, content_type=content_type)
        except (OSError, http.client.HTTPException):
            return False  # the server is not there
        assert answer.status < 300 or answer.status in done, f"{method} {path}: {answer.text}"
        return True

    soon(heard)


class Part:
    """A `steer component` that is started anew after it was killed."""

    def __init__(self, kubeconfig: Path, log: IO[str], *arguments: str) -> None:
        self._command = [str(STEER), "component", *arguments, "--kubeconfig", str(kubeconfig)]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert self._process is None
        self._process = subprocess.Popen(self._command, stdout=self._log, stderr=self._log)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """End it without a word to anyone."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def stop(self) -> None:
        """Ask it to end; it must do so in order."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.terminate()
        try:
            assert process.wait(PATIENCE_S) == 0, self._command
        finally:
            process.kill()


class Parts:
    """The API server and, by name, whatever else runs beside it."""

    def __init__(self, folder: Path, log: IO[str], servers: ExitStack, parts: ExitStack) -> None:
        """What is started ends with these stacks; the parts should be first, while there is a server."""
        self._folder = folder
        self._log = log
        self._servers = servers
        self._started = parts
        self._port = 0
        self.server: Steer
        self.start_server()
        self._port = self.server.api.address.port or 0
        self.api = self.server.api
        self.parts: dict[str, Part] = {}

    def start_server(self) -> None:
        """Start the API server, or start it again where it was and with what it had."""
        server = running("--controllers=none", data=self._folder, port=self._port)
        self.server = self._servers.enter_context(server)

    def kill_server(self) -> None:
        self.server.kill()

    def start(self, name: str, *arguments: str) -> Part:
        part = self.parts[name] = Part(self.server.kubeconfig, self._log, *arguments)
        self._started.callback(part.stop)
        part.start()
        return part

    def start_controllers(self, name: str = "controllers") -> Part:
        return self.start(name, "controllers", f"--node-grace={GRACE_S}", f"--lease-duration={LEASE_S}")

    def start_scheduler(self) -> Part:
        return self.start("scheduler", "scheduler", f"--lease-duration={LEASE_S}")

    def start_nodes(self, count: int, first: int) -> Part:
        return self.start(
            f"nodes-{first}",
            "nodes",
            "--runtime=simulated",
            f"--nodes={count}",
            f"--first={first}",
            "--heartbeat=1",
        )

    # --- the API

    def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Object:
        """The answer to a request, which must succeed."""
        answer = self.api.request(method, path, body, content_type=content_type)
        assert answer.status < 300, f"{method} {path}: {answer.text}"
        found: Object = answer.json
        return found

    def apply(self, path: str, body: Object) -> Object:
        return self.ask("PATCH", f"{path}?fieldManager=test&force=true", body, "application/apply-patch+yaml")

    def merge(self, path: str, body: Object) -> Object:
        return self.ask("PATCH", path, body, "application/merge-patch+json")

    def items(self, path: str) -> list[Object]:
        items: list[Object] = self.ask("GET", path)["items"]
        return items

    def pods(self) -> list[Object]:
        """All pods that are to stay."""
        items = self.items(f"/api/v1/namespaces/{NAMESPACE}/pods")
        return [pod for pod in items if "deletionTimestamp" not in pod["metadata"]]

    def running(self, count: int) -> Sequence[Object]:
        """All pods, once there are so many of them and all are ready."""

        def ready() -> list[Object]:
            found = self.pods()
            return found if len(found) == count and all(map(is_ready, found)) else []

        found: list[Object] = soon(ready)
        return found

    def node_ready(self, name: str) -> str:
        return condition(self.ask("GET", f"/api/v1/nodes/{name}"), "Ready")

    def holder(self, lease: str) -> str:
        path = f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{lease}"
        spec = self.ask("GET", path)["spec"]
        holder: str = spec.get("holderIdentity", "")
        return holder


@contextmanager
def started(folder: Path) -> Iterator[Parts]:
    """An API server alone; what is started beside it ends with the block, before it."""
    with (folder / "components.log").open("w") as log, ExitStack() as servers, ExitStack() as parts:
        yield Parts(folder / "data", log, servers, parts)


def condition(item: Object, kind: str) -> str:
    conditions = item["status"].get("conditions") or ()
    return next((one["status"] for one in conditions if one["type"] == kind), "")


def is_ready(pod: Object) -> bool:
    return condition(pod, "Ready") == "True"


def deployment(name: str, replicas: int, image: str = "app:1", *, tolerated_s: int = 1) -> Object:
    """One whose pods leave a lost node soon."""
    labels = {"app": name}
    tolerations = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute",
         "tolerationSeconds": tolerated_s}
        for key in ("not-ready", "unreachable")
    ]  # fmt: skip
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": image}], "tolerations": tolerations},
            },
        },
    }
