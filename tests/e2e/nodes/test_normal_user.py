"""A cluster of somebody who is not root: pods on loopback addresses, behind services that have names."""

from __future__ import annotations

import http.client
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.nodes.machine_parts import web
from tests.support.kubectl import WAIT, Kubectl
from tests.support.normal_user import as_normal_user
from tests.support.steer import DEADLINE_S, running
from tests.support.waiting import soon

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

#: Low ones are root's.
_PORT = 8000


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    if not shutil.which("kubectl"):
        pytest.skip("there is no kubectl on the PATH")
    # Folders of pytest are closed to others.
    with tempfile.TemporaryDirectory(prefix="steersman-user-") as name:
        prefix = as_normal_user(Path(name))
        with running("--nodes=1", "--runtime=process", data=f"{name}/data", prefix=prefix) as steer:
            kubectl = Kubectl(steer.kubeconfig, tmp_path_factory.mktemp("home"))
            kubectl("wait", "--for=create", "serviceaccount/default", WAIT)
            yield kubectl


def until(what: Callable[[], Any]) -> Any:
    return soon(what, DEADLINE_S, every_s=0.1)


def service(name: str, **spec: Any) -> dict[str, Any]:
    ports = [{"port": _PORT, "targetPort": 8080}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": "web"}, "ports": ports, **spec},
    }


def test_a_deployment_behind_a_service_answers_by_address_and_by_name(kubectl: Kubectl) -> None:
    kubectl.create(service("web"), web("web", 2))
    kubectl("rollout", "status", "deployment/web", WAIT)
    address = kubectl.get("service web")["spec"]["clusterIP"]
    assert address.startswith("127.")
    for pod in kubectl.get("pods")["items"]:
        assert pod["status"]["podIP"].startswith("127.")

    def answers() -> bool:
        connection = http.client.HTTPConnection(address, _PORT, timeout=5)
        try:
            connection.request("GET", "/")
            return bool(int(connection.getresponse().read()))
        except OSError:
            return False
        finally:
            connection.close()

    until(answers)
    _skip_without_own_files(kubectl)
    for name in ("web", "web.default", "web.default.svc.cluster.local"):
        assert _resolved(kubectl, name) == {address}


def test_pods_learn_of_services_that_come_and_go(kubectl: Kubectl) -> None:
    _skip_without_own_files(kubectl)
    assert _resolved(kubectl, "later") == set()
    kubectl.create(service("later"), service("members", clusterIP="None"))
    address = kubectl.get("service later")["spec"]["clusterIP"]
    until(lambda: _resolved(kubectl, "later") == {address})
    pods = {pod["status"]["podIP"] for pod in kubectl.get("pods")["items"]}
    until(lambda: _resolved(kubectl, "members.default.svc") == pods)
    kubectl("delete", "service", "later", "members")
    until(lambda: not _resolved(kubectl, "later"))


def test_groups_that_cannot_be_given_are_told_and_volumes_work_all_the_same(kubectl: Kubectl) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }
    container = {
        "name": "main",
        "image": "host/sh",
        "command": ["sh", "-c", "echo stored > /data/file && cat /data/file && exec sleep 1000"],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "grouped"},
        "spec": {
            "securityContext": {"fsGroup": 5432, "supplementalGroups": [5433]},
            "containers": [container],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    }
    kubectl.create(claim, pod)
    kubectl("wait", "--for=condition=Ready", "pod/grouped", WAIT)
    until(lambda: kubectl("logs", "grouped").out == "stored\n")
    told = until(lambda: kubectl.get("events --field-selector=reason=GroupsNotGiven")["items"])
    assert "cannot give its pods further groups: 5432, 5433" in told[0]["message"]


def _skip_without_own_files(kubectl: Kubectl) -> None:
    if "Kubernetes-managed" not in kubectl("exec", "deployment/web", "--", "cat", "/etc/hosts").out:
        pytest.skip("this machine gives normal users no user namespaces, and so pods no files of their own")


def _resolved(kubectl: Kubectl, name: str) -> set[str]:
    """Addresses that a pod finds by a name."""
    done = kubectl.attempt("exec", "deployment/web", "--", "getent", "ahostsv4", name)
    return {line.split()[0] for line in done.lines}
