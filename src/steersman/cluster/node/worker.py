"""The pod worker: one pod on its node, from binding until it is deleted (kubelet's podWorkers and syncPod).

    NEW ──admitted──► SYNCING ──over, ended or deleted──► ENDING ──nothing runs──► OVER ──reported──► gone
     └──refused, or was over already───────────────────────────────────────────────▲

A pod holds its share of the node from its admission until it is OVER. Its end is reported to the API only
then, or the scheduler would give away a place that this node still counts as taken.

A worker is poked whenever something may be to do: the pod changed, a container did, a wait is over. It then
looks at everything anew and acts until there is nothing to do; a pod that just runs costs no task and no
timer. `actions` decides what to do, `pod_status` computes the status.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from enum import Enum
from typing import Final, cast

from steersman.cluster.node.actions import pod_actions
from steersman.cluster.node.container_statuses import ObservedPod, time_text
from steersman.cluster.node.cri import PodRuntime
from steersman.cluster.node.node_context import NodeContext
from steersman.cluster.node.pod_admission import PodDemand, PodRejection, claim_of
from steersman.cluster.node.pod_head import PodHead
from steersman.cluster.node.pod_status import NodeTermination, final_status, pod_status, rejected_status
from steersman.cluster.node.status_manager import StatusReport
from steersman.cluster.node.steps import PodSteps
from steersman.cluster.node.streaming import StreamingService
from steersman.objects.kinds.types.core_v1 import Pod
from steersman.objects.lifetime import is_deleting
from steersman.objects.pod_lifecycle import is_terminal, is_terminal_phase
from steersman.objects.times import parse_time
from steersman.runtime import Key

__all__ = ["PodWorker", "Stage"]

_log = logging.getLogger(__name__)


#: After something unexpected.
_RETRY_S: Final = 10.0
_DEADLINE: Final = NodeTermination(
    "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
)
#: For how long containers of a pod that is gone from the API may go on.
_ORPHAN_GRACE_S: Final = 1
_EVICTED_GRACE_S: Final = 1


class Stage(Enum):
    """The stages of a pod worker."""

    NEW = "new"
    SYNCING = "syncing"
    ENDING = "ending"
    OVER = "over"


class PodWorker:
    """The worker of one pod."""

    __slots__ = (
        "_begun", "_dirty", "_ending", "_generation", "_grace_s", "_host", "_interrupted", "_refusal",
        "_settled", "_steps", "_task", "key", "on_gone", "stage", "uid",
    )  # fmt: skip

    def __init__(self, host: NodeContext, key: Key, uid: str, on_gone: Callable[[PodWorker], None]) -> None:
        """`on_gone` is told when nothing is left to do."""
        self.key = key
        self.uid = uid
        self.on_gone = on_gone
        self.stage = Stage.NEW
        self._host = host
        self._ending: NodeTermination | None = None
        self._refusal: PodRejection | None = None
        #: Whether the API has its last status.
        self._settled = False
        #: How long its containers were given when they were asked to end; None: not asked yet.
        self._grace_s: int | None = None
        self._steps = PodSteps(host)
        self._task: asyncio.Task[None] | None = None
        self._begun = False
        self._interrupted = False
        self._dirty = False
        self._generation = 0

    # --- being told

    def poke(self) -> None:
        """Look at the pod (again)."""
        self._dirty = True
        if self._task is None and self._host.online:
            self._task = self._host.start(self._run())

    def changed(self, head: PodHead | None) -> None:
        """The pod was changed by somebody; None: it is gone from the API."""
        self._dirty = True
        grace_s = _ORPHAN_GRACE_S if head is None else head.grace_s if head.deleting else None
        if grace_s is not None and (self._grace_s is None or grace_s < self._grace_s):
            self._interrupt()
        self.poke()

    def end(self, ending: NodeTermination) -> None:
        """End the pod on the node's own account."""
        if self._ending is None and self.stage in (Stage.NEW, Stage.SYNCING):
            self._ending = ending
            self._interrupt()
            self.poke()

    @property
    def ended(self) -> bool:
        """Whether it is over, or is going to be whatever happens."""
        return self._ending is not None or self.stage is Stage.OVER

    def _interrupt(self) -> None:
        """Have the worker give up what it waits for, and look again."""
        if self._task is not None and self._begun and not self._interrupted:
            self._interrupted = True
            self._task.cancel()

    # --- working

    async def _run(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            while self._dirty and self._host.online:
                self._dirty = False
                self._begun = True
                try:
                    await self._sync()
                except asyncio.CancelledError:
                    # Whoever else cancels means it.
                    if not self._interrupted or task.uncancel():
                        raise
                    self._interrupted = False
                except Exception:  # noqa: BLE001 - one pod's trouble is not the node's
                    _log.exception("pod %s could not be synced", self.key)
                    self._host.timers.after(_RETRY_S, self, self.poke)
        finally:
            self._begun = self._interrupted = False
            self._task = None

    async def _sync(self) -> None:
        pod = self._pod()
        if pod is None:
            await self._end(None)
            await self._leave()
            return
        if self.stage is Stage.NEW:
            self._begin(pod)
        if self.stage is Stage.SYNCING:
            self._ending = self._ending or self._deadline(pod) or self._excess(pod)
            over = is_terminal(pod)
            if over or self._ending is not None or is_deleting(pod):
                self.stage = Stage.ENDING
            else:
                await self._keep_running(pod)
        if self.stage is Stage.ENDING:
            await self._end(pod)
            self.stage = Stage.OVER
            self._release()
        self._host.statuses.want(self)

    def _pod(self) -> Pod | None:
        """The pod as it is known now; None if it is gone, whatever else has its name."""
        cached = self._host.pods.get(self.key)
        if cached is None:
            return None
        pod = cast("Pod", cached.object())
        return pod if pod["metadata"]["uid"] == self.uid else None

    def _begin(self, pod: Pod) -> None:
        status = pod.get("status") or {}
        if is_terminal_phase(status.get("phase")):
            self.stage = Stage.OVER
            self._settled = True
            return
        claim = claim_of(pod["spec"])
        self._generation = pod["metadata"].get("generation", 0)
        if not status.get("startTime") and not is_deleting(pod):
            self._refusal = self._host.refusal(pod, claim)
        if self._refusal is not None:
            self._host.events.warning(pod, *self._refusal)
            self.stage = Stage.OVER
            return
        self._take(claim)
        self.stage = Stage.SYNCING

    def _take(self, claim: PodDemand) -> None:
        """Hold these of the node's resources, and nothing else any more."""
        self._host.claims[self.uid] = self.key, claim

    def _release(self) -> None:
        self._host.claims.pop(self.uid, None)

    def _deadline(self, pod: Pod) -> NodeTermination | None:
        allowed_s = pod["spec"].get("activeDeadlineSeconds")
        if allowed_s is None:
            return None
        now = self._host.now()
        began = (pod.get("status") or {}).get("startTime")
        left_s = allowed_s - (now - parse_time(began).timestamp() if began else 0)
        if left_s > 0:
            self._host.timers.after(left_s, (self, "deadline"), self.poke)
            return None
        self._host.events.normal(pod, _DEADLINE.reason, _DEADLINE.message)
        return _DEADLINE

    def _excess(self, pod: Pod) -> NodeTermination | None:
        message = self._host.preparation.excess(self.uid)
        if not message:
            return None
        self._host.events.warning(pod, "Evicted", message)
        return NodeTermination("Evicted", message, _EVICTED_GRACE_S)

    async def _keep_running(self, pod: Pod) -> None:
        self._host.notice(pod)
        self._host.preparation.notice(pod)
        if self._generation != (generation := pod["metadata"].get("generation", 0)):
            self._generation = generation
            self._take(claim_of(pod["spec"]))
        view = await self._view(pod)
        actions = pod_actions(view)
        if actions.nothing:
            return
        if actions.kill_pod and not actions.create_sandbox:
            self.stage = Stage.ENDING
            return
        # Said only if what follows takes its time.
        self._host.statuses.want(self)
        retry_s = await self._steps.take(view, actions)
        if retry_s is not None:
            self._host.timers.after(retry_s, self, self.poke)

    async def _end(self, pod: Pod | None) -> None:
        """Stop everything that runs for the pod."""
        if pod is not None and is_deleting(pod):
            grace_s = pod["metadata"].get("deletionGracePeriodSeconds") or 0
        elif pod is None:
            grace_s = _ORPHAN_GRACE_S
        elif self._ending is not None and self._ending.grace_s is not None:
            grace_s = self._ending.grace_s
        else:
            grace_s = pod["spec"].get("terminationGracePeriodSeconds") or 0
        self._grace_s = grace_s
        if pod is not None:
            self._host.notice(pod)
        runtime = await self._steps.observe(self.uid)
        if runtime.running():
            if pod is not None:
                self._host.statuses.want(self)
            await self._steps.stop(pod, runtime, grace_s)
        for sandbox in runtime.sandboxes:
            await self._host.runtime.stop_pod_sandbox(sandbox.id)

    async def _view(self, pod: Pod) -> ObservedPod:
        runtime = await self._steps.observe(self.uid)
        return self._steps.view(pod, runtime)

    # --- reporting

    async def report(self) -> StatusReport | None:
        pod = self._pod()
        if pod is None or not self._host.online:
            return None
        old = pod.get("status") or {}
        now = time_text(self._host.now())
        over = self.stage is Stage.OVER
        delete = over and is_deleting(pod)
        if self._refusal is not None:
            status = rejected_status(pod, *self._refusal, now)
        elif self._settled:
            status = old
        else:
            view = await self._view(pod)
            ending = self._ending
            status = pod_status(view, old, host_ips=self._host.host_ips, now=now, over=over, ending=ending)
        if delete:
            status = final_status(pod, status)
        return StatusReport(self.key, old, status, delete)

    def reported(self, report: StatusReport) -> None:
        if self.stage is not Stage.OVER:
            return
        if report.delete:
            self._host.start(self._leave())
        elif is_terminal_phase(report.new.get("phase")):
            # What has ended can be read about as long as there is a pod to ask for.
            has_logs = isinstance(self._host.runtime, StreamingService)
            self._host.start(self._rest() if has_logs else self._leave())

    async def _rest(self) -> None:
        """Nothing is left to do until the pod is deleted: free what it had, but not what it said."""
        self._host.prober.ended(self.uid)
        await self._host.preparation.ended(self.uid)
        self._settled = True

    async def _leave(self) -> None:
        """Nothing is left to do: free what the pod had."""
        runtime: PodRuntime = await self._steps.observe(self.uid)
        for sandbox in runtime.sandboxes:
            await self._host.runtime.remove_pod_sandbox(sandbox.id)
        await self._rest()
        self._release()
        self._gone()

    def _gone(self) -> None:
        self.stage = Stage.OVER
        for key in (self, (self, "deadline"), (self, "drift")):
            self._host.timers.cancel(key)
        self.on_gone(self)
