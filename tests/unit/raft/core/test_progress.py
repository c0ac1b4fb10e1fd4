"""A leader's bookkeeping: of one member's log, and of its own rounds."""

from __future__ import annotations

from steersman.raft.core import ProgressState, SnapshotMeta
from steersman.raft.core.progress import Progress
from steersman.raft.core.rounds import Rounds
from tests.sim.raft.disk import HeldSnapshot


def _replicating(match: int, *sent: int) -> Progress:
    progress = Progress(match + 1)
    progress.accepted(match)
    progress.become_replicate()
    for last_index in sent:
        progress.sent(last_index, 10)
    return progress


def test_sending_runs_ahead_of_acknowledgements() -> None:
    progress = _replicating(3, 5, 7, 9)
    assert (progress.match, progress.next, progress.inflight_bytes) == (3, 10, 30)
    assert progress.accepted(7)
    assert (progress.match, progress.next, progress.inflight_bytes) == (7, 10, 10)
    assert not progress.accepted(5)
    assert progress.match == 7


def test_a_rejection_starts_again_from_what_is_known_to_match() -> None:
    progress = _replicating(3, 5, 7)
    assert progress.rejected(5, may_match=4)
    assert (progress.state, progress.next, progress.inflight_bytes) == (ProgressState.PROBE, 4, 0)


def test_a_delayed_rejection_is_ignored() -> None:
    replicating = _replicating(6, 9)
    assert not replicating.rejected(5, may_match=4)
    assert replicating.state is ProgressState.REPLICATE
    probing = Progress(9)
    probing.waiting = True
    assert not probing.rejected(5, may_match=4)
    assert (probing.next, probing.waiting) == (9, True)


def test_probing_goes_back_as_far_as_the_hint_but_not_below_what_matches() -> None:
    progress = Progress(9)
    assert progress.rejected(8, may_match=4)
    assert progress.next == 5
    progress.accepted(4)
    assert progress.rejected(4, may_match=0)
    assert progress.next == 5


def test_a_rejection_says_nothing_while_a_snapshot_is_sent() -> None:
    progress = Progress(9)
    progress.become_snapshot(HeldSnapshot(SnapshotMeta(20, 2)))
    assert not progress.rejected(8, may_match=4)
    assert progress.state is ProgressState.SNAPSHOT


def test_rounds_remember_their_start_for_a_while() -> None:
    rounds = Rounds(keep_s=1.0)
    assert rounds.started_at(0) is None
    for now in (10.0, 10.4, 10.8, 11.2):
        rounds.start(now)
    assert rounds.current == 4
    assert [rounds.started_at(number) for number in (0, 1, 2, 3, 4, 5)] == [
        None,
        None,
        10.4,
        10.8,
        11.2,
        None,
    ]
