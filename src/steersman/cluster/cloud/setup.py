"""Adds the cloud controllers to a manager: those for the parts that the provider implements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final

from steersman.client import Conflict
from steersman.cluster.cloud.provider import Provider
from steersman.objects.resource_type import ResourceType
from steersman.objects.times import format_time
from steersman.runtime import (
    Cache,
    Controller,
    Informer,
    Manager,
    Recorder,
    Request,
    Requeue,
    Result,
    RetryPolicy,
    Writes,
)
from steersman.runtime.event_forms import CLASSIC

__all__ = ["CLOUD_CONTROLLERS", "CloudSetup", "add_cloud"]

Reconcile = Callable[[Request], Awaitable[Result | None]]

#: Name → module of this package that has `add(setup)`; each does nothing if the provider lacks its part.
CLOUD_CONTROLLERS: Final = {
    "cloud-node": "nodes",
    "cloud-node-lifecycle": "node_lifecycle",
    "node-route": "node_routes",
    "service-lb": "services",
}


@dataclass(slots=True)
class CloudSetup:
    """The dependencies of the cloud controllers."""

    manager: Manager
    provider: Provider
    #: The networks of pods that routes lead to.
    pod_cidrs: Collection[str] = ()

    def informer(self, resource: ResourceType) -> Informer:
        return self.manager.informers.get(resource)

    def writes(self, writer: str, *informers: Informer) -> Writes:
        caches: dict[ResourceType, Cache] = {informer.resource: informer.cache for informer in informers}
        return Writes(self.manager.client, writer, caches.get, self.manager.check_leadership)

    def recorder(self, component: str) -> Recorder:
        recorder = Recorder(self.manager.client, component, "", clock=self.manager.clock, form=CLASSIC)
        return self.manager.add_recorder(recorder)

    def controller(self, name: str, reconcile: Reconcile, **options: Any) -> Controller:
        """A controller that tries again when the cloud or the API refuses."""

        async def quietly(request: Request) -> Result | None:
            try:
                return await reconcile(request)
            except Conflict:
                raise Requeue from None  # somebody else was faster

        options.setdefault("retry", RetryPolicy.exponential(1.0, 300.0))
        return self.manager.add(Controller(name, quietly, clock=self.manager.clock, **options))

    def now(self) -> str:
        return format_time(datetime.fromtimestamp(self.manager.clock.wall(), UTC))


def add_cloud(
    manager: Manager,
    provider: Provider,
    names: Collection[str] = tuple(CLOUD_CONTROLLERS),
    *,
    pod_cidrs: Collection[str] = (),
) -> None:
    """Have a manager run a cloud's controllers."""
    setup = CloudSetup(manager, provider, pod_cidrs)
    for name, module in CLOUD_CONTROLLERS.items():
        if name in names:
            import_module(f"steersman.cluster.cloud.{module}").add(setup)
