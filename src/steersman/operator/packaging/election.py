"""Which election operators take part in when they are deployed: their own, or one that is chosen then.

An operator that declares none can be given one by name (`steer manifests --ha lease`). What the manifests
promise and what the process in the pod does are made of the same values here.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

from steersman.election import Lease, PostgresLock, RaftConfig, RedisLock
from steersman.election.config import ElectionConfig
from steersman.operator.errors import OperatorError
from steersman.operator.operator import Chain
from steersman.raft.config import DEFAULT_PORT

__all__ = [
    "LOCK_URL",
    "RAFT_FOLDER",
    "RAFT_HOST",
    "RAFT_HTTP_PORT",
    "RAFT_TLS_FOLDER",
    "Engine",
    "engine_of",
    "take_part",
]

#: The environment variable with the address of Redis or PostgreSQL.
LOCK_URL: Final = "STEERSMAN_LOCK_URL"
#: The environment variable with the address that a Raft node listens at, where the pods of a machine share
#: its ports (`hostNetwork`, process nodes); all addresses without it.
RAFT_HOST: Final = "STEERSMAN_RAFT_HOST"
RAFT_FOLDER: Final = "/data/raft"
RAFT_TLS_FOLDER: Final = "/etc/raft-tls"
RAFT_HTTP_PORT: Final = 8081


class Engine(StrEnum):
    NONE = "none"
    LEASE = "lease"
    RAFT = "raft"
    REDIS = "redis"
    POSTGRES = "postgres"


_ENGINES: Final[dict[type[Any], Engine]] = {
    Lease: Engine.LEASE,
    RaftConfig: Engine.RAFT,
    RedisLock: Engine.REDIS,
    PostgresLock: Engine.POSTGRES,
}


def engine_of(operators: Iterable[Chain[Any]]) -> Engine:
    """What they declare. Raises OperatorError for an election that is none of those known here."""
    for operator in operators:
        election = operator.definition.election
        if election is not None:
            for kind, engine in _ENGINES.items():
                if isinstance(election, kind):
                    return engine
            raise OperatorError(f"{election!r} is an election that manifests cannot be made for")
    return Engine.NONE


def take_part(
    operators: Iterable[Chain[Any]],
    engine: Engine,
    *,
    name: str,
    namespace: str,
    url: str = "",
    host: str = "",
) -> bool:
    """Have operators that declare no election take part in this one; whether there were any.

    `url` is of the store, for those that have one; `host` is where a Raft node listens. Raises OperatorError
    if one has declared another.
    """
    operators = list(operators)
    declared = engine_of(operators)
    if declared is not Engine.NONE:
        if engine is not declared:
            raise OperatorError(f"the operator declares its leader election: {declared}")
        return False
    election = _raft(name, namespace, host) if engine is Engine.RAFT else _election(engine, name, url)
    if election is not None:
        for operator in operators:
            operator.with_leader_election(election)
    return election is not None


def _election(engine: Engine, name: str, url: str) -> ElectionConfig | None:
    match engine:
        case Engine.LEASE:
            return Lease(name)
        case Engine.REDIS:
            return RedisLock(url, name)
        case Engine.POSTGRES:
            return PostgresLock(url, name)
        case _:
            return None


def _raft(name: str, namespace: str, host: str) -> RaftConfig:
    raft = (
        RaftConfig(name)
        .service_name(f"{name}-headless", stateful_set=name)
        .namespace(namespace)
        .storage("rocksdb", RAFT_FOLDER)
        .tls(RAFT_TLS_FOLDER)
        .http(f"{host}:{RAFT_HTTP_PORT}")
    )
    return raft.listen(f"{host}:{DEFAULT_PORT}") if host else raft
