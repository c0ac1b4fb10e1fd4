"""Writes scheduling results to pod statuses: the PodScheduled condition, nominatedNodeName, preemption of
victims.

Writes are sent in the background, and only the latest status of each pod. A status that the pod already has
is not written.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from steersman.aio import Clock
from steersman.client import Client, ClientError, NotFound
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.objects.conditions import condition_patch, find_condition
from steersman.objects.resources import PODS
from steersman.objects.times import format_time
from steersman.runtime import Cache, Key

__all__ = ["PodStatusWriter"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Status:
    """The status to write of a pending pod."""

    uid: str
    reason: str | None = None
    message: str = ""
    #: None: as it is.
    nominated: str | None = None


class PodStatusWriter:
    """Writes the pods' statuses of one scheduler."""

    def __init__(self, client: Client, clock: Clock, pods: Cache) -> None:
        self._client = client
        self._clock = clock
        self._pods = pods
        self._pending: OrderedDict[Key, _Status] = OrderedDict()
        self._work = asyncio.Event()

    def refused(self, pod: PodInfo, reason: str, message: str, nominated: str | None) -> None:
        """A pod has no node, and why; where it is to go later."""
        self._put(pod.key, _Status(pod.uid, reason, message, nominated))

    def nominate(self, pod: PodInfo, node: str) -> None:
        earlier = self._pending.get(pod.key)
        self._put(pod.key, replace(earlier, nominated=node) if earlier else _Status(pod.uid, nominated=node))

    async def expect(self, pod: PodInfo, node: str) -> None:
        """Say now that the pod will be bound there, since that will take a while. Not more than a hint."""
        try:
            await self._patch(pod.key, {"nominatedNodeName": node})
        except ClientError as error:
            _log.warning("the nomination of pod %s was not written: %s", pod.key, error)

    def _put(self, key: Key, status: _Status) -> None:
        self._pending[key] = status
        self._work.set()

    async def run(self) -> None:
        while True:
            while self._pending:
                key, status = self._pending.popitem(last=False)
                try:
                    await self._write(key, status)
                except NotFound:
                    continue
                except ClientError as error:
                    _log.warning("the status of pod %s was not written: %s", key, error)
            self._work.clear()
            await self._work.wait()

    async def _write(self, key: Key, status: _Status) -> None:
        cached = self._pods.get(key)
        if cached is None or cached.uid != status.uid:
            return
        pod = cached.object()
        patch: dict[str, Any] = {}
        current = pod.get("status") or {}
        if status.reason is not None:
            condition = self._condition(pod, "PodScheduled", "False", status.reason, status.message)
            if condition is not None:
                patch |= condition_patch(current.get("conditions"), condition)
        if status.nominated is not None and status.nominated != (current.get("nominatedNodeName") or ""):
            patch["nominatedNodeName"] = status.nominated or None
        if patch:
            await self._patch(key, patch)

    async def evict(self, victim: PodInfo, scheduler: str) -> None:
        """Have a pod deleted, and say why in its status. Raises `ClientError`."""
        cached = self._pods.get(victim.key)
        if cached is None or cached.uid != victim.uid:
            return
        pod = cached.object()
        message = f"{scheduler}: preempting to accommodate a higher priority pod"
        condition = self._condition(pod, "DisruptionTarget", "True", "PreemptionByScheduler", message)
        try:
            if condition is not None:
                present = (pod.get("status") or {}).get("conditions")
                await self._patch(victim.key, condition_patch(present, condition))
            await self._client.delete(PODS, victim.name, victim.namespace, uid=victim.uid)
        except NotFound:
            return

    async def _patch(self, key: Key, status: dict[str, Any]) -> None:
        await self._client.patch(
            PODS, key.name, {"status": status}, key.namespace, type="strategic", subresource="status"
        )

    def _condition(
        self, pod: dict[str, Any], kind: str, status: str, reason: str, message: str
    ) -> dict[str, Any] | None:
        """The condition to write; None if the pod has it."""
        old = find_condition((pod.get("status") or {}).get("conditions"), kind)
        new = {"type": kind, "status": status, "reason": reason, "message": message}
        if old is not None and all(old.get(field, "") == value for field, value in new.items()):
            return None
        new["observedGeneration"] = pod["metadata"].get("generation", 0)
        if old is None or old.get("status") != status:
            new["lastTransitionTime"] = format_time(datetime.fromtimestamp(self._clock.wall(), UTC))
        return new
