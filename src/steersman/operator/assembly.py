"""Operators put together and run: one manager, shared caches, a controller for each.

`serve` runs inside a loop and ends when asked to; `run` is for a program of its own.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import uvloop

from steersman.aio import Clock, SystemClock
from steersman.aio.mistakes import is_mistake, single_errors
from steersman.aio.signals import Interrupted, exit_code, interruptible
from steersman.client import Client
from steersman.election import default_identity
from steersman.election.config import ElectionConfig
from steersman.objects.custom import CustomResource
from steersman.objects.resource_type import ResourceType
from steersman.operator.children import Children
from steersman.operator.configuration import Configuration, ConfigurationError
from steersman.operator.context import Tools
from steersman.operator.daemons import Daemons
from steersman.operator.definition import Definition, Mapper
from steersman.operator.errors import OperatorError
from steersman.operator.namespaces import ChosenNamespaces
from steersman.operator.operator import Chain
from steersman.operator.reconciling import Reconciler
from steersman.operator.sharding import Sharding
from steersman.operator.status import StatusWriter
from steersman.operator.timers import TimerReconciler, appears
from steersman.operator.webhooks import add_webhooks
from steersman.runtime import (
    Cache,
    Change,
    Controller,
    Informer,
    Key,
    Manager,
    Recorder,
    Writes,
    logs,
    tracing,
)
from steersman.runtime.journal import Journal
from steersman.runtime.metrics import Metrics
from steersman.runtime.sharding import Shard
from steersman.webhooks import WebhookSettings

__all__ = ["Settings", "assemble", "run", "serve"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How operators run, as far as it is not theirs to say."""

    #: Where probes and metrics listen; None for nowhere.
    address: str | None = ":8080"
    #: How long running reconciles may take to end when stopping.
    grace_s: float = 30.0
    #: Every object is looked at again after about this long, changed or not.
    resync_s: float = 36_000.0
    #: How webhooks are served, where an operator has any.
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)


def run(*operators: Chain[Any], settings: Settings | None = None, config: Path | str | None = None) -> None:
    """Run operators until SIGTERM or Ctrl-C, against the cluster that the kubeconfig or the pod names.

    Variables of the environment (`STEERSMAN_…`) and the file `config` come before what the code says. What
    cannot be helped from here (no kubeconfig, no cluster) ends the program with a sentence.
    """
    try:
        configuration = Configuration.load(config)
        configuration.apply(operators)
    except ConfigurationError as error:
        raise SystemExit(str(error)) from None
    logs.set_up(level=configuration.log_level, style=configuration.log_format)
    settings = configuration.settings(settings or Settings())

    async def main() -> None:
        metrics = Metrics()
        async with Client.load() as client:
            client.observe_requests(metrics.observe_requests(client.host))
            manager = assemble(operators, client, settings=settings, metrics=metrics)
            await manager.run_until_signalled()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(interruptible(main()))
        except Interrupted as interrupted:
            raise SystemExit(exit_code(interrupted.number)) from None
        except Exception as error:
            if is_mistake(error):
                raise
            raise SystemExit(
                "; ".join(" ".join(str(each).split()) for each in single_errors(error))
            ) from None


async def serve(
    *operators: Chain[Any],
    client: Client | None = None,
    clock: Clock | None = None,
    settings: Settings | None = None,
    stop: asyncio.Event | None = None,
    started: Callable[[Manager], None] | None = None,
) -> None:
    """Run operators inside this loop until `stop` is set; without `stop`, until cancelled.

    `started` is given the manager before it runs.
    """
    if client is None:
        async with Client.load() as loaded:
            await serve(*operators, client=loaded, clock=clock, settings=settings, stop=stop, started=started)
        return
    metrics = Metrics()
    manager = assemble(operators, client, clock=clock, settings=settings, metrics=metrics)
    if started is not None:
        started(manager)
    if stop is not None:
        manager.add_service("stop", partial(_stop_when, stop, manager))
    end_observing = client.observe_requests(metrics.observe_requests(client.host))
    try:
        await manager.run()
    finally:
        end_observing()


async def _stop_when(stop: asyncio.Event, manager: Manager) -> None:
    await stop.wait()
    manager.stop()


def assemble(
    operators: Sequence[Chain[Any]],
    client: Client,
    *,
    clock: Clock | None = None,
    settings: Settings | None = None,
    metrics: Metrics | None = None,
) -> Manager:
    """A manager that will run these operators. Raises OperatorError for what cannot run."""
    clock, settings = clock or SystemClock(), settings or Settings()
    definitions = [operator.definition for operator in operators]
    if not definitions:
        raise OperatorError("there is no operator to run")
    for definition in definitions:
        definition.check()
    election, sharding = _election(definitions), _sharding(definitions)
    tracing.trace_requests(client)
    elector = election.elector(client, clock) if election is not None else None
    manager = Manager(
        client,
        elector=elector,
        clock=clock,
        address=settings.address,
        grace_s=settings.grace_s,
        resync_s=settings.resync_s,
        keep_managed_fields_of=[definition.name for definition in definitions],
        metrics=metrics,
        absent_hints={one.resource: _how_to_install(one) for one in definitions if _is_custom(one)},
    )
    instance = elector.identity if elector is not None else default_identity()
    shard = sharding.shard(manager) if sharding is not None else None
    for definition in definitions:
        if definition.reconciles:
            _Assembly(manager, definition, instance, shard).add()
    add_webhooks(manager, definitions, settings.webhooks)
    return manager


def _is_custom(definition: Definition[Any]) -> bool:
    return isinstance(definition.kind, type) and issubclass(definition.kind, CustomResource)


def _how_to_install(definition: Definition[Any]) -> str:
    """For people who have forgotten the definition of their custom resource."""
    name = definition.kind.__module__
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    # What was run or loaded as a file can be imported by its name only by luck.
    module = os.path.relpath(file) if file and (name == "__main__" or "." not in name) else name
    resource = definition.resource
    return (
        f"to make its definition {resource.plural}.{resource.group}: "
        f"steer crd {shlex.quote(module)} | kubectl apply -f -, or steer run --install-crds"
    )


def _election(definitions: Sequence[Definition[Any]]) -> ElectionConfig | None:
    """One process leads or it does not: operators that run together share their election."""
    elections: list[ElectionConfig] = []
    for definition in definitions:
        if definition.election is not None and definition.election not in elections:
            elections.append(definition.election)
    if len(elections) > 1:
        raise OperatorError("operators that run in one process need the same leader election")
    return elections[0] if elections else None


def _sharding(definitions: Sequence[Definition[Any]]) -> Sharding | None:
    """One process is one member: operators that run together share their objects with the same others."""
    if all(definition.sharding is None for definition in definitions):
        return None
    if any(definition.election is not None for definition in definitions):
        raise OperatorError("objects are shared among replicas, or one of them leads: choose one")
    if len({definition.sharding for definition in definitions}) > 1:
        raise OperatorError("operators that run in one process need the same sharding")
    return definitions[0].sharding


class _Assembly:
    """What one operator needs of a manager."""

    def __init__(
        self, manager: Manager, definition: Definition[Any], instance: str, shard: Shard | None
    ) -> None:
        self._manager = manager
        self._shard = shard
        self._definition = definition
        self._informers: dict[ResourceType, Informer] = {}
        # Those chosen by labels are added as they are found.
        chosen_by = definition.namespace_selector
        where = () if chosen_by else definition.namespaces or None
        self._primary = manager.informers.get(
            definition.resource, namespace=where, labels=definition.selector, chosen_by=chosen_by
        )
        self._informers[definition.resource] = self._primary
        for resource in (*definition.owns, *(watch.resource for watch in definition.watches)):
            if resource not in self._informers:
                self._informers[resource] = manager.informers.get(
                    resource, namespace=where, chosen_by=chosen_by
                )
        if chosen_by:
            ChosenNamespaces(manager, chosen_by, list(self._informers.values()))
        recorder = manager.add_recorder(
            Recorder(manager.client, definition.name, instance, clock=manager.clock)
        )
        # The name the controller listens under: what is written here does not wake it.
        writes = Writes(manager.client, definition.name, self._cache_of, manager.check_leadership)
        self._tools = Tools(
            manager.client,
            manager.clock,
            writes,
            Children(manager.client, definition.name, self._cache_of, writes, self._term),
            StatusWriter(
                manager.client,
                definition.resource,
                writes,
                subresource=definition.has_status,
                term=self._term,
            ),
            recorder,
            self._term,
        )

    def _term(self) -> int:
        """Of the leadership that work is done in: the elector may know of a later one, of somebody else."""
        leadership = self._manager.leadership
        return 0 if leadership is None else leadership.term

    def _cache_of(self, resource: ResourceType) -> Cache | None:
        informer = self._informers.get(resource)
        return None if informer is None else informer.cache

    def add(self) -> None:
        definition, manager = self._definition, self._manager
        reconciler = Reconciler(definition, self._primary.cache, self._tools)
        if definition.reconcile is not None or definition.dependents or definition.finalizer:
            manager.add(self._controller(reconciler))
        for timer in definition.timers:
            name = f"{definition.name}-{timer.name}"
            calls = TimerReconciler(
                timer, definition, self._primary.cache, reconciler, self._tools.writes, manager.clock.wall
            )
            controller = Controller(
                name,
                calls,
                clock=manager.clock,
                concurrency=definition.concurrency,
                retry=definition.retry,
                shard=self._shard,
                journal=Journal(),
            )
            manager.add(controller.primary(self._primary, appears))
        for daemon in definition.daemons:
            daemons = Daemons(
                f"{definition.name}-{daemon.name}",
                daemon,
                self._primary,
                reconciler,
                clock=manager.clock,
                retry=definition.retry,
                shard=self._shard,
            )
            manager.add_service(daemons.name, daemons.run, leader_only=True)

    def _controller(self, reconciler: Reconciler[Any]) -> Controller:
        definition = self._definition
        controller = Controller(
            definition.name,
            reconciler,
            clock=self._manager.clock,
            concurrency=definition.concurrency,
            timeout_s=definition.timeout_s,
            retry=definition.retry,
            min_interval_s=definition.min_interval_s,
            shard=self._shard,
            journal=Journal(),
        )
        controller.primary(self._primary, definition.predicate)
        for resource, predicate in definition.owns.items():
            controller.owns(self._informers[resource], definition.resource, predicate)
        for watch in definition.watches:
            controller.watches(self._informers[watch.resource], _keys(watch.mapper), watch.predicate)
        return controller


def _keys(mapper: Mapper) -> Callable[[Change], list[Key]]:
    """A mapper's answer as keys; it may also say `namespace/name`."""

    def keys(change: Change) -> list[Key]:
        return [Key.parse(each) if isinstance(each, str) else each for each in mapper(change)]

    return keys
