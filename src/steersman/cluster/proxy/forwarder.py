"""The process that carries connections: `python -m steersman.cluster.proxy.forwarder DESCRIPTOR`.

It is told over a socket which frontends to open and where they lead (see `frontends`), and ends when that is
closed. A frontend without backends does not listen, so that the kernel refuses connections at once. Standard
library only: it must start fast and stay small.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import signal
import socket
import sys
from typing import Any, Final

from steersman.cluster.proxy.balancing import Affinities, Balancer
from steersman.cluster.proxy.datagrams import Datagrams
from steersman.cluster.proxy.events import IN, Events
from steersman.cluster.proxy.frontends import Frontend, Route, frontend_from_json, route_from_json
from steersman.cluster.proxy.relay import Pipes, Relay

__all__ = ["Forwarder", "main"]

_BACKLOG: Final = 4096
#: Connections accepted at one frontend before others have their turn.
_TURNS: Final = 64
_READ: Final = 1 << 20


class Forwarder:
    """All frontends, and the connections that came through them."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._events = Events()
        self._affinities = Affinities()
        self._pipes = Pipes()
        self._balancers: dict[Frontend, Balancer] = {}
        self._listeners: dict[Frontend, socket.socket | Datagrams] = {}
        self._relays: set[Relay] = set()
        self._unread = bytearray()
        #: Given up for a moment when there are no descriptors left, to get rid of who asks for one.
        self._reserve = os.open(os.devnull, os.O_RDONLY)
        self._events.add(control.fileno(), IN, self._on_control)
        self._events.every_tick(self._tick)

    def run(self) -> None:
        """Until the other side of the control socket is closed."""
        try:
            self._events.run()
        finally:
            for frontend in list(self._balancers):
                self._close(frontend)
            for relay in list(self._relays):
                relay.close()
            self._pipes.close()
            self._events.close()
            os.close(self._reserve)

    def _tick(self, now: float) -> None:
        for relay in [relay for relay in self._relays if relay.deadline]:
            relay.expire(now)
        for listener in self._listeners.values():
            if isinstance(listener, Datagrams):
                listener.expire(now)

    # --- what to do

    def _on_control(self, mask: int) -> None:
        try:
            data = self._control.recv(_READ, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._events.stop()
            return
        self._unread += data
        *lines, rest = self._unread.split(b"\n")
        self._unread = bytearray(rest)
        for line in lines:
            answer = json.dumps(self._obey(json.loads(line))).encode() + b"\n"
            try:
                self._control.sendall(answer)
            except OSError:
                self._events.stop()

    def _obey(self, message: dict[str, Any]) -> dict[str, Any]:
        for each in message["close"]:
            self._close(frontend_from_json(each))
        failed = []
        for each, route in message["open"]:
            frontend = frontend_from_json(each)
            try:
                self._open(frontend, route_from_json(route))
            except OSError as error:
                self._close(frontend)
                failed.append((frontend, error.errno or errno.EINVAL))
        used = {relay.at for relay in self._relays}.intersection(message["asked"]) if message["asked"] else ()
        return {"number": message["number"], "failed": failed, "used": list(used)}

    def _open(self, frontend: Frontend, route: Route) -> None:
        balancer = self._balancers.get(frontend)
        if balancer is None:
            balancer = self._balancers[frontend] = Balancer(route, self._affinities)
        else:
            if balancer.route.affinity_group != route.affinity_group or not route.affinity_s:
                self._affinities.forget(balancer.route.affinity_group)
            balancer.route = route
        if not route.backends:
            self._stop_listening(frontend)
        elif frontend not in self._listeners:
            self._listen(frontend, balancer)
        elif isinstance(listener := self._listeners[frontend], Datagrams):
            listener.follow_route()

    def _close(self, frontend: Frontend) -> None:
        self._stop_listening(frontend)
        if (balancer := self._balancers.pop(frontend, None)) is not None:
            self._affinities.forget(balancer.route.affinity_group)

    # --- listening

    def _listen(self, frontend: Frontend, balancer: Balancer) -> None:
        is_tcp = frontend.protocol == "TCP"
        family = socket.AF_INET6 if ":" in frontend.address else socket.AF_INET
        kind = socket.SOCK_STREAM if is_tcp else socket.SOCK_DGRAM
        sock = socket.socket(family, kind | socket.SOCK_NONBLOCK)
        try:
            if is_tcp:
                # A frontend may come back while old connections of it are still ending.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((frontend.address, frontend.port))
            if not is_tcp:
                self._listeners[frontend] = Datagrams(sock, balancer, self._events)
                return
            sock.listen(_BACKLOG)
        except BaseException:
            sock.close()
            raise
        self._listeners[frontend] = sock
        self._events.add(sock.fileno(), IN, lambda mask: self._accept(sock, frontend.address, balancer))

    def _stop_listening(self, frontend: Frontend) -> None:
        listener = self._listeners.pop(frontend, None)
        if isinstance(listener, Datagrams):
            listener.close()
        elif listener is not None:
            self._events.remove(listener.fileno())
            listener.close()

    def _accept(self, listener: socket.socket, at: str, balancer: Balancer) -> None:
        for _ in range(_TURNS):
            try:
                client, address = listener.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._turn_away(listener)
                return
            client.setblocking(False)
            if balancer.admits(address[0]):
                Relay(client, at, address[0], balancer, self._events, self._pipes, self._relays)
            else:
                client.close()

    def _turn_away(self, listener: socket.socket) -> None:
        """Without a descriptor a client cannot even be refused, and would be announced forever."""
        os.close(self._reserve)
        with contextlib.suppress(OSError):
            listener.accept()[0].close()
        self._reserve = os.open(os.devnull, os.O_RDONLY)


def main(arguments: list[str]) -> None:
    # The terminal's interrupt is for the cluster, which then ends this process in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with socket.socket(fileno=int(arguments[0])) as control:
        Forwarder(control).run()


if __name__ == "__main__":
    main(sys.argv[1:])
