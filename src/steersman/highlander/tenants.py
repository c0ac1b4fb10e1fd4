"""The tenants of a process, coming and going with the configuration, each beside the others.

| in a new configuration | what happens                                                                     |
|------------------------|----------------------------------------------------------------------------------|
| a tenant that runs     | it is told; what cannot change while it runs makes the configuration a wrong one |
| a new one              | it contends                                                                      |
| one that is gone       | its workloads stop (`onLoss: leave`: they stay), then its lock is released       |

Tenants of one cluster share a client and caches; the last one of a cluster takes them with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from steersman.aio import Clock, Scope
from steersman.client import Client, ClientError
from steersman.highlander.api import Api, logs_of
from steersman.highlander.config import TenantConfig
from steersman.highlander.custom import CustomWorkloads
from steersman.highlander.errors import ConfigError
from steersman.highlander.live import LiveObjects
from steersman.highlander.tenant import Tenant

__all__ = ["Tenants"]

_log = logging.getLogger(__name__)


class _Place(NamedTuple):
    """Where workloads are, and whether they may be in any namespace."""

    kubeconfig: str
    context: str
    everywhere: bool


@dataclass(slots=True)
class _Cluster:
    client: Client
    #: Renewals have connections of their own: they do not wait for work on workloads.
    election_client: Client
    live: LiveObjects
    task: asyncio.Task[None]
    #: How many tenants have it, those that are ending included.
    users: int = 0


@dataclass(slots=True)
class _Member:
    """A tenant that runs, or ends."""

    config: TenantConfig
    tenant: Tenant
    cluster: _Cluster
    custom: CustomWorkloads | None
    leaving: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Tenants:
    """`configure` says which; `stop` ends all of them. Their tasks are `scope`'s."""

    def __init__(
        self,
        scope: Scope,
        api: Api,
        clock: Clock,
        connect: Callable[[TenantConfig], Client],
        reload: Callable[[], None],
    ) -> None:
        self._scope = scope
        self._api = api
        self._clock = clock
        self._connect = connect
        self._reload = reload
        self._members: dict[str, _Member] = {}
        #: Those that left the configuration and have not ended.
        self._leaving: list[_Member] = []
        self._clusters: dict[_Place, _Cluster] = {}
        self._clients: list[Client] = []

    @property
    def running(self) -> dict[str, Tenant]:
        """By name; those that left the configuration are not among them."""
        return {name: member.tenant for name, member in self._members.items()}

    def client_of(self, tenant: str) -> Client:
        return self._members[tenant].cluster.client

    def configure(self, configs: Iterable[TenantConfig]) -> None:
        """These from now on. Raises ConfigError, and then nothing has changed."""
        wanted = {config.tenant: config for config in configs}
        for name, config in wanted.items():
            if name in self._members:
                self._check(self._members[name], config)
        made: list[_Member] = []
        try:
            for name, config in wanted.items():
                if name not in self._members:
                    made.append(self._made(config))
        except (ClientError, ConfigError) as error:
            for member in made:
                self._scope.start(self._give_back(member), name="closing a client")
            raise ConfigError(str(error)) from error
        for name in [name for name in self._members if name not in wanted]:
            self._end(self._members.pop(name))
        for name, member in self._members.items():
            member.config = wanted[name]
            member.tenant.configure(wanted[name])
        for member in made:
            self._begin(member)

    def tell_problem(self, problem: str) -> None:
        """Why a configuration was not taken over; it is shown until one is."""
        for member in self._members.values():
            member.tenant.board.change(config_error=problem)

    async def stop(self) -> None:
        """Until every tenant has stopped its workloads and released its lock."""
        members = [*self._members.values(), *self._leaving]
        for member in self._members.values():
            member.tenant.stop()
        for member in members:
            await member.ended.wait()

    async def close(self) -> None:
        """The clients, when nothing runs any more."""
        for client in self._clients:
            await client.close()

    def _check(self, member: _Member, config: TenantConfig) -> None:
        member.tenant.check(config)
        if config.follows_custom_resources != member.config.follows_custom_resources:
            raise ConfigError(
                f"tenant {config.tenant}: customResources cannot change while the controller is running: "
                "restart it"
            )

    def _made(self, config: TenantConfig) -> _Member:
        cluster = self._cluster(config)
        cluster.users += 1
        try:
            tenant = Tenant(
                config,
                cluster.client,
                cluster.live,
                election_client=cluster.election_client,
                clock=self._clock,
                reload=self._reload,
            )
        except BaseException:
            self._scope.start(self._let_go_of(cluster), name="closing a client")
            raise
        cluster.live.add_namespaces(tenant.namespaces)
        custom = None
        if config.follows_custom_resources:
            custom = CustomWorkloads(tenant, cluster.client, cluster.live, self._clock)
        return _Member(config, tenant, cluster, custom)

    def _cluster(self, config: TenantConfig) -> _Cluster:
        """One client and one set of caches, whatever the number of tenants."""
        wide = config.follows_custom_resources
        place = _Place(config.cluster.kubeconfig, config.cluster.context, wide)
        if place not in self._clusters:
            client, election_client = self._connect(config), self._connect(config)
            self._clients += (client, election_client)
            live = LiveObjects(client, self._clock, None if wide else {config.namespace})
            task = self._scope.start(live.run(), name="live objects")
            self._clusters[place] = _Cluster(client, election_client, live, task)
        return self._clusters[place]

    def _begin(self, member: _Member) -> None:
        name = member.tenant.name
        before = next((each for each in self._leaving if each.tenant.name == name), None)
        self._members[name] = member
        self._scope.start(self._life(member, before), name=f"tenant {name}")

    def _end(self, member: _Member) -> None:
        member.leaving = True
        self._leaving.append(member)
        self._api.retire(member.tenant.name)
        _log.info("tenant %s left the configuration", member.tenant.name)
        member.tenant.stop("it left the configuration", leave=member.config.on_loss == "leave")

    async def _life(self, member: _Member, before: _Member | None) -> None:
        """From when it contends until its lock is released; after the one of its name that is ending."""
        tenant, cluster = member.tenant, member.cluster
        if before is not None:
            await before.ended.wait()
        self._api.add(tenant, logs_of(cluster.client))
        async with Scope() as scope:
            if member.custom is not None:
                scope.start(member.custom.run(), name=f"custom resources of {tenant.name}")
            await tenant.run()
        if member.leaving:
            self._leaving.remove(member)
            self._api.remove(tenant.name)
            await self._give_back(member)
        member.ended.set()

    async def _give_back(self, member: _Member) -> None:
        """What only this tenant needed is needed no more."""
        cluster = member.cluster
        if member.custom is not None:
            member.custom.close()
        others = [each for each in (*self._members.values(), *self._leaving) if each.cluster is cluster]
        still = {namespace for each in others for namespace in each.tenant.namespaces}
        cluster.live.remove_namespaces(member.tenant.namespaces - still)
        await self._let_go_of(cluster)

    async def _let_go_of(self, cluster: _Cluster) -> None:
        """One tenant less; after the last one nothing is left of it."""
        cluster.users -= 1
        if cluster.users:
            return
        self._clusters = {place: each for place, each in self._clusters.items() if each is not cluster}
        cluster.task.cancel()
        await asyncio.wait((cluster.task,))
        for client in (cluster.client, cluster.election_client):
            await client.close()
            self._clients.remove(client)
