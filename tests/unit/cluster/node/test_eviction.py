"""Whom a node under pressure gives up first."""

from __future__ import annotations

from typing import Any

from steersman.cluster.node.eviction import EvictionCandidate, eviction, victim
from steersman.objects.usage import Usage


def candidate(name: str, asks_mib: int, uses_mib: int, priority: int = 0) -> EvictionCandidate:
    container: dict[str, Any] = {"name": "c", "resources": {"requests": {"memory": f"{asks_mib}Mi"}}}
    pod = {"metadata": {"name": name}, "spec": {"priority": priority, "containers": [container]}}
    return EvictionCandidate(pod, {"c": Usage(0.1, uses_mib << 20)})


def name_of(found: EvictionCandidate | None) -> str:
    assert found is not None
    return str(found.pod["metadata"]["name"])


def test_those_beyond_their_request_go_before_the_less_important() -> None:
    modest, greedy = candidate("modest", 100, 50, priority=-1), candidate("greedy", 100, 200, priority=5)
    assert name_of(victim("memory", [modest, greedy])) == "greedy"


def test_the_less_important_go_first() -> None:
    important, other = candidate("important", 100, 900, priority=5), candidate("other", 100, 200)
    assert name_of(victim("memory", [important, other])) == "other"
    assert name_of(victim("pids", [important, other])) == "other"


def test_whoever_exceeds_most_goes_first_among_equals() -> None:
    assert name_of(victim("memory", [candidate("a", 100, 150), candidate("b", 100, 200)])) == "b"


def test_critical_pods_stay() -> None:
    assert victim("memory", [candidate("a", 0, 100, priority=2_000_000_000)]) is None


def test_the_words_of_an_eviction() -> None:
    ending = eviction("memory", candidate("a", 0, 100))
    assert (ending.reason, ending.disruption) == ("Evicted", True)
    assert ending.message == (
        "The node was low on resource: memory. "
        "Container c was using 100Mi, request is 0, has larger consumption of memory. "
    )
    assert eviction("pids", candidate("a", 0, 100)).message == "The node was low on resource: pids. "
