"""The keeper's server: handles requests of the node agent, holds containers, reports exits.

Exec commands belong to the connection that requested them and are killed when it ends. Containers do not:
they run until they are stopped, the keeper is told to shut down, or its folder is deleted. A keeper without
connections and containers exits.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from . import cgroups
from .containers import KeeperContainer
from .launching import Launch, spawn
from .loop import Loop
from .protocol import FrameReader, FrameWriter, Message, receive
from .redirection import Redirection

if TYPE_CHECKING:
    from .messages import (
        Attached,
        AttachRequest,
        ContainerRequest,
        Event,
        ExecEnded,
        ExecKillRequest,
        ExecRequest,
        Exited,
        HelloAnswer,
        Spec,
        StartedAnswer,
        StartRequest,
        StopRequest,
        UpdateRequest,
    )

__all__ = ["Keeper"]

_LOOK_S = 2.0
#: For so long an agent may be away while there is nothing to keep for it.
_IDLE_S = 5.0
#: After everything was killed, for the kernel to say so.
_END_S = 5.0


class _Exec:
    """An exec command in a container."""

    __slots__ = ("connection", "id", "pid")

    def __init__(self, exec_id: str, pid: int, connection: _Connection) -> None:
        self.id = exec_id
        self.pid = pid
        self.connection = connection


class _Connection:
    """A connection of a node agent."""

    def __init__(self, keeper: Keeper, sock: socket.socket) -> None:
        self._keeper = keeper
        self._sock = sock
        self._frames = FrameReader()
        self._outgoing = FrameWriter(sock)
        self._waits = False
        #: Nobody hears what is said any more.
        self._is_deaf = False
        self.open = True
        sock.setblocking(False)
        keeper.loop.on_readable(sock.fileno(), self._ready)

    def send(self, message: Mapping[str, Any], fds: list[int] | None = None) -> None:
        if not self.open or self._is_deaf:
            for fd in fds or ():
                os.close(fd)
            return
        self._outgoing.add(message, fds)
        if not self._waits:
            self._flush()

    def _flush(self) -> None:
        try:
            done = self._outgoing.flush()
        except OSError:
            # What it has asked for before it left still counts: it is read to the end.
            self._is_deaf = done = True
            self._outgoing.close()
        if self._waits == done:
            self._waits = not done
            self._keeper.loop.watch(self._sock.fileno(), self._ready, write=self._waits)

    def _ready(self) -> None:
        if self._waits:
            self._flush()
        self._read()

    def drain(self) -> None:
        """Do all that was asked until now."""
        while self.open and self._read():
            pass

    def _read(self) -> bool:
        """Whether there may be more to read."""
        try:
            data, fds = receive(self._sock)
            messages = self._frames.feed(data, fds)
        except BlockingIOError:
            return False
        except (OSError, ValueError):
            data, messages = b"", []
        if not data:
            self.close()
            return False
        for message, given in messages:
            self._keeper.handle(self, message, given)
        return True

    def close(self) -> None:
        if not self.open:
            return
        self.open = False
        self._keeper.loop.forget(self._sock.fileno())
        self._outgoing.close()
        self._frames.close()
        self._sock.close()
        self._keeper.disconnected(self)


class Keeper:
    """All containers and connections of a keeper."""

    def __init__(
        self, folder: str, listener: socket.socket, roots: str,
        groups: cgroups.NodeGroups | None, alone_s: float,
    ) -> None:  # fmt: skip
        """`alone_s` is for how long it goes on without an agent; 0: for ever."""
        self.loop = Loop()
        self._folder = folder
        self._identity = _identity(folder)
        self._listener = listener
        self._roots = roots
        self._groups = groups
        self._alone_s = alone_s
        self._alone_since = time.monotonic()
        self._nofile = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (self._nofile[1], self._nofile[1]))
        self._containers: dict[str, KeeperContainer] = {}
        self._pids: dict[int, KeeperContainer | _Exec] = {}
        self._execs: dict[str, _Exec] = {}
        #: Children that have perhaps not come to their exec yet → what reads their report.
        self._launching: dict[int, Callable[[], None]] = {}
        self._connections: list[_Connection] = []
        self._greetings: list[_Reply] = []
        self._redirection = Redirection(self.loop)
        self._ending = False
        listener.setblocking(False)
        self.loop.on_readable(listener.fileno(), self._accept)
        self.loop.on_signal(signal.SIGCHLD, self._reap)
        self.loop.on_signal(signal.SIGTERM, self._shut_down)
        self.loop.after(_LOOK_S, self._check_abandoned)

    def run(self) -> None:
        self.loop.run()
        self.loop.close()

    # --- connections

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        self._connections.append(_Connection(self, sock))

    def disconnected(self, connection: _Connection) -> None:
        self._connections.remove(connection)
        self._alone_since = time.monotonic()
        for one in list(self._execs.values()):
            if one.connection is connection:
                _kill_group(one.pid)

    def handle(self, connection: _Connection, message: Message, fds: list[int]) -> None:
        """Do what was asked; a failure is told, and never the keeper's end."""
        answer = partial(self._answer, connection, message.get("seq"))
        try:
            self._operations[message["op"]](self, connection, message, fds, answer)
        except Exception as error:  # noqa: BLE001 - one request's trouble is not everybody's
            if not isinstance(error, ValueError):
                print(f"{message.get('op')}: {error!r}", file=sys.stderr, flush=True)
            for fd in fds:
                try:
                    os.close(fd)
                except OSError:
                    continue
            answer({"error": str(error) or repr(error)})

    def _answer(
        self,
        connection: _Connection,
        seq: int | None,
        result: Mapping[str, Any],
        fds: list[int] | None = None,
    ) -> None:
        connection.send({"seq": seq, **result}, fds)

    def _send_event(self, event: Event) -> None:
        for connection in list(self._connections):
            connection.send(event)

    # --- what can be asked

    def _hello(self, connection: _Connection, message: Message, fds: list[int], answer: _Reply) -> None:
        # What an agent that is gone has asked to start either runs or does not when the next one is told.
        for other in [one for one in self._connections if one is not connection]:
            other.drain()
        self._greetings.append(answer)
        self._greet()

    def _greet(self) -> None:
        if self._launching:
            return
        greetings, self._greetings = self._greetings, []
        for answer in greetings:
            self._introduce(answer)

    def _introduce(self, answer: _Reply) -> None:
        hello: HelloAnswer = {
            "pid": os.getpid(),
            "roots": self._roots,
            "group": self._groups.path if self._groups is not None else "",
            "controllers": self._groups.controllers if self._groups is not None else (),
            "containers": [one.record() for one in self._containers.values()],
        }
        answer(hello)

    def _start(self, _: _Connection, message: StartRequest, fds: list[int], answer: _Reply) -> None:
        spec = message["spec"]
        if spec["id"] in self._containers:
            raise ValueError(f"container {spec['id']} was started before")
        container = KeeperContainer(self.loop, spec, self._groups, self._nofile, self._ended)
        launch = container.start()
        self._containers[container.id] = container
        self._pids[launch.pid] = container

        def done(problem: str) -> None:
            if problem:
                del self._containers[container.id]
                self._pids.pop(launch.pid, None)
                container.failed()
                answer({"error": problem})
            else:
                container.launched()
                started: StartedAnswer = {"record": container.record()}
                answer(started)

        self._when_launched(launch, container.spec, done)

    def _when_launched(self, launch: Launch, spec: Spec, done: Callable[[str], None]) -> None:
        """Call `done` when the child has come to its exec, with what went wrong before."""
        words = bytearray()
        self._redirection.adopt(launch.handed_over, spec.get("stand_ins") or "")

        def read() -> None:
            try:
                while data := os.read(launch.report, 4096):
                    words.extend(data)
            except BlockingIOError:
                return
            self.loop.forget(launch.report)
            os.close(launch.report)
            del self._launching[launch.pid]
            done(words.decode(errors="replace"))
            self._greet()

        self._launching[launch.pid] = read
        self.loop.on_readable(launch.report, read)

    def _stop(self, _: _Connection, message: StopRequest, fds: list[int], answer: _Reply) -> None:
        self._find(message).stop(message["signal"], message["timeout"])
        answer({})

    def _update(self, _: _Connection, message: UpdateRequest, fds: list[int], answer: _Reply) -> None:
        self._find(message).limit(message["limits"], message.get("rlimits") or {})
        answer({})

    def _forget(self, _: _Connection, message: ContainerRequest, fds: list[int], answer: _Reply) -> None:
        container = self._containers.get(message["id"])
        if container is not None and container.state != "ended":
            raise ValueError(f"container {message['id']} runs")
        self._containers.pop(message["id"], None)
        answer({})

    def _exec(self, connection: _Connection, message: ExecRequest, fds: list[int], answer: _Reply) -> None:
        container = self._find(message)
        if not container.running:
            raise ValueError(f"container {container.id} is not running")
        env = {**container.spec["env"], **(message.get("env") or {})}
        spec: Spec = {**container.spec, "argv": message["argv"], "env": env}
        stdio = (fds[0], fds[1], fds[2])
        launch = spawn(
            spec, stdio, tty=bool(message.get("tty")), group=container.group, nofile=self._nofile,
            inside=container.pid,
        )  # fmt: skip
        for fd in fds:
            os.close(fd)
        fds.clear()
        one = _Exec(message["exec"], launch.pid, connection)
        self._execs[one.id] = self._pids[launch.pid] = one

        def done(problem: str) -> None:
            if problem:
                self._execs.pop(one.id, None)
                self._pids.pop(one.pid, None)
                answer({"error": problem})
            else:
                answer({})
                if not connection.open:
                    _kill_group(one.pid)

        self._when_launched(launch, spec, done)

    def _exec_kill(self, _: _Connection, message: ExecKillRequest, fds: list[int], answer: _Reply) -> None:
        one = self._execs.get(message["exec"])
        if one is not None:
            _kill_group(one.pid)
        answer({})

    def _attach(self, _: _Connection, message: AttachRequest, fds: list[int], answer: _Reply) -> None:
        container = self._find(message)
        if not container.running:
            raise ValueError(f"container {container.id} is not running")
        container.attach(dict(zip(message["streams"], fds, strict=True)))
        fds.clear()
        attached: Attached = {"stdin": bool(message.get("stdin")) and container.stdin >= 0}
        answer(attached, [os.dup(container.stdin)] if attached["stdin"] else [])

    def _close_stdin(self, _: _Connection, message: ContainerRequest, fds: list[int], answer: _Reply) -> None:
        self._find(message).close_stdin()
        answer({})

    def _shutdown(self, _: _Connection, message: Message, fds: list[int], answer: _Reply) -> None:
        answer({})
        self._shut_down()

    _operations: dict[str, Callable[..., None]] = {  # noqa: RUF012 - a table, never changed
        "hello": _hello,
        "start": _start,
        "stop": _stop,
        "update": _update,
        "forget": _forget,
        "exec": _exec,
        "exec_kill": _exec_kill,
        "attach": _attach,
        "close_stdin": _close_stdin,
        "shutdown": _shutdown,
    }

    def _find(self, message: ContainerRequest) -> KeeperContainer:
        container = self._containers.get(message["id"])
        if container is None:
            raise ValueError(f"there is no container {message['id']}")
        return container

    # --- what happens by itself

    def _reap(self) -> None:
        """See who has ended. A container is told before its first process is reaped, while its number, and
        that of its group, can be nobody else's."""
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None:
                return
            killed = found.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
            code = 128 + found.si_status if killed else found.si_status
            if (read := self._launching.get(found.si_pid)) is not None:
                # It ended before its start was known.
                read()
            known = self._pids.get(found.si_pid)
            if isinstance(known, KeeperContainer):
                known.exited(code)
            os.waitpid(found.si_pid, 0)
            self._pids.pop(found.si_pid, None)
            if isinstance(known, _Exec) and self._execs.pop(known.id, None) is not None:
                ended: ExecEnded = {"event": "exec_exit", "exec": known.id, "code": code}
                known.connection.send(ended)

    def _ended(self, container: KeeperContainer) -> None:
        exited: Exited = {"event": "exit", **container.record()}
        self._send_event(exited)
        if self._ending:
            self._end_when_empty()

    def _check_abandoned(self) -> None:
        self.loop.after(_LOOK_S, self._check_abandoned)
        if self._abandoned() or _identity(self._folder) != self._identity:
            self._shut_down()

    def _abandoned(self) -> bool:
        if self._connections:
            return False
        # How containers ended is in files as well.
        idle = all(one.state == "ended" for one in self._containers.values())
        limits_s = [limit_s for limit_s in (self._alone_s, _IDLE_S if idle else 0) if limit_s]
        return any(time.monotonic() - self._alone_since > limit_s for limit_s in limits_s)

    def _shut_down(self) -> None:
        if self._ending:
            return
        self._ending = True
        self.loop.forget(self._listener.fileno())
        self._listener.close()
        for one in self._execs.values():
            _kill_group(one.pid)
        for container in self._containers.values():
            if container.state != "ended":
                container.kill()
        self.loop.after(_END_S, self._end)
        self._end_when_empty()

    def _end_when_empty(self) -> None:
        if all(one.state == "ended" for one in self._containers.values()):
            self._end()

    def _end(self) -> None:
        self.loop.running = False


_Reply = Callable[..., None]


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        return


def _identity(folder: str) -> tuple[int, int] | None:
    """What tells a folder from another one in its place."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino
