"""Highlander as people deploy it: its manifests and its chart, applied to a cluster whose pods are processes, with
a real Redis. Both run at the same time, each for a tenant of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from steersman.highlander.chart import chart
from tests.support.helm import rendered
from tests.support.kubectl import WAIT, Kubectl
from tests.support.ports import free_port
from tests.support.redis_server import redis_server
from tests.support.steer import STEER, running
from tests.support.waiting import soon

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not shutil.which("kubectl"), reason="there is no kubectl on the PATH"),
]

_DEADLINE_S = 120.0
_IMAGE = "steersman:under-test"
_TOKEN = "opensesame"
Object = dict[str, Any]


def settings(tenant: str, **storage: Any) -> Object:
    sleeper = {"name": "worker", "image": "host/sleep", "args": ["3600"], "terminationGracePeriod": 1}
    return {
        "tenant": tenant,
        "namespace": f"{tenant}-work",
        **storage,
        "election": {"leaseDuration": "6s", "renewDeadline": "4s", "retryPeriod": "1s"},
        "workloads": {"processes": [sleeper]},
    }


def fitted(objects: list[Object]) -> list[Object]:
    """With controllers that run as whoever runs the tests (the interpreter may be where only they can read), and
    listen on their own addresses: pods that are processes share their machine's ports."""
    for one in objects:
        if one["kind"] in ("Deployment", "StatefulSet"):
            pod = one["spec"]["template"]["spec"]
            pod["securityContext"] |= {"runAsUser": os.getuid(), "runAsNonRoot": os.getuid() != 0}
            address = {"fieldRef": {"fieldPath": "status.podIP"}}
            pod["containers"][0]["env"] += [
                {"name": "HIGHLANDER_BIND", "valueFrom": address},
                {"name": "HIGHLANDER_RAFT_LISTEN", "value": "$(HIGHLANDER_BIND):7100"},
            ]
        if one["kind"] == "Namespace":
            one["metadata"]["labels"] = {}
    return objects


def manifests(folder: Path, config: Object, *options: str) -> list[Object]:
    file = folder / f"{config['tenant']}.yaml"
    file.write_text(yaml.safe_dump(config))
    asked = [str(STEER), "highlander", "manifests", "--config", str(file), "--image", _IMAGE, "--name=hl"]
    asked += [f"--namespace={config['tenant']}", *options]
    done = subprocess.run(asked, check=True, capture_output=True, text=True)
    return list(yaml.safe_load_all(done.stdout))


def apply(kubectl: Kubectl, objects: list[Object]) -> None:
    """As they are, in namespaces of their own."""
    command = ["kubectl", "apply", "-f", "-"]
    text = yaml.safe_dump_all(objects)
    done = subprocess.run(command, input=text, env=kubectl.environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("deployed")
    environment = ["env", f"XDG_STATE_HOME={folder / 'state'}"]
    image = folder / "image"
    image.mkdir()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    (image / "image.json").write_text(json.dumps({"env": {"PATH": path}}))
    subprocess.run([*environment, STEER, "image", "add", _IMAGE, image], check=True, capture_output=True)
    port = free_port()
    options = ("--port", str(port), "--bind", "127.0.0.1")
    with (
        redis_server(*options),
        running("--nodes=1", "--runtime=process", data=folder / "data", prefix=environment) as steer,
    ):
        made = Kubectl(steer.kubeconfig, tmp_path_factory.mktemp("home"))
        made("wait", "--for=create", "serviceaccount/default", WAIT)
        for tenant in ("plain", "charted", "rafty"):
            for namespace in (tenant, f"{tenant}-work"):
                made("create", "namespace", namespace)
            made.within(tenant)("create", "secret", "generic", "hl", f"--from-literal=api-token={_TOKEN}")
        redis = {"storageType": "redis", "redis": {"addr": f"127.0.0.1:{port}"}}
        raft = {"storageType": "raft", "raft": {"service": "nodes", "insecure": True}}
        apply(made, fitted(manifests(folder, settings("plain", **redis), "--fencing")))
        files = chart()
        apply(made, [yaml.safe_load(text) for path, text in files.items() if path.startswith("crds/")])
        for tenant, storage in (("charted", redis), ("rafty", raft)):
            values = {"image": _IMAGE, "config": settings(tenant, **storage)}
            apply(made, fitted(rendered(files, "hl", tenant, values)))
        yield made


def until(what: Callable[[], Any]) -> Any:
    return soon(what, _DEADLINE_S, every_s=0.2)


def status(kubectl: Kubectl, tenant: str) -> Object:
    """As the Service shows it, through the API server."""
    path = f"/api/v1/namespaces/{tenant}/services/http:hl:8080/proxy/api/status"
    found: Object = kubectl("get", "--raw", path).json["data"]
    return found


DEPLOYED = [("plain", "deployment/hl", 2, "redis"), ("charted", "deployment/hl", 2, "redis"),
            ("rafty", "statefulset/hl", 3, "raft")]  # fmt: skip


@pytest.mark.parametrize("tenant, controller, count, storage", DEPLOYED, ids=[one[0] for one in DEPLOYED])
def test_it_becomes_ready_and_runs_its_workloads(
    kubectl: Kubectl, tenant: str, controller: str, count: int, storage: str
) -> None:
    controllers, work = kubectl.within(tenant), kubectl.within(f"{tenant}-work")
    until(lambda: controllers.get(controller)["status"].get("readyReplicas") == count)
    until(lambda: "True" in work("get", "pods", "-o=jsonpath={..conditions[?(@.type=='Ready')].status}").out)
    assert work.get("pod worker-pod")["metadata"]["labels"]["tenant"] == tenant
    shown = status(kubectl, tenant)
    assert (shown["tenant"], shown["readyForTraffic"], shown["storageType"]) == (tenant, True, storage)
    errors = controllers("logs", controller, "--all-pods").out
    assert "forbidden" not in errors


def test_a_leader_steps_down_when_it_is_told_to(kubectl: Kubectl, tmp_path: Path) -> None:
    controllers, work = kubectl.within("plain"), kubectl.within("plain-work")
    leader = until(lambda: status(kubectl, "plain")["currentLeader"]).partition("_")[0]
    before = until(lambda: work.attempt("get", "pod", "worker-pod", "-o=json").json)["metadata"]
    token = tmp_path / "token"
    token.write_text(_TOKEN)
    address = f"http://{controllers.get(f'pod {leader}')['status']['podIP']}:8080"
    asked = [str(STEER), "highlander", "step-down", "--address", address, "--token-file", str(token)]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "step-down: done\n"), done.stderr
    until(lambda: status(kubectl, "plain")["currentLeader"].partition("_")[0] not in ("", leader))

    def copy() -> Object | None:
        found = work.attempt("get", "pod", "worker-pod", "-o=json")
        return found.json["metadata"] if found.code == 0 else None

    after = until(lambda: (now := copy()) is not None and now["uid"] != before["uid"] and now)
    epoch = "steersman.dev/term"
    assert int(after["annotations"][epoch]) > int(before["annotations"][epoch])


def test_what_a_former_leader_still_sends_is_refused(kubectl: Kubectl) -> None:
    """The policy that --fencing makes."""
    work = kubectl.within("plain-work")
    labels = {"managed-by": "highlander", "tenant": "elsewhere"}
    metadata = {"name": "late", "labels": labels, "annotations": {"steersman.dev/term": "7"}}
    spec = {"ports": [{"port": 80}]}
    work.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
    said = until(lambda: work.attempt("annotate", "--overwrite", "service/late", "steersman.dev/term=6").err)
    assert "written in term 7 already, refused in term 6" in said
    work("annotate", "--overwrite", "service/late", "steersman.dev/term=8")
