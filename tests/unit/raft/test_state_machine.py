from __future__ import annotations

import pytest

from steersman.raft.state_machine import ClusterState, Delete, Forget, Introduce, Located, Put, Value

HERE = Located("node-0", "127.0.0.1:1")


def applied(*commands) -> tuple[ClusterState, list[bool]]:
    state = ClusterState()
    return state, [
        state.apply(index, state.encode(command)) for index, command in enumerate(commands, start=1)
    ]


def test_a_value_has_the_index_of_its_write_as_version():
    state, _ = applied(Put("k", b"1"), Put("k", b"2"))
    assert state.values == {"k": Value(b"2", 2)}


@pytest.mark.parametrize(
    "command, holds, left",
    [
        pytest.param(Put("k", b"2", over=1), True, Value(b"2", 2), id="over the version it has"),
        pytest.param(Put("k", b"2", over=7), False, Value(b"1", 1), id="over another"),
        pytest.param(Put("k", b"2", over=0), False, Value(b"1", 1), id="only if it is not there"),
        pytest.param(Delete("k", over=1), True, None, id="delete the version it has"),
        pytest.param(Delete("k", over=2), False, Value(b"1", 1), id="delete another"),
        pytest.param(Delete("k"), True, None, id="delete any"),
    ],
)
def test_a_condition_decides(command, holds, left):
    state, answers = applied(Put("k", b"1"), command)
    assert answers[1] is holds
    assert state.values.get("k") == left


def test_a_first_write_may_demand_that_nothing_is_there():
    state, answers = applied(Put("k", b"1", over=0), Put("k", b"2", over=0))
    assert answers == [True, False]
    assert state.values["k"].data == b"1"


def test_members_are_introduced_and_forgotten():
    state, _ = applied(Introduce(7, HERE), Introduce(8, HERE), Forget(7))
    assert state.members == {8: HERE}


def test_a_snapshot_brings_everything_back():
    state, _ = applied(Put("k", b"1"), Introduce(1 << 60, HERE))
    other = ClusterState()
    other.restore(state.snapshot())
    assert (other.values, other.members) == (state.values, state.members)
    other.restore(b"")
    assert not other.values
    assert not other.members
