"""`steer manifests | kubectl apply -f -`: the operator runs in pods of the cluster, under its own rights."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.support.kubectl import Kubectl
from tests.support.steer import DEADLINE_S, STEER

from .conftest import IMAGE, WEBAPP

Object = dict[str, Any]


def steer(*arguments: str) -> str:
    done = subprocess.run([str(STEER), *arguments], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def manifests(*options: str) -> str:
    return steer("manifests", str(WEBAPP), "--image", IMAGE, *options)


def runnable(objects: list[Object]) -> list[Object]:
    """As they are, but for what this machine is: the interpreter of the tests may be one that only their own
    user can run, and pods share the ports of the machine if they do not say at which address they listen."""
    for each in objects:
        if each["kind"] == "Deployment":
            pod = each["spec"]["template"]["spec"]
            [container] = pod["containers"]
            for part in (pod, container):
                del part["securityContext"]["runAsNonRoot"]
            # A checkout in /tmp is not to be hidden by the pod's own.
            mounts = container.get("volumeMounts") or []
            container["volumeMounts"] = [
                mount for mount in mounts if not str(STEER).startswith(f"{mount['mountPath']}/")
            ]
            container["env"].append({"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
            container["command"] += ["--metrics-bind", "$(IP):8080"]
        if each["kind"] == "Namespace":
            del each["metadata"]["labels"]
    return objects


def test_the_operator_does_its_work_from_a_pod(kubectl: Kubectl) -> None:
    objects = json.loads(manifests("--output", "json", "--fencing", "--replicas", "1"))["items"]
    there = kubectl.within("webapp-operator")
    there.apply(*runnable(objects))
    there("rollout", "status", "deployment/webapp-operator", "--timeout=25s")
    kubectl.apply(
        {
            "apiVersion": "example.com/v1",
            "kind": "WebApp",
            "metadata": {"name": "shop"},
            "spec": {"image": "shop:1", "replicas": 0},
        }
    )
    kubectl("wait", "webapp/shop", "--for=jsonpath={.status.phase}=Ready", "--timeout=25s")
    assert kubectl.get("deployment shop")["spec"]["replicas"] == 0
    told = steer("why", "webapp/shop", "--kubeconfig", str(kubectl.kubeconfig))
    assert "wrote  apply deployments default/shop" in told
    kubectl("delete", "webapp", "shop", "--timeout=25s")
    refused = [line for line in there("logs", "deployment/webapp-operator").lines if "forbidden" in line]
    assert refused == []


def test_what_was_applied_can_be_applied_again(kubectl: Kubectl) -> None:
    text = manifests("--name", "again", "--ha", "lease", "--replicas", "0")
    there = kubectl.within("again")
    there("apply", "-f", "-", stdin=text)
    assert {line.rsplit(" ", 1)[1] for line in there("apply", "-f", "-", stdin=text).lines} == {"unchanged"}


def test_a_raft_cluster_is_applied(kubectl: Kubectl) -> None:
    shop = WEBAPP.parents[1] / "05-dependents" / "shop.py"
    text = steer("manifests", str(shop), "--image", IMAGE, "--ha", "raft", "--replicas", "0")
    there = kubectl.within("shop-operator")
    there("apply", "-f", "-", stdin=text)
    assert there.get("statefulset shop-operator")["spec"]["podManagementPolicy"] == "Parallel"
    assert there.get("service shop-operator-headless")["spec"]["publishNotReadyAddresses"] is True
