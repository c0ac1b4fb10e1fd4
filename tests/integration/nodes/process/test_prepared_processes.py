"""Real programs see their variables and files, and are probed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from steersman.objects.conditions import find_condition
from steersman.objects.resources import CONFIG_MAPS, EVENTS, PODS
from steersman.testing import eventually
from tests.support.ports import free_port

from .pod_world import NAMESPACE, PATIENCE_S, Object, PodWorld, cluster, process_node, shell

_SERVER = """
import os, http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = os.environ["STATE"] + self.path
        self.send_response(200 if os.path.exists(path) else 500)
        self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer((os.environ["POD_IP"], int(os.environ["PORT"])), Handler).serve_forever()
"""


def is_ready(pod: Object) -> bool:
    condition = find_condition(pod["status"].get("conditions"), "Ready")
    return condition is not None and condition["status"] == "True"


async def told(world: PodWorld, note: str) -> None:
    async def found() -> bool:
        return any(event["note"] == note for event in await world.client.list(EVENTS, NAMESPACE))

    await eventually(found, PATIENCE_S, what=note)


async def see_variables_and_files(world: PodWorld, state: Path) -> None:
    """A program that copies what it sees, whenever that changes."""
    data = {"metadata": {"name": "cm", "namespace": NAMESPACE}, "data": {"key": "one"}}
    await world.client.create(data, kind=CONFIG_MAPS)
    script = """
        echo "$GREETING from $POD_IP, $(cat /etc/hosts | tail -n 1)" > $STATE/said
        echo scratch > /scratch/file
        while true; do cat /config/key /sub > $STATE/new; mv $STATE/new $STATE/seen; sleep 0.05; done
    """
    mounts = [
        {"name": "config", "mountPath": "/config"},
        {"name": "config", "mountPath": "/sub", "subPath": "key"},
        {"name": "scratch", "mountPath": "/scratch"},
        {"name": "state", "mountPath": str(state)},
    ]
    env = [{"name": "STATE", "value": str(state)}, {"name": "GREETING", "value": "hello"}]
    made = await world.create(
        "reader",
        shell(script, env=env, volumeMounts=mounts),
        volumes=[
            {"name": "config", "configMap": {"name": "cm"}},
            {"name": "scratch", "emptyDir": {}},
            {"name": "state", "hostPath": {"path": str(state)}},
        ],
    )
    pod = await world.until("reader", lambda pod: is_ready(pod) and (state / "seen").exists())
    ip = pod["status"]["podIP"]
    assert (state / "said").read_text() == f"hello from {ip}, {ip}\treader\n"
    await world.until("reader", lambda _: (state / "seen").read_text().startswith("one"))
    await world.client.patch(CONFIG_MAPS, "cm", {"data": {"key": "two"}}, NAMESPACE)
    await world.until("reader", lambda _: (state / "seen").read_text().startswith("two"))
    await world.delete("reader", grace_s=0)
    await eventually(lambda: not (state.parent / "node/pods" / made["metadata"]["uid"]).exists(), PATIENCE_S)


def probe(path: str, **more: Any) -> Object:
    return {"httpGet": {"path": path, "port": "web"}, "periodSeconds": 1, "failureThreshold": 1, **more}


async def be_probed(world: PodWorld, state: Path) -> None:
    """A server that is as healthy as there are files."""
    (state / "alive").touch()
    port = free_port()
    container = {
        "name": "main",
        "image": "host/python3",
        "command": ["python3", "-c", _SERVER],
        "env": [{"name": "STATE", "value": str(state)}, {"name": "PORT", "value": str(port)}],
        "volumeMounts": [{"name": "state", "mountPath": str(state)}],
        "ports": [{"name": "web", "containerPort": port}],
        "startupProbe": {"tcpSocket": {"port": "web"}, "periodSeconds": 1, "failureThreshold": 60},
        "readinessProbe": probe("/ready"),
        "livenessProbe": probe("/alive"),
    }
    await world.create("server", container, volumes=[{"name": "state", "hostPath": {"path": str(state)}}])
    await told(world, "Readiness probe failed: HTTP probe failed with statuscode: 500")
    (state / "ready").touch()
    pod = await world.until("server", is_ready)
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
    (state / "alive").unlink()
    await told(world, "Liveness probe failed: HTTP probe failed with statuscode: 500")
    # Once, or more often before the file is there again: the program may have come up in no time.
    await world.until("server", lambda pod: pod["status"]["containerStatuses"][0]["restartCount"] >= 1)
    (state / "alive").touch()
    await world.until("server", is_ready)
    await world.client.delete(PODS, "server", NAMESPACE, grace_s=0)


def test_programs_see_what_was_prepared_and_are_probed(tmp_path: Path) -> None:
    async def run() -> None:
        states = [tmp_path / name for name in ("reader", "server")]
        for state in states:
            state.mkdir()
        async with cluster() as api, process_node(api, tmp_path / "node") as world:
            await asyncio.gather(see_variables_and_files(world, states[0]), be_probed(world, states[1]))

    asyncio.run(run())
