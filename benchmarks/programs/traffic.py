"""Both ends of measured connections: `traffic.py serve`, `send ADDRESS PORT SECONDS`, `ask … CONNECTIONS`,
`connect …`.

The server prints its ports: one where bytes are swallowed, and told how many at the end; one where every
message of 64 bytes is sent back. Blocking sockets and an own epoll loop: as little in the
way as Python allows.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import threading
import time

MESSAGE = b"m" * 64
_SENT_AT_ONCE = bytes(1 << 18)


def serve() -> None:
    sink, echo = (socket.create_server(("127.0.0.1", 0), backlog=1024) for _ in range(2))
    print(json.dumps({"sink": sink.getsockname()[1], "echo": echo.getsockname()[1]}), flush=True)
    threading.Thread(target=_swallow, args=(sink,), daemon=True).start()
    threading.Thread(target=_echo, args=(echo,), daemon=True).start()
    sys.stdin.read()


def _swallow(listener: socket.socket) -> None:
    room = bytearray(1 << 20)
    while True:
        connection, _ = listener.accept()
        with connection:
            count = 0
            while more := connection.recv_into(room):
                count += more
            connection.sendall(count.to_bytes(8, "big"))


def _echo(listener: socket.socket) -> None:
    epoll, known = select.epoll(), {}
    listener.setblocking(False)
    epoll.register(listener, select.EPOLLIN)
    while True:
        for descriptor, _ in epoll.poll():
            if descriptor == listener.fileno():
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                known[connection.fileno()] = connection
                epoll.register(connection, select.EPOLLIN)
            elif not _answered(known[descriptor]):
                known.pop(descriptor).close()


def _answered(connection: socket.socket) -> bool:
    try:
        data = connection.recv(4096)
        connection.sendall(data)
    except OSError:
        return False  # a client that has measured enough does not wait for the last answer
    return bool(data)


def send(address: str, port: int, seconds: float) -> dict[str, float]:
    """As many bytes as go through in a while."""
    with socket.create_connection((address, port)) as sock:
        started = time.monotonic()
        while time.monotonic() < started + seconds:
            sock.sendall(_SENT_AT_ONCE)
        sock.shutdown(socket.SHUT_WR)
        count = int.from_bytes(sock.recv(8), "big")
        return {"mb_per_s": count / (time.monotonic() - started) / 1e6}


def ask(address: str, port: int, seconds: float, connections: int) -> dict[str, float]:
    """One message at a time on each connection."""
    epoll, known, asked = select.epoll(), {}, {}
    for _ in range(connections):
        sock = socket.create_connection((address, port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        known[sock.fileno()] = sock
        epoll.register(sock, select.EPOLLIN)
    times: list[float] = []
    started = time.perf_counter()
    for descriptor, sock in known.items():
        asked[descriptor] = time.perf_counter()
        sock.sendall(MESSAGE)
    while (now := time.perf_counter()) < started + seconds:
        for descriptor, _ in epoll.poll():
            assert known[descriptor].recv(4096) == MESSAGE
            now = time.perf_counter()
            times.append(now - asked[descriptor])
            asked[descriptor] = now
            known[descriptor].sendall(MESSAGE)
    for sock in known.values():
        sock.close()
    return _figures(times, now - started)


def connect(address: str, port: int, seconds: float) -> dict[str, float]:
    """A new connection for each message."""
    times: list[float] = []
    started = then = time.perf_counter()
    while then < started + seconds:
        with socket.create_connection((address, port)) as sock:
            sock.sendall(MESSAGE)
            assert sock.recv(4096) == MESSAGE
        now = time.perf_counter()
        times.append(now - then)
        then = now
    return _figures(times, then - started)


def _figures(times: list[float], seconds: float) -> dict[str, float]:
    times.sort()
    return {
        "per_s": len(times) / seconds,
        "p50_us": times[len(times) // 2] * 1e6,
        "p99_us": times[len(times) * 99 // 100] * 1e6,
    }


def main(what: str, *arguments: str) -> None:
    if what == "serve":
        serve()
        return
    address, port, seconds, *rest = arguments
    call = {"send": send, "ask": ask, "connect": connect}[what]
    print(json.dumps(call(address, int(port), float(seconds), *map(int, rest))))  # type: ignore[operator]


if __name__ == "__main__":
    main(*sys.argv[1:])
