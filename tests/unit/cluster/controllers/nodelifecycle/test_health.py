"""When a node was last heard of, and what is said of one that is silent."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from steersman.cluster.controllers.nodelifecycle.health import (
    STARTUP_GRACE_S,
    NodeHealthData,
    NodeState,
    ObservationGaps,
    silent_conditions,
)
from steersman.runtime import Cached

CREATED = "2026-01-01T00:00:00Z"
CREATED_AT = 1767225600.0
GRACE_S = 50.0


def node(ready: str = "True", heartbeat: str = "t1", **labels: str) -> NodeState:
    conditions = [{"type": "Ready", "status": ready, "lastHeartbeatTime": heartbeat}] if ready else []
    obj = {
        "metadata": {"name": "n", "uid": "u", "creationTimestamp": CREATED, "labels": labels},
        "status": {"conditions": conditions},
    }
    return NodeState.read(Cached("", "n", 1, orjson.dumps(obj)))


def health(state: NodeState | None = None, now: float = 0.0) -> NodeHealthData:
    return NodeHealthData.first_seen(state or node(), now, CREATED_AT + now)


def test_a_node_counts_as_heard_of_when_it_is_first_seen() -> None:
    seen = health(now=1000)
    assert not seen.silent(1000 + GRACE_S, GRACE_S)
    assert seen.silent(1000 + GRACE_S + 1, GRACE_S)


def test_a_node_that_never_reported_is_silent_since_it_was_made() -> None:
    seen = health(node(ready=""), now=30)
    assert not seen.silent(STARTUP_GRACE_S, GRACE_S)
    assert seen.silent(STARTUP_GRACE_S + 1, GRACE_S)


@pytest.mark.parametrize(
    ("new", "heard"),
    [
        pytest.param(node(heartbeat="t2"), True, id="another heartbeat"),
        pytest.param(node(ready="False", heartbeat="t2"), True, id="another status"),
        pytest.param(node(heartbeat="t1"), False, id="the same heartbeat"),
        pytest.param(node(ready="Unknown", heartbeat="t1"), False, id="marked by another writer"),
    ],
)
def test_only_heartbeats_are_signs_of_life(new: NodeState, heard: bool) -> None:
    seen = health()
    seen.see(new, 40)
    assert (seen.heard_at == 40) is heard


def test_every_renewal_of_the_lease_is_a_sign_of_life() -> None:
    seen = health()
    assert seen.see_lease("2026-01-01T00:00:10Z", 10)
    assert not seen.see_lease("2026-01-01T00:00:10Z", 20)
    assert seen.heard_at == 10
    assert seen.see_lease("2026-01-01T00:00:05Z", 30)  # its clock was put right
    assert not seen.see_lease("", 40)
    assert seen.heard_at == 30


def test_a_node_with_a_longer_lease_may_be_silent_for_longer() -> None:
    seen = health()
    seen.see_lease("2026-01-01T00:00:10Z", 10, lease_s=400)
    assert not seen.silent(10 + 10 * GRACE_S, GRACE_S)
    assert seen.silent(10 + 10 * GRACE_S + 1, GRACE_S)
    seen.see_lease("2026-01-01T00:00:20Z", 20, lease_s=4)
    assert not seen.silent(20 + GRACE_S, GRACE_S)
    assert seen.silent(20 + GRACE_S + 1, GRACE_S)


def test_being_given_up_is_no_sign_of_life() -> None:
    seen = health(node(ready=""))
    seen.marked_unknown(node(ready="Unknown"))
    assert (seen.ready, seen.heard_at) == ("Unknown", 0)


def test_zones_are_told_by_labels() -> None:
    labels = {"topology.kubernetes.io/region": "r", "failure-domain.beta.kubernetes.io/zone": "z"}
    assert node(**labels).zone == ("r", "z")
    assert node().zone == ("", "")


def test_what_a_silent_node_said_is_unknown_now() -> None:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": "h"}
    pressed = {"type": "DiskPressure", "status": "Unknown", "reason": "old"}
    network = {"type": "NetworkUnavailable", "status": "False"}
    obj: dict[str, Any] = {
        "metadata": {"creationTimestamp": CREATED},
        "status": {"conditions": [ready, pressed, network]},
    }
    told = {one["type"]: one for one in silent_conditions(obj, "now")}
    assert told["Ready"] == {
        "type": "Ready",
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastHeartbeatTime": "h",
        "lastTransitionTime": "now",
    }
    assert told["DiskPressure"] == pressed
    assert told["NetworkUnavailable"] == network
    assert told["PIDPressure"]["reason"] == "NodeStatusNeverUpdated"
    assert told["PIDPressure"]["message"] == "Kubelet never posted node status."
    assert told["PIDPressure"]["lastHeartbeatTime"] == CREATED


def test_time_in_which_nobody_listened_is_told() -> None:
    attention = ObservationGaps(5)
    assert attention.missed_s(1000) == 0
    attention.expect(1005)
    assert attention.missed_s(1003) == 0  # something else was to be done
    attention.expect(1005)
    assert attention.missed_s(1007) == 0  # a little late
    attention.expect(1047)
    assert attention.missed_s(1147) == 100
    attention.expect(1150)
    attention.begin()
    assert attention.missed_s(9000) == 0
