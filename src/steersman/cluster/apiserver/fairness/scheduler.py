"""The scheduler of priority and fairness: which request runs, waits or is refused. No clock, loop or I/O.

Every method takes `now` and changes state at once; the same calls give the same result.

    arrive ──► held                 seats are free, no request waits for them, the flow is not hot
       │                            or what it takes is left of the turn
       │
       ├─────► waiting ──► held     by `turn`, in fair order
       │          ├──────► refused  by `expire` (time-out)
       │          └──────► gone     by `leave` (its client went away)
       └─────► refused              its queue is full, or its level has none
    held ──► gone                   by `finish`

Fair order is start-time fair queuing, twice: between levels weighted by their share, and between the queues
of a level. The flow that got the least comes next; one that comes back from idleness starts at the
present, so no flow saves up. Cost is seats x time, guessed when a turn is given and corrected at the end.

Invariants (tests/unit/cluster/apiserver/fairness/test_scheduler.py):
  · a level's seats in use never exceed its upper limit, all together never the sum of shares
  · no queue is longer than its limit
  · a flow's requests start in the order they came
  · a request that waits in a queue of its own starts within one round of its level's queues
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from steersman.cluster.apiserver.fairness.configuration import FlowSchema, LevelSpec
from steersman.cluster.apiserver.fairness.flows import Flow, Level, Place, Queue, Tally, Ticket
from steersman.cluster.apiserver.fairness.seats import Seats, divide

__all__ = ["Scheduler", "Ticket"]

#: Handler time released to hot flows per turn, so that the loop looks at new requests between turns.
_TURN_S = 0.002
#: A flow may use this part of the loop for ever, and this much more at once, before it is hot.
_DRAIN = 0.25
_BURST_S = 0.010
#: What was used while there was no other flow is soon forgiven.
_MOST_DEBT_S = 0.1
#: How long another flow's request makes it count as being there.
_COMPANY_S = 10.0
_COST_SMOOTHING = 0.25
#: What is left of a level that was deleted while requests were in it.
_RETIRED = Seats(nominal=1, guaranteed=1, upper=1, widest=1)


class Scheduler:
    def __init__(self, total_seats: int, wait_s: float) -> None:
        self._total = total_seats
        self._wait_s = wait_s
        self.levels: dict[str, Level] = {}
        #: By (level, schema); outlives reconfiguration.
        self.tallies: dict[tuple[str, str], Tally] = {}
        #: Requests waiting at all levels.
        self.waiting = 0
        #: Whether `turn` might start something, or has handler time to release.
        self.turn_due = False
        #: What is left of this turn's handler time.
        self._left_s = _TURN_S
        #: Seats that no level is guaranteed, and how many of them are taken.
        self._pool = 0
        self._pool_used = 0
        #: The tag of the level that was served last.
        self._virtual = 0.0
        #: Waiting requests in the order they came, and some that wait no more.
        self._arrivals: deque[Ticket] = deque()
        self._last_flow: Flow | None = None
        self._company_until = 0.0

    # Configuration

    def configure(self, specs: Mapping[str, LevelSpec]) -> None:
        """Divide the seats anew. Levels no longer named are kept until they are empty."""
        divided = divide(self._total, specs.values())
        for name, spec in specs.items():
            level = self.levels.get(name)
            if level is None:
                self.levels[name] = Level(spec, divided[name])
            else:
                level.configure(spec, divided[name])
        for name in self.levels.keys() - specs.keys():
            level = self.levels[name]
            if level.used or level.waiting:
                level.seats = _RETIRED
            else:
                del self.levels[name]
        levels = self.levels.values()
        self._pool = sum(level.seats.nominal - level.seats.guaranteed for level in levels)
        self._pool_used = sum(
            max(0, level.used - level.seats.guaranteed) for level in levels if not level.exempt
        )
        self.turn_due = self.waiting > 0

    def flow(self, schema: FlowSchema, level_uid: str, name: str) -> Flow:
        """A new flow of a schema whose level is configured."""
        tally = self.tallies.setdefault((schema.level, schema.name), Tally())
        return Flow(schema, self.levels[schema.level], level_uid, name, tally)

    # A request's life

    def arrive(self, ticket: Ticket, now: float) -> str:
        """The ticket is held, or waits; else why it is refused."""
        flow = ticket.flow
        if flow is not self._last_flow:
            if self._last_flow is not None:
                self._company_until = now + _COMPANY_S
            self._last_flow = flow
        hot = flow.debt_s > _BURST_S and self._is_hot(flow, now)
        if (hot and flow.cost_s > self._left_s) or not self._has_room(flow.level, ticket.width):
            return self._enqueue(ticket)
        if hot:
            self._left_s -= flow.cost_s
            self.turn_due = True
        self._take(ticket)
        return ""

    def finish(self, ticket: Ticket, now: float) -> None:
        ticket.held = False
        flow = ticket.flow
        level, width, tally = flow.level, ticket.width, flow.tally
        used = level.used
        level.used = used - width
        guaranteed = level.seats.guaranteed
        if used > guaranteed and not level.exempt:
            self._pool_used -= used - max(level.used, guaranteed)
        tally.executing -= 1
        tally.seats -= width
        took = now - ticket.since
        place = ticket.place
        if place is not None and place.queue is not None:
            place.queue.tag += width * took - place.charged
        if took > ticket.cap_s:
            took = ticket.cap_s
        flow.debt_s += took
        flow.cost_s += (took - flow.cost_s) * _COST_SMOOTHING
        if self.waiting:
            self.turn_due = True

    def leave(self, ticket: Ticket) -> None:
        """The client of a waiting request is gone."""
        self._withdraw(ticket)
        self._refused(ticket, "cancelled")

    def expire(self, now: float) -> list[Ticket]:
        """The requests that waited too long; they wait no more."""
        expired = []
        while (oldest := self._oldest()) is not None and oldest.since + self._wait_s <= now:
            self._withdraw(oldest)
            self._refused(oldest, "time-out")
            expired.append(oldest)
        return expired

    def deadline(self) -> float | None:
        """When the next waiting request expires."""
        oldest = self._oldest()
        return None if oldest is None else oldest.since + self._wait_s

    def turn(self, now: float) -> list[Ticket]:
        """Start waiting requests, for about one turn's worth of handler time; what is left of it is for those
        who come before the next turn."""
        started: list[Ticket] = []
        blocked: set[Level] = set()
        self._left_s = _TURN_S
        while self._left_s > 0:
            level = self._next_level(blocked)
            if level is None:
                self.turn_due = False
                return started
            queue = level.next_queue()
            ticket = queue.turns[0].waiting[0]
            if not self._fits(level, ticket.width):
                blocked.add(level)
                continue
            self._give_turn(level, queue, ticket, now)
            self._left_s -= ticket.flow.cost_s
            started.append(ticket)
        self.turn_due = self.waiting > 0
        return started

    # Seats

    def _fits(self, level: Level, width: int) -> bool:
        seats, used = level.seats, level.used
        after = used + width
        if after <= seats.guaranteed or level.exempt:
            return True
        if after > seats.upper:
            return False
        return self._pool_used + after - max(used, seats.guaranteed) <= self._pool

    def _has_room(self, level: Level, width: int) -> bool:
        """Whether a new request may start ahead of those that wait: never in its own level, elsewhere if
        it takes nothing they wait for."""
        if not self.waiting or level.exempt:
            return level.used + width <= level.seats.guaranteed or self._fits(level, width)
        return not level.waiting and level.used + width <= level.seats.guaranteed

    def _take(self, ticket: Ticket) -> None:
        flow, width = ticket.flow, ticket.width
        level = flow.level
        used = level.used
        after = level.used = used + width
        guaranteed = level.seats.guaranteed
        if after > guaranteed and not level.exempt:
            self._pool_used += after - max(used, guaranteed)
        tally = flow.tally
        tally.dispatched += 1
        tally.executing += 1
        tally.seats += width
        ticket.held = True

    # Time on the loop

    def _is_hot(self, flow: Flow, now: float) -> bool:
        """Whether a flow has used more than its part of the loop while others are there, and can wait."""
        flow.debt_s = min(max(0.0, flow.debt_s - (now - flow.seen) * _DRAIN), _MOST_DEBT_S)
        flow.seen = now
        return flow.debt_s > _BURST_S and now < self._company_until and flow.level.deck > 0

    # Waiting

    def _enqueue(self, ticket: Ticket) -> str:
        flow = ticket.flow
        level = flow.level
        queue = level.queue_for(flow)
        if queue is None:
            reason = "queue-full" if level.deck else "concurrency-limit"
            self._refused(ticket, reason)
            return reason
        if not queue.turns:
            queue.tag = max(queue.tag, level.virtual)
            level.active[queue] = None
        if not level.waiting:
            level.tag = max(level.tag, self._virtual)
        queue.turns.append(flow)
        flow.waiting.append(ticket)
        level.waiting += 1
        flow.tally.waiting += 1
        self.waiting += 1
        ticket.place = Place()
        self._arrivals.append(ticket)
        self.turn_due = True
        return ""

    def _next_level(self, blocked: set[Level]) -> Level | None:
        """Levels below their share come before borrowers, and borrowers wait while one of them is blocked."""
        best: Level | None = None
        best_key = (True, 0.0)
        may_borrow = all(level.used >= level.seats.nominal for level in blocked)
        for level in self.levels.values():
            if not level.waiting or level in blocked:
                continue
            borrows = level.used >= level.seats.nominal
            key = (borrows, level.tag)
            if (may_borrow or not borrows) and (best is None or key < best_key):
                best, best_key = level, key
        return best

    def _give_turn(self, level: Level, queue: Queue, ticket: Ticket, now: float) -> None:
        cost = ticket.flow.cost_s * ticket.width
        level.virtual = max(level.virtual, queue.tag)
        queue.tag += cost
        self._virtual = max(self._virtual, level.tag)
        level.tag += cost / level.seats.nominal
        queue.turns.popleft()
        self._end_wait(ticket, queue)
        assert ticket.place is not None
        ticket.place.queue, ticket.place.charged = queue, cost
        ticket.flow.tally.waited_s += now - ticket.since
        ticket.since = now
        self._take(ticket)

    def _withdraw(self, ticket: Ticket) -> None:
        """Remove a waiting request and one turn of its flow (turns are as many as requests)."""
        flow = ticket.flow
        queue = next(queue for queue in flow.level.active if flow in queue.turns)
        queue.turns.remove(flow)
        self._end_wait(ticket, queue)

    def _end_wait(self, ticket: Ticket, queue: Queue) -> None:
        flow = ticket.flow
        level = flow.level
        if not queue.turns:
            del level.active[queue]
        flow.waiting.remove(ticket)
        assert ticket.place is not None
        ticket.place.waits = False
        level.waiting -= 1
        flow.tally.waiting -= 1
        self.waiting -= 1
        self.turn_due = self.waiting > 0

    def _oldest(self) -> Ticket | None:
        arrivals = self._arrivals
        while arrivals:
            ticket = arrivals[0]
            if ticket.place is not None and ticket.place.waits:
                return ticket
            arrivals.popleft()
        return None

    @staticmethod
    def _refused(ticket: Ticket, reason: str) -> None:
        rejected = ticket.flow.tally.rejected
        rejected[reason] = rejected.get(reason, 0) + 1
