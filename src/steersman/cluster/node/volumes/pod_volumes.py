"""The volumes of the pods of one node: set up, updated, measured, torn down.

A change of a referenced object arrives through `changed`, and is in the files a moment later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from steersman.cluster.node.errors import MountFailed
from steersman.cluster.node.timers import Starter, Timers
from steersman.cluster.node.volumes.atomic import BadPath
from steersman.cluster.node.volumes.claims import ClaimProblem
from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.cluster.node.volumes.projections import is_projected, references_of
from steersman.cluster.node.volumes.references import NotRead, References
from steersman.cluster.node.volumes.sources import ReadyVolume, VolumeSources
from steersman.cluster.node.volumes.usage import limited_volumes, too_much, used_bytes
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Pod

__all__ = ["PodVolumes"]

_log = logging.getLogger(__name__)


#: Changes within so short a time are written together.
_GATHER_S: Final = 0.1
#: After files could not be brought up to date.
_RETRY_S: Final = 30.0
_SIZES_S: Final = 10.0
_PROBLEMS: Final = (VolumeProblem, NotRead, BadPath, OSError)


class _Held:
    """The state of a pod's volumes."""

    __slots__ = ("excess", "lock", "over", "pod", "ready", "refreshing")

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        #: By name; None: not all of them have been ready yet.
        self.ready: dict[str, ReadyVolume] | None = None
        self.lock = asyncio.Lock()
        self.refreshing: asyncio.Task[None] | None = None
        self.over = False
        #: Why the pod may not go on.
        self.excess = ""


class PodVolumes:
    """The volumes of all pods of a node."""

    def __init__(
        self,
        sources: VolumeSources,
        references: References,
        timers: Timers,
        start: Starter,
        poke: Callable[[str], None],
    ) -> None:
        """`references` is to tell `changed`; `poke` has a pod looked at that waits for something, or may not
        go on."""
        self._sources = sources
        self._references = references
        self._timers = timers
        self._start = start
        self._poke = poke
        self._pods: dict[str, _Held] = {}

    def notice(self, pod: Pod) -> None:
        """A pod that runs is as given now: show its labels and annotations, and go on with what a process
        before this one began."""
        held = self._pods.get(pod["metadata"]["uid"])
        if held is None:
            if _has_run(pod):
                self._hold(pod)
                self.changed(pod["metadata"]["uid"])
        elif _shown(pod) != _shown(held.pod):
            held.pod = pod
            self.changed(pod["metadata"]["uid"])

    async def set_up(self, pod: Pod) -> Mapping[str, ReadyVolume]:
        """Have all volumes ready. Raises `MountFailed`."""
        held = self._hold(pod)
        async with held.lock:
            ready, problems = await self._all(held)
            if problems:
                raise MountFailed(problems)
            if held.ready is None:
                self._watch_sizes(held)
            held.ready = ready
            self._schedule_renewal(held)
            return ready

    async def ready(self, pod: Pod) -> Mapping[str, ReadyVolume]:
        """The volumes as they were last made ready."""
        held = self._hold(pod)
        return await self.set_up(pod) if held.ready is None else held.ready

    def excess(self, uid: str) -> str:
        """Why a pod has to be evicted; empty if it need not be."""
        held = self._pods.get(uid)
        return "" if held is None else held.excess

    async def ended(self, uid: str) -> None:
        held = self._pods.pop(uid, None)
        if held is not None:
            held.over = True
            if held.refreshing is not None:
                held.refreshing.cancel()
            for what in ("refresh", "renew", "sizes"):
                self._timers.cancel((self, uid, what))
            async with held.lock:
                self._references.release(uid)
                self._sources.forget(uid)
        if self._sources.pod_folder(uid).exists():
            await asyncio.to_thread(self._sources.remove, uid)

    def sweep(self, live: Collection[str]) -> None:
        """Take away what was made for pods that are none of these any more."""
        for uid in self._sources.known():
            if uid not in live:
                self._start(self.ended(uid))

    def changed(self, uid: str) -> None:
        """Something that the pod shows or waits for has changed."""
        held = self._pods.get(uid)
        if held is not None:
            self._timers.after(_GATHER_S, (self, uid, "refresh"), lambda: self._refresh_soon(uid))

    # --- one pod

    def _hold(self, pod: Pod) -> _Held:
        uid = pod["metadata"]["uid"]
        held = self._pods.get(uid)
        if held is None:
            held = self._pods[uid] = _Held(pod)
        # Ephemeral containers may come later and refer to more.
        self._references.hold(uid, references_of(pod))
        held.pod = pod
        return held

    async def _all(self, held: _Held) -> tuple[dict[str, ReadyVolume], list[str]]:
        """All volumes of a pod that can be ready, and what is wrong with the others."""
        ready: dict[str, ReadyVolume] = {}
        problems = []
        for volume in held.pod["spec"].get("volumes") or ():
            name = volume["name"]
            if held.ready is not None and name in held.ready and not is_projected(volume):
                # What is ready stays so; only what shows something else may have to show it anew.
                ready[name] = held.ready[name]
                continue
            try:
                ready[name] = await self._sources.ready(held.pod, volume)
            except ClaimProblem as problem:
                problems.append(
                    f"Unable to attach or mount volumes: unmounted volumes=[{name}], unattached volumes=[], "
                    f"failed to process volumes=[{name}]: {problem}"
                )
            except _PROBLEMS as problem:
                problems.append(f"MountVolume.SetUp failed for volume {quote(name)} : {problem}")
        return ready, problems

    def _refresh_soon(self, uid: str) -> None:
        held = self._pods.get(uid)
        if held is None:
            return
        if held.ready is None and not _has_run(held.pod):
            # It waits for this; whoever waits tries again.
            self._poke(uid)
        else:
            held.refreshing = self._start(self._refresh(held))

    async def _refresh(self, held: _Held) -> None:
        """Bring a running pod's files up to date. What cannot be read any more stays as it was."""
        async with held.lock:
            if held.over:
                return
            ready, problems = await self._all(held)
            for problem in problems:
                _log.warning("pod %s: %s", held.pod["metadata"]["name"], problem)
            if held.ready is None and not problems:
                self._watch_sizes(held)
            if held.ready is not None or not problems:
                held.ready = {**(held.ready or {}), **ready}
            if problems:
                self._renew_after(held, _RETRY_S)
            else:
                self._schedule_renewal(held)
        self._poke(held.pod["metadata"]["uid"])

    def _schedule_renewal(self, held: _Held) -> None:
        times = [one.renew_at for one in (held.ready or {}).values() if one.renew_at is not None]
        if times:
            self._renew_after(held, max(min(times) - self._timers.clock.wall(), _GATHER_S))

    def _renew_after(self, held: _Held, delay_s: float) -> None:
        if not held.over:
            uid = held.pod["metadata"]["uid"]
            self._timers.after(delay_s, (self, uid, "renew"), lambda: self._refresh_soon(uid))

    # --- sizes

    def _watch_sizes(self, held: _Held) -> None:
        if limited_volumes(held.pod) and not held.over:
            uid = held.pod["metadata"]["uid"]
            self._timers.after(_SIZES_S, (self, uid, "sizes"), lambda: self._measure_soon(uid))

    def _measure_soon(self, uid: str) -> None:
        if (held := self._pods.get(uid)) is not None:
            self._start(self._measure(held))

    async def _measure(self, held: _Held) -> None:
        uid = held.pod["metadata"]["uid"]
        for name, limit in limited_volumes(held.pod).items():
            used = await asyncio.to_thread(used_bytes, self._sources.scratch(uid, name))
            if used > limit.value:
                held.excess = too_much(name, limit)
                self._poke(uid)
                return
        self._watch_sizes(held)


def _has_run(pod: Pod) -> bool:
    """Whether its volumes must have been ready once."""
    status = pod.get("status") or {}
    statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return any(one.get("containerID") for one in statuses)


def _shown(pod: Pod) -> tuple[Any, Any]:
    metadata = pod["metadata"]
    return metadata.get("labels"), metadata.get("annotations")
