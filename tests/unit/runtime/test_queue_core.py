"""The work queue's rules, step by step, and against a dumb twin."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.runtime.queue_core import LOW_PRIORITY, MAX_REASONS, QueueCore
from steersman.runtime.retry import RetryPolicy


def queue(**options: float) -> QueueCore[str]:
    return QueueCore(RetryPolicy(), **options)  # type: ignore[arg-type]


def taken(core: QueueCore[str], now: float) -> str | None:
    work = core.take(now)
    return None if work is None else work.key


def test_keys_come_out_once_in_the_order_they_came() -> None:
    core = queue()
    for key in ("a", "b", "a", "c", "b"):
        core.add(key, 0.0)
    assert [taken(core, 0.0) for _ in range(4)] == ["a", "b", "c", None]
    assert core.adds == 3


def test_a_key_added_while_in_work_runs_once_more_after_done() -> None:
    core = queue()
    core.add("a", 0.0)
    assert taken(core, 0.0) == "a"
    core.add("a", 1.0)
    core.add("a", 1.0)
    assert taken(core, 1.0) is None
    core.done("a", 2.0)
    assert taken(core, 2.0) == "a"
    core.done("a", 3.0)
    assert taken(core, 3.0) is None
    assert len(core) == 0


def test_higher_priority_goes_first_and_first_in_first_out_inside() -> None:
    core = queue()
    for key, priority in (("a", LOW_PRIORITY), ("b", LOW_PRIORITY), ("c", 0), ("d", 5), ("e", 0)):
        core.add(key, 0.0, priority=priority)
    assert [taken(core, 0.0) for _ in range(5)] == ["d", "c", "e", "a", "b"]


def test_merging_takes_the_highest_priority() -> None:
    core = queue()
    core.add("a", 0.0, priority=LOW_PRIORITY)
    core.add("b", 0.0, priority=LOW_PRIORITY)
    core.add("b", 0.0)
    core.add("b", 0.0, priority=LOW_PRIORITY)
    assert core.depth == 2
    work = core.take(0.0)
    assert work is not None
    assert (work.key, work.priority) == ("b", 0)
    assert core.depth == 1
    assert [taken(core, 0.0), taken(core, 0.0)] == ["a", None]


def test_merging_takes_the_earliest_time() -> None:
    core = queue()
    core.add("a", 0.0, after_s=10)
    core.add("a", 0.0, after_s=20)
    assert core.next_due() == 10
    core.add("a", 1.0, after_s=4)
    assert core.next_due() == 5
    assert taken(core, 4.9) is None
    core.add("a", 4.9)
    assert taken(core, 4.9) == "a"
    core.done("a", 4.9)
    assert taken(core, 100) is None


def test_delays_and_priorities_of_keys_in_work_are_merged_too() -> None:
    core = queue()
    core.add("a", 0.0)
    core.take(0.0)
    core.add("a", 0.0, after_s=10, priority=LOW_PRIORITY)
    core.add("a", 0.0, after_s=20, priority=3)
    core.done("a", 1.0)
    assert core.next_due() == 10
    work = core.take(10.0)
    assert work is not None
    assert work.priority == 3


def test_failures_back_off_and_success_forgets_them() -> None:
    core = queue()
    core.add("a", 0.0)
    now, waits = 0.0, []
    for attempt in range(1, 11):
        work = core.take(now)
        assert work is not None
        assert work.attempt == attempt
        waits.append(core.failed("a", now))
        now = core.next_due() or 0.0
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
    assert core.retries == 10
    core.take(now)
    core.done("a", now)
    core.add("a", now)
    core.take(now)
    assert core.failed("a", now) == 1


def test_a_requeue_forgets_the_failures() -> None:
    core = queue()
    core.add("a", 0.0)
    core.take(0.0)
    core.failed("a", 0.0)
    core.take(1.0)
    core.done("a", 1.0, again_after_s=30)
    assert core.next_due() == 31
    work = core.take(31.0)
    assert work is not None
    assert (work.attempt, work.reasons) == (1, ("requeue",))


def test_other_triggers_do_not_inflate_the_backoff() -> None:
    core = queue()
    core.add("a", 0.0)
    core.take(0.0)
    core.failed("a", 0.0)
    core.take(1.0)
    assert core.failed("a", 1.0) == 2  # retry at 3
    for now in (1.1, 1.2, 1.3, 2.9):
        core.add("a", now, reason="event")
        work = core.take(now)
        assert work is not None
        assert work.attempt == 3
        core.failed("a", now)
        assert core.next_due() == 3, "the retry stays where it was"
    core.take(3.0)
    assert core.failed("a", 3.0) == 4


def test_a_retry_keeps_the_priority_of_what_failed() -> None:
    core = queue()
    core.add("a", 0.0, priority=LOW_PRIORITY)
    core.take(0.0)
    core.failed("a", 0.0)
    core.add("b", 1.0)
    work = core.take(1.0)
    assert work is not None
    assert work.key == "b"


def test_forget_makes_the_next_failure_the_first() -> None:
    core = queue()
    core.add("a", 0.0)
    for now in (0.0, 1.0, 3.0):
        core.take(now)
        core.failed("a", now)
    assert core.failures("a") == 3
    core.forget("a")
    core.take(7.0)
    assert core.failed("a", 7.0) == 1
    core.forget("unknown")


def test_two_starts_of_a_key_are_apart_by_the_minimal_interval() -> None:
    core = queue(min_interval_s=10)
    core.add("a", 0.0)
    core.take(0.0)
    core.add("a", 1.0)
    core.done("a", 2.0)
    assert core.next_due() == 10
    core.add("b", 3.0)
    assert taken(core, 3.0) == "b"
    assert taken(core, 10.0) == "a"
    core.done("a", 10.0)
    core.add("a", 25.0)
    assert taken(core, 25.0) == "a"


def test_starts_are_not_remembered_longer_than_they_matter() -> None:
    core = queue(min_interval_s=1)
    for number in range(1000):
        core.add(f"k{number}", float(number))
        assert taken(core, float(number)) == f"k{number}"
        core.done(f"k{number}", float(number))
    assert len(core._starts) <= 2


def test_debouncing_waits_for_more_but_not_for_ever() -> None:
    core = queue(debounce_s=2)
    core.add("a", 0.0, reason="one")
    core.add("a", 1.5, reason="two")
    assert taken(core, 1.9) is None
    work = core.take(2.0)
    assert work is not None
    assert work.reasons == ("one", "two")


def test_a_full_queue_refuses_new_keys_and_still_merges_known_ones() -> None:
    core = queue(max_length=2)
    assert core.add("a", 0.0)
    assert core.add("b", 0.0)
    assert not core.add("c", 0.0)
    assert core.refused == 1
    assert core.add("a", 0.0, priority=7)
    assert taken(core, 0.0) == "a"
    core.failed("a", 0.0)
    assert not core.add("c", 0.0)
    core.take(0.0)
    core.done("b", 0.0)
    assert core.add("c", 0.0)


def test_reasons_are_collected_once_each_and_bounded() -> None:
    core = queue()
    for reason in ("x", "y", "x", "", *map(str, range(20))):
        core.add("a", 0.0, reason=reason)
    work = core.take(0.0)
    assert work is not None
    assert work.reasons[:3] == ("x", "y", "0")
    assert len(work.reasons) == MAX_REASONS
    core.add("a", 0.0, reason="later")
    core.done("a", 0.0)
    work = core.take(0.0)
    assert work is not None
    assert work.reasons == ("later",)


def test_it_tells_how_long_a_key_was_ready() -> None:
    core = queue()
    core.add("a", 0.0, after_s=5)
    work = core.take(7.0)
    assert work is not None
    assert work.waited_s == 2
    assert dict(core.processing) == {"a": 7.0}


class Twin:
    """The same rules without any care for speed: a list of keys with what is wanted of each."""

    def __init__(self) -> None:
        self.wanted: dict[str, tuple[int, float]] = {}
        self.order: list[str] = []
        self.working: dict[str, int] = {}
        self.failures: dict[str, tuple[int, float]] = {}

    def add(self, key: str, now: float, priority: int, after_s: float) -> None:
        old = self.wanted.get(key)
        new = (priority, now + after_s)
        self.wanted[key] = new if old is None else (max(old[0], new[0]), min(old[1], new[1]))

    def candidates(self, now: float) -> set[str]:
        """Those that may come out: ready, not in work, of the highest priority."""
        ready = {
            key: priority
            for key, (priority, at) in self.wanted.items()
            if at <= now and key not in self.working
        }
        return {key for key, priority in ready.items() if priority == max(ready.values())}

    def take(self, key: str) -> None:
        self.working[key] = self.wanted.pop(key)[0]

    def done(self, key: str, now: float, after_s: float | None) -> None:
        priority = self.working.pop(key)
        self.failures.pop(key, None)
        if after_s is not None:
            self.add(key, now, priority, after_s)

    def failed(self, key: str, now: float) -> None:
        priority = self.working.pop(key)
        count, retry_at = self.failures.get(key, (0, 0.0))
        if now >= retry_at:
            count, retry_at = count + 1, now + min(300, 2**count)
        self.failures[key] = (count, retry_at)
        self.add(key, now, priority, retry_at - now)


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("add"), st.sampled_from("abcd"), st.sampled_from([-100, 0, 1]), st.sampled_from([0, 1, 5])
        ),
        st.tuples(st.just("take")),
        st.tuples(st.just("done"), st.sampled_from([None, None, 3])),
        st.tuples(st.just("failed")),
        st.tuples(st.just("pass"), st.sampled_from([0.5, 1, 4])),
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_it_does_what_its_dumb_twin_does(steps: list[tuple[object, ...]]) -> None:
    core, twin, now = queue(), Twin(), 0.0
    for step in steps:
        match step:
            case "add", str(key), int(priority), int(after_s):
                core.add(key, now, priority=priority, after_s=after_s)
                twin.add(key, now, priority, after_s)
            case ("take",):
                candidates = twin.candidates(now)
                key = taken(core, now)
                assert (key in candidates) if candidates else key is None
                if key is not None:
                    twin.take(key)
            case "done", after_s if twin.working:
                key = next(iter(twin.working))
                core.done(key, now, again_after_s=after_s)  # type: ignore[arg-type]
                twin.done(key, now, after_s)  # type: ignore[arg-type]
            case ("failed",) if twin.working:
                key = next(iter(twin.working))
                core.failed(key, now)
                twin.failed(key, now)
            case "pass", int(seconds) | float(seconds):
                now += seconds
        assert set(core.processing) == set(twin.working)
        assert len(core) == len({*twin.wanted, *twin.working})
