"""The data the scheduler works on: priority levels with their queues, flows, and requests as tickets.

State only; the rules are in `scheduler`, which alone changes it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from steersman.cluster.apiserver.fairness.configuration import FlowSchema, LevelSpec
from steersman.cluster.apiserver.fairness.seats import Seats
from steersman.cluster.apiserver.fairness.sharding import deal, hash_flow

if TYPE_CHECKING:
    import asyncio

__all__ = ["Flow", "Level", "Place", "Queue", "Tally", "Ticket"]

#: What a request is thought to take before a flow's first one has ended.
_FIRST_GUESS_S = 0.003


class Tally:
    """What is counted of one schema's requests at one level."""

    __slots__ = ("dispatched", "executing", "rejected", "seats", "waited_s", "waiting")

    def __init__(self) -> None:
        self.dispatched = 0
        self.executing = 0
        self.seats = 0
        self.waiting = 0
        self.waited_s = 0.0
        self.rejected: dict[str, int] = {}


class Queue:
    """Turns of waiting flows: the flow whose turn comes runs its oldest request."""

    __slots__ = ("tag", "turns")

    def __init__(self) -> None:
        self.turns: deque[Flow] = deque()
        #: Virtual time at which the next turn starts: the seat-seconds this queue has been given so far.
        self.tag = 0.0


class Level:
    """A priority level at work."""

    __slots__ = (
        "active",
        "deck",
        "exempt",
        "hand_size",
        "length_limit",
        "name",
        "queues",
        "seats",
        "tag",
        "used",
        "virtual",
        "waiting",
    )

    def __init__(self, spec: LevelSpec, seats: Seats) -> None:
        self.name = spec.name
        self.queues: list[Queue] = []
        #: The queues in which requests wait, in a fixed order.
        self.active: dict[Queue, None] = {}
        #: Seats taken.
        self.used = 0
        #: Requests waiting; the sum of all turns, and of all flows' waiting requests.
        self.waiting = 0
        #: The tag of the turn that was given last; never goes back.
        self.virtual = 0.0
        #: Virtual time among levels, as a queue's among queues.
        self.tag = 0.0
        self.configure(spec, seats)

    def configure(self, spec: LevelSpec, seats: Seats) -> None:
        """New limits. Turns stay where they are; queues beyond the new number get no more."""
        self.exempt = spec.exempt
        self.seats = seats
        queuing = spec.queuing
        #: Queues that are dealt; 0: nothing waits here.
        self.deck = queuing.queues if queuing else 0
        self.hand_size = queuing.hand_size if queuing else 0
        self.length_limit = queuing.length_limit if queuing else 0
        self.queues += [Queue() for _ in range(self.deck - len(self.queues))]

    def queue_for(self, flow: Flow) -> Queue | None:
        """Where a flow's next request waits: the shortest queue of its hand; None if that is full."""
        if not self.deck:
            return None
        queue = min((self.queues[card] for card in flow.hand), key=lambda queue: len(queue.turns))
        return queue if len(queue.turns) < self.length_limit else None

    def next_queue(self) -> Queue:
        """Whose turn it is: the one that has been given least."""
        return min(self.active, key=lambda queue: queue.tag)


class Flow:
    """Requests that count as one client: same schema, same user or namespace."""

    __slots__ = ("cost_s", "debt_s", "hand", "headers", "level", "seen", "tally", "waiting")

    def __init__(self, schema: FlowSchema, level: Level, level_uid: str, name: str, tally: Tally) -> None:
        self.level = level
        self.tally = tally
        self.headers: tuple[tuple[bytes, bytes], ...] = (
            (b"X-Kubernetes-PF-FlowSchema-UID", schema.uid.encode()),
            (b"X-Kubernetes-PF-PriorityLevel-UID", level_uid.encode()),
        )
        self.hand = deal(hash_flow(schema.name, name), level.deck, level.hand_size) if level.deck else ()
        #: In the order they came, which is the order they run in.
        self.waiting: deque[Ticket] = deque()
        #: Handler time used beyond what drains; as of `seen`.
        self.debt_s = 0.0
        self.seen = 0.0
        #: What one of its requests takes, lately.
        self.cost_s = _FIRST_GUESS_S


class Place:
    """A request's place among those that wait, or waited."""

    __slots__ = ("charged", "queue", "waiter", "waits")

    def __init__(self) -> None:
        self.waits = True
        #: Whose turn it ran on, and what that was charged.
        self.queue: Queue | None = None
        self.charged = 0.0
        self.waiter: asyncio.Future[None] | None = None


class Ticket:
    """A request's right to run. `done` gives its seats back; a forgotten ticket does so by itself."""

    __slots__ = ("_release", "cap_s", "flow", "held", "place", "since", "width")

    def __init__(
        self, flow: Flow, width: int, cap_s: float, now: float, release: Callable[[Ticket], None]
    ) -> None:
        self.flow = flow
        self.width = width
        #: The most handler time it is charged: time spent waiting for a commit is not charged.
        self.cap_s = cap_s
        #: When it came; once it runs, when it started.
        self.since = now
        #: Whether it has its seats.
        self.held = False
        #: None when it did not have to wait.
        self.place: Place | None = None
        self._release = release

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """What the response says about its classification."""
        return self.flow.headers

    def done(self) -> None:
        """The request is answered (a watch: initialised). Once is enough, more does no harm."""
        if self.held:
            self._release(self)

    def __del__(self) -> None:
        if self.held:
            self._release(self)
