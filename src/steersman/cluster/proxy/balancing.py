"""Choosing a backend for a client: round robin, and session affinity (ClientIP).

Used by the forwarder for connections and datagrams alike.
"""

from __future__ import annotations

import random
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from ipaddress import ip_address, ip_network
from typing import Final

from steersman.cluster.proxy.frontends import Backend, FrontendRoute

__all__ = ["Affinities", "Balancer"]

#: Clients remembered by one group; those that came longest ago are forgotten first.
_MOST_CLIENTS: Final = 10_000


class Affinities:
    """The session affinities of clients, by group of frontends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._groups: dict[str, OrderedDict[str, tuple[Backend, float]]] = {}

    def find(self, route: FrontendRoute, client: str) -> Backend | None:
        """The client's backend, if it came back in time and the backend is still one."""
        group = self._groups.get(route.affinity_group)
        known = None if group is None else group.get(client)
        if known is None or self._clock() - known[1] > route.affinity_s or known[0] not in route.backends:
            return None
        return known[0]

    def note(self, route: FrontendRoute, client: str, backend: Backend) -> None:
        group = self._groups.setdefault(route.affinity_group, OrderedDict())
        group[client] = (backend, self._clock())
        group.move_to_end(client)
        if len(group) > _MOST_CLIENTS:
            group.popitem(last=False)

    def forget(self, group: str) -> None:
        self._groups.pop(group, None)


class Balancer:
    """Chooses backends of one frontend."""

    __slots__ = ("_affinities", "_networks", "_next", "_route")

    def __init__(self, route: FrontendRoute, affinities: Affinities) -> None:
        self._affinities = affinities
        # Not always the first: many short-lived frontends would all begin with the same backend.
        self._next = random.randrange(1 << 16)
        self.route = route

    @property
    def route(self) -> FrontendRoute:
        return self._route

    @route.setter
    def route(self, route: FrontendRoute) -> None:
        self._route = route
        self._networks = [ip_network(source, strict=False) for source in route.sources]

    def admits(self, client: str) -> bool:
        if not self._networks:
            return True
        address = ip_address(client)
        return any(address in network for network in self._networks)

    def candidates(self, client: str) -> Iterator[Backend]:
        """All backends, the one to be tried first first."""
        route = self._route
        kept = self._affinities.find(route, client) if route.affinity_s else None
        if kept is not None:
            yield kept
        backends = route.backends
        start = self._next = (self._next + 1) % len(backends) if backends else 0
        for offset in range(len(backends)):
            backend = backends[(start + offset) % len(backends)]
            if backend != kept:
                yield backend

    def chosen(self, client: str, backend: Backend) -> None:
        """The client was led there."""
        if self._route.affinity_s:
            self._affinities.note(self._route, client, backend)
