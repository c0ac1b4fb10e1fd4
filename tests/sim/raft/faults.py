"""What can go wrong, each as a function that does it and undoes it later."""

from __future__ import annotations

from collections.abc import Callable

from steersman.raft.core import Change, ChangeKind, Refused
from tests.sim.raft.world import Network, Node, World

__all__ = ["FAULTS", "heal"]


def _any_node(world: World) -> Node:
    return world.nodes[world.rng.choice(list(world.nodes))]


def _some_leader(world: World) -> Node | None:
    """Somebody who believes to lead, rightly or not."""
    leaders = [
        node
        for node in world.nodes.values()
        if node.raft is not None and node.raft.leader == node.id and world.now >= node.paused_until
    ]
    return world.rng.choice(leaders) if leaders else None


def _restart(node: Node) -> None:
    if node.raft is None:
        node.start()


def crash(world: World) -> None:
    node = _some_leader(world) if world.rng.random() < 0.5 else _any_node(world)
    if node is not None:
        node.crash()
        world.at(world.now + world.rng.uniform(0.005, 0.6), None, lambda: _restart(node))


def power_loss(world: World) -> None:
    for node in world.nodes.values():
        node.crash()
        world.at(world.now + world.rng.uniform(0.005, 0.3), None, lambda node=node: _restart(node))  # type: ignore[misc]


def _cut(world: World, pairs: set[tuple[int, int]]) -> None:
    world.cut |= pairs
    world.at(world.now + world.rng.uniform(0.05, 0.9), None, lambda: world.cut.difference_update(pairs))


def partition(world: World) -> None:
    ids = list(world.nodes)
    some = set(world.rng.sample(ids, world.rng.randint(1, len(ids) // 2)))
    _cut(world, {(a, b) for a in ids for b in ids if (a in some) != (b in some)})


def one_way_partition(world: World) -> None:
    """Somebody is not heard, or does not hear."""
    one = (_some_leader(world) or _any_node(world)).id if world.rng.random() < 0.5 else _any_node(world).id
    others = [id_ for id_ in world.nodes if id_ != one]
    others = world.rng.sample(others, world.rng.randint(1, len(others)))
    deaf = world.rng.random() < 0.5
    _cut(world, {(other, one) if deaf else (one, other) for other in others})


def cut_link(world: World) -> None:
    """A leader and one other do not reach each other; everybody else reaches both."""
    leader = _some_leader(world)
    other = _any_node(world)
    if leader is not None and leader is not other:
        _cut(world, {(leader.id, other.id), (other.id, leader.id)})


def pause(world: World) -> None:
    node = (_some_leader(world) if world.rng.random() < 0.6 else None) or _any_node(world)
    node.paused_until = max(node.paused_until, world.now + world.rng.uniform(0.02, 0.7))


def slow_disk(world: World) -> None:
    node = _any_node(world)
    node.disk_s = (0.005, world.rng.uniform(0.01, 0.15))

    def recover() -> None:
        node.disk_s = world.disk_s

    world.at(world.now + world.rng.uniform(0.1, 0.8), None, recover)


def bad_network(world: World) -> None:
    rng = world.rng
    world.network = Network(
        latency_s=(0.0005, rng.choice([0.003, 0.02, 0.06])),
        loss=rng.choice([0.0, 0.05, 0.3]),
        duplication=rng.choice([0.0, 0.1, 0.4]),
        straggling=rng.choice([0.0, 0.05, 0.2]),
    )

    def recover() -> None:
        world.network = world.usual_network

    world.at(world.now + rng.uniform(0.2, 1.0), None, recover)


def transfer(world: World) -> None:
    node = _some_leader(world)
    if node is None or node.raft is None:
        return
    to = world.rng.choice([0, *world.nodes])
    _try(node, lambda: node.raft and node.raft.transfer(to, node.clock()))


def change_membership(world: World) -> None:
    node = _some_leader(world)
    if node is None or node.raft is None:
        return
    raft = node.raft
    rng = world.rng
    configuration = raft.configuration
    outside = [id_ for id_ in world.nodes if id_ not in configuration.members]
    choices: list[list[Change]] = []
    if outside:
        choices.append([Change(ChangeKind.ADD_LEARNER, rng.choice(outside))])
    learners = sorted(configuration.learners)
    if learners:
        choices += [[Change(ChangeKind.ADD_VOTER, rng.choice(learners))]] * 3
    voters = sorted(configuration.voters)
    choices.append([Change(rng.choice([ChangeKind.REMOVE, ChangeKind.ADD_LEARNER]), rng.choice(voters))])
    if learners:
        choices.append(
            [Change(ChangeKind.ADD_VOTER, learner) for learner in learners]
            + [Change(ChangeKind.REMOVE, rng.choice(voters))]
        )
    changes = rng.choice(choices)
    joint = len(changes) > 1 or rng.random() < 0.3
    _try(node, lambda: raft.propose_change(changes, node.clock(), joint=joint))


def compact(world: World) -> None:
    for node in world.nodes.values():
        if world.rng.random() < 0.7 and world.now >= node.paused_until:
            node.compact(keep=world.rng.choice([0, 0, 1, 5]))


def _try(node: Node, action: Callable[[], object]) -> None:
    try:
        action()
    except Refused:
        return
    node.work()


def heal(world: World) -> None:
    """Everything works again, once pauses are over."""
    world.cut.clear()
    world.network = world.usual_network = Network()
    world.disk_s = (0.0001, 0.0004)
    for node in world.nodes.values():
        node.disk_s = world.disk_s
        _restart(node)


FAULTS: tuple[Callable[[World], None], ...] = (
    crash,
    power_loss,
    partition,
    one_way_partition,
    cut_link,
    pause,
    slow_disk,
    bad_network,
    transfer,
    change_membership,
    compact,
)
