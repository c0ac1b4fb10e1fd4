"""What runs on a node goes on when the API server or the node's agent is away, and is known again after."""

from __future__ import annotations

import http.client
import os
import signal
from collections.abc import Iterator

import pytest

from tests.e2e.living.parts import NAMESPACE, soon
from tests.e2e.nodes.machine_parts import CORE, Asking, MachineParts, machine_parts, service, web

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
REPLICAS = 2


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineParts]:
    with machine_parts(tmp_path_factory.mktemp("stable")) as parts:
        parts.apply(f"{CORE}/services/web", service("web"))
        parts.apply(f"{APPS}/deployments/web", web("web", REPLICAS))
        parts.running(REPLICAS)
        yield parts


@pytest.fixture
def asking(parts: MachineParts) -> Iterator[Asking]:
    asking = Asking(parts.cluster_ip("web"))
    _wait_for_all(parts, asking)
    asking.start()
    yield asking
    asking.end()


def _wait_for_all(parts: MachineParts, asking: Asking) -> None:
    """Every pod is led to."""
    wanted = {pid for pids in parts.processes().values() for pid in pids}
    seen: set[int] = set()

    def all_answered() -> bool:
        seen.add(_answers(asking))
        return seen >= wanted

    soon(all_answered)


def _answers(asking: Asking) -> int:
    """Which process does; 0: none."""
    try:
        return asking.ask()
    except (OSError, http.client.HTTPException, ValueError):
        return 0


def test_without_an_api_server_pods_run_and_restart_and_services_answer(
    parts: MachineParts, asking: Asking
) -> None:
    before, processes = parts.restarts(), parts.processes()
    parts.kill_server()
    answered = asking.answered
    soon(lambda: asking.answered > answered + 100)
    assert asking.failures == []

    (killed,) = processes[before[victim := min(before)][0]]
    os.kill(killed, signal.SIGKILL)
    (other,) = {pid for pids in processes.values() for pid in pids} - {killed}

    def restarted() -> int:
        own = [pid for pids in parts.processes().values() for pid in pids]
        return len(own) == REPLICAS and killed not in own and other in own

    soon(restarted)
    soon(lambda: _answers(asking) not in (0, killed, other))
    parts.start_server()

    soon(lambda: parts.restarts()[victim][1] == before[victim][1] + 1)
    after = parts.restarts()
    assert after.keys() == before.keys()
    parts.running(REPLICAS)
    for name in before.keys() - {victim}:
        assert after[name] == before[name]
    assert after[victim][0] != before[victim][0]
    assert [other] in parts.processes().values()


def test_nothing_is_restarted_when_an_api_server_comes_back(parts: MachineParts, asking: Asking) -> None:
    before, processes = parts.restarts(), parts.processes()
    parts.kill_server()
    parts.start_server()
    renewed = _renewed(parts)
    soon(lambda: _renewed(parts) > renewed)
    parts.running(REPLICAS)
    assert parts.restarts() == before
    assert parts.processes() == processes
    assert asking.failures == []


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_pods_and_connections_are_adopted_by_the_next_agent(
    parts: MachineParts, asking: Asking, end: str
) -> None:
    before, processes, forwarder = parts.restarts(), parts.processes(), parts.forwarder
    pods = parts.pods()
    getattr(parts.agent, end)()
    answered = asking.answered
    soon(lambda: asking.answered > answered + 100)
    assert parts.processes() == processes
    parts.agent.start()
    renewed = _renewed(parts)
    soon(lambda: _renewed(parts) > renewed)
    # The services are the new agent's, and nobody has noticed.
    parts.apply(f"{CORE}/services/{end}", service("web", end))
    beside = Asking(parts.cluster_ip(end))
    soon(lambda: _answers(beside))
    assert parts.forwarder == forwarder
    assert asking.failures == []
    uids = {pod["metadata"]["uid"] for pod in parts.running(REPLICAS)}
    assert uids == {pod["metadata"]["uid"] for pod in pods}
    assert parts.restarts() == before
    assert parts.processes() == processes


def test_an_agent_that_comes_back_does_what_was_asked_of_it_meanwhile(parts: MachineParts) -> None:
    """One pod more and one deleted, of which one ended by itself before."""
    before = parts.restarts()
    parts.agent.kill()
    gone, ended = sorted(before)
    (pid,) = parts.processes()[before[ended][0]]
    os.kill(pid, signal.SIGKILL)
    parts.ask("DELETE", f"{CORE}/pods/{gone}")
    parts.merge(f"{APPS}/deployments/web", {"spec": {"replicas": REPLICAS + 1}})
    parts.agent.start()
    soon(lambda: len(parts.items(f"{CORE}/pods")) == REPLICAS + 1)
    parts.running(REPLICAS + 1)
    after = parts.restarts()
    assert gone not in after
    assert after[ended][1] == before[ended][1] + 1
    assert sorted(parts.processes()) == sorted(container for container, _ in after.values())
    parts.merge(f"{APPS}/deployments/web", {"spec": {"replicas": REPLICAS}})
    soon(lambda: len(parts.items(f"{CORE}/pods")) == REPLICAS)


def _renewed(parts: MachineParts) -> str:
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1"
    time: str = parts.ask("GET", path)["spec"]["renewTime"]
    return time
