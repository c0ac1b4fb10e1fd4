"""The expected number of pods of a PodDisruptionBudget: the sum of the scales of the controllers that own its
pods.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from steersman.client import ApiError, Client, NoSuchKind, NotFound
from steersman.cluster.controllers.ownership import Ownership
from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.setup import Setup
from steersman.objects.fields import quote
from steersman.objects.kinds.views.metadata import OwnerReference
from steersman.objects.kinds.views.workloads import ScaledView
from steersman.objects.ownership import controller_of
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from steersman.runtime import Cached

__all__ = ["Expected", "NoScale", "Scales"]


#: Those whose scale is known without asking the API.
_KNOWN: Final = (REPLICATION_CONTROLLERS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS)


class NoScale(Exception):
    """The expected number of pods cannot be computed: a pod has no controller, or it has no scale."""


_decode = msgspec.json.Decoder(ScaledView).decode


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected number of pods, and whether some pods have no controller."""

    pods: int
    #: Whether there are pods that nobody controls.
    unmanaged: bool


class Scales:
    """Reads the scales of the controllers of pods."""

    def __init__(self, setup: Setup) -> None:
        self._client = setup.client
        self._caches = {resource.kind: (resource, setup.informer(resource).cache) for resource in _KNOWN}

    async def expected(self, pods: Iterable[PodState]) -> Expected:
        """Raises `NoScale`."""
        wanted: dict[str, int] = {}
        seen: set[str] = set()
        unmanaged = False
        for pod in pods:
            owner = controller_of(pod.metadata.owner_references)
            if owner is None:
                unmanaged = True
                continue
            if owner.uid in seen:
                continue
            seen.add(owner.uid)
            found = self._known(pod.metadata.namespace, owner)
            if found is None:
                found = await self._ask(pod.metadata.namespace, owner)
            if found is None:
                raise NoScale(f"found no controllers for pod {quote(pod.name)}")
            uid, replicas = found
            wanted[uid] = replicas
        return Expected(sum(wanted.values()), unmanaged)

    def _known(self, namespace: str, owner: OwnerReference) -> tuple[str, int] | None:
        """Whose scale counts, and which it is: that of a ReplicaSet is its Deployment's."""
        cached = self._find(namespace, owner)
        if cached is None:
            return None
        above = Ownership.read(cached).controller
        if owner.kind == REPLICA_SETS.kind and above is not None and above.kind == DEPLOYMENTS.kind:
            cached = self._find(namespace, above)
            if cached is None:
                return None
        return cached.uid, _decode(cached.data).spec.replicas

    def _find(self, namespace: str, owner: OwnerReference) -> Cached | None:
        resource, cache = self._caches.get(owner.kind, (None, None))
        if resource is None or cache is None or owner.api_version.rpartition("/")[0] != resource.group:
            return None
        cached = cache.get((namespace, owner.name))
        return cached if cached is not None and cached.uid == owner.uid else None

    async def _ask(self, namespace: str, owner: OwnerReference) -> tuple[str, int] | None:
        """The scale of anything else, by its scale subresource."""
        client = self._client
        try:
            resource = await client.resource_type(owner.api_version, owner.kind)
            scale = await client.get(resource, owner.name, namespace, subresource="scale")
        except NoSuchKind as error:
            raise NoScale(
                f"no matches for kind {quote(owner.kind)} in version {quote(owner.api_version)}"
            ) from error
        except NotFound:
            if not await _has_scale(client, resource):
                name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
                raise NoScale(f"{name} does not implement the scale subresource") from None
            return None
        except ApiError as error:
            raise NoScale(str(error)) from error
        if scale["metadata"].get("uid") != owner.uid:
            return None
        return owner.uid, scale["spec"].get("replicas") or 0


async def _has_scale(client: Client, resource: ResourceType) -> bool:
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    served = msgspec.json.decode(await client.request("GET", root))
    return any(one["name"] == f"{resource.plural}/scale" for one in served["resources"])
