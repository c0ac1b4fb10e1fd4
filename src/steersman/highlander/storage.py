"""The lock of a tenant in Redis, PostgreSQL, a Lease or Raft: the elector for it, and who holds it.

| storageType | lock                                                             |
|-------------|------------------------------------------------------------------|
| redis       | `highlander-leader-lock:TENANT` in Redis                         |
| db          | a row of that name in PostgreSQL                                 |
| lease       | the Lease `highlander-TENANT` in the tenant's namespace          |
| raft        | leadership of the controllers' own Raft cluster                  |

A second lock, `…:failback`, is where contenders of a higher priority than the leader's show themselves.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from steersman.aio import Clock
from steersman.client import Client, ClientError
from steersman.election import (
    Elector,
    Lease,
    LeaseSettings,
    PostgresLock,
    RaftConfig,
    RedisLock,
)
from steersman.election.lock.contest import LockElector, LockSettings, StoreUnavailable
from steersman.highlander.config.models import RaftSection, RedisSection, TenantConfig
from steersman.highlander.errors import ConfigError
from steersman.highlander.workloads.ownership import label_value
from steersman.objects.resources import LEASES

__all__ = ["Held", "Storage", "StorageDown"]

_FAILBACK = ":failback"


class StorageDown(Exception):
    """The lock's store does not answer."""


class Held(NamedTuple):
    """Who holds a lock, if anybody does, and since which term; 0 if that is not known."""

    holder: str = ""
    term: int = 0


class Storage:
    """One tenant's lock."""

    def __init__(self, config: TenantConfig, identity: str, client: Client, clock: Clock) -> None:
        self._config = config
        self._identity = identity
        self._client = client
        self._clock = clock
        self._observers: dict[str, LockElector] = {}
        #: A Lease's renewTime as last seen, and when it was first seen so, by the Lease's name.
        self._renewed: dict[str, tuple[str, float]] = {}
        self.elector = self._elector("")

    @property
    def is_apart(self) -> bool:
        """Whether others than the controllers keep the lock. Raft's leader is chosen by its members: there is
        no second lock to be had, and one that does not contend is missed."""
        return self._config.storage_type != "raft"

    @property
    def leads_without_renewal_s(self) -> float:
        """How long a leader leads after a renewal was sent."""
        if self._config.storage_type == "raft":
            return _raft(self._config.raft, self._lock(""), self._config.namespace).settings.core.lease_s
        return self._config.election.renew_deadline.total_seconds()

    def failback_elector(self) -> Elector:
        return self._elector(_FAILBACK)

    async def held(self) -> Held:
        """Who holds the lock, asked of its store. Raises StorageDown."""
        return await self._held("")

    async def failback_holder(self) -> str:
        return (await self._held(_FAILBACK)).holder

    def _lock(self, suffix: str) -> str:
        return f"highlander-leader-lock:{self._config.tenant}{suffix}"

    def _lease(self, suffix: str) -> tuple[str, str]:
        lease = self._config.lease
        name = lease.name or f"highlander-{label_value(self._config.tenant).lower()}"
        return name + suffix.replace(":", "-"), lease.namespace or self._config.namespace

    def _elector(self, suffix: str) -> Elector:
        config = self._config
        match config.storage_type:
            case "redis" | "db":
                return self._lock_elector(suffix)
            case "lease":
                name, namespace = self._lease(suffix)
                lease = Lease(name, namespace, self._identity, LeaseSettings(*self._times_s()))
                return lease.elector(self._client, self._clock)
            case "raft":
                raft = _raft(config.raft, self._lock(suffix), config.namespace)
                return raft.elector(self._client, self._clock)

    def _lock_elector(self, suffix: str) -> LockElector:
        """Of a lock in Redis or PostgreSQL."""
        config, name, settings = self._config, self._lock(suffix), LockSettings(*self._times_s())
        if config.storage_type == "redis":
            in_redis = RedisLock(_redis_url(config.redis), name, self._identity, settings)
            return _with_redis_password(in_redis, config.redis).elector(self._client, self._clock)
        in_database = PostgresLock(_database_url(config), name, self._identity, settings)
        return in_database.elector(self._client, self._clock)

    def _times_s(self) -> tuple[float, float, float]:
        timing = self._config.election
        return (
            timing.lease_duration.total_seconds(),
            timing.renew_deadline.total_seconds(),
            timing.retry_period.total_seconds(),
        )

    async def _held(self, suffix: str) -> Held:
        match self._config.storage_type:
            case "redis" | "db":
                return await self._held_lock(suffix)
            case "lease":
                return await self._held_lease(*self._lease(suffix))
            case "raft":
                trouble = self.elector.check()
                if trouble:
                    raise StorageDown(trouble)
                # Its term may be ahead of its leader's.
                return Held(self.elector.leader)

    async def _held_lock(self, suffix: str) -> Held:
        if suffix not in self._observers:
            self._observers[suffix] = self._lock_elector(suffix)
        try:
            lock = await self._observers[suffix].observe()
        except StoreUnavailable as error:
            raise StorageDown(str(error)) from error
        return Held(lock.holder, lock.term) if lock.remaining_s > 0 else Held()

    async def _held_lease(self, name: str, namespace: str) -> Held:
        try:
            lease = await self._client.find(LEASES, name, namespace)
        except ClientError as error:
            raise StorageDown(str(error)) from error
        spec = (lease or {}).get("spec") or {}
        renewed, now = spec.get("renewTime") or "", self._clock.monotonic()
        if name not in self._renewed or self._renewed[name][0] != renewed:
            self._renewed[name] = renewed, now
        is_over = now - self._renewed[name][1] >= self._config.election.lease_duration.total_seconds()
        if is_over or not spec.get("holderIdentity"):
            return Held()
        return Held(spec["holderIdentity"], spec.get("leaseTransitions") or 0)


def _redis_url(redis: RedisSection) -> str:
    if "://" in redis.addr:
        return redis.addr
    return f"redis://{redis.addr}/{redis.db}"


def _with_redis_password(lock: RedisLock, redis: RedisSection) -> RedisLock:
    if redis.password_file:
        return lock.password_file(redis.password_file)
    if redis.password is not None and redis.password.get_secret_value():
        secret = redis.password
        return replace(lock, password=secret.get_secret_value)
    return lock


def _database_url(config: TenantConfig) -> str:
    if config.database_url_file:
        try:
            return Path(config.database_url_file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ConfigError(f"databaseURLFile: {error}") from None
    return config.given_database_url


def _raft(raft: RaftSection, name: str, namespace: str) -> RaftConfig:
    made = RaftConfig(name).namespace(raft.namespace or namespace)
    if raft.node_id is not None:
        made = made.node_id(raft.node_id)
    if raft.service:
        made = made.service_name(raft.service)
    if raft.peers:
        made = made.peers(raft.peers)
    if raft.storage:
        made = made.storage("rocksdb", raft.storage)
    if raft.tls:
        made = made.tls(raft.tls)
    if raft.insecure:
        made = made.insecure()
    return made.listen(raft.listen) if raft.listen else made
