"""Majorities, against a deliberately dumb twin."""

from __future__ import annotations

import itertools

from steersman.raft.core.quorum import EVERYTHING, VoteResult, agreed, tally

_SETS = [frozenset(), frozenset({1}), frozenset({1, 2}), frozenset({2, 3}), frozenset({1, 2, 3}),
         frozenset({1, 2, 3, 4})]  # fmt: skip


def _is_majority(some: set[int], voters: frozenset[int]) -> bool:
    return not voters or 2 * len(some & voters) > len(voters)


def test_agreed_is_the_highest_value_that_majorities_have_reached() -> None:
    for halves in itertools.product(_SETS, _SETS):
        for values in itertools.product((None, 1, 2, 3), repeat=4):
            reached = {voter: value for voter, value in enumerate(values, start=1) if value is not None}
            candidates = [
                index
                for index in (0, 1, 2, 3, EVERYTHING)
                if all(_is_majority({v for v in half if reached.get(v, 0) >= index}, half) for half in halves)
            ]
            assert agreed(halves, reached, 0) == max(candidates), (halves, reached)


def test_a_vote_is_won_by_majorities_and_lost_when_none_is_left_to_get() -> None:
    for halves in itertools.product(_SETS, _SETS):
        for answers in itertools.product((None, True, False), repeat=4):
            votes = {voter: answer for voter, answer in enumerate(answers, start=1) if answer is not None}
            granted = {voter for voter in votes if votes[voter]}
            open_ = {voter for voter in (1, 2, 3, 4) if votes.get(voter) is not False}
            if all(_is_majority(granted, half) for half in halves):
                expected = VoteResult.WON
            elif all(_is_majority(open_, half) for half in halves):
                expected = VoteResult.PENDING
            else:
                expected = VoteResult.LOST
            assert tally(halves, votes) is expected, (halves, votes)
