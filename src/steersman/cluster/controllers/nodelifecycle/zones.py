"""The rate at which nodes are tainted NoExecute, by zone. Pure.

It is zero when every zone is down, since then the controller is more likely cut off from the nodes than the
nodes dead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from steersman.cluster.controllers.nodelifecycle.health import Zone

__all__ = ["EvictionRates", "Verdict", "Zones", "zone_state"]

State = Literal["initial", "normal", "partial", "full"]
Verdict = Literal["", "all lost", "some back"]


@dataclass(frozen=True, slots=True)
class EvictionRates:
    """The number of nodes of a zone tainted per second."""

    rate: float = 0.1
    #: For large zones of which most is not ready.
    reduced_rate: float = 0.01
    large: int = 50
    unhealthy_share: float = 0.55


def zone_state(ready: int, not_ready: int, unhealthy_share: float) -> State:
    if not_ready and not ready:
        return "full"
    if not_ready > 2 and not_ready / (ready + not_ready) >= unhealthy_share:
        return "partial"
    return "normal"


@dataclass(slots=True, eq=False)
class _Zone:
    """The nodes and the rate limit of one zone."""

    rate: float
    state: State = "initial"
    #: Monotonic time from which the next node may be tainted.
    next_at: float = 0.0
    #: Nodes that are to be tainted, the one that has waited longest first.
    waiting: dict[str, None] = field(default_factory=dict)

    def set_rate(self, rate: float, now: float) -> None:
        if rate != self.rate:
            self.rate, self.next_at = rate, now

    def grant(self, now: float) -> list[str]:
        """The nodes whose turn it is."""
        if not self.waiting or not self.rate or now < self.next_at:
            return []
        node = next(iter(self.waiting))
        del self.waiting[node]
        self.next_at = now + 1 / self.rate
        return [node]


class Zones:
    """All zones, and the nodes queued for the NoExecute taint."""

    def __init__(self, rates: EvictionRates) -> None:
        self._rates = rates
        self._zones: dict[Zone, _Zone] = {}
        #: While no node is ready anywhere, none is tainted and none keeps its taint.
        self.all_lost = False

    def wait(self, zone: Zone, node: str) -> None:
        """A node is to be tainted, when it is its turn."""
        self._zone(zone).waiting.setdefault(node)

    def forget(self, node: str) -> None:
        """A node is not to be tainted (any more)."""
        for zone in self._zones.values():
            zone.waiting.pop(node, None)

    def judge(self, nodes: Iterable[tuple[Zone, bool]], now: float) -> Verdict:
        """Given zone and readiness of all nodes that count: set what each zone may do.

        Returns whether the last ready node is lost or the first one is back.
        """
        counts: dict[Zone, list[int]] = {}
        for name, ready in nodes:
            counts.setdefault(name, [0, 0])[ready] += 1
        self._forget_zones(counts)
        states = {
            name: zone_state(ready, not_ready, self._rates.unhealthy_share)
            for name, (not_ready, ready) in counts.items()
        }
        all_lost = bool(states) and all(state == "full" for state in states.values())
        was_lost, self.all_lost = self.all_lost, all_lost
        for name, state in states.items():
            zone = self._zone(name)
            zone.state = state
            zone.set_rate(0.0 if all_lost else self._rate(state, sum(counts[name])), now)
        if all_lost:
            return "" if was_lost else "all lost"
        return "some back" if was_lost else ""

    def grant(self, now: float) -> list[str]:
        """The nodes to taint now."""
        return [node for zone in self._zones.values() for node in zone.grant(now)]

    def next_grant_s(self, now: float) -> float | None:
        """How long until there is something to grant; None if nobody waits."""
        waits = [zone.next_at - now for zone in self._zones.values() if zone.waiting and zone.rate]
        return max(min(waits), 0.0) if waits else None

    def state(self, zone: Zone) -> State:
        return self._zone(zone).state

    def _rate(self, state: State, size: int) -> float:
        if state != "partial":
            return self._rates.rate
        return self._rates.reduced_rate if size > self._rates.large else 0.0

    def _zone(self, zone: Zone) -> _Zone:
        found = self._zones.get(zone)
        if found is None:
            found = self._zones[zone] = _Zone(self._rates.rate)
        return found

    def _forget_zones(self, present: Mapping[Zone, Collection[int]]) -> None:
        """A zone without nodes that count has no state; those of its nodes that wait keep waiting."""
        for zone in [zone for zone in self._zones if zone not in present]:
            if not self._zones[zone].waiting:
                del self._zones[zone]
