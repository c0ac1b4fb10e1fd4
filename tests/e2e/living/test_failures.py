"""What happens when a part of the cluster is gone, and when it is back: the design's table of failures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.steer import running

from .parts import NAMESPACE, Parts, condition, deployment, soon, started

pytestmark = pytest.mark.slow

DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
NODES = ("node-1", "node-2", "node-3")
AGENTS = ("nodes-1", "nodes-3")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-3"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    """Everything runs, each part in a process of its own: nodes 1 and 2 in one, node 3 in another."""
    with started(tmp_path) as parts:
        parts.start_controllers()
        parts.start_scheduler()
        parts.start_nodes(2, first=1)
        parts.start_nodes(1, first=3)
        soon(lambda: len(parts.items("/api/v1/nodes")) == 3)
        soon(lambda: all(parts.node_ready(name) == "True" for name in NODES))
        parts.apply(f"{DEPLOYMENTS}/web", deployment("web", 6))
        parts.running(6)
        yield parts


def names(pods: list[dict[str, dict[str, str]]]) -> set[str]:
    return {pod["metadata"]["name"] for pod in pods}


def taints(parts: Parts, node: str) -> set[str]:
    """The effects of a node's taints."""
    return {taint["effect"] for taint in parts.ask("GET", f"/api/v1/nodes/{node}")["spec"].get("taints", ())}


def test_the_api_server_comes_back_and_all_goes_on(parts: Parts) -> None:
    before = names(parts.pods())
    parts.kill_server()
    parts.start_server()
    assert names(parts.pods()) == before
    parts.apply(f"{DEPLOYMENTS}/web", deployment("web", 8))
    assert before < names(list(parts.running(8)))
    soon(lambda: all(parts.node_ready(name) == "True" for name in NODES))


def test_components_wait_for_an_api_server_that_is_not_there(parts: Parts) -> None:
    for part in parts.parts.values():
        part.kill()
    parts.kill_server()
    for part in parts.parts.values():
        part.start()
    parts.start_server()
    parts.apply(f"{DEPLOYMENTS}/web", deployment("web", 8))
    parts.running(8)


def test_without_a_scheduler_pods_wait_and_run_later(parts: Parts) -> None:
    parts.parts["scheduler"].kill()
    parts.apply(f"{DEPLOYMENTS}/web", deployment("web", 8))
    pods = soon(lambda: found if len(found := parts.pods()) == 8 else [])
    assert sum("nodeName" not in pod["spec"] for pod in pods) == 2
    parts.parts["scheduler"].start()
    parts.running(8)


def test_a_standby_takes_over_from_a_killed_controller_manager(parts: Parts) -> None:
    first = parts.holder("kube-controller-manager")
    parts.start_controllers("standby")
    parts.parts["controllers"].kill()
    victim = parts.pods()[0]["metadata"]["name"]
    parts.ask("DELETE", f"{PODS}/{victim}")
    assert victim not in names(list(parts.running(6)))
    assert parts.holder("kube-controller-manager") not in ("", first)


def test_pods_leave_a_node_whose_agent_is_gone(parts: Parts) -> None:
    agent = parts.parts["nodes-3"]
    lost = {pod["metadata"]["name"] for pod in parts.pods() if pod["spec"]["nodeName"] == "node-3"}
    assert lost
    agent.kill()
    soon(lambda: parts.node_ready("node-3") == "Unknown")
    soon(lambda: not lost & names(parts.pods()))
    assert {pod["spec"]["nodeName"] for pod in parts.running(6)} == {"node-1", "node-2"}
    # Nobody knows whether they still run there: their names are kept until the node says that they do not.
    assert lost <= names(parts.items(PODS))
    agent.start()
    soon(lambda: parts.node_ready("node-3") == "True")
    soon(lambda: not taints(parts, "node-3"))
    soon(lambda: not lost & names(parts.items(PODS)))
    parts.running(6)


def test_an_agent_that_is_back_in_time_has_its_pods_still(parts: Parts) -> None:
    before = {pod["metadata"]["uid"]: pod["status"]["startTime"] for pod in parts.pods()}
    agent = parts.parts["nodes-3"]
    agent.kill()
    renewed = parts.ask("GET", LEASE)["spec"]
    agent.start()
    soon(lambda: parts.ask("GET", LEASE)["spec"] != renewed)
    after = parts.running(6)
    assert {pod["metadata"]["uid"]: pod["status"]["startTime"] for pod in after} == before
    assert [status["restartCount"] for pod in after for status in pod["status"]["containerStatuses"]] == [
        0
    ] * 6


def test_while_all_nodes_are_lost_no_pod_is_evicted(parts: Parts) -> None:
    parts.apply(f"{DEPLOYMENTS}/web", deployment("web", 6, tolerated_s=30))
    wanted = {"observedGeneration": 2, "replicas": 6, "updatedReplicas": 6, "readyReplicas": 6}
    soon(lambda: parts.ask("GET", f"{DEPLOYMENTS}/web")["status"].items() >= wanted.items())
    before = names(list(parts.running(6)))
    for name in AGENTS:
        parts.parts[name].kill()
    soon(lambda: all(parts.node_ready(name) == "Unknown" for name in NODES))
    soon(lambda: not any("NoExecute" in taints(parts, name) for name in NODES))
    for name in AGENTS:
        parts.parts[name].start()
    soon(lambda: all(parts.node_ready(name) == "True" for name in NODES))
    assert names(list(parts.running(6))) == before


def test_a_node_that_is_cut_off_loses_its_pods_until_it_is_back(parts: Parts) -> None:
    lost = {pod["metadata"]["name"] for pod in parts.pods() if pod["spec"]["nodeName"] == "node-2"}
    offline = "simulated.steersman.dev/offline"
    parts.merge("/api/v1/nodes/node-2", {"metadata": {"annotations": {offline: "true"}}})
    soon(lambda: parts.node_ready("node-2") == "Unknown")
    soon(lambda: not lost & names(parts.pods()))
    parts.running(6)
    assert lost <= names(parts.items(PODS))
    parts.merge("/api/v1/nodes/node-2", {"metadata": {"annotations": {offline: None}}})
    soon(lambda: parts.node_ready("node-2") == "True")
    soon(lambda: not lost & names(parts.items(PODS)))
    parts.running(6)


def test_a_cluster_that_is_asked_to_end_does_so_without_a_word(tmp_path: Path) -> None:
    with running("--nodes=1", "--runtime=simulated", data=tmp_path) as steer:
        soon(
            lambda: (
                "True" in [condition(node, "Ready") for node in steer.api.get("/api/v1/nodes").json["items"]]
            )
        )
        assert steer.stop() == 0
        assert steer.errors == ""
