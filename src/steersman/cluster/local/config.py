"""The configuration of a cluster on this machine: what `steer up` has options for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from steersman.cluster.controllers.registry import CLOUD, CONTROLLERS, IN_SERVER, SCHEDULER, chosen

__all__ = ["MEMORY", "ClusterConfig"]

#: Instead of a data folder: keep everything in memory.
MEMORY = ":memory:"


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    #: A folder, or MEMORY.
    data: str = MEMORY
    bind: str = "127.0.0.1"
    #: 0 takes a free one.
    port: int = 0
    #: Where to write the kubeconfig; the data folder when None.
    kubeconfig: Path | None = None
    #: Made at first start and kept when None.
    admin_token: str | None = None
    #: None: a range that is free on this machine if pods really run, else 10.96.0.0/16.
    service_cidr: str | None = None
    #: Let endpoints have loopback addresses, which Kubernetes refuses: for pods that live on them. So it is
    #: in any case if services have such addresses.
    loopback_endpoints: bool = False
    disabled_admission: Collection[str] = ()
    #: Admission plugins that are not asked otherwise (cluster.admission.OPTIONAL_PLUGINS).
    enabled_admission: Collection[str] = ()
    #: Controllers to run: names, "all", "-name" for all but one.
    controllers: Collection[str] = IN_SERVER
    #: Nodes to simulate.
    nodes: int = 0
    #: How often simulated nodes say that they live; their leases are for four times as long.
    heartbeat_s: float | None = None
    #: Nodes of this machine, whose pods are really run.
    process_nodes: int = 0
    #: Which folders are images to them; None: those of `steer image`.
    images: Path | None = None
    #: Make keys anew that the folder has lost, though certificates and tokens were issued with them.
    new_keys: bool = False
    #: Keys that encrypt Secrets on disk (see store.encryption), one a line, the newest first.
    encryption_key: Path | None = None
    #: Who else vouches for users (AuthenticationConfiguration of apiserver.config.k8s.io).
    authentication: Path | None = None
    #: What is logged of requests, by whom and about what (audit.k8s.io/v1 Policy), and where.
    audit_policy: Path | None = None
    audit_log: str | None = None
    #: Requests served at the same time, shared fairly between those who ask.
    max_requests_inflight: int = 600
    #: How long old revisions can be watched and listed from.
    history_s: float = 300.0

    def runs(self, controller: str) -> bool:
        return controller in chosen(self.controllers)

    @property
    def reachable_host(self) -> str:
        """The address that clients on this machine use."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.bind, self.bind)  # noqa: S104

    @property
    def has_components(self) -> bool:
        """Whether anything but the API server runs."""
        if self.nodes or self.process_nodes:
            return True
        return bool(chosen(self.controllers) & {SCHEDULER, *CLOUD, *CONTROLLERS})
