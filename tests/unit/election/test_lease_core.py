"""The rules of leading by a Lease: the exact commands, step by step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from steersman.election import ElectionConfigError
from steersman.election.lease.core import (
    Command,
    Elect,
    Event,
    Lease,
    LeaseCore,
    LeaseSettings,
    Lose,
    State,
    Stop,
    WorkEnded,
)
from steersman.election.lease.requests import Found, Read, Refused, Tick, Unanswered, Write, Written

OTHERS = Lease("other", 15, 4, "t-acquired", "t-renewed", "70")


class Contender:
    """A core with its clock; answers are given the number of the last request."""

    def __init__(self, identity: str = "me") -> None:
        self.core = LeaseCore(identity, LeaseSettings(), lambda: 0.5)
        self.now = 100.0
        self.request = 0

    def step(self, event: Event, after_s: float = 0.0) -> list[Command]:
        self.now += after_s
        commands = self.core.step(event, self.now, f"wall {self.now:g}")
        for command in commands:
            if isinstance(command, Read | Write):
                self.request = command.request
        return commands

    def found(self, lease: Lease | None, after_s: float = 0.0) -> list[Command]:
        return self.step(Found(self.request, lease), after_s)

    def written(self, lease: Lease, after_s: float = 0.0) -> list[Command]:
        return self.step(Written(self.request, lease), after_s)

    def refused(self) -> list[Command]:
        return self.step(Refused(self.request))

    def unanswered(self, after_s: float = 0.0) -> list[Command]:
        return self.step(Unanswered(self.request), after_s)


def sent(commands: list[Command]) -> Lease:
    [command] = commands
    assert isinstance(command, Write)
    return command.lease


def leader() -> tuple[Contender, Lease]:
    """Elected at 100 s."""
    contender = Contender()
    contender.step(Tick())
    stored = replace(sent(contender.found(None)), version="1")
    assert contender.written(stored) == [Elect(1)]
    return contender, stored


def test_a_lease_that_does_not_exist_is_created() -> None:
    contender = Contender()
    assert contender.step(Tick()) == [Read(1, 5.0)]
    assert contender.found(None) == [Write(2, 5.0, Lease("me", 15, 1, "wall 100", "wall 100", ""))]
    assert not contender.core.leads(contender.now)
    assert contender.written(Lease("me", 15, 1, "wall 100", "wall 100", "1")) == [Elect(1)]
    assert contender.core.leads(contender.now)
    assert contender.core.holder == "me"


def test_a_lease_of_another_is_left_alone_and_looked_at_again() -> None:
    contender = Contender()
    contender.step(Tick())
    assert contender.found(OTHERS) == []
    assert contender.core.wake_at == pytest.approx(100 + 2 * (1 + 1.2 * 0.5))
    assert contender.core.holder == "other"


def test_a_lease_that_is_about_to_expire_is_looked_at_when_it_has() -> None:
    contender = Contender()
    contender.step(Tick())
    contender.found(OTHERS)
    contender.step(Tick(), 14.0)
    assert contender.found(OTHERS) == []
    usual_s = 2 * (1 + 1.2 * 0.5)
    assert contender.core.wake_at == pytest.approx(115 + 0.1 * usual_s)


def test_who_is_in_a_hurry_looks_now_and_often_for_a_while() -> None:
    contender = Contender()
    contender.step(Tick())
    contender.found(OTHERS)
    contender.core.hurry(contender.now)
    assert contender.core.wake_at == contender.now
    assert contender.step(Tick()) == [Read(2, 5.0)]
    contender.found(OTHERS)
    assert contender.core.wake_at == pytest.approx(contender.now + 0.2)
    contender.core.hurry(contender.now)
    assert contender.core.wake_at == pytest.approx(contender.now + 0.2), "not more often than that"
    contender.step(Tick(), 2.0)
    contender.found(OTHERS)
    assert contender.core.wake_at == pytest.approx(contender.now + 2 * (1 + 1.2 * 0.5))


def test_a_leader_is_never_in_a_hurry() -> None:
    contender, _ = leader()
    due = contender.core.wake_at
    contender.core.hurry(contender.now)
    assert contender.core.wake_at == due


def test_a_lease_is_taken_when_it_was_seen_unchanged_for_its_own_duration() -> None:
    contender = Contender()
    contender.step(Tick())
    contender.found(replace(OTHERS, duration_s=30))
    for _ in range(2):
        contender.step(Tick(), 14.9)
        assert contender.found(replace(OTHERS, duration_s=30)) == []
    contender.step(Tick(), 4.0)
    wanted = sent(contender.found(replace(OTHERS, duration_s=30)))
    assert (wanted.holder, wanted.transitions, wanted.version) == ("me", 5, "70")


def test_every_change_of_the_lease_begins_the_wait_anew() -> None:
    contender = Contender()
    contender.step(Tick())
    contender.found(OTHERS)
    contender.step(Tick(), 14.0)
    contender.found(replace(OTHERS, version="71"))
    contender.step(Tick(), 14.0)
    assert contender.found(replace(OTHERS, version="71")) == []


def test_wall_clocks_decide_nothing() -> None:
    """Renewed a thousand years ago, or ahead: only what is seen to change counts."""
    for renewed in ("1026-01-01T00:00:00.000000Z", "3026-01-01T00:00:00.000000Z"):
        contender = Contender()
        contender.step(Tick())
        assert contender.found(replace(OTHERS, renewed=renewed)) == []


def test_a_released_lease_is_taken_at_once() -> None:
    contender = Contender()
    contender.step(Tick())
    wanted = sent(contender.found(replace(OTHERS, holder="", duration_s=1)))
    assert (wanted.holder, wanted.transitions) == ("me", 5)


def test_who_is_refused_follows() -> None:
    contender = Contender()
    contender.step(Tick())
    contender.found(None)
    assert contender.refused() == []
    assert contender.core.state is State.FOLLOWING
    assert contender.core.wake_at is not None


def test_an_election_whose_answer_took_too_long_is_none() -> None:
    contender = Contender()
    contender.step(Tick())
    stored = replace(sent(contender.found(None)), version="1")
    assert contender.written(stored, after_s=10.0) == []
    assert not contender.core.leads(contender.now)
    contender.step(Tick(), 5.0)
    again = sent(contender.found(stored))
    assert again.transitions == 2, "it is ours, and a new term"


def test_an_election_whose_answer_was_lost_is_found_again() -> None:
    contender = Contender()
    contender.step(Tick())
    stored = replace(sent(contender.found(None)), version="1")
    contender.unanswered(5.0)
    contender.step(Tick(), 5.0)
    assert sent(contender.found(stored)).version == "1"


def test_a_lease_with_our_name_that_we_did_not_write_is_anothers() -> None:
    contender = Contender()
    contender.step(Tick())
    assert contender.found(replace(OTHERS, holder="me")) == []


def test_a_leader_renews_every_two_seconds() -> None:
    contender, stored = leader()
    assert contender.core.wake_at == 102
    renewal = sent(contender.step(Tick(), 2.0))
    assert renewal == replace(stored, renewed="wall 102")
    assert contender.written(replace(renewal, version="2"), after_s=1.0) == []
    assert contender.core.wake_at == 105
    assert contender.core.leads(111.9)
    assert not contender.core.leads(112.0), "counted from when the renewal was sent"


def test_a_leader_that_cannot_renew_loses_before_others_may_take_over() -> None:
    contender, _ = leader()
    [write] = contender.step(Tick(), 2.0)
    assert isinstance(write, Write)
    assert write.timeout_s == 5.0
    assert contender.unanswered(5.0) == []
    [read] = contender.step(Tick(), 2.0)
    assert isinstance(read, Read), "what happened to the renewal is not known"
    assert read.timeout_s == pytest.approx(1.0), "no longer than it leads"
    assert contender.core.wake_at == 110
    assert contender.step(Tick(), 1.0) == [Lose("the lease could not be renewed in time")]
    assert contender.core.wake_at is None


def test_an_answer_that_comes_too_late_does_not_count() -> None:
    contender, _ = leader()
    renewal = sent(contender.step(Tick(), 2.0))
    assert contender.written(replace(renewal, version="2"), after_s=8.0) == [
        Lose("the lease could not be renewed in time")
    ]


def test_an_answer_to_a_request_that_was_given_up_is_ignored() -> None:
    contender, _ = leader()
    renewal = sent(contender.step(Tick(), 2.0))
    contender.unanswered(5.0)
    old = contender.request
    contender.step(Tick(), 2.0)
    assert contender.step(Written(old, replace(renewal, version="2"))) == []
    assert not contender.core.leads(110.0)


def test_a_leader_that_is_refused_looks_who_leads() -> None:
    contender, stored = leader()
    contender.step(Tick(), 2.0)
    [read] = contender.refused()
    assert isinstance(read, Read)
    annotated = replace(stored, version="9")
    assert sent(contender.found(annotated)) == replace(annotated, renewed="wall 102")


def test_a_leader_that_is_refused_again_and_again_does_not_hurry() -> None:
    contender, stored = leader()
    contender.step(Tick(), 2.0)
    contender.refused()
    contender.found(stored)
    assert contender.refused() == []
    assert contender.core.wake_at == 104
    [read] = contender.step(Tick(), 2.0)
    assert isinstance(read, Read)
    renewal = sent(contender.found(stored))
    contender.written(replace(renewal, version="2"))
    assert isinstance(contender.step(Tick(), 2.0)[0], Write), "all is well again"


def test_a_leader_whose_lease_was_taken_loses_at_once() -> None:
    contender, _ = leader()
    contender.step(Tick(), 2.0)
    contender.refused()
    assert contender.found(OTHERS) == [Lose("the lease is held by other")]
    assert not contender.core.leads(contender.now)


def test_a_leader_whose_lease_was_deleted_creates_it_again_in_its_term() -> None:
    contender, stored = leader()
    contender.step(Tick(), 2.0)
    contender.refused()
    wanted = sent(contender.found(None))
    assert (wanted.version, wanted.transitions) == ("", stored.transitions)


def test_a_follower_waits_for_the_end_of_a_lease_that_was_deleted() -> None:
    contender = Contender()
    contender.step(Tick())
    contender.found(OTHERS)
    contender.step(Tick(), 5.0)
    assert contender.found(None) == []
    contender.step(Tick(), 10.0)
    wanted = sent(contender.found(None))
    assert (wanted.transitions, wanted.version) == (5, "")


def test_after_a_loss_it_contends_only_when_the_work_has_ended() -> None:
    contender, stored = leader()
    assert contender.step(Tick(), 10.0) == [Lose("the lease could not be renewed in time")]
    assert contender.step(Tick(), 100.0) == []
    assert contender.step(WorkEnded()) == []
    assert contender.core.state is State.FOLLOWING
    contender.step(Tick(), 5.0)
    assert sent(contender.found(stored)).transitions == 2


def test_the_lease_is_given_up_when_the_work_has_ended() -> None:
    contender, stored = leader()
    freed = sent(contender.step(WorkEnded(), 1.0))
    assert (freed.holder, freed.duration_s, freed.version) == ("", 1, stored.version)
    assert not contender.core.leads(contender.now)
    assert contender.written(replace(freed, version="2")) == [Stop()]


def test_a_renewal_under_way_is_waited_for_before_giving_up() -> None:
    contender, _ = leader()
    renewal = sent(contender.step(Tick(), 2.0))
    assert contender.step(WorkEnded()) == []
    freed = sent(contender.written(replace(renewal, version="2")))
    assert (freed.holder, freed.version) == ("", "2")


def test_giving_up_is_tried_again_when_somebody_edited_the_lease() -> None:
    contender, stored = leader()
    contender.step(WorkEnded())
    [read] = contender.refused()
    assert isinstance(read, Read)
    assert sent(contender.found(replace(stored, version="5"))).version == "5"
    assert contender.unanswered() == [Stop()]


def test_what_another_holds_is_not_given_up() -> None:
    contender, _ = leader()
    contender.step(WorkEnded())
    contender.refused()
    assert contender.found(OTHERS) == [Stop()]
    late, _ = leader()
    assert late.step(WorkEnded(), 10.0) == [Stop()], "it may be another's by now"


@pytest.mark.parametrize(
    "numbers", [(10, 10, 2), (15, 2, 2), (15, 10, 0)], ids=["deadline", "retry", "no retry"]
)
def test_numbers_that_are_not_safe_are_refused(numbers: tuple[float, float, float]) -> None:
    with pytest.raises(ElectionConfigError, match="duration_s > renew_deadline_s"):
        LeaseSettings(*numbers)
