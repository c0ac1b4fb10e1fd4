"""Copies that were left behind in this cluster while somebody leads in another one.

A leader stops copies of earlier epochs in its own cluster, which is all that it sees. Where a leader died and
the next one is elsewhere, the followers of the dead one's cluster do it. What carries a lower epoch than the
lock's is nobody's: epochs only grow. In the leader's own cluster the leader is doing the same, and whoever
comes late finds the objects changed.
"""

from __future__ import annotations

import logging

from steersman.aio import Clock
from steersman.client import Client, ClientError
from steersman.highlander.live import LiveObjects
from steersman.highlander.stopping import stop
from steersman.highlander.workloads.copies import is_living
from steersman.highlander.workloads.ownership import MANAGER, WorkloadKey, epoch_of, key_of
from steersman.objects.resources import CRON_JOBS, DEPLOYMENTS, PODS, STATEFUL_SETS
from steersman.runtime import Writes

__all__ = ["Abandoned"]

_log = logging.getLogger(__name__)

#: How often a follower looks again when there was nothing: what a dead leader had sent may arrive late.
_AGAIN_S = 60.0
#: For so long a new leader is left to itself: if it is of this cluster, it does the same.
_GRACE_S = 2.0


class Abandoned:
    """What is left behind of one tenant."""

    def __init__(self, client: Client, live: LiveObjects, tenant: str, clock: Clock) -> None:
        self._writes = Writes(client, MANAGER, live.cache)
        self._live = live
        self._tenant = tenant
        self._clock = clock
        self._term = 0
        self._not_before = 0.0

    async def stop(self, term: int) -> None:
        """Ask for the end of what runs in epochs before `term`; what cannot be asked for now can be later."""
        now = self._clock.monotonic()
        if term != self._term:
            self._term, self._not_before = term, now + _GRACE_S
        if now < self._not_before:
            return
        found = _abandoned(self._live, self._tenant, term)
        for key in found:
            _log.info("stopping %s of %s: its epoch is older than %d", key, self._tenant, term)
            try:
                await stop(self._writes, self._live, self._tenant, key, term - 1)
            except ClientError as error:
                _log.warning("%s of %s was not stopped: %s", key, self._tenant, error)
        if not found:
            self._not_before = now + _AGAIN_S


def _abandoned(live: LiveObjects, tenant: str, term: int) -> set[WorkloadKey]:
    running = [pod for pod in live.of_tenant(PODS, tenant) if is_living(pod)]
    running += [each for each in live.of_tenant(CRON_JOBS, tenant) if not each["spec"].get("suspend")]
    for resource in (DEPLOYMENTS, STATEFUL_SETS):
        running += [each for each in live.of_tenant(resource, tenant) if each["spec"].get("replicas") != 0]
    keys = set()
    for obj in running:
        metadata = obj["metadata"]
        found = key_of(metadata.get("namespace") or "", metadata.get("labels") or {})
        if found is not None and 0 < epoch_of(obj) < term and "deletionTimestamp" not in metadata:
            keys.add(found[1])
    return keys
