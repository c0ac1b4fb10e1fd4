"""One simulated life of a cluster, all of it drawn from a seed: `run(seed)` raises if a promise was broken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from steersman.raft.config import NodeSettings
from steersman.raft.core import Config
from tests.sim.raft.clients import Clients
from tests.sim.raft.disk import Content
from tests.sim.raft.faults import FAULTS, heal
from tests.sim.raft.machine import command
from tests.sim.raft.world import World

__all__ = ["CORE", "NODE", "Timing", "run"]


@dataclass(frozen=True)
class Timing:
    config: Config
    #: Clocks may run this much faster or slower.
    skew: float


#: A lease of 0.16 s lasts at most 0.176 s, a refusal to vote of 0.2 s at least 0.182 s.
CORE = Timing(Config(id=1), 0.09)
#: A lease of 0.2 s lasts at most 0.2084 s, a refusal to vote of 0.22 s at least 0.2115 s.
NODE = Timing(NodeSettings("sim").core, 0.04)


def run(seed: int, duration_s: float = 2.5, timing: Timing = CORE) -> World:
    world = World(seed)
    rng = world.rng
    founders = list(range(1, 1 + rng.choice([1, 2, 3, 3, 3, 4, 4, 5, 5])))
    members = max(3, len(founders) + rng.choice([0, 0, 1, 2]))
    limits = _limits(rng)
    world.disk_s = rng.choice([world.disk_s, world.disk_s, (0.001, 0.02), (0.005, 0.08)])
    world.usual_network.latency_s = rng.choice([(0.0005, 0.003), (0.0005, 0.003), (0.001, 0.03)])
    for id_ in range(1, members + 1):
        content = Content.of_founder(founders) if id_ in founders else Content()
        node = world.add(replace(timing.config, id=id_, **limits), content)
        node.rate = rng.uniform(1 - timing.skew, 1 + timing.skew)
        node.offset_s = rng.uniform(-1000, 1000)
    for node in world.nodes.values():
        node.start()
    # With many writes logs differ most of the time, with few everybody could be elected.
    clients = Clients(world, count=rng.choice([1, 3, 5]), think_s=(0.0, rng.choice([0.01, 0.1, 1.0])))
    kinds = rng.sample(FAULTS, rng.randint(1, 5))  # few of them, but those often: their sequences matter
    every_s = rng.choice([0.03, 0.1, 0.3])
    while world.now < duration_s:
        world.run(min(duration_s, world.now + rng.expovariate(1 / every_s)))
        rng.choice(kinds)(world)
    _recover(world, clients)
    return world


def _limits(rng: Random) -> dict[str, int]:
    """Roomy as in production, or so tight that every limit is met."""
    if rng.random() < 0.4:
        return {}
    return {
        "max_append_bytes": rng.choice([40, 200]),
        "max_inflight_messages": rng.choice([1, 3]),
        "max_inflight_bytes": rng.choice([50, 500]),
        "max_pending_bytes": rng.choice([100, 1000]),
        "max_unapplied_bytes": rng.choice([40, 1000]),
        "cache_bytes": rng.choice([0, 200]),
        "snapshot_chunk_bytes": rng.choice([3, 100]),
        "promotion_lag": rng.choice([0, 10]),
    }


def _recover(world: World, clients: Clients) -> None:
    """When faults end the cluster works again, all members agree, and no answer given before was wrong."""
    clients.stop()
    heal(world)
    world.run(world.now + 1.2)  # whatever was still to go wrong, or to be undone
    heal(world)
    assert world.run(world.now + 3, lambda: world.leader() is not None), "liveness: no leader"
    leader = world.leader()
    assert leader is not None
    assert leader.raft is not None
    configuration = leader.raft.configuration
    # Not one of the clients' registers, whose late reads would see it.
    index, _ = leader.raft.propose([command(-1, 1)], leader.clock())
    leader.work()
    members = [world.nodes[id_] for id_ in configuration.members]
    assert world.run(world.now + 3, lambda: all(node.machine.index >= index for node in members)), (
        f"liveness: {[(node.id, node.machine.index) for node in members]} of {index}"
    )
    assert len({str(sorted(node.machine.values.items())) for node in members}) == 1, "members do not agree"
    clients.check()
