"""What the figures are compared to.

`PEER` was measured with kube-apiserver 1.37 and etcd 3.4 (both processes together) on two virtual CPUs over
loopback, quiet, with the same load: ConfigMaps of 1 KB, TLS, 32 connections. `BAR` is what this project asks
of itself on that kind of machine.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BAR",
    "GUARDED_CREATE_CPU_MS",
    "PEER",
    "PEER_LISTED_OBJECTS",
    "PEER_RATES",
    "Costs",
    "Peer",
    "Rates",
]


@dataclass(frozen=True, slots=True)
class Costs:
    create_cpu_ms: float
    get_cpu_ms: float
    listed_object_cpu_us: float
    memory_mb: float
    ready_s: float


@dataclass(frozen=True, slots=True)
class Rates:
    creates: float
    gets: float
    lists: float


@dataclass(frozen=True, slots=True)
class Peer:
    costs: Costs
    rates: Rates
    #: How many objects its lists had.
    listed_objects: int
    #: In this very run.
    measured: bool = False


PEER = Costs(create_cpu_ms=0.83, get_cpu_ms=0.41, listed_object_cpu_us=9.7, memory_mb=679, ready_s=3.0)
BAR = Costs(create_cpu_ms=0.20, get_cpu_ms=0.08, listed_object_cpu_us=1.0, memory_mb=120, ready_s=0.7)

#: The bar for a create by a service account: its token, RBAC and admission included.
GUARDED_CREATE_CPU_MS = 0.25

#: Per second.
PEER_RATES = Rates(creates=2200, gets=4444, lists=8.8)
PEER_LISTED_OBJECTS = 17_600
