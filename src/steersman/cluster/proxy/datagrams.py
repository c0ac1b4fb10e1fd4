"""Forwarding of UDP datagrams to backends. A client and its backend are a flow, with a socket of its own for
answers.

A flow ends after a time without datagrams, when its backend is removed, or when the backend does not listen;
the client's next datagram begins another.
"""

from __future__ import annotations

import socket
import time
from collections import OrderedDict
from functools import partial
from typing import Any, Final

from steersman.cluster.proxy.balancing import Balancer
from steersman.cluster.proxy.events import IN, EventLoop
from steersman.cluster.proxy.frontends import Backend

__all__ = ["Datagrams"]

_IDLE_S: Final = 60.0
#: Flows of one frontend; the one that was used longest ago makes room.
_MOST_FLOWS: Final = 4096
_LARGEST: Final = 1 << 16
_TURNS: Final = 64


class _Flow:
    """A client, its backend and their socket."""

    __slots__ = ("backend", "client", "sock", "used")

    def __init__(self, client: Any, backend: Backend, sock: socket.socket) -> None:
        self.client = client
        self.backend = backend
        self.sock = sock
        self.used = 0.0


class Datagrams:
    """One UDP frontend."""

    def __init__(self, sock: socket.socket, balancer: Balancer, events: EventLoop) -> None:
        self._sock = sock
        self._balancer = balancer
        self._events = events
        self._flows: OrderedDict[Any, _Flow] = OrderedDict()
        events.add(sock.fileno(), IN, self._on_clients)

    def __len__(self) -> int:
        return len(self._flows)

    def follow_route(self) -> None:
        """End the flows to backends that are none any more."""
        backends = set(self._balancer.route.backends)
        for flow in list(self._flows.values()):
            if flow.backend not in backends:
                self._end(flow)

    def expire(self, now: float) -> None:
        for flow in list(self._flows.values()):
            if now - flow.used < _IDLE_S:
                return
            self._end(flow)

    def close(self) -> None:
        for flow in list(self._flows.values()):
            self._end(flow)
        self._events.remove(self._sock.fileno())
        self._sock.close()

    def _on_clients(self, mask: int) -> None:
        for _ in range(_TURNS):
            try:
                data, client = self._sock.recvfrom(_LARGEST)
            except OSError:
                return
            flow = self._flows.get(client) or self._begin(client)
            if flow is None:
                continue
            self._used(flow)
            try:
                flow.sock.send(data)
            except BlockingIOError:
                continue  # datagrams may be lost
            except OSError:
                self._end(flow)

    def _begin(self, client: Any) -> _Flow | None:
        if not self._balancer.admits(client[0]):
            return None
        for backend in self._balancer.candidates(client[0]):
            family = socket.AF_INET6 if ":" in backend.address else socket.AF_INET
            try:
                sock = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            except OSError:
                return None
            if sock.connect_ex(backend):
                sock.close()
                continue
            if len(self._flows) >= _MOST_FLOWS:
                self._end(next(iter(self._flows.values())))
            flow = self._flows[client] = _Flow(client, backend, sock)
            self._events.add(sock.fileno(), IN, partial(self._on_backend, flow))
            self._balancer.chosen(client[0], backend)
            return flow
        return None

    def _on_backend(self, flow: _Flow, mask: int) -> None:
        for _ in range(_TURNS):
            try:
                data = flow.sock.recv(_LARGEST)
            except BlockingIOError:
                return
            except OSError:
                self._end(flow)
                return
            self._used(flow)
            try:
                self._sock.sendto(data, flow.client)
            except OSError:
                continue  # the client is not there, or does not take it

    def _used(self, flow: _Flow) -> None:
        flow.used = time.monotonic()
        self._flows.move_to_end(flow.client)

    def _end(self, flow: _Flow) -> None:
        if self._flows.pop(flow.client, None) is not None:
            self._events.remove(flow.sock.fileno())
            flow.sock.close()
