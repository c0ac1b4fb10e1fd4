"""The forwarder process, which carries the connections of Services: `python -m
steersman.cluster.proxy.forwarder FD [SOCKET LOCK…]`.

It receives its frontends and their routes over a socket (see `frontends`), and ends when that is closed. With
a `SOCKET` it outlives its proxy: the next proxy connects to it there. It ends by itself when it is alone and
none of the `LOCK` files is locked any more, by those it works for. A frontend without backends does not
listen, so that the kernel refuses connections at once. Standard library only: it must start fast and stay
small.
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
from collections.abc import Sequence
from typing import Any, Final

from steersman.cluster.proxy.balancing import Affinities, Balancer
from steersman.cluster.proxy.datagrams import Datagrams
from steersman.cluster.proxy.events import IN, EventLoop
from steersman.cluster.proxy.frontends import (
    VERSION,
    Frontend,
    FrontendRoute,
    frontend_from_json,
    route_from_json,
)
from steersman.cluster.proxy.relay import Pipes, Relay

__all__ = ["Forwarder", "main"]

_BACKLOG: Final = 4096
#: Connections accepted at one frontend before others have their turn.
_TURNS: Final = 64
_READ: Final = 1 << 20
_LOCKS: Final = "/proc/locks"


class Forwarder:
    """All frontends and their connections."""

    def __init__(
        self, control: socket.socket, successors: socket.socket | None = None, locks: Sequence[str] = ()
    ) -> None:
        """`successors` listens for who takes over the control, if anybody may."""
        self._control: socket.socket | None = None
        self._successors = successors
        self._locks = locks
        self._events = EventLoop()
        self._affinities = Affinities()
        self._pipes = Pipes()
        self._balancers: dict[Frontend, Balancer] = {}
        self._listeners: dict[Frontend, socket.socket | Datagrams] = {}
        self._relays: set[Relay] = set()
        self._unread = bytearray()
        #: Given up for a moment when there are no descriptors left, to get rid of who asks for one.
        self._reserve = os.open(os.devnull, os.O_RDONLY)
        self._events.every_tick(self._tick)
        if successors is not None:
            self._events.add(successors.fileno(), IN, self._on_successor)
        self._attach_control(control)

    def run(self) -> None:
        """Until nobody needs it."""
        try:
            self._events.run()
        finally:
            for frontend in list(self._balancers):
                self._close(frontend)
            for relay in list(self._relays):
                relay.close()
            self._pipes.close()
            os.close(self._reserve)
            # Whoever waits for the end finds nothing open any more.
            if self._control is not None:
                self._control.close()
            self._events.close()

    def _tick(self, now: float) -> None:
        if self._control is None and not _is_any_locked(self._locks):
            self._events.stop()
        for relay in [relay for relay in self._relays if relay.deadline]:
            relay.expire(now)
        for listener in self._listeners.values():
            if isinstance(listener, Datagrams):
                listener.expire(now)

    # --- who says what to do

    def _attach_control(self, control: socket.socket) -> None:
        self._control = control
        self._unread.clear()
        self._events.add(control.fileno(), IN, self._on_control)
        self._send({"version": VERSION, "pid": os.getpid(), "open": list(self._balancers)})

    def _on_successor(self, mask: int) -> None:
        assert self._successors is not None
        try:
            successor, _ = self._successors.accept()
        except OSError:
            return
        self._leave_control()
        self._attach_control(successor)

    def _leave_control(self) -> None:
        if self._control is not None:
            self._events.remove(self._control.fileno())
            self._control.close()
            self._control = None

    def _lose_control(self) -> None:
        self._leave_control()
        if self._successors is None:
            self._events.stop()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._control is not None
        try:
            self._control.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self._lose_control()

    def _on_control(self, mask: int) -> None:
        assert self._control is not None
        try:
            data = self._control.recv(_READ, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose_control()
            return
        self._unread += data
        *lines, rest = self._unread.split(b"\n")
        self._unread = bytearray(rest)
        for message in map(json.loads, lines):
            if "end" in message:
                self._events.stop()
                return
            answer = self._obey(message)
            if self._control is not None:
                self._send(answer)

    # --- what to do

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

    def _open(self, frontend: Frontend, route: FrontendRoute) -> None:
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


def _is_any_locked(paths: Sequence[str]) -> bool:
    """Without trying: who tries holds a lock for a moment, and keeps others from it."""
    with open(_LOCKS, encoding="ascii") as file:
        locked = {line.split()[5].rpartition(":")[2] for line in file if "->" not in line}
    for path in paths:
        with contextlib.suppress(OSError):
            if str(os.stat(path).st_ino) in locked:
                return True
    return False


def _listen(path: str) -> socket.socket:
    """At a path that may be longer than those of sockets."""
    folder, name = os.path.split(path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"/proc/self/fd/{at}/{name}")
    os.close(at)
    os.chmod(path, 0o600)
    listener.listen()
    return listener


def main(arguments: list[str]) -> None:
    descriptor, *rest = arguments
    # The terminal's interrupt is for the cluster, which then ends this process in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    control = socket.socket(fileno=int(descriptor))
    if not rest:
        Forwarder(control).run()
        return
    # Whoever started this has no child to wait for.
    if os.fork():
        os._exit(0)
    path, *locks = rest
    with _listen(path) as successors:
        Forwarder(control, successors, locks).run()


if __name__ == "__main__":
    main(sys.argv[1:])
