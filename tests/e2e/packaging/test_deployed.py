"""`steer manifests | kubectl apply -f -`: operators run in pods of the cluster, under their own rights."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steersman.client import ApiError
from steersman.cluster.machine.ports import may_listen
from steersman.testing import Cluster
from tests.e2e.raft.certificates import TestAuthority
from tests.support.kubectl import WAIT, Kubectl
from tests.support.steer import DEADLINE_S, STEER
from tests.support.waiting import soon

from .conftest import IMAGE, SHOP, WEBAPP

#: Several programs start in each, one after the other.
pytestmark = pytest.mark.timeout(300)

Object = dict[str, Any]


def steer(*arguments: str) -> str:
    done = subprocess.run([str(STEER), *arguments], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def manifests(module: Path, *options: str) -> str:
    return steer("manifests", str(module), "--image", IMAGE, *options)


def runnable(module: Path, *options: str) -> list[Object]:
    """The manifests as they are, but for what this machine is: the interpreter of the tests may be one that
    only their own user can run, and pods share the ports of the machine if they do not say at which address
    they listen."""
    objects: list[Object] = json.loads(manifests(module, "--output", "json", *options))["items"]
    for each in objects:
        if each["kind"] in ("Deployment", "StatefulSet"):
            pod = each["spec"]["template"]["spec"]
            [container] = pod["containers"]
            for part in (pod, container):
                del part["securityContext"]["runAsNonRoot"]
            # A checkout in /tmp is not to be hidden by the pod's own.
            mounts = container.get("volumeMounts") or []
            container["volumeMounts"] = [
                mount for mount in mounts if not str(STEER).startswith(f"{mount['mountPath']}/")
            ]
            container["env"] += [
                {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {"name": "STEERSMAN_RAFT_HOST", "value": "$(IP)"},
            ]
            container["command"] += ["--metrics-bind", "$(IP):8080"]
        if each["kind"] == "Namespace":
            del each["metadata"]["labels"]
    return objects


def until(what: Callable[[], str]) -> str:
    """What it answers, once it has an answer."""
    return soon(what, DEADLINE_S, "the answer", every_s=0.1)


def assert_nothing_was_forbidden(there: Kubectl) -> None:
    for pod in there.get("pods")["items"]:
        lines = there("logs", pod["metadata"]["name"]).lines
        assert [line for line in lines if "forbidden" in line] == []


def web_app(name: str) -> Object:
    spec = {"image": "shop:1", "replicas": 0}
    return {"apiVersion": "example.com/v1", "kind": "WebApp", "metadata": {"name": name}, "spec": spec}


def test_replicas_with_a_lease_work_one_after_the_other(kubectl: Kubectl) -> None:
    there = kubectl.within("webapp-operator")
    there.apply(*runnable(WEBAPP, "--fencing"))
    there("rollout", "status", "deployment/webapp-operator", WAIT)
    kubectl.apply(web_app("shop"))
    kubectl("wait", "webapp/shop", "--for=jsonpath={.status.phase}=Ready", WAIT)
    assert kubectl.get("deployment shop")["spec"]["replicas"] == 0
    told = steer("why", "webapp/shop", "--kubeconfig", str(kubectl.kubeconfig))
    assert "wrote  apply deployments default/shop" in told

    def holder(other_than: str = " ") -> str:
        held: str = there.get("lease webapp-operator")["spec"].get("holderIdentity") or ""
        return "" if other_than in held else held

    pods = [pod["metadata"]["name"] for pod in there.get("pods")["items"]]
    assert len(pods) == 2
    [first] = [pod for pod in pods if pod in holder()]
    there("delete", "pod", first, WAIT)
    assert until(lambda: holder(other_than=first)).startswith("webapp-operator-")
    kubectl.apply(web_app("cafe"))
    kubectl("wait", "webapp/cafe", "--for=jsonpath={.status.phase}=Ready", WAIT)
    kubectl("delete", "webapp", "shop", "cafe", WAIT)
    assert_nothing_was_forbidden(there)


def test_what_was_applied_can_be_applied_again(kubectl: Kubectl) -> None:
    text = manifests(WEBAPP, "--name", "again", "--ha", "lease", "--replicas", "0")
    there = kubectl.within("again")
    there("apply", "-f", "-", stdin=text)
    assert {line.rsplit(" ", 1)[1] for line in there("apply", "-f", "-", stdin=text).lines} == {"unchanged"}


def certificates(folder: Path) -> Object:
    """The Secret of the nodes' certificates, as cert-manager would make it."""
    TestAuthority().write(folder, "*.shop-operator-headless.shop-operator.svc.cluster.local")
    data = {file.name: base64.b64encode(file.read_bytes()).decode() for file in folder.iterdir()}
    metadata = {"name": "shop-operator-raft-tls", "namespace": "shop-operator"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


# The members find each other by their names, for which pods ask at port 53.
@pytest.mark.skipif(not may_listen(53), reason="needs rights to listen at low ports")
def test_replicas_that_are_a_raft_cluster_replace_their_leader(
    cluster: Cluster, kubectl: Kubectl, tmp_path: Path
) -> None:
    there = kubectl.within("shop-operator")
    there.apply(*runnable(SHOP, "--ha", "raft"), certificates(tmp_path))
    there("rollout", "status", "statefulset/shop-operator", WAIT)

    client = cluster.client()

    def leads(node: str) -> bool:
        path = f"/api/v1/namespaces/shop-operator/pods/{node}:8081/proxy/leader"
        try:
            cluster.run(client.request("GET", path))
        except ApiError:
            return False
        return True

    def leaders() -> list[str]:
        return [node for node in (f"shop-operator-{number}" for number in range(3)) if leads(node)]

    def uid_of(node: str) -> str:
        return there("get", "pod", node, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")

    [first] = leaders()
    deleted = uid_of(first)
    there("delete", "pod", first, "--force", "--grace-period=0")
    # Another one leads, or the first does again in a new pod: with its log it may be back before the others miss it.
    until(lambda: any(uid_of(node) != deleted for node in leaders()))
    # What the first had stored is there, and one of them leads. Which one, a busy machine may change at any time.
    there("rollout", "status", "statefulset/shop-operator", WAIT)
    until(lambda: len(leaders()) == 1)
    kubectl("apply", "-f", str(SHOP.with_name("shop.yaml")))
    kubectl("wait", "secret/harbour-db", "--for=create", WAIT)
    assert_nothing_was_forbidden(there)
