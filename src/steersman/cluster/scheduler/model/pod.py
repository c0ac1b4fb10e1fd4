"""A pod with the fields that scheduling reads (PodInfo), parsed once for each version from the bytes of a
cache.

Parts that pods of one template have in common are shared in memory too (see `requests`), so a plugin whose
signature is such a part signs all of them alike. Parse errors are kept in the pod: it is rejected, others are
not affected.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec
import orjson

from steersman.cluster.scheduler.model.affinity import NO_AFFINITY, PodAffinity, read_pod_affinity
from steersman.cluster.scheduler.model.requests import ResourceRequests, read_requests
from steersman.cluster.scheduler.model.spreading import TopologySpreadConstraint, read_constraints
from steersman.cluster.scheduler.model.tolerations import Tolerations, read_tolerations
from steersman.cluster.scheduler.model.volumes import Volumes, read_volumes
from steersman.objects.errors import SelectorError
from steersman.objects.kinds.views.containers import HostPort, SchedulableContainer
from steersman.objects.kinds.views.metadata import OwnerReference
from steersman.objects.kinds.views.pods import SchedulablePodSpec, SchedulablePodView
from steersman.objects.node_selection import NodeAffinity, read_node_affinity
from steersman.objects.ownership import controller_of
from steersman.runtime import Cached, Key

__all__ = ["DEFAULT_SCHEDULER", "HostPort", "PodInfo", "read_pod"]

DEFAULT_SCHEDULER: Final = "default-scheduler"
_CACHED: Final = 4096


class PodInfo(msgspec.Struct, frozen=True, eq=False, gc=False, kw_only=True):
    """A pod. Immutable: an update of the pod is another `PodInfo`."""

    cached: Cached
    uid: str
    labels: Mapping[str, str]
    priority: int
    scheduler: str
    node_name: str
    nominated: str
    """Where the pod is to go when those it preempted are gone."""
    deleting: bool
    over: bool
    """It has ended and takes nothing any more."""
    created: str
    started: str
    preempts: bool
    gates: tuple[str, ...]
    requests: ResourceRequests
    ports: tuple[HostPort, ...]
    images: tuple[str, ...]
    tolerations: Tolerations
    node_affinity: NodeAffinity
    affinity: PodAffinity
    constraints: tuple[TopologySpreadConstraint, ...]
    volumes: Volumes
    owner: OwnerReference | None
    problem: str = ""
    """What is wrong with it, in which case it cannot be placed."""

    @property
    def key(self) -> Key:
        return self.cached.key

    @property
    def name(self) -> str:
        return self.cached.key.name

    @property
    def namespace(self) -> str:
        return self.cached.key.namespace

    def object(self) -> dict[str, Any]:
        """The whole pod: a fresh one each time."""
        return self.cached.object()

    def claim_names(self) -> list[str]:
        return [claim.of(self.name) for claim in self.volumes.claims]


def read_pod(cached: Cached) -> PodInfo:
    """Raises `msgspec.DecodeError` for what is no pod."""
    raw = _decode(cached.data)
    metadata, spec, status = raw.metadata, raw.spec, raw.status
    affinity, problem = NO_AFFINITY, ""
    constraints: tuple[TopologySpreadConstraint, ...] = ()
    try:
        affinity = read_pod_affinity(bytes(spec.affinity), cached.key.namespace)
        constraints = read_constraints(bytes(spec.topology_spread_constraints))
    except SelectorError as error:
        problem = str(error)
    return PodInfo(
        cached=cached,
        uid=metadata.uid,
        labels=_labels(bytes(metadata.labels)),
        priority=spec.priority or 0,
        scheduler=spec.scheduler_name or DEFAULT_SCHEDULER,
        node_name=spec.node_name,
        nominated=status.nominated_node_name,
        deleting=raw.deleting,
        over=raw.terminal,
        created=metadata.creation_timestamp or "",
        started=status.start_time or "",
        preempts=spec.preemption_policy != "Never",
        gates=tuple(gate.name for gate in spec.scheduling_gates),
        requests=_requests(spec),
        ports=_ports(tuple(bytes(container.ports) for container in _all(spec))),
        images=tuple(container.image for container in (*spec.init_containers, *(spec.containers or ()))),
        tolerations=read_tolerations(bytes(spec.tolerations)),
        node_affinity=read_node_affinity(bytes(spec.node_selector), bytes(spec.affinity)),
        affinity=affinity,
        constraints=constraints,
        volumes=read_volumes(bytes(spec.volumes)),
        owner=_owner(bytes(metadata.owner_references)),
        problem=problem,
    )


_decode = msgspec.json.Decoder(SchedulablePodView).decode
_decode_ports = msgspec.json.Decoder(list[HostPort] | None).decode
_decode_owners = msgspec.json.Decoder(list[OwnerReference] | None).decode


def _all(spec: SchedulablePodSpec) -> list[SchedulableContainer]:
    """Those whose ports are held while the pod runs: containers and sidecars."""
    sidecars = [each for each in spec.init_containers if each.is_sidecar]
    return [*(spec.containers or ()), *sidecars]


def _requests(spec: SchedulablePodSpec) -> ResourceRequests:
    return read_requests(
        tuple(bytes(container.resources) for container in spec.containers or ()),
        tuple((bytes(each.resources), each.is_sidecar) for each in spec.init_containers),
        bytes(spec.resources),
        bytes(spec.overhead),
    )


@lru_cache(_CACHED)
def _ports(parts: tuple[bytes, ...]) -> tuple[HostPort, ...]:
    return tuple(port for data in parts if data for port in _decode_ports(data) or () if port.host_port)


@lru_cache(_CACHED)
def _labels(data: bytes) -> Mapping[str, str]:
    return (orjson.loads(data) or {}) if data else {}


@lru_cache(_CACHED)
def _owner(data: bytes) -> OwnerReference | None:
    owners = _decode_owners(data) if data else None
    return controller_of(owners or ())
