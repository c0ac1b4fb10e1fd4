"""Topology hints of endpoints: the zone that should use each endpoint (`service.kubernetes.io/topology-mode:
Auto`).

Each zone gets a share of the endpoints in proportion to the CPU of its nodes: first those in it, then spare
ones of other zones. If that would load an endpoint much above its share, there are no hints at all. Pure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from steersman.objects.kinds.types.discovery_v1 import Endpoint
from steersman.objects.kinds.views.nodes import NodeShareView
from steersman.objects.quantities import Quantity

__all__ = ["DISABLED", "ENABLED", "Hinting", "NodeShare", "asks_for_hints", "node_share", "zone_ratios"]


ENABLED: Final = "Topology Aware Hints has been enabled"
DISABLED: Final = "Topology Aware Hints has been disabled"
_DEPRECATED: Final = "service.kubernetes.io/topology-aware-hints"
_MODE: Final = "service.kubernetes.io/topology-mode"
_ZONE_LABEL: Final = "topology.kubernetes.io/zone"
_EXCLUDING: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
#: By so much an endpoint may be asked more often than the average one.
_OVERLOAD: Final = 0.2

_UNKNOWN_NODES: Final = (
    "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
)
_FEW_ENDPOINTS: Final = "Insufficient number of endpoints"
_OVERLOADED: Final = (
    "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold"
)
_NO_ZONE: Final = "One or more endpoints do not have a zone specified"


def asks_for_hints(annotations: Mapping[str, str]) -> bool:
    return annotations.get(_DEPRECATED, annotations.get(_MODE)) in ("Auto", "auto")


class NodeShare(NamedTuple):
    """The zone of a node and its CPU in thousandths."""

    zone: str
    cpu: int


_decode = msgspec.json.Decoder(NodeShareView).decode


def node_share(data: bytes) -> NodeShare | None:
    """None for a node that does not count."""
    node = _decode(data)
    labels = node.metadata.labels
    is_ready = any(one.type == "Ready" and one.status == "True" for one in node.status.conditions)
    if not is_ready or any(label in labels for label in _EXCLUDING):
        return None
    cpu = Quantity.parse(node.status.allocatable.get("cpu", "0"))
    return NodeShare(labels.get(_ZONE_LABEL, ""), cpu.milli_value)


def zone_ratios(shares: Iterable[NodeShare]) -> dict[str, float]:
    """The part of the CPU that each zone has; empty if that is not known or there is only one."""
    cpus: Counter[str] = Counter()
    for share in shares:
        if not share.zone or not share.cpu:
            return {}
        cpus[share.zone] += share.cpu
    return {zone: cpu / cpus.total() for zone, cpu in sorted(cpus.items())} if len(cpus) > 1 else {}


class Hinting:
    """Assigns hints to the endpoints of one Service."""

    def __init__(self, ratios: Mapping[str, float]) -> None:
        self._ratios = ratios
        #: Why there are none, by address type; empty where there are.
        self.problems: dict[str, str] = {}

    def give(self, family: str, endpoints: Sequence[Endpoint]) -> None:
        """Put hints on those that are ready."""
        ready = [one for one in endpoints if one["conditions"]["ready"]]
        wanted = _wanted(self._ratios, len(ready))
        if not isinstance(wanted, str) and not all(one.get("zone") for one in ready):
            wanted = _NO_ZONE
        if isinstance(wanted, str):
            self.problems[family] = wanted
            return
        self.problems[family] = ""
        for endpoint, zone in zip(ready, _assigned([one["zone"] for one in ready], wanted), strict=True):
            endpoint["hints"] = {"forZones": [{"name": zone}]}


def _wanted(ratios: Mapping[str, float], count: int) -> dict[str, float] | str:
    """How many endpoints each zone should have, or why that does not work."""
    if not ratios:
        return _UNKNOWN_NODES
    numbers = f"({count} endpoints, {len(ratios)} zones)"
    if len(ratios) > count:
        return f"{_FEW_ENDPOINTS} {numbers}"
    least = {zone: math.ceil(ratio * count * (1 / (1 + _OVERLOAD))) for zone, ratio in ratios.items()}
    if sum(least.values()) > count:
        return f"{_OVERLOADED} {numbers}"
    return {zone: max(ratio * count, float(least[zone])) for zone, ratio in ratios.items()}


def _assigned(zones: Sequence[str], wanted: Mapping[str, float]) -> list[str]:
    """The zone for each endpoint, given the one it is in."""
    giving, receiving = _exchange(Counter(zones), wanted)
    assigned = []
    for zone in zones:
        to = next((other for other, left in receiving.items() if left), "") if giving[zone] else ""
        if to:
            giving[zone] -= 1
            receiving[to] -= 1
        assigned.append(to or zone)
    return assigned


def _exchange(has: Mapping[str, int], wanted: Mapping[str, float]) -> tuple[Counter[str], Counter[str]]:
    """How many endpoints zones give away, and get."""
    spare = {zone: has.get(zone, 0) - want for zone, want in wanted.items()}
    missing = {zone: -more for zone, more in spare.items()}
    giving: Counter[str] = Counter()
    receiving: Counter[str] = Counter()
    while True:
        giver, taker = max(spare, key=spare.__getitem__), max(missing, key=missing.__getitem__)
        most, least = max(spare[giver], missing[taker]), min(spare[giver], missing[taker])
        if most < 1.0 or least < 0.5:
            return giving, receiving
        giving[giver] += 1
        receiving[taker] += 1
        spare[giver] -= 1
        missing[taker] -= 1
