"""A runtime whose containers answer commands as told, for tests of what asks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from steersman.aio import Clock
from steersman.cluster.node.cri import ExecResult
from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.simulated import SimulatedRuntime
from steersman.cluster.node.simulated.addresses import SimulatedPodAddresses
from steersman.cluster.node.timers import Timers

__all__ = ["AnsweringRuntime", "exits", "fails"]

Answer = Callable[[], ExecResult]


def exits(code: int, stdout: bytes = b"", stderr: bytes = b"") -> Answer:
    return lambda: ExecResult(code, stdout, stderr)


def fails(problem: str) -> Answer:
    def answer() -> ExecResult:
        raise RuntimeFailed(problem)

    return answer


class AnsweringRuntime(SimulatedRuntime):
    def __init__(self, clock: Clock) -> None:
        self.timers = Timers(clock)
        super().__init__(self.timers, lambda: SimulatedPodAddresses("127.0.0.0/24"))
        self.answer: Answer = exits(0)
        #: When (monotonic) which container was asked what.
        self.asked: list[tuple[float, str, tuple[str, ...]]] = []
        self._clock = clock

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_s: float) -> ExecResult:
        self.asked.append((self._clock.monotonic(), container_id, tuple(command)))
        return self.answer()
