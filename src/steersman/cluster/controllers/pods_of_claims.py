"""An index of the pods that use a PersistentVolumeClaim, shared by controllers.

A volume of a pod names a claim or is an ephemeral volume, whose claim is named after pod and volume and
controlled by the pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from steersman.objects.kinds.types.core_v1 import PersistentVolumeClaim
from steersman.objects.kinds.views.pods import ClaimUserView
from steersman.objects.ownership import is_controlled_by
from steersman.runtime import Cache, Cached, Key

__all__ = ["ClaimUser", "claims_of", "index_by_claim", "unscheduled_pods", "users_of"]


_INDEX: Final = "claim"
#: The volume sources that have to do with claims.
_CLAIM: Final = b'"persistentVolumeClaim"'
_EPHEMERAL: Final = b'"ephemeral"'


class ClaimUser(ClaimUserView, frozen=True, gc=False):
    """The fields of a pod that decide whether it uses a claim."""

    @classmethod
    def read(cls, cached: Cached) -> ClaimUser:
        return _decode(cached.data)

    @classmethod
    def of(cls, pod: Mapping[str, Any]) -> ClaimUser:
        """The same of a whole pod."""
        return msgspec.convert(pod, cls)

    @property
    def claims(self) -> Iterator[tuple[str, bool]]:
        """The claims' names, and whether they were made for this pod."""
        for volume in self.spec.volumes:
            if volume.persistent_volume_claim is not None:
                yield volume.persistent_volume_claim.claim_name, False
            elif volume.ephemeral is not None:
                yield f"{self.metadata.name}-{volume.name}", True

    def holds(self, claim: PersistentVolumeClaim) -> bool:
        """Whether its node may be using the claim: a pod without a node gets none that is being deleted."""
        return bool(self.spec.node_name) and self._names(claim, its_own=not self._shut_down)

    def needs(self, claim: PersistentVolumeClaim) -> bool:
        """Whether it has use for the claim, now or when it gets a node."""
        return not self._over and self._names(claim, its_own=True)

    def _names(self, claim: PersistentVolumeClaim, *, its_own: bool) -> bool:
        for name, ephemeral in self.claims:
            if name != claim["metadata"]["name"]:
                continue
            if not ephemeral or (its_own and is_controlled_by(claim, self.metadata.uid)):
                return True
        return False

    @property
    def _shut_down(self) -> bool:
        """Whether its node is done with it, or somebody decided not to wait for that."""
        metadata = self.metadata
        return metadata.deletion_timestamp is not None and metadata.deletion_grace_period_seconds == 0

    @property
    def _over(self) -> bool:
        if self.terminal:
            return True
        states = [status.state for status in self.status.container_statuses]
        running = any(state.waiting is None and state.terminated is None for state in states)
        return self.metadata.deletion_timestamp is not None and not running


_decode = msgspec.json.Decoder(ClaimUser).decode


def claims_of(pod: Cached) -> list[str]:
    """The names of the claims that a pod names. Most pods name none, which their bytes tell."""
    data = pod.data
    if _CLAIM not in data and _EPHEMERAL not in data:
        return []
    return [name for name, _ in ClaimUser.read(pod).claims]


def index_by_claim(pods: Cache) -> None:
    """Have `users_of` find the pods of this cache. May be called by each of its users."""
    try:
        pods.by_index(_INDEX, "")
    except KeyError:
        pods.add_index(_INDEX, _values)


def _values(pod: Cached) -> list[str]:
    return [str(Key(pod.key.namespace, name)) for name in claims_of(pod)]


def users_of(pods: Cache, claim: Key) -> list[ClaimUser]:
    """The pods that name a claim."""
    return [ClaimUser.read(cached) for cached in pods.by_index(_INDEX, str(claim))]


def unscheduled_pods(pods: Cache, claim: Key) -> list[str]:
    """The names of the pods that name a claim and have no node yet."""
    return sorted(
        pod.metadata.name for pod in users_of(pods, claim) if not pod.spec.node_name and not pod.terminal
    )
