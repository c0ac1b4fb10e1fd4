"""Since when endpoints have been wrong."""

from __future__ import annotations

from steersman.cluster.controllers.endpoints.trigger_times import TriggerTimes
from steersman.runtime import Key
from tests.unit.cluster.controllers.endpoints.endpoint_objects import pod, service

CREATED = "2026-01-01T00:00:00Z"
LATER, LATEST = "2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"


def test_the_earliest_change_since_the_last_look_counts() -> None:
    times = TriggerTimes()
    one, other = pod("a", "10.1.0.1"), pod("b", "10.1.0.2")
    assert times.changed_at(service(), [one]) == CREATED
    assert times.changed_at(service(), [one]) == ""
    changed = [pod("a", "10.1.0.1", ready_at=LATEST), pod("b", "10.1.0.2", ready_at=LATER)]
    assert times.changed_at(service(), changed) == LATER
    assert times.changed_at(service(), changed) == ""
    assert times.changed_at(service(), [other]) == ""
    times.forget(Key("ns", "web"))
    assert times.changed_at(service(), [other]) == CREATED
