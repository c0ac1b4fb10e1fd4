"""The rules of the Raft paper (Ongaro and Ousterhout, extended version), one test each, by section."""

from __future__ import annotations

import pytest

from steersman.raft.core import (
    AppendRequest,
    AppendResponse,
    Change,
    ChangeKind,
    Entry,
    HeartbeatRequest,
    HeartbeatResponse,
    RoleKind,
    TimeoutNow,
    VoteRequest,
    VoteResponse,
)
from tests.scenarios.raft.lab import Lab


def _append(term: int, prev: tuple[int, int], *terms: int, commit: int = 0, sender: int = 2) -> AppendRequest:
    entries = tuple(Entry(prev[0] + position, t) for position, t in enumerate(terms, start=1))
    return AppendRequest(
        to=1, sender=sender, term=term, prev_index=prev[0], prev_term=prev[1], entries=entries, commit=commit, round=1
    )  # fmt: skip


def _vote(term: int, last: tuple[int, int], sender: int = 2, *, pre: bool = False) -> VoteRequest:
    return VoteRequest(to=1, sender=sender, term=term, last_index=last[0], last_term=last[1], pre=pre)


def _quiet(lab: Lab) -> Lab:
    """Nobody has heard a leader for long."""
    lab.wait(1.0)
    return lab


# 5.1 Raft basics


@pytest.mark.parametrize("role", list(RoleKind), ids=lambda role: role.value)
def test_5_1_a_higher_term_makes_everybody_a_follower(role: RoleKind) -> None:
    lab = _in_role(role)
    term = lab[1].term
    lab.step(HeartbeatRequest(to=1, sender=2, term=term + 1, commit=0, round=1))
    assert (lab[1].role.kind, lab[1].term, lab[1].leader) == (RoleKind.FOLLOWER, term + 1, 2)


def _in_role(role: RoleKind) -> Lab:
    lab = Lab([1, 2, 3])
    if role is RoleKind.LEADER:
        lab.elect(1)
    elif role is not RoleKind.FOLLOWER:
        _quiet(lab).timeout(1)
        if role is RoleKind.CANDIDATE:
            lab.deliver()
            lab.deliver()
    assert lab[1].role.kind is role
    return lab


def test_5_1_a_response_with_a_higher_term_deposes_a_leader() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    lab.step(AppendResponse(to=1, sender=3, term=9, index=0, round=0, rejected=True))
    assert (lab[1].role.kind, lab[1].term, lab[1].vote) == (RoleKind.FOLLOWER, 9, 0)


def test_5_1_messages_of_an_older_term_are_refused_and_told_the_term() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    lab.step(_append(1, (1, 1), 1))
    answer = lab.wire[-1]
    assert isinstance(answer, AppendResponse)
    assert answer.rejected
    assert answer.term == 2
    assert lab[1].log.last == 2


# 5.2 Leader election


def test_5_2_members_start_as_followers() -> None:
    assert Lab([1, 2, 3])[1].role.kind is RoleKind.FOLLOWER


def test_5_2_a_follower_that_hears_nothing_campaigns_within_the_election_timeout() -> None:
    raft = Lab([1, 2, 3])[1]
    config = raft.config
    assert raft.now + config.election_min_s <= raft.deadline <= raft.now + config.election_max_s
    raft.tick(raft.deadline - 0.001)
    assert raft.role.kind is RoleKind.FOLLOWER
    raft.tick(raft.deadline)
    assert raft.role.kind is RoleKind.PRE_CANDIDATE


def test_5_2_election_timeouts_differ() -> None:
    raft = Lab([1, 2, 3])[1]
    assert len({raft.election_timeout() for _ in range(20)}) == 20


def test_5_2_a_follower_that_hears_its_leader_stays_one() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    for _ in range(20):
        lab.heartbeat(1)
        lab.tick(2)
        lab.tick(3)
    assert lab[2].role.kind is lab[3].role.kind is RoleKind.FOLLOWER
    assert lab[1].term == 2


def test_5_2_a_candidate_enters_a_new_term_and_votes_for_itself() -> None:
    lab = _in_role(RoleKind.CANDIDATE)
    assert (lab[1].term, lab[1].vote) == (2, 1)


@pytest.mark.parametrize(
    ("size", "votes", "role"),
    [
        (1, "", RoleKind.LEADER),
        (3, "y", RoleKind.LEADER),
        (3, "n", RoleKind.CANDIDATE),
        (3, "nn", RoleKind.FOLLOWER),
        (5, "y", RoleKind.CANDIDATE),
        (5, "yy", RoleKind.LEADER),
        (5, "nn", RoleKind.CANDIDATE),
        (5, "nnn", RoleKind.FOLLOWER),
        (4, "y", RoleKind.CANDIDATE),
        (4, "yy", RoleKind.LEADER),
    ],
)
def test_5_2_a_majority_decides(size: int, votes: str, role: RoleKind) -> None:
    lab = _quiet(Lab(range(1, size + 1)))
    lab.timeout(1)
    lab.deliver()
    lab.deliver()
    lab.wire.clear()
    for voter, vote in enumerate(votes, start=2):
        lab.step(VoteResponse(to=1, sender=voter, term=2, granted=vote == "y"))
    assert lab[1].role.kind is role


def test_5_2_a_vote_is_counted_once() -> None:
    lab = _quiet(Lab(range(1, 6)))
    lab.timeout(1)
    lab.deliver()
    lab.deliver()
    lab.wire.clear()
    for _ in range(3):
        lab.step(VoteResponse(to=1, sender=2, term=2, granted=True))
    assert lab[1].role.kind is RoleKind.CANDIDATE


def test_5_2_one_vote_a_term_first_come_first_served() -> None:
    lab = _quiet(Lab([1, 2, 3]))
    lab.step(_vote(2, (1, 1), sender=2))
    lab.step(_vote(2, (1, 1), sender=3))
    lab.step(_vote(2, (1, 1), sender=2))
    answers = [(message.to, message.granted) for message in lab.wire if isinstance(message, VoteResponse)]
    assert answers == [(2, True), (3, False), (2, True)]


def test_5_2_a_vote_survives_a_crash() -> None:
    lab = _quiet(Lab([1, 2, 3]))
    lab.step(_vote(2, (1, 1), sender=2))
    lab.seats[1].crash()
    lab.seats[1].start()
    lab.wire.clear()
    lab.wait(1)
    lab.step(_vote(2, (1, 1), sender=3))
    assert [message.granted for message in lab.wire if isinstance(message, VoteResponse)] == [False]


def test_5_2_no_vote_in_a_term_whose_leader_is_known() -> None:
    lab = Lab([1, 2, 3])
    lab.step(HeartbeatRequest(to=1, sender=2, term=5, commit=0, round=1))
    lab.wire.clear()
    lab.wait(1)
    lab.step(_vote(5, (9, 4), sender=3))
    assert [message.granted for message in lab.wire if isinstance(message, VoteResponse)] == [False]


@pytest.mark.parametrize("pre", [True, False], ids=["pre-candidate", "candidate"])
def test_5_2_a_candidate_follows_a_leader_of_its_term(pre: bool) -> None:
    lab = _in_role(RoleKind.PRE_CANDIDATE if pre else RoleKind.CANDIDATE)
    lab.step(_append(lab[1].term, (1, 1), lab[1].term))
    assert (lab[1].role.kind, lab[1].leader, lab[1].log.last) == (RoleKind.FOLLOWER, 2, 2)


def test_5_2_a_split_vote_leads_to_another_election_after_a_timeout() -> None:
    lab = _in_role(RoleKind.CANDIDATE)
    lab.wire.clear()
    lab.timeout(1)
    assert lab[1].role.kind is RoleKind.PRE_CANDIDATE
    lab.settle()
    assert (lab[1].role.kind, lab[1].term) == (RoleKind.LEADER, 3)


def test_5_2_leaders_send_heartbeats() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    lab.timeout(1)
    assert [message.to for message in lab.wire if isinstance(message, HeartbeatRequest)] == [2, 3]


# 5.3 Log replication


def test_5_3_a_leader_appends_and_replicates_and_commits_by_majority() -> None:
    lab = Lab(range(1, 6))
    lab.elect(1)
    for absent in (4, 5):
        lab.isolate(absent)
    lab.propose(1, "a")
    assert lab[1].log.commit == 2
    lab.settle()
    assert lab[1].log.commit == 3
    lab.heartbeat(1)
    assert [lab.seats[id_].data for id_ in (1, 2, 3)] == [["a"]] * 3


def test_5_3_a_leader_does_not_commit_without_a_majority() -> None:
    lab = Lab(range(1, 6))
    lab.elect(1)
    for absent in (3, 4, 5):
        lab.isolate(absent)
    lab.propose(1, "a")
    lab.settle()
    assert lab[1].log.commit == 2


@pytest.mark.parametrize(
    ("request_", "index", "rejected"),
    [
        pytest.param(_append(3, (3, 2), 3), 4, False, id="the-predecessor-is-there"),
        pytest.param(_append(3, (4, 2), 3), 4, True, id="the-predecessor-is-missing"),
        pytest.param(_append(3, (3, 1), 3), 3, True, id="the-predecessor-is-another"),
    ],
)
def test_5_3_consistency_check(request_: AppendRequest, index: int, rejected: bool) -> None:
    lab = Lab([1, 2, 3])
    lab.step(_append(2, (1, 1), 2, 2))
    lab.wire.clear()
    lab.step(request_)
    answer = lab.wire[-1]
    assert isinstance(answer, AppendResponse)
    assert (answer.index, answer.rejected) == (index, rejected)


#: Figure 7: logs of followers when the leader of term 8 comes to power.
_LEADER = [1, 1, 1, 4, 4, 5, 5, 6, 6, 6]


@pytest.mark.parametrize(
    "terms",
    [
        pytest.param([1, 1, 1, 4, 4, 5, 5, 6, 6], id="a"),
        pytest.param([1, 1, 1, 4], id="b"),
        pytest.param([1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6], id="c"),
        pytest.param([1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7], id="d"),
        pytest.param([1, 1, 1, 4, 4, 4, 4], id="e"),
        pytest.param([1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3], id="f"),
    ],
)
def test_5_3_figure_7_every_follower_ends_with_the_leaders_log(terms: list[int]) -> None:
    lab = Lab([1, 2, 3])
    for id_, log in ((1, _LEADER), (2, terms), (3, [1])):
        seat = lab.seats[id_]
        for content in (seat.disk.durable, seat.disk.seen):
            content.log = [Entry(index, term) for index, term in enumerate(log, start=2)]
            content.hard = type(content.hard)(term=7, vote=0, commit=1)
        seat.start()
    lab.isolate(2)
    lab.elect(1)
    lab.cut.clear()
    lab.heartbeat(1)
    lab.heartbeat(1)
    assert lab.seats[2].log() == lab.seats[1].log()
    assert lab[2].log.commit == lab[1].log.commit == 12


def test_5_3_a_rejection_is_repaired_in_one_step_per_term() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    lab.isolate(1)
    lab.propose(1, *"abcdefghij")
    lab.elect(2)
    lab.cut.clear()
    lab.timeout(2)
    rounds = 0
    while lab.wire:
        lab.deliver()
        rounds += 1
    assert lab.seats[1].log() == lab.seats[2].log()
    assert rounds < 10


def test_5_3_followers_commit_no_more_than_they_know_to_match() -> None:
    lab = Lab([1, 2, 3])
    lab.step(_append(2, (1, 1), 2, 2, 2, commit=1))
    lab.step(_append(3, (1, 1), 2, commit=4, sender=3))
    assert lab[1].log.commit == 2


# 5.4 Safety


@pytest.mark.parametrize(
    ("last", "granted"),
    [
        pytest.param((3, 2), True, id="same-log"),
        pytest.param((4, 2), True, id="longer"),
        pytest.param((2, 3), True, id="newer"),
        pytest.param((2, 2), False, id="shorter"),
        pytest.param((9, 1), False, id="older-although-longer"),
    ],
)
@pytest.mark.parametrize("pre", [True, False], ids=["pre-vote", "vote"])
def test_5_4_1_a_vote_goes_to_an_up_to_date_log_only(last: tuple[int, int], granted: bool, pre: bool) -> None:
    lab = Lab([1, 2, 3])
    lab.step(_append(2, (1, 1), 2, 2))
    lab.wire.clear()
    _quiet(lab).step(_vote(3, last, sender=3, pre=pre))
    assert [message.granted for message in lab.wire if isinstance(message, VoteResponse)] == [granted]


def test_5_4_2_entries_of_earlier_terms_are_committed_only_with_one_of_the_own() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    lab.isolate(1)
    lab.propose(1, "old")
    _quiet(lab).tick(1)  # no quorum: steps down
    lab.wire.clear()
    lab.cut.clear()
    lab.timeout(1)
    for _ in range(4):
        lab.deliver()
    lab.wire.clear()
    raft = lab[1]
    assert (raft.role.kind, raft.term, raft.log.last, raft.log.commit) == (RoleKind.LEADER, 3, 4, 2)
    lab.step(AppendResponse(to=1, sender=2, term=3, index=3, round=1))
    assert raft.log.commit == 2
    lab.step(AppendResponse(to=1, sender=2, term=3, index=4, round=1))
    assert raft.log.commit == 4


# 6 Cluster membership changes, as far as votes go (scenarios have the rest)


def test_6_members_refuse_candidates_while_their_leader_is_alive() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(2)
    lab.heartbeat(2)
    lab.wait(lab[1].config.election_min_s - 0.001)
    lab.step(_vote(9, (99, 8), sender=3))
    assert not lab.wire
    assert lab[1].term == 2
    lab.wait(0.002)
    lab.step(_vote(9, (99, 8), sender=3))
    assert [message.granted for message in lab.wire if isinstance(message, VoteResponse)] == [True]


def test_6_a_leader_refuses_candidates_while_a_quorum_answers_it() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    lab.heartbeat(1)
    lab.step(_vote(9, (99, 8), sender=3))
    assert lab[1].role.kind is RoleKind.LEADER


def test_6_a_candidate_that_the_leader_has_chosen_is_not_refused() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(2)
    lab.heartbeat(2)
    lab.step(TimeoutNow(to=3, sender=2, term=2))
    lab.settle()
    assert lab[3].leader == lab[1].leader == 3


def test_6_learners_and_strangers_do_not_campaign_but_vote() -> None:
    lab = Lab([1, 2, 3], [4])
    lab.wait(1)
    lab.timeout(4)
    assert lab[4].role.kind is RoleKind.FOLLOWER
    lab.step(TimeoutNow(to=4, sender=1, term=0))
    assert lab[4].role.kind is RoleKind.FOLLOWER
    lab.wait(1)
    lab.step(VoteRequest(to=4, sender=1, term=2, last_index=1, last_term=1))
    assert [message.granted for message in lab.wire if isinstance(message, VoteResponse)] == [True]


def test_6_learners_do_not_count() -> None:
    lab = Lab([1, 2, 3], [4])
    lab.elect(1)
    lab.heartbeat(1)
    lab.call(1, lambda raft: raft.propose_change([Change(ChangeKind.ADD_LEARNER, 4)], lab.now))
    lab.settle()
    lab.heartbeat(1)
    commit = lab[1].log.commit
    for absent in (2, 3):
        lab.isolate(absent)
    lab.propose(1, "a")
    lab.settle()
    assert lab[4].log.last == lab[1].log.last
    assert lab[1].log.commit == commit


# 8 Client interaction


def test_8_a_leader_commits_an_empty_entry_at_the_start_of_its_term() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    assert [(entry.term, entry.data) for entry in lab.seats[1].log()] == [(2, b"")]
    assert lab[1].log.commit == 2


def test_8_a_read_waits_for_the_answers_of_a_majority_to_a_round_that_follows_it() -> None:
    lab = Lab(range(1, 6))
    lab.elect(1)
    lab.call(1, lambda raft: raft.read_index(7, lab.now))
    round_ = next(message.round for message in lab.wire if isinstance(message, HeartbeatRequest))
    lab.wire.clear()
    lab.step(HeartbeatResponse(to=1, sender=2, term=2, round=round_ - 1))
    lab.step(HeartbeatResponse(to=1, sender=3, term=2, round=round_ - 1))
    lab.step(HeartbeatResponse(to=1, sender=2, term=2, round=round_))
    assert not lab.seats[1].reads
    lab.step(HeartbeatResponse(to=1, sender=3, term=2, round=round_))
    assert [read.context for read in lab.seats[1].reads] == [7]
