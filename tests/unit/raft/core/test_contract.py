"""What callers may rely on, and what is expected of them."""

from __future__ import annotations

import ast
from pathlib import Path
from random import Random

import msgspec
import pytest

import steersman.raft.core
from steersman.raft.core import (
    AppendRequest,
    AppendResponse,
    Change,
    ChangeKind,
    Config,
    Configuration,
    ContractBroken,
    HardState,
    HeartbeatRequest,
    HeartbeatResponse,
    LogLost,
    Message,
    NotLeader,
    Overloaded,
    ProgressState,
    Raft,
    ReadResponse,
    Ready,
    SnapshotChunk,
    SnapshotMeta,
    VoteRequest,
)
from tests.scenarios.raft.lab import Lab
from tests.sim.raft.disk import Content, HeldSnapshot


def _follower() -> tuple[Raft, Content]:
    content = Content.of_founder([1, 2, 3])
    return Raft(Config(id=1), content, 100.0, Random(1)), content


def _take(raft: Raft) -> Ready:
    ready = raft.ready()
    assert ready is not None
    assert raft.ready() is None
    return ready


def _append(index: int, *data: bytes, prev_term: int = 1, commit: int = 0) -> AppendRequest:
    entries = tuple(
        steersman.raft.core.Entry(index + position, 2, data=item) for position, item in enumerate(data)
    )
    return AppendRequest(
        to=1, sender=2, term=2, prev_index=index - 1, prev_term=prev_term, entries=entries, commit=commit, round=1
    )  # fmt: skip


# No I/O


def test_the_core_knows_neither_clocks_nor_sockets_nor_chance() -> None:
    forbidden = {
        "asyncio",
        "socket",
        "ssl",
        "time",
        "datetime",
        "threading",
        "secrets",
        "os",
        "grpc",
        "logging",
    }
    for path in Path(steersman.raft.core.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
                # `Random` is a type here; functions of the module would be hidden state.
                assert node.module != "random" or [alias.name for alias in node.names] == ["Random"], path
            else:
                continue
            assert not forbidden.intersection(name.split(".")[0] for name in names), path
            assert "random" not in names or isinstance(node, ast.ImportFrom), path


def test_public_names_are_listed() -> None:
    assert list(steersman.raft.core.__all__) == sorted(steersman.raft.core.__all__)
    for name in steersman.raft.core.__all__:
        assert getattr(steersman.raft.core, name) is not None


def test_the_same_inputs_lead_to_the_same_outputs() -> None:
    def life() -> list[Message]:
        lab = Lab([1, 2, 3])
        lab.elect(1)
        lab.propose(1, "a")
        lab.timeout(1)
        return lab.wire

    assert life() == life()


# Ready


def test_nothing_to_do_is_none() -> None:
    raft, _ = _follower()
    assert raft.ready() is None


def test_a_vote_leaves_only_after_it_is_durable() -> None:
    raft, _ = _follower()
    raft.step(VoteRequest(to=1, sender=2, term=2, last_index=1, last_term=1), 101.0)
    ready = _take(raft)
    assert ready.hard_state == HardState(2, 2, 1)
    assert ready.must_sync
    assert not ready.messages
    assert len(ready.messages_after_persist) == 1


def test_a_pre_vote_promises_nothing() -> None:
    raft, _ = _follower()
    raft.step(VoteRequest(to=1, sender=2, term=2, last_index=1, last_term=1, pre=True), 101.0)
    ready = _take(raft)
    assert ready.hard_state is None
    assert not ready.must_sync
    assert len(ready.messages) == 1


def test_an_acknowledgement_leaves_only_after_its_entries_are_durable() -> None:
    raft, _ = _follower()
    raft.step(HeartbeatRequest(to=1, sender=2, term=2, commit=1, round=1), 101.0)
    _take(raft)
    raft.step(_append(2, b"a"), 101.0)
    ready = _take(raft)
    assert ready.hard_state is None
    assert [entry.index for entry in ready.entries] == [2]
    assert ready.must_sync
    assert not ready.messages
    assert [type(message) for message in ready.messages_after_persist] == [AppendResponse]


def test_a_repeated_message_is_acknowledged_only_after_what_is_still_being_written() -> None:
    raft, _ = _follower()
    raft.step(_append(2, b"a"), 101.0)
    _take(raft)
    raft.step(_append(2, b"a"), 101.0)
    ready = _take(raft)
    assert not ready.entries
    assert not ready.messages
    assert [type(message) for message in ready.messages_after_persist] == [AppendResponse]


def test_a_heartbeat_is_answered_at_once() -> None:
    raft, _ = _follower()
    raft.step(HeartbeatRequest(to=1, sender=2, term=2, commit=1, round=4), 101.0)
    assert [type(message) for message in _take(raft).messages] == [HeartbeatResponse]


def test_a_commit_alone_needs_no_sync() -> None:
    raft, _ = _follower()
    raft.step(_append(2, b"a"), 101.0)
    raft.persisted(_take(raft).number, 101.0)
    raft.step(HeartbeatRequest(to=1, sender=2, term=2, commit=2, round=4), 101.0)
    ready = _take(raft)
    assert ready.hard_state == HardState(2, 0, 2)
    assert not ready.must_sync
    assert [entry.index for entry in ready.committed] == [2]


def test_a_candidate_asks_for_votes_only_when_its_own_is_durable() -> None:
    lab = Lab([1, 2, 3])
    lab.wait(1)
    lab.seats[1].holds_writes = True
    lab.timeout(1)
    lab.deliver()
    lab.deliver()
    assert lab[1].term == 2
    assert not [message for message in lab.wire if isinstance(message, VoteRequest) and not message.pre]
    lab.seats[1].persist()
    assert len([message for message in lab.wire if isinstance(message, VoteRequest)]) == 2


def test_a_lone_founder_leads_only_when_its_vote_is_durable() -> None:
    content = Content.of_founder([1])
    raft = Raft(Config(id=1), content, 100.0, Random(1))
    raft.tick(100.2)
    ready = _take(raft)
    assert raft.leader == 0
    content.write(ready)
    raft.persisted(ready.number, 100.2)
    assert raft.is_leader(100.2)
    ready = _take(raft)
    assert raft.log.commit == 1
    raft.persisted(ready.number, 100.2)
    assert raft.log.commit == 2


def test_a_leader_sends_while_its_own_disk_writes_but_does_not_count_itself() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    lab.seats[1].holds_writes = True
    lab.isolate(3)
    lab.propose(1, "a")
    assert [message.to for message in lab.wire if isinstance(message, AppendRequest)] == [2, 3]
    lab.settle()
    assert lab[1].log.commit == 2
    lab.seats[1].persist()
    assert lab[1].log.commit == 3


def test_proposals_made_together_travel_together() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    for item in (b"a", b"b", b"c"):
        lab[1].propose([item], lab.now)
    lab.seats[1].pump()
    assert [len(message.entries) for message in lab.wire if isinstance(message, AppendRequest)] == [3, 3]


def test_proposals_tell_where_they_will_be() -> None:
    lab = Lab([1])
    lab.elect(1)
    assert lab[1].propose([b"a", b"b"], lab.now) == (3, 2)
    assert lab[1].propose([b"c"], lab.now) == (5, 2)


def test_persisted_must_name_a_ready_that_was_given() -> None:
    raft, _ = _follower()
    with pytest.raises(ContractBroken):
        raft.persisted(1, 100.0)
    raft.step(_append(2, b"a"), 101.0)
    number = _take(raft).number
    raft.persisted(number, 101.0)
    with pytest.raises(ContractBroken):
        raft.persisted(number, 101.0)


def test_applied_must_not_run_ahead() -> None:
    raft, _ = _follower()
    with pytest.raises(ContractBroken):
        raft.applied(2)


def test_snapshots_are_taken_of_what_is_applied() -> None:
    raft, _ = _follower()
    assert raft.snapshot_meta(1).configuration.voters == {1, 2, 3}
    with pytest.raises(ContractBroken):
        raft.snapshot_meta(2)


def test_messages_for_others_are_a_mistake() -> None:
    raft, _ = _follower()
    with pytest.raises(ContractBroken):
        raft.step(HeartbeatRequest(to=3, sender=2, term=2, commit=1, round=4), 101.0)


def test_two_leaders_of_one_term_are_not_possible() -> None:
    raft, _ = _follower()
    raft.step(HeartbeatRequest(to=1, sender=2, term=2, commit=1, round=4), 101.0)
    with pytest.raises(ContractBroken):
        raft.step(HeartbeatRequest(to=1, sender=3, term=2, commit=1, round=4), 101.0)


def test_a_member_that_lost_its_log_does_not_go_on() -> None:
    raft = Raft(Config(id=1), Content(), 100.0, Random(1))
    with pytest.raises(LogLost):
        raft.step(HeartbeatRequest(to=1, sender=2, term=2, commit=5, round=1), 101.0)


def test_a_hard_state_older_than_the_log_is_refused() -> None:
    content = Content.of_founder([1])
    content.hard = HardState()
    content.held = HeldSnapshot(SnapshotMeta(1, 1))
    with pytest.raises(ContractBroken):
        Raft(Config(id=1), content, 100.0, Random(1))


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda raft: raft.propose([b"x"], 100.0), id="propose"),
        pytest.param(lambda raft: raft.propose_change([], 100.0), id="change"),
        pytest.param(lambda raft: raft.transfer(2, 100.0), id="transfer"),
        pytest.param(lambda raft: raft.read_index(1, 100.0), id="read"),
    ],
)
def test_only_a_leader_decides(call: object) -> None:
    raft, _ = _follower()
    with pytest.raises(NotLeader) as caught:
        call(raft)  # type: ignore[operator]
    assert caught.value.leader == 0


def test_who_asks_a_follower_is_told_the_leader() -> None:
    raft, _ = _follower()
    raft.step(HeartbeatRequest(to=1, sender=2, term=2, commit=1, round=4), 101.0)
    with pytest.raises(NotLeader) as caught:
        raft.propose([b"x"], 101.0)
    assert caught.value.leader == 2


# Limits


def test_messages_on_their_way_are_limited_by_number() -> None:
    lab = Lab([1, 2], max_append_bytes=1, max_inflight_messages=3)
    lab.elect(1)
    lab.propose(1, *"abcdefgh")
    assert len([message for message in lab.wire if isinstance(message, AppendRequest)]) == 3
    lab.settle()
    assert lab[2].log.last == lab[1].log.last


def test_messages_on_their_way_are_limited_by_size() -> None:
    lab = Lab([1, 2], max_append_bytes=100, max_inflight_bytes=250)
    lab.elect(1)
    lab.propose(1, *["x" * 50] * 20)
    assert len([message for message in lab.wire if isinstance(message, AppendRequest)]) == 4
    lab.settle()
    assert lab[2].log.last == lab[1].log.last


def test_proposals_that_cannot_be_applied_in_time_are_refused() -> None:
    lab = Lab([1, 2], max_pending_bytes=100)
    lab.elect(1)
    lab.cut.add((1, 2))
    lab.propose(1, "x" * 100)
    with pytest.raises(Overloaded):
        lab.propose(1, "y")
    lab.cut.clear()
    lab.wire.clear()
    lab.heartbeat(1)
    lab.propose(1, "y")


def test_committed_entries_come_in_portions_and_wait_for_the_state_machine() -> None:
    content = Content.of_founder([1, 2, 3])
    raft = Raft(Config(id=1, max_unapplied_bytes=70), content, 100.0, Random(1))
    raft.step(_append(2, b"a", b"b", b"c", b"d", b"e"), 101.0)
    raft.persisted(_take(raft).number, 101.0)
    raft.step(HeartbeatRequest(to=1, sender=2, term=2, commit=6, round=4), 101.0)
    seen = []
    while (ready := raft.ready()) is not None:
        seen.append([entry.index for entry in ready.committed])
    assert seen == [[2, 3], [4]]
    raft.applied(4)
    assert [entry.index for entry in _take(raft).committed] == [5, 6]


def test_a_silent_member_is_not_sent_a_snapshot() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    lab.seats[3].crash()
    lab.elect(1)
    lab.seats[1].compact(lab[1].log.commit)
    for _ in range(5):
        lab.heartbeat(1)
        assert not [message for message in lab.wire if isinstance(message, SnapshotChunk)]
    lab.seats[3].start()
    lab.heartbeat(1)
    lab.heartbeat(1)
    assert lab[1].status().peers[3].state is ProgressState.REPLICATE
    assert lab.seats[3].installed == [3]


def test_status_tells_all() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    status = lab[1].status()
    assert (status.term, status.leader, status.commit_index, status.applied_index) == (2, 1, 2, 2)
    assert status.lease_until == lab[1].lease_until > lab.now
    assert {id_: peer.match for id_, peer in status.peers.items()} == {2: 2, 3: 2}
    assert not lab[2].status().peers


def test_a_leader_counts_of_its_own_entries_only_those_that_arrived() -> None:
    content = Content.of_founder([1])
    raft = Raft(Config(id=1), content, 100.0, Random(1))
    raft.tick(100.2)
    for _ in range(2):
        ready = _take(raft)
        content.write(ready)
        raft.persisted(ready.number, 100.2)
    raft.propose([b"a"], 100.2)
    first = _take(raft)
    raft.propose([b"b"], 100.2)
    second = _take(raft)
    raft.persisted(first.number, 100.2)
    assert raft.log.commit == first.entries[-1].index
    raft.persisted(second.number, 100.2)
    assert raft.log.commit == second.entries[-1].index


def test_a_new_voter_that_has_not_answered_lately_shortens_the_lease() -> None:
    lab = Lab([1], [2])
    lab.elect(1)
    lab.call(1, lambda raft: raft.propose_change([Change(ChangeKind.ADD_LEARNER, 2)], lab.now))
    lab.settle()
    lab.heartbeat(1)
    answered_at = lab.now
    lab.isolate(2)
    lab.heartbeat(1)
    lab.heartbeat(1)
    assert lab[1].lease_until == pytest.approx(lab.now + 0.16)
    lab.call(1, lambda raft: raft.propose_change([Change(ChangeKind.ADD_VOTER, 2)], lab.now))
    assert lab[1].lease_until == pytest.approx(answered_at + 0.16)


def test_the_only_voter_left_keeps_its_promise_to_the_leader_it_removed() -> None:
    lab = Lab([1, 2])
    lab.elect(1)
    lab.heartbeat(1)
    lab.call(1, lambda raft: raft.propose_change([Change(ChangeKind.REMOVE, 1)], lab.now))
    lab.deliver()
    lab.wire.clear()  # the leader does not learn that its removal is committed
    assert lab[2].configuration.voters == {2}
    lab.timeout(1)
    lab.deliver(lambda message: isinstance(message, HeartbeatRequest))
    lab.deliver(lambda message: isinstance(message, HeartbeatResponse))
    lab.wire.clear()
    lab.seats[2].crash()
    lab.seats[2].start()
    assert lab[1].is_leader(lab.now)
    while lab[1].is_leader(lab.now):
        lab.tick(2)  # the checks look for a second valid leadership
        lab.wait(0.01)
    lab.wait(0.2)
    lab.tick(2)
    assert lab[2].is_leader(lab.now)


def test_a_follower_answers_a_read_only_when_it_has_applied_that_much() -> None:
    raft, _ = _follower()
    raft.step(_append(2, b"a"), 101.0)
    raft.persisted(_take(raft).number, 101.0)
    raft.read_index(7, 101.0)
    _take(raft)
    raft.step(ReadResponse(to=1, sender=2, term=2, context=7, index=2), 101.0)
    assert raft.ready() is None
    raft.step(HeartbeatRequest(to=1, sender=2, term=2, commit=2, round=4), 101.0)
    ready = _take(raft)
    assert [entry.index for entry in ready.committed] == [2]
    assert [(read.context, read.index) for read in ready.reads] == [(7, 2)]


def test_repeated_messages_do_not_disturb_a_leader() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    lab.propose(1, "a", "b")
    for _ in range(6):
        lab.wire += [message for message in lab.wire for _ in range(2)]
        lab.deliver()
    lab.wire.clear()
    lab.heartbeat(1)
    assert [lab.seats[id_].data for id_ in (1, 2, 3)] == [["a", "b"]] * 3


def test_reads_do_not_repeat_what_is_merely_on_its_way() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    lab.seats[2].holds_writes = lab.seats[3].holds_writes = True
    lab.propose(1, "a")
    lab.settle()
    for context in range(5):
        lab.call(1, lambda raft, context=context: raft.read_index(context, lab.now))
        assert not [message for message in lab.wire if isinstance(message, AppendRequest)]
        lab.settle()
    assert len(lab.seats[1].reads) == 5


def test_a_lost_message_is_sent_again_after_the_next_heartbeat() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    lab.propose(1, "a")
    lab.wire.clear()
    assert lab[2].log.last == 2
    lab.heartbeat(1)
    assert lab[2].log.last == lab[3].log.last == 3


def test_messages_and_their_parts_survive_a_wire_format() -> None:
    meta = SnapshotMeta(4, 2, Configuration(frozenset({1, 2}), learners=frozenset({3})))
    message = SnapshotChunk(to=1, sender=2, term=3, meta=meta, offset=0, size=3, data=b"abc", round=9)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=SnapshotChunk) == message
    append = _append(2, b"a", b"b")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(append), type=AppendRequest) == append


def test_a_lease_alone_does_not_tell_a_new_leader_what_is_committed() -> None:
    lab = Lab([1, 2, 3])
    lab.wait(1)
    lab.timeout(1)
    for _ in range(4):
        lab.deliver()
    for follower in (2, 3):
        lab.seats[follower].holds_writes = True
    lab.settle()
    assert lab[1].is_leader(lab.now)
    lab.call(1, lambda raft: raft.read_index(7, lab.now, lease=True))
    assert not lab.seats[1].reads
    for follower in (2, 3):
        lab.seats[follower].persist()
    lab.settle()
    assert [(read.context, read.index) for read in lab.seats[1].reads] == [(7, 2)]
