"""The scheduler's promises, over any order of events: seats, bounds, order, and nobody starves."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.cluster.apiserver.fairness.configuration import FlowSchema, LevelSpec, Queuing
from steersman.cluster.apiserver.fairness.flows import Flow, Ticket
from steersman.cluster.apiserver.fairness.scheduler import Scheduler
from steersman.cluster.apiserver.fairness.seats import divide
from steersman.cluster.apiserver.fairness.sharding import deal, hash_flow

WAIT_S = 15.0


def level(name: str, shares: int = 10, lendable: int = 0, **options: Any) -> LevelSpec:
    queuing = options.get("queuing", Queuing(queues=8, hand_size=2, length_limit=5))
    return LevelSpec(name, f"uid-{name}", False, shares, lendable, options.get("borrowing"), queuing)


EXEMPT = LevelSpec("exempt", "uid-exempt", True, 0, 0, None, None)


class Bench:
    """A scheduler, time, and what happened."""

    def __init__(self, *specs: LevelSpec, seats: int = 12) -> None:
        self.scheduler = Scheduler(seats, WAIT_S)
        self.scheduler.configure({spec.name: spec for spec in specs})
        self.now = 1000.0
        self.flows: dict[tuple[str, str], Flow] = {}
        self.held: list[Ticket] = []
        #: Per flow: numbers in the order they came, and in the order they started.
        self.came: dict[Flow, list[Ticket]] = defaultdict(list)
        self.started: dict[Flow, list[Ticket]] = defaultdict(list)

    def flow(self, level_name: str, name: str) -> Flow:
        found = self.flows.get((level_name, name))
        if found is None:
            schema = FlowSchema(f"schema-{level_name}", "", 1, level_name, "ByUser", ())
            found = self.flows[(level_name, name)] = self.scheduler.flow(schema, "", name)
        return found

    def arrive(
        self, level_name: str, name: str, width: int = 1, cap_s: float = math.inf
    ) -> tuple[Ticket, str]:
        flow = self.flow(level_name, name)
        width = min(width, flow.level.seats.widest)
        ticket = Ticket(flow, width, cap_s, self.now, lambda ticket: None)
        refused = self.scheduler.arrive(ticket, self.now)
        if not refused:
            self.came[flow].append(ticket)
        if ticket.held:
            self._start(ticket)
        return ticket, refused

    def _start(self, ticket: Ticket) -> None:
        self.held.append(ticket)
        self.started[ticket.flow].append(ticket)

    def turn(self) -> list[Ticket]:
        started = self.scheduler.turn(self.now)
        for ticket in started:
            self._start(ticket)
        return started

    def turns(self) -> list[Ticket]:
        started = []
        while self.scheduler.turn_due:
            started += self.turn()
        return started

    def finish(self, index: int) -> None:
        self.scheduler.finish(self.held.pop(index % len(self.held)), self.now)

    def release_all(self) -> None:
        while self.held:
            self.finish(0)

    def check(self) -> None:
        levels = self.scheduler.levels.values()
        for each in levels:
            if each.exempt:
                continue
            assert 0 <= each.used <= each.seats.upper
            assert all(len(queue.turns) <= each.length_limit for queue in each.queues)
            assert each.waiting == sum(len(queue.turns) for queue in each.queues)
        limited = [each for each in levels if not each.exempt]
        assert sum(each.used for each in limited) <= sum(each.seats.nominal for each in levels)
        assert self.scheduler.waiting == sum(each.waiting for each in levels)
        assert sum(each.used for each in levels) == sum(ticket.width for ticket in self.held)


EVENTS = st.lists(
    st.one_of(
        st.tuples(
            st.just("arrive"),
            st.sampled_from(["a", "b", "c", "exempt"]),
            st.integers(0, 4),
            st.integers(1, 4),
        ),
        st.tuples(st.just("finish"), st.integers(0, 100)),
        st.tuples(st.just("turn")),
        st.tuples(st.just("leave"), st.integers(0, 100)),
        st.tuples(st.just("wait"), st.sampled_from([0.0005, 0.02, 1.0, WAIT_S])),
        st.tuples(st.just("expire")),
        st.tuples(st.just("reconfigure")),
    ),
    max_size=120,
)


@given(EVENTS, st.integers(1, 40))
@settings(max_examples=150, deadline=None)
def test_seats_and_queues_keep_their_bounds_and_flows_their_order(events: list[Any], seats: int) -> None:
    specs = [
        level("a", 10, lendable=50),
        level("b", 30, lendable=90, borrowing=20),
        level("c", 5, queuing=None),
        EXEMPT,
    ]
    bench = Bench(*specs, seats=seats)
    gone: set[Ticket] = set()
    for event in events:
        match event:
            case ("arrive", where, who, width):
                _, refused = bench.arrive(where, f"user-{who}", width)
                assert not (refused and where == "exempt")
            case ("finish", index) if bench.held:
                bench.finish(index)
            case ("turn",):
                bench.turn()
            case ("leave", index):
                waiting = [ticket for flow in bench.came for ticket in flow.waiting]
                if waiting:
                    gone.add(waiting[index % len(waiting)])
                    bench.scheduler.leave(waiting[index % len(waiting)])
            case ("wait", seconds):
                bench.now += seconds
            case ("expire",):
                gone.update(bench.scheduler.expire(bench.now))
            case ("reconfigure",):
                bench.scheduler.configure({spec.name: spec for spec in specs})
        bench.check()
    # Whatever happened: when work ends, everyone who still waits runs, in the order they came.
    while bench.held or bench.scheduler.waiting:
        bench.release_all()
        bench.turns()
        bench.check()
    for flow, came in bench.came.items():
        assert bench.started[flow] == [ticket for ticket in came if ticket not in gone]


@given(st.integers(1, 60), st.integers(1, 8), st.integers(0, 1_000_000))
@settings(max_examples=100, deadline=None)
def test_a_light_flow_waits_one_round_at_most_while_a_heavy_one_floods(
    flood: int, seats: int, seed: int
) -> None:
    bench = Bench(level("a", queuing=Queuing(64, 6, 50)), seats=seats)
    heavy = bench.flow("a", f"heavy-{seed}")
    for _ in range(seats + flood):
        bench.arrive("a", f"heavy-{seed}")
    waiting, _ = bench.arrive("a", f"light-{seed}")
    rounds = 0
    while not waiting.held:
        bench.now += 0.01
        bench.finish(0)
        bench.turns()
        bench.arrive("a", f"heavy-{seed}")
        rounds += 1
        assert rounds <= len(heavy.hand) + 1


@given(st.lists(st.integers(1, 20), min_size=2, max_size=5))
@settings(max_examples=50, deadline=None)
def test_flows_that_all_want_more_get_the_same(costs_ms: list[int]) -> None:
    """Time is divided, not the number of requests: expensive requests run less often."""
    bench = Bench(level("a", queuing=Queuing(512, 4, 50)), seats=1)
    names = [f"user-{number}" for number in range(len(costs_ms))]
    hands = [set(bench.flow("a", name).hand) for name in names]
    if len(set().union(*hands)) != sum(map(len, hands)):
        return  # they share a queue
    bench.arrive("a", names[0])
    given_s = dict.fromkeys(names, 0.0)
    for name in names:
        for _ in range(20):
            bench.arrive("a", name)
    for _ in range(400):
        ticket = bench.held[0]
        name = next(name for name in names if bench.flow("a", name) is ticket.flow)
        cost_s = costs_ms[names.index(name)] / 1000
        bench.now += cost_s
        given_s[name] += cost_s
        bench.finish(0)
        bench.turns()
        bench.arrive("a", name)
    # A flow waits in the queues of its hand (4), each at most one request ahead of the others.
    assert max(given_s.values()) - min(given_s.values()) <= 2 * 4 * max(costs_ms) / 1000


def test_a_lender_gets_its_seats_back_before_borrowers_get_more() -> None:
    bench = Bench(level("a", 50, lendable=80), level("b", 50), seats=20)
    for _ in range(30):
        bench.arrive("b", "user-1")
        bench.arrive("b", "user-2")
    assert bench.scheduler.levels["b"].used == 18
    for _ in range(6):
        bench.arrive("a", "user-3")
    assert bench.scheduler.levels["a"].used == 2
    for _ in range(4):
        bench.finish(0)
        bench.turns()
    assert bench.scheduler.levels["a"].used == 6
    bench.check()


def test_what_finds_no_seat_in_a_level_without_queues_is_refused() -> None:
    bench = Bench(level("a", queuing=None, borrowing=0), seats=2)
    assert [bench.arrive("a", "u")[1] for _ in range(3)] == ["", "", "concurrency-limit"]


def test_a_full_hand_is_refused_and_counted() -> None:
    bench = Bench(level("a", borrowing=0), seats=1)
    refusals = [bench.arrive("a", "u")[1] for _ in range(13)]
    assert refusals == [""] * 11 + ["queue-full"] * 2
    assert bench.flow("a", "u").tally.rejected == {"queue-full": 2}


def test_a_request_that_waited_too_long_is_given_up() -> None:
    bench = Bench(level("a", borrowing=0), seats=1)
    bench.arrive("a", "u")
    first, _ = bench.arrive("a", "u")
    bench.now += 1
    second, _ = bench.arrive("a", "u")
    assert bench.scheduler.deadline() == bench.now - 1 + WAIT_S
    bench.now += WAIT_S - 1
    assert bench.scheduler.expire(bench.now) == [first]
    bench.finish(0)
    assert bench.turns() == [second]
    assert bench.flow("a", "u").tally.rejected == {"time-out": 1}


def use_loop(bench: Bench, who: str, seconds: float) -> bool:
    """A synchronous request; whether it ran at once."""
    ticket, _ = bench.arrive("a", who)
    at_once = ticket.held
    while not ticket.held:
        bench.turn()
    bench.now += seconds
    bench.finish(bench.held.index(ticket))
    return at_once


def test_a_reader_that_is_alone_may_use_the_whole_loop() -> None:
    bench = Bench(level("a"), seats=600)
    assert all(use_loop(bench, "heavy", 0.005) for _ in range(100))


def test_a_reader_that_takes_the_whole_loop_from_others_waits_its_turn() -> None:
    bench = Bench(level("a"), seats=600)
    use_loop(bench, "light", 0.0001)
    ran = [use_loop(bench, "heavy", 0.005) for _ in range(20)]
    assert ran[0]
    assert not any(ran[10:])
    assert use_loop(bench, "light", 0.0001)


def test_a_reader_below_a_quarter_of_the_loop_never_waits() -> None:
    bench = Bench(level("a"), seats=600)
    use_loop(bench, "light", 0.0001)
    for _ in range(200):
        bench.now += 0.004
        assert use_loop(bench, "steady", 0.001)
        bench.arrive("a", "light")


def test_a_turn_releases_no_more_than_its_part_of_the_loops_time() -> None:
    bench = Bench(level("a", queuing=Queuing(8, 2, 50)), seats=600)
    use_loop(bench, "light", 0.0001)
    for _ in range(30):
        use_loop(bench, "heavy", 0.001)
    for _ in range(40):
        bench.arrive("a", "heavy")
    assert bench.scheduler.waiting >= 30
    released = bench.turn()
    assert 1 <= len(released) <= 3
    light, _ = bench.arrive("a", "light")
    assert light.held or light in bench.turn()


def test_what_is_left_of_a_turn_is_for_those_who_come_before_the_next() -> None:
    bench = Bench(level("a", queuing=Queuing(8, 2, 50)), seats=600)
    use_loop(bench, "light", 0.0001)
    for _ in range(200):
        use_loop(bench, "heavy", 0.0003)
    assert not bench.scheduler.waiting
    bench.turn()
    at_once = 0
    while bench.arrive("a", "heavy")[0].held:
        at_once += 1
    # Six times 0.3 ms are a turn's 2 ms; nobody overtakes the one that waits.
    assert 5 <= at_once <= 7
    assert not bench.arrive("a", "heavy")[0].held
    assert bench.scheduler.turn_due
    assert len(bench.turn()) == 2
    assert bench.arrive("a", "heavy")[0].held
    assert bench.scheduler.turn_due, "time is released again"


def test_a_level_that_is_deleted_drains() -> None:
    bench = Bench(level("a", borrowing=0), level("b"), seats=2)
    for _ in range(4):
        bench.arrive("a", "u")
    bench.scheduler.configure({"b": level("b")})
    assert "a" in bench.scheduler.levels
    for _ in range(4):
        bench.finish(0)
        bench.turns()
    assert len(bench.started[bench.flow("a", "u")]) == 4
    bench.scheduler.configure({"b": level("b")})
    assert "a" not in bench.scheduler.levels


@pytest.mark.parametrize(
    ("shares", "lendable", "nominal", "guaranteed"),
    [(30, 33, 74, 50), (40, 25, 98, 73), (100, 90, 245, 24), (5, 0, 13, 13)],
)
def test_seats_are_divided_as_kubernetes_does(
    shares: int, lendable: int, nominal: int, guaranteed: int
) -> None:
    one = level("one", shares, lendable)
    seats = divide(600, [one, level("others", 245 - shares)])["one"]
    assert (seats.nominal, seats.guaranteed, seats.upper) == (nominal, guaranteed, nominal + 600)


def test_a_level_without_shares_still_runs_one_at_a_time() -> None:
    seats = divide(10, [level("none", 0), level("b", 10)])["none"]
    assert (seats.nominal, seats.guaranteed, seats.widest) == (1, 1, 1)


@given(st.integers(0, 2**64 - 1), st.integers(1, 128), st.integers(1, 8))
def test_a_hand_has_different_cards_of_the_deck(entropy: int, deck: int, hand: int) -> None:
    cards = deal(entropy, deck, min(hand, deck))
    assert len(set(cards)) == len(cards) == min(hand, deck)
    assert all(0 <= card < deck for card in cards)


def test_hands_differ_between_flows() -> None:
    hands = {frozenset(deal(hash_flow("s", f"user-{n}"), 128, 6)) for n in range(200)}
    assert len(hands) == 200
