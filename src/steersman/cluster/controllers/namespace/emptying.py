"""One deletion pass over the contents of a terminating namespace: deletes all objects and counts the
remaining ones.

Pods are deleted first: whatever they need to terminate still exists then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from steersman.client import Client, ClientError, MethodNotAllowed, NotFound
from steersman.cluster.controllers.discovered import DiscoveredResources, discover
from steersman.cluster.controllers.namespace.conditions import RemainingContent
from steersman.objects.kinds.views.metadata import RemainingMetadata
from steersman.objects.pod_lifecycle import is_terminal
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import PODS

__all__ = ["Emptying"]

#: How long finalizers are expected to take.
_FINALIZERS_S: Final = 15


class _Remaining(msgspec.Struct):
    metadata: RemainingMetadata


_decode = msgspec.json.Decoder(_Remaining).decode


class Emptying:
    """A pass over one namespace, `age_s` after its deletion timestamp."""

    def __init__(self, client: Client, namespace: str, age_s: float) -> None:
        self._client = client
        self._namespace = namespace
        self._age_s = age_s
        self.findings = RemainingContent()
        #: How long what remains is expected to take.
        self.estimate_s = 0

    async def run(self) -> RemainingContent:
        try:
            found = await discover(self._client)
        except ClientError as error:
            self.findings.undiscovered = str(error)
            found = DiscoveredResources([], [])
        self.findings.stale = found.stale
        resources = [one for one in found.preferred("delete") if one.namespaced]
        collections = {one.resource for one in found.resources if one.supports("deletecollection")}
        if PODS in resources:
            await self._empty(PODS, in_one=True)
            if self.findings.remaining:
                return self.findings
        for resource in resources:
            if resource != PODS:
                await self._empty(resource, in_one=resource in collections)
        return self.findings

    async def _empty(self, resource: ResourceType, *, in_one: bool) -> None:
        try:
            left = await self._remaining(resource)
            if not left:
                return
            estimate_s = await self._pods_end_s() if resource == PODS else 0
            if alive := [one.name for one in left if one.deletion_timestamp is None]:
                await self._delete(resource, alive, in_one=in_one)
                left = await self._remaining(resource)
        except (NotFound, MethodNotAllowed):
            return  # served when we asked, and not any more
        except ClientError as error:
            self.findings.failures.append(str(error))
            return
        if not left:
            return
        self.findings.remaining[resource] = len(left)
        finalizers = Counter(name for one in left for name in one.finalizers or ())
        self.findings.finalizers += finalizers
        if finalizers or estimate_s:
            self.estimate_s = max(self.estimate_s, estimate_s or _FINALIZERS_S)
        else:
            which = f"{resource.group}/{resource.version}, Resource={resource.plural}"
            self.findings.failures.append(
                f"unexpected items still remain in namespace: {self._namespace} for gvr: {which}"
            )

    async def _remaining(self, resource: ResourceType) -> list[RemainingMetadata]:
        page = await self._client.list_page(resource, self._namespace, metadata_only=True)
        return [_decode(item).metadata for item in page.items]

    async def _delete(self, resource: ResourceType, names: Iterable[str], *, in_one: bool) -> None:
        """Nobody is to keep dependents for later: they go, too."""
        if in_one:
            await self._client.delete_collection(resource, self._namespace, propagation="Background")
            return
        for name in names:
            try:
                await self._client.delete(resource, name, self._namespace, propagation="Background")
            except NotFound:
                continue

    async def _pods_end_s(self) -> int:
        """How long the pods may take; 0 if that time is over."""
        pods = await self._client.list(PODS, self._namespace)
        running = (pod for pod in pods if not is_terminal(pod))
        longest = max((pod["spec"].get("terminationGracePeriodSeconds") or 0 for pod in running), default=0)
        return 0 if self._age_s >= longest else longest
