"""Constructs a scheduler on a manager: informers, profiles, and the scheduling loop that runs while
leading.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Final

from steersman.cluster.scheduler.event_handlers import EventHandlers
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import UsesResources
from steersman.cluster.scheduler.framework.profile import Profile
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.nodes import NodeTable
from steersman.cluster.scheduler.model.nominations import Nominations
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.permits import Permits
from steersman.cluster.scheduler.placing import Placer
from steersman.cluster.scheduler.profiles import ProfileConfig, hints_of, make_profile
from steersman.cluster.scheduler.queue import SchedulingQueue
from steersman.cluster.scheduler.scheduler import ProfileRunner, Scheduler
from steersman.cluster.scheduler.status_writer import PodStatusWriter
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import NAMESPACES, NODES, PODS
from steersman.runtime import Cache, Manager, Recorder
from steersman.runtime.event_forms import SCHEDULING

__all__ = ["add_scheduler"]

#: Whose the fields are that a scheduler writes, as in Kubernetes.
_NAME: Final = "kube-scheduler"


def add_scheduler(
    manager: Manager, profiles: Sequence[ProfileConfig] = (ProfileConfig(),), *, host: str | None = None
) -> Scheduler:
    """Have a manager schedule pods while it leads. Raises ValueError for profiles that could not work."""
    names = [config.scheduler for config in profiles]
    if not names or len(set(names)) != len(names):
        raise ValueError(f"a scheduler needs profiles of different names, not {names}")
    assembly = _Assembly(manager, host or socket.gethostname())
    for config in profiles:
        assembly.add_profile(config)
    return assembly.scheduler()


class _Assembly:
    """The parts of a scheduler while it is constructed."""

    def __init__(self, manager: Manager, host: str) -> None:
        self._manager = manager
        self._client = manager.client.named(_NAME)
        self._host = host
        self._nodes = NodeTable()
        self._nominations = Nominations()
        self._permits = Permits()
        self._handles: list[Handle] = []
        self._runners: dict[str, ProfileRunner] = {}
        self._resources: dict[ResourceType, None] = {}

    def add_profile(self, config: ProfileConfig) -> None:
        handle = Handle(
            self._client,
            self._manager.clock,
            self._nodes,
            self._cache,
            self._nominations,
            self._permits,
        )
        profile = make_profile(config, handle)
        placer = Placer(profile, handle)
        handle.check, handle.simulate, handle.sign = placer.check, placer.simulate, placer.sign
        recorder = Recorder(
            self._client,
            config.scheduler,
            f"{config.scheduler}-{self._host}",
            clock=self._manager.clock,
            form=SCHEDULING,
        )
        self._handles.append(handle)
        self._runners[config.scheduler] = ProfileRunner(profile, placer, self._manager.add_recorder(recorder))

    def scheduler(self) -> Scheduler:
        profiles = [runner.profile for runner in self._runners.values()]
        queue = SchedulingQueue(
            profiles[0].sorting.sort_key,
            self._pre_enqueue,
            {profile.scheduler: hints_of(profile) for profile in profiles},
        )
        pods = self._cache(PODS)
        clock = self._manager.clock
        event_handlers = EventHandlers(
            self._nodes, queue, self._nominations, self._permits, clock, list(self._runners)
        )
        status_writer = PodStatusWriter(self._client, clock, pods)
        scheduler = Scheduler(event_handlers, self._runners, status_writer, self._permits, pods, clock)
        event_handlers.wake = scheduler.wake
        for handle in self._handles:
            handle.evict = scheduler.evict
            handle.namespace_labels = lambda name: event_handlers.namespaces.get(name, {})
            handle.namespaces_changed = lambda: event_handlers.namespaces_changed
        self._add_handlers(event_handlers, profiles)
        self._manager.add_service("scheduler", scheduler.run, leader_only=True)
        return scheduler

    def _add_handlers(self, event_handlers: EventHandlers, profiles: list[Profile]) -> None:
        """Nodes first, so that pods find theirs; plugins before the queue hears of what may help."""
        informers = self._manager.informers
        informers.get(NODES).add_handler(event_handlers.on_node)
        informers.get(NAMESPACES).add_handler(event_handlers.on_namespace)
        for profile in profiles:
            readers = [plugin for plugin in profile.plugins if isinstance(plugin, UsesResources)]
            for plugin in readers:
                for resource, handler in plugin.resources.items():
                    self._resources[resource] = None
                    if handler is not None:
                        informers.get(resource).add_handler(handler)
        for resource in self._resources:
            on_change = event_handlers.on_other(resource)
            informer = informers.get(resource)
            if on_change is not None:
                informer.add_handler(on_change)
        informers.get(PODS).add_handler(event_handlers.on_pod)

    def _cache(self, resource: ResourceType) -> Cache:
        return self._manager.informers.get(resource).cache

    def _pre_enqueue(self, pod: PodInfo) -> Refusal | None:
        for plugin in self._runners[pod.scheduler].profile.pre_enqueue:
            refusal = plugin.pre_enqueue(pod)
            if refusal is not None:
                return refusal
        return None
