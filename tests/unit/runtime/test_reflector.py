"""The reflector's decisions: every row of its transition table."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from steersman.runtime.reflector import (
    UNREACHABLE,
    Apply,
    Clear,
    Commit,
    Discard,
    Ended,
    Event,
    Failed,
    Hold,
    List,
    Listed,
    Opened,
    Phase,
    Progress,
    Received,
    Reflector,
    Report,
    Silent,
    Started,
    Wait,
    Waited,
    Watch,
)

STREAM = Watch("", True, 450)
REFUSAL = Failed(422, "sendInitialEvents is forbidden")


def obj(version: int) -> Received:
    return Received(str(version))


def bookmark(version: int) -> Received:
    return Received(str(version), bookmark=True)


def initial_end(version: int) -> Received:
    return Received(str(version), bookmark=True, initial_end=True)


def resume(version: int) -> Watch:
    return Watch(str(version), False, 450)


class Run:
    """A reflector fed with events at set times; chance always says the middle."""

    def __init__(self) -> None:
        self.core = Reflector(lambda: 0.5)
        self.now = 0.0

    def step(self, *events: Event, after_s: float = 0.0) -> tuple[Any, ...]:
        """What follows from the last of some events, the first of which comes after a while."""
        self.now += after_s
        commands: tuple[Any, ...] = ()
        for event in events:
            commands = self.core.step(event, self.now)
        return commands

    def watching(self, version: int = 10) -> Run:
        assert self.step(Started()) == (Discard(), STREAM)
        assert self.step(Opened()) == ()
        assert self.step(obj(5)) == (Hold(),)
        assert self.step(initial_end(version)) == (Commit(str(version)),)
        return self

    def listing(self) -> Run:
        assert self.step(Started(), REFUSAL) == (Discard(), List())
        return self


def test_initial_events_are_held_until_their_end() -> None:
    run = Run()
    assert run.step(Started()) == (Discard(), STREAM)
    assert run.step(Opened(), obj(3)) == (Hold(),)
    assert run.step(bookmark(3)) == ()
    assert run.step(Received("4", deleted=True)) == (Hold(deleted=True),)
    assert run.step(initial_end(7)) == (Commit("7"),)
    assert run.core.phase is Phase.WATCHING


def test_changes_are_applied_and_bookmarks_noted() -> None:
    run = Run().watching(10)
    assert run.step(obj(11)) == (Apply(),)
    assert run.step(Received("12", deleted=True)) == (Apply(deleted=True),)
    assert run.step(bookmark(20)) == (Progress("20"),)
    assert run.step(Ended(), after_s=60) == (resume(20),)


def test_a_watch_is_resumed_from_the_newest_version_though_events_come_twice_or_out_of_order() -> None:
    run = Run().watching(10)
    for version in (15, 12, 15, 14):
        assert run.step(obj(version)) == (Apply(),)
    assert run.step(Ended(), after_s=60) == (resume(15),)


@pytest.mark.parametrize("code", [400, 405, 406, 415, 422, 500, 501], ids=str)
def test_a_server_that_refuses_to_stream_is_listed_at_once_and_for_good(code: int) -> None:
    run = Run()
    assert run.step(Started(), Failed(code)) == (Discard(), List())
    run.step(Listed("10"), Opened())
    assert run.step(Failed(410), after_s=60) == (Discard(), List())


@pytest.mark.parametrize("end", [Ended(), Silent()], ids=["ended", "silent"])
def test_initial_events_without_an_end_are_fetched_by_list(end: Event) -> None:
    run = Run()
    assert run.step(Started(), Opened(), obj(4), end) == (Discard(), List())


@pytest.mark.parametrize("code", [UNREACHABLE, 401, 403, 404, 410, 429], ids=str)
def test_streaming_is_tried_again_after_failures_that_say_nothing_about_it(code: int) -> None:
    run = Run()
    run.step(Started())
    commands = run.step(Failed(code))
    if isinstance(commands[-1], Wait):
        commands = run.step(Waited())
    assert commands == (Discard(), STREAM)


def test_pages_are_held_until_the_last() -> None:
    run = Run().listing()
    assert run.step(Listed("9", "more")) == (Hold(), List("more"))
    assert run.step(Listed("9", "and more")) == (Hold(), List("and more"))
    assert run.step(Listed("9")) == (Hold(), Commit("9"), resume(9))


def test_a_failed_page_is_asked_for_again() -> None:
    run = Run().listing()
    run.step(Listed("9", "more"))
    (wait,) = run.step(Failed(503))
    assert isinstance(wait, Wait)
    assert run.step(Waited()) == (List("more"),)


@pytest.mark.parametrize("code", [400, 410, 422], ids=str)
def test_a_continue_token_that_is_no_good_ends_in_one_list_of_everything(code: int) -> None:
    run = Run().listing()
    run.step(Listed("9"), Opened())
    run.step(Failed(410), after_s=60)
    run.step(Listed("19", "more"))
    # The second trouble within a minute: not at once.
    assert isinstance(run.step(Failed(code))[-1], Wait)
    assert run.step(Waited()) == (Discard(), List(limit=0))
    assert run.step(Listed("20")) == (Hold(), Commit("20"), resume(20))


@pytest.mark.parametrize("code", [400, 410, 422], ids=str)
def test_a_version_the_server_no_longer_knows_is_answered_by_fetching_everything(code: int) -> None:
    assert Run().watching().step(Failed(code), after_s=60) == (Discard(), STREAM)


@pytest.mark.parametrize("end", [Failed(UNREACHABLE), Failed(500), Ended(), Silent()], ids=repr)
def test_other_ends_of_a_watch_are_answered_by_resuming(end: Event) -> None:
    assert Run().watching(10).step(end, after_s=60) == (resume(10),)


@pytest.mark.parametrize("event", [bookmark(7), obj(7)], ids=["bookmark", "object"])
def test_a_version_from_before_the_watch_began_means_another_history(event: Event) -> None:
    run = Run().watching(10)
    assert run.step(event) == (Discard(), STREAM)
    assert run.step(Opened(), initial_end(8)) == (Commit("8", reset=True),)
    assert run.step(bookmark(9)) == (Progress("9"),)


def test_a_list_older_than_what_was_seen_resets() -> None:
    run = Run().watching(10)
    run.step(obj(50))
    run.step(Failed(410), after_s=60)
    assert run.step(Opened(), initial_end(49)) == (Commit("49", reset=True),)


def test_versions_that_are_no_numbers_are_trusted_in_the_order_they_come() -> None:
    run = Run()
    run.step(Started(), Opened())
    assert run.step(Received("abc", bookmark=True, initial_end=True)) == (Commit("abc"),)
    assert run.step(Received("aaa")) == (Apply(),)
    assert run.step(Ended(), after_s=60) == (Watch("aaa", False, 450),)


def test_a_resource_that_is_not_served_is_cleared_and_looked_for() -> None:
    run = Run()
    assert run.step(Started(), Failed(404)) == (
        Discard(),
        Clear(),
        Report("is not served (yet)", trouble=False),
        Wait(pytest.approx(1.2)),
    )
    waits = []
    for _ in range(10):
        assert run.step(Waited()) == (Discard(), STREAM)
        *_, wait = run.step(Failed(404))
        waits.append(wait.seconds)
    assert max(waits) == waits[-1] == pytest.approx(15.0)
    run.step(Waited())
    assert run.step(Opened(), initial_end(3)) == (Commit("3"),)


def test_a_definition_deleted_later_clears() -> None:
    run = Run().watching(10)
    run.step(Ended(), after_s=60)
    assert run.step(Failed(404))[:2] == (Discard(), Clear())
    run.step(Waited())
    # The definition made anew may start at any version.
    assert run.step(Opened(), initial_end(3)) == (Commit("3"),)


def test_a_refusal_is_reported_once_and_so_is_its_end() -> None:
    run = Run()
    denial = Failed(403, 'configmaps is forbidden: User "x" cannot watch')
    reports = []
    run.step(Started())
    for _ in range(5):
        reports += [one for one in run.step(denial) if isinstance(one, Report)]
        run.step(Waited())
    assert reports == [Report(f"cannot be followed, trying again: {denial.message}")]
    run.step(Opened(), initial_end(5))
    assert run.step(obj(6), after_s=60) == (Apply(), Report("is followed again", trouble=False))
    assert run.step(obj(7)) == (Apply(),)


def test_a_lost_connection_is_reported_when_it_does_not_come_back() -> None:
    run = Run().watching()
    lost = Failed(UNREACHABLE, "connection refused")
    steps = [run.step(lost, after_s=60), run.step(lost), run.step(Waited(), lost), run.step(Waited(), lost)]
    assert [[one.text for one in step if isinstance(one, Report)] for step in steps] == [
        [],
        [],
        ["cannot be followed, trying again: connection refused"],
        [],
    ]


@pytest.mark.parametrize(
    ("code", "nominal"),
    [
        pytest.param(403, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0], id="up to half a minute"),
        pytest.param(404, [0.8, 1.6, 3.2, 6.4, 10.0, 10.0, 10.0], id="what is not served yet: 10 s"),
        pytest.param(UNREACHABLE, [0.8, 1.6, 2.0, 2.0, 2.0], id="a server that is away: 2 s"),
    ],
)
def test_waits_double_up_to_a_ceiling_and_are_spread(code: int, nominal: list[float]) -> None:
    core = Reflector(Random(7).random)
    core.step(Started(), 0.0)
    waits = []
    for _ in nominal:
        (*_, wait) = core.step(Failed(code), 0.0)
        waits.append(wait.seconds)
        core.step(Waited(), 0.0)
    assert all(least <= wait <= 2 * least for wait, least in zip(waits, nominal, strict=True))
    assert len({round(wait / least, 2) for wait, least in zip(waits, nominal, strict=True)}) > 1


def test_retry_after_is_honoured_within_reason() -> None:
    run = Run()
    run.step(Started())
    assert run.step(Failed(429, retry_after_s=40))[-1] == Wait(40)
    run.step(Waited())
    assert run.step(Failed(429, retry_after_s=1e9))[-1] == Wait(300)


def test_a_watch_that_ends_again_and_again_is_not_opened_in_a_hot_loop() -> None:
    run = Run().watching()
    waited = 0.0
    for _ in range(100):
        commands = run.step(Ended())
        if isinstance(commands[-1], Wait):
            run.now += commands[-1].seconds
            waited += commands[-1].seconds
            run.step(Waited())
        run.step(Opened(), obj(11))
    assert waited > 90 * 30


def test_a_storm_of_410_is_not_answered_by_a_storm_of_lists() -> None:
    run = Run().watching()
    started = run.now
    for _ in range(50):
        commands = run.step(Failed(410))
        if isinstance(commands[-1], Wait):
            run.now += commands[-1].seconds
            run.step(Waited())
        run.step(Opened(), initial_end(10))
    assert run.now - started > 40 * 30


def test_trouble_is_forgotten_after_a_healthy_watch() -> None:
    run = Run().watching()
    run.step(Failed(UNREACHABLE))
    for _ in range(6):
        run.step(Failed(UNREACHABLE))
        run.step(Waited())
    run.step(Opened())
    run.step(obj(11), after_s=31)
    assert run.step(Ended()) == (resume(11),)


@pytest.mark.parametrize(
    "before, expected_s",
    [
        ((), 480.0),
        ((obj(11),), 480.0),
        ((bookmark(11),), 150.0),
    ],
    ids=["nothing yet", "no bookmarks: the server's own end and a little", "two and a half bookmarks"],
)
def test_how_long_a_watch_may_be_silent(before: tuple[Event, ...], expected_s: float) -> None:
    run = Run().watching()
    run.step(*before)
    assert run.core.deadline == expected_s
    run.step(bookmark(12), after_s=100)
    assert run.core.deadline == 250


def test_initial_events_may_be_silent_for_half_a_minute() -> None:
    run = Run()
    run.step(Started())
    assert run.core.deadline is None
    run.step(Opened())
    assert run.core.deadline == 30
    run.step(obj(3), after_s=20)
    assert run.core.deadline == 50


def test_two_silent_watches_in_a_row_mean_that_the_server_may_have_another_history() -> None:
    run = Run().watching(10)
    assert run.step(Silent(), after_s=500) == (resume(10),)
    run.step(Opened())
    (wait,) = run.step(Silent(), after_s=500)
    assert isinstance(wait, Wait)
    assert run.step(Waited()) == (Discard(), STREAM)


def test_watch_timeouts_are_spread_over_five_to_ten_minutes() -> None:
    chances = iter([0.0, 0.999])
    core = Reflector(lambda: next(chances))
    timeouts = [core.step(Started(), 0.0)[-1] for _ in range(2)]
    assert [watch.timeout_s for watch in timeouts if isinstance(watch, Watch)] == [300, 599]


def test_within_a_process_a_watch_lasts_and_is_told_nothing_but_changes() -> None:
    core = Reflector(lambda: 0.5, lasting=True)
    assert core.step(Started(), 0) == (Discard(), List())
    watch = Watch("10", False, timeout_s=129_600, bookmarks=False)
    assert core.step(Listed("10"), 0) == (Hold(), Commit("10"), watch)
    core.step(Opened(), 1)
    assert core.step(obj(11), 2) == (Apply(),)
    assert core.deadline is None
    # Longer than a server remembers what has changed.
    assert core.step(Ended(), 90_000) == (Discard(), List())
