"""Configurations and their history in the log."""

from __future__ import annotations

import itertools

import pytest

from steersman.raft.core import Change, ChangeKind, ChangeRefused, Configuration, ContractBroken
from steersman.raft.core.membership import History, enter_joint, leave_joint, simple


def _voters(*ids: int) -> Configuration:
    return Configuration(voters=frozenset(ids))


def test_encoding_brings_back_the_same_configuration() -> None:
    before = Configuration(
        frozenset({1, 2}), frozenset({2, 3}), frozenset({4}), frozenset({3}), auto_leave=True
    )
    assert Configuration.decode(before.encode()) == before


def test_encoding_does_not_depend_on_order() -> None:
    assert Configuration(frozenset([8, 16, 1])).encode() == Configuration(frozenset([1, 16, 8])).encode()


def _majorities(configuration: Configuration) -> list[frozenset[int]]:
    """Every set of members that decides."""
    everybody = sorted(configuration.members)
    return [
        frozenset(some)
        for size in range(len(everybody) + 1)
        for some in itertools.combinations(everybody, size)
        if all(2 * len(half.intersection(some)) > len(half) for half in configuration.halves)
    ]


@pytest.mark.parametrize("joint", [False, True], ids=["simple", "joint"])
def test_majorities_before_and_after_a_change_always_overlap(joint: bool) -> None:
    steps = [Change(kind, member) for kind in ChangeKind for member in (1, 2, 3, 4)]
    made = 0
    for before in (_voters(1), _voters(1, 2), _voters(1, 2, 3)):
        for changes in itertools.product(steps, repeat=2):
            try:
                after = enter_joint(before, changes) if joint else simple(before, changes)
            except ChangeRefused:
                continue
            chain = [before, after, leave_joint(after)] if joint else [before, after]
            for one, other in itertools.pairwise(chain):
                made += 1
                for a, b in itertools.product(_majorities(one), _majorities(other)):
                    assert a & b, (one, other, a, b)
    assert made > 100


def test_who_leaves_the_voters_in_a_joint_change_becomes_a_learner_only_afterwards() -> None:
    joint = enter_joint(_voters(1, 2), [Change(ChangeKind.ADD_LEARNER, 2)])
    assert joint.votes(2)
    assert not joint.learners
    assert leave_joint(joint) == Configuration(voters=frozenset({1}), learners=frozenset({2}))


def test_history_returns_to_what_was_before_a_truncated_change() -> None:
    history = History(1, _voters(1))
    history.append(5, _voters(1, 2))
    history.append(9, _voters(1, 2, 3))
    assert history.truncate(9)
    assert (history.index, history.current) == (5, _voters(1, 2))
    assert not history.truncate(6)
    assert history.current == _voters(1, 2)


def test_history_knows_the_configuration_at_each_index() -> None:
    history = History(1, _voters(1))
    history.append(5, _voters(1, 2))
    assert [history.at(index) for index in (1, 4, 5, 6)] == [
        _voters(1), _voters(1), _voters(1, 2), _voters(1, 2),
    ]  # fmt: skip
    history.compact(7)
    assert history.at(7) == _voters(1, 2)
    assert history.steps() == ((5, _voters(1, 2)),)
    with pytest.raises(ContractBroken):
        history.at(4)


def test_history_refuses_to_lose_its_snapshot() -> None:
    with pytest.raises(ContractBroken):
        History(5, _voters(1)).truncate(5)
    with pytest.raises(ContractBroken):
        History(5, _voters(1)).append(5, _voters(2))
