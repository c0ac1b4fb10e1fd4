"""The dependencies of the built-in controllers: manager, client, clock and options.

A controller's module has one function `add(setup)` that constructs its informers and `Controller`s. A
controller is an API client like any operator: it reads caches, writes through the client, and does not access
the store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from steersman.aio import Clock
from steersman.client import Client
from steersman.cluster.controllers.metrics_source import MetricsSource
from steersman.objects.resource_type import ResourceType
from steersman.runtime import Cache, Controller, Informer, Manager, Recorder, Writes
from steersman.runtime.event_forms import CLASSIC

__all__ = ["Options", "Setup", "SignToken"]

#: A token for a ServiceAccount, to be kept in a Secret.
SignToken = Callable[[Mapping[str, Any], Mapping[str, Any]], str]


@dataclass(frozen=True, slots=True)
class Options:
    """The configuration of the controllers (flags of kube-controller-manager)."""

    #: The authority that pods are told to trust (PEM).
    root_certificate: str = ""
    #: Signs the tokens that are kept in Secrets; None: there are none.
    sign_token: SignToken | None = None
    #: Where pods get their addresses from; empty: nodes get no ranges.
    pod_cidr: str = "10.244.0.0/16"
    node_mask: int = 24
    #: A node that is silent for this long is not ready any more.
    node_grace_s: float = 50.0
    node_period_s: float = 5.0
    #: Where the local-path provisioner keeps volumes; empty: it makes none.
    volumes: str = ""
    #: Pods that have ended are kept until there are more than this.
    terminated_pods: int = 12_500
    #: What autoscalers measure by; None: the metrics APIs.
    metrics: MetricsSource | None = None


@dataclass(slots=True)
class Setup:
    """The controllers of one process: they share a manager, its caches and its clock."""

    manager: Manager
    options: Options = field(default_factory=Options)

    @property
    def client(self) -> Client:
        return self.manager.client

    @property
    def clock(self) -> Clock:
        return self.manager.clock

    def informer(
        self,
        resource: ResourceType,
        *,
        namespace: str | Collection[str] | None = None,
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> Informer:
        """The shared informer of a resource."""
        return self.manager.informers.get(
            resource, namespace=namespace, labels=labels, fields=fields, metadata_only=metadata_only
        )

    def writes(self, writer: str, *informers: Informer) -> Writes:
        """How the controller `writer` writes: what it writes of these resources it sees at once."""
        caches: dict[ResourceType, Cache] = {informer.resource: informer.cache for informer in informers}
        return Writes(self.client, writer, caches.get, self.manager.check_leadership)

    def recorder(self, component: str) -> Recorder:
        recorder = Recorder(self.client, component, "", clock=self.clock, form=CLASSIC)
        return self.manager.add_recorder(recorder)

    def controller(self, name: str, reconcile: Callable[..., Any], **options: Any) -> Controller:
        """A controller, added to the manager; say next what it looks at."""
        return self.manager.add(Controller(name, reconcile, clock=self.clock, **options))
