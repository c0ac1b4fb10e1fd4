"""Three replicas of the WebApp operator in processes of their own, each behind proxies of its own."""

from __future__ import annotations

import itertools
import re
import signal
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from steersman.aio import Scope
from tests.support import waiting
from tests.support.faulty_proxy import FaultyProxy
from tests.support.steer import Steer

from .operators import OperatorProcess, running

__all__ = ["Engine", "Fleet", "Replica", "until"]

PROGRAM = Path(__file__).with_name("replicated_webapp.py")
PATIENCE_S = 30.0


async def until(question: Callable[[], bool | Awaitable[bool]], what: str) -> None:
    """Ask again and again until the answer is yes."""
    await waiting.until(question, PATIENCE_S, what, every_s=0.05)


@dataclass(frozen=True)
class Engine:
    """What replicas contend with. Of a store beside the API: where it listens, and its URL on another port."""

    name: str
    socket: Path | None = None
    url: Callable[[int], str] = lambda port: ""
    #: What else the replica of a number is told.
    environment: Callable[[int], dict[str, str]] = lambda number: {}
    #: Of replicas that talk to each other: whether the others hear the one of a number.
    silence: Callable[[int, bool], None] = lambda number, silent: None


class Replica:
    """One process. Nobody else uses its proxies."""

    def __init__(
        self, number: int, operator: OperatorProcess, proxies: list[FaultyProxy], engine: Engine
    ) -> None:
        self.number = number
        self.operator = operator
        self._proxies = proxies
        self._engine = engine

    @property
    def term(self) -> int:
        """The last it was elected in; 0 if it never was."""
        said = [re.search(r" leads .* in term (\d+)", line["message"]) for line in self.operator.lines]
        return max((int(match[1]) for match in said if match), default=0)

    @property
    def requests(self) -> dict[str, float]:
        """How many it has sent to the API, by method."""
        _, text = self.operator.get("/metrics")
        counts: dict[str, float] = {}
        for match in re.finditer(r'^rest_client_requests_total\{.*method="(\w+)".*\} (\S+)$', text, re.M):
            counts[match[1]] = counts.get(match[1], 0) + float(match[2])
        return counts

    def kill(self) -> None:
        self.operator.kill()

    def pause(self) -> None:
        self.operator.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.operator.process.send_signal(signal.SIGCONT)

    def cut_off(self) -> None:
        """It hears others, and they do not hear it."""
        self._engine.silence(self.number, True)
        for proxy in self._proxies:
            proxy.hold(answers=False)

    def connect(self) -> None:
        """What it sent arrives now, but that it has given connections up only when it is `forgotten`: whoever
        is asked has all the time to do it."""
        for proxy in self._proxies:
            proxy.hold_ends()
            proxy.flow()
        self._engine.silence(self.number, False)

    def forgotten(self) -> None:
        """Connections from the time when it was cut off end."""
        for proxy in self._proxies:
            proxy.let_end()


class Fleet:
    """The replicas. They end with the block."""

    def __init__(self, server: Steer, engine: Engine, namespace: str, folder: Path, scope: Scope) -> None:
        self.engine = engine
        self.replicas: list[Replica] = []
        self._server = server
        self._namespace = namespace
        self._folder = folder
        self._scope = scope
        self._numbers = itertools.count(1)
        self._starts = itertools.count(1)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def leader(self) -> Replica:
        return max(self.replicas, key=lambda replica: replica.term)

    @property
    def followers(self) -> list[Replica]:
        leader = self.leader
        return [replica for replica in self.replicas if replica is not leader]

    async def start(self, count: int) -> None:
        """More replicas. Returns when they are ready and somebody leads."""
        new = [self._started(next(self._numbers)) for _ in range(count)]
        self.replicas += new
        for replica in new:
            await until(lambda: _is_ready(replica.operator), "the replica is ready")  # noqa: B023
        await until(lambda: self.leader.term > 0, "somebody leads")

    def remove(self, replica: Replica) -> None:
        self.replicas.remove(replica)

    def restart(self, replica: Replica) -> None:
        """One that was killed comes back under its number."""
        self.replicas[self.replicas.index(replica)] = self._started(replica.number)

    def _started(self, number: int) -> Replica:
        address = self._server.api.address
        assert address.hostname
        assert address.port
        api = FaultyProxy((address.hostname, address.port), self._scope)
        proxies = [api]
        url = ""
        if self.engine.socket is not None:
            lock = FaultyProxy(self.engine.socket, self._scope)
            proxies.append(lock)
            url = self.engine.url(lock.port)
        return Replica(
            number,
            self._stack.enter_context(
                running(
                    PROGRAM,
                    self._kubeconfig(number, api.port),
                    self._folder / f"log-{number}-{next(self._starts)}",
                    "--namespace",
                    self._namespace,
                    ENGINE=self.engine.name,
                    LOCK=self._namespace,
                    LOCK_URL=url,
                    **self.engine.environment(number),
                )
            ),
            proxies,
            self.engine,
        )

    def _kubeconfig(self, number: int, port: int) -> Path:
        """The admin's, by way of a proxy."""
        config = yaml.safe_load(self._server.kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
        path = self._folder / f"kubeconfig-{number}"
        path.write_text(yaml.safe_dump(config))
        return path


def _is_ready(operator: OperatorProcess) -> bool:
    assert operator.alive
    return operator.said("listen on") is not None and operator.get("/readyz")[0] == 200
