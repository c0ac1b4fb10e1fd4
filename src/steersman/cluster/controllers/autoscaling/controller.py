"""The HorizontalPodAutoscaler controller: every 15 seconds computes the desired replicas of each autoscaler
and updates the scale of its target.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, cast

from steersman.client import ClientError, Conflict, NoSuchKind
from steersman.cluster.controllers.autoscaling.api_metrics import ApiMetrics
from steersman.cluster.controllers.autoscaling.limits import ScaleHistory, limit
from steersman.cluster.controllers.autoscaling.proposals import NoProposal, Proposal, Proposals, ScaleTarget
from steersman.cluster.controllers.autoscaling.replica_count import Tolerances
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.conditions import condition_is, set_condition
from steersman.objects.errors import SelectorError
from steersman.objects.fields import quote
from steersman.objects.kinds.types.autoscaling_v1 import Scale
from steersman.objects.kinds.types.autoscaling_v2 import (
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerSpec,
    HorizontalPodAutoscalerStatus,
    MetricStatus,
)
from steersman.objects.kinds.types.core_v1 import Pod
from steersman.objects.quantities import Quantity
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import HORIZONTAL_POD_AUTOSCALERS, PODS
from steersman.objects.selectors import LabelSelector
from steersman.objects.times import format_time
from steersman.runtime import Key, Request, Result, generation_changed

__all__ = ["add"]


_PERIOD_S: Final = 15.0
#: How often a new size is tried to be written while others write too.
_TRIES: Final = 5
_UNABLE: Final = "the HPA controller was unable to get the target's current scale"


def add(setup: Setup) -> None:
    autoscalers = _Autoscalers(setup)
    name = "horizontal-pod-autoscaling"
    controller = setup.controller(name, retrying_conflicts(autoscalers.reconcile), concurrency=5)
    controller.primary(autoscalers.autoscalers, generation_changed)


class _Stop(Exception):
    """Ends this reconcile; the status conditions give the reason."""


class _Look:
    """One reconcile of an autoscaler, and the status it will write."""

    def __init__(self, obj: HorizontalPodAutoscaler, now: datetime) -> None:
        self.obj = obj
        self.spec = obj["spec"]
        self.now = now
        old: HorizontalPodAutoscalerStatus = obj.get("status") or {}
        self.conditions = old.get("conditions") or []
        self.desired = old.get("desiredReplicas") or 0
        self.current: int | None = None
        self.metrics = old.get("currentMetrics")
        self.last_scale = old.get("lastScaleTime")
        self.observed = old.get("observedGeneration")

    def add_condition(self, kind: str, status: str, reason: str, message: str) -> None:
        self.conditions = set_condition(
            self.conditions, kind, status, reason=reason, message=message, now=format_time(self.now)
        )

    def sized(self, current: int, desired: int, metrics: list[MetricStatus] | None) -> None:
        self.current, self.desired, self.metrics = current, desired, metrics
        self.observed = self.obj["metadata"]["generation"]

    def status(self) -> HorizontalPodAutoscalerStatus:
        old: HorizontalPodAutoscalerStatus = self.obj.get("status") or {}
        current = old.get("currentReplicas") if self.current is None else self.current
        status = {
            "currentReplicas": current or None,
            "lastScaleTime": self.last_scale,
            "observedGeneration": self.observed,
            "conditions": list(self.conditions) or None,
        }
        told = {name: value for name, value in status.items() if value is not None}
        answered = {**told, "desiredReplicas": self.desired, "currentMetrics": self.metrics or None}
        return cast("HorizontalPodAutoscalerStatus", answered)


class _Autoscalers:
    """Reconciles HorizontalPodAutoscalers."""

    def __init__(self, setup: Setup) -> None:
        self.autoscalers = setup.informer(HORIZONTAL_POD_AUTOSCALERS)
        self._pods = setup.informer(PODS)
        self.writes = setup.writes("horizontal-pod-autoscaling", self.autoscalers)
        self._client = setup.client
        self._recorder = setup.recorder("horizontal-pod-autoscaler")
        self._clock = setup.clock
        self._proposals = Proposals(setup.options.metrics or ApiMetrics(setup.client))
        self._histories: dict[Key, ScaleHistory] = {}
        #: What the target of each autoscaler selects.
        self._selectors: dict[Key, LabelSelector] = {}

    async def reconcile(self, request: Request) -> Result | None:
        cached = self.autoscalers.cache.get(request.key)
        if cached is None:
            self._histories.pop(request.key, None)
            self._selectors.pop(request.key, None)
            return None
        look = _Look(cast("HorizontalPodAutoscaler", cached.object()), moment(self._clock))
        with suppress(_Stop):
            await self._scale(request.key, look)
        status = look.status()
        if status != look.obj.get("status"):
            new = {**look.obj, "status": status}
            await self.writes.replace(HORIZONTAL_POD_AUTOSCALERS, new, subresource="status")
        return Result.requeue(_PERIOD_S)

    async def _scale(self, key: Key, look: _Look) -> None:
        """Bring the target to its size. Raises `_Stop`."""
        resource, scale = await self._current_scale(look)
        look.add_condition(
            "AbleToScale",
            "True",
            "SucceededGetScale",
            "the HPA controller was able to get the target's current scale",
        )
        current = scale["spec"].get("replicas") or 0
        history = self._histories.setdefault(key, ScaleHistory())
        history.begin(current, look.now)
        least, most = look.spec.get("minReplicas", 1), look.spec["maxReplicas"]
        metrics: list[MetricStatus] | None = None
        if current == 0 and not _may_wake(look, least):
            look.add_condition(
                "ScalingActive",
                "False",
                "ScalingDisabled",
                "scaling is disabled since the replica count of the target is zero",
            )
            desired, reason = 0, ""
        elif current > most:
            desired, reason = most, "Current number of replicas above Spec.MaxReplicas"
        elif 0 < current < least:
            desired, reason = least, "Current number of replicas below Spec.MinReplicas"
        else:
            best, metrics = await self._best(key, look, scale)
            desired, reason = self._limited(look, history, current, least, best)
        if desired != current:
            await self._rescale(look, resource, scale, desired, reason, metrics)
            history.scaled(look.spec.get("behavior"), current, desired, look.now)
            self._report_zero(look, current, desired, least)
            look.last_scale = format_time(look.now)
        look.sized(current, desired, metrics)

    # --- the target

    async def _current_scale(self, look: _Look) -> tuple[ResourceType, Scale]:
        reference = look.spec["scaleTargetRef"]
        api_version, kind = reference.get("apiVersion") or "v1", reference["kind"]
        namespace = look.obj["metadata"]["namespace"]
        try:
            resource = await self._client.resource_type(api_version, kind)
            scale = await self._client.get(resource, reference["name"], namespace, subresource="scale")
        except NoSuchKind:
            group = api_version.rpartition("/")[0]
            why = f"no matches for kind {quote(kind)} in group {quote(group)}"
        except ClientError as error:
            why = str(error)
        else:
            return resource, cast("Scale", scale)
        self._warn(look, "FailedGetScale", why)
        look.add_condition("AbleToScale", "False", "FailedGetScale", f"{_UNABLE}: {why}")
        raise _Stop

    async def _rescale(
        self,
        look: _Look,
        resource: ResourceType,
        scale: Scale,
        desired: int,
        reason: str,
        metrics: list[MetricStatus] | None,
    ) -> None:
        current = scale["spec"].get("replicas") or 0
        try:
            await self._write_scale(resource, scale, desired)
        except ClientError as error:
            self._warn(look, "FailedRescale", f"New size: {desired}; reason: {reason}; error: {error}")
            why = f"the HPA controller was unable to update the target scale: {error}"
            look.add_condition("AbleToScale", "False", "FailedUpdateScale", why)
            look.sized(current, look.desired, metrics)
            raise _Stop from error
        note = f"the HPA controller was able to update the target scale to {desired}"
        look.add_condition("AbleToScale", "True", "SucceededRescale", note)
        self._recorder.event(
            look.obj, "Normal", "SuccessfulRescale", f"New size: {desired}; reason: {reason}"
        )

    async def _write_scale(self, resource: ResourceType, scale: Scale, desired: int) -> None:
        key = Key.of(scale)
        for left in reversed(range(_TRIES)):
            version = scale["metadata"].get("resourceVersion")
            patch = {"metadata": {"resourceVersion": version}, "spec": {"replicas": desired}}
            try:
                await self.writes.patch(resource, key, patch, subresource="scale")
            except Conflict:
                if not left:
                    raise
                found = await self._client.get(resource, key.name, key.namespace, subresource="scale")
                scale = cast("Scale", found)
            else:
                return

    # --- the size

    async def _best(self, key: Key, look: _Look, scale: Scale) -> tuple[Proposal, list[MetricStatus]]:
        """The largest size that any metric asks for. Raises `_Stop`."""
        current = scale["spec"].get("replicas") or 0
        try:
            selector = self._selector(key, look, scale)
        except _Stop as stop:
            look.sized(current, look.desired, None)
            self._warn(look, "FailedComputeMetricsReplicas", str(stop))
            raise
        pods = [cast("Pod", pod.object()) for pod in self._pods.cache.list(key.namespace, selector)]
        replicas = (scale.get("status") or {}).get("replicas") or 0
        tolerances = _tolerances(look.spec.get("behavior"))
        target = ScaleTarget(key.namespace, current, replicas, selector, pods, tolerances, look.now)
        best: Proposal | None = None
        failures: list[NoProposal] = []
        statuses: list[MetricStatus] = []
        for metric in look.spec.get("metrics") or ():
            try:
                proposal = await self._proposals.of(metric, target)
            except NoProposal as failure:
                self._warn(look, failure.reason, failure.cause)
                failures.append(failure)
                statuses.append({"type": ""})
                continue
            statuses.append(proposal.status)
            if best is None or best.replicas == 0 or proposal.replicas > best.replicas:
                best = proposal
        if best is None or (failures and best.replicas < current):
            look.sized(current, look.desired, statuses)
            self._report_failures(look, failures, len(statuses))
            raise _Stop
        note = f"the HPA was able to successfully calculate a replica count from {best.metric}"
        look.add_condition("ScalingActive", "True", "ValidMetricFound", note)
        return best, statuses

    def _report_failures(self, look: _Look, failures: list[NoProposal], metrics: int) -> None:
        first = failures[0]
        why = f"the HPA was unable to compute the replica count: {first.cause}"
        look.add_condition("ScalingActive", "False", first.reason, why)
        note = f"invalid metrics ({len(failures)} invalid out of {metrics}), first error is: {first}"
        self._warn(look, "FailedComputeMetricsReplicas", note)

    def _selector(self, key: Key, look: _Look, scale: Scale) -> LabelSelector:
        """Which pods are measured. Raises `_Stop`."""
        text = (scale.get("status") or {}).get("selector") or ""
        if not text:
            why = "selector is required"
            told = "the HPA target's scale is missing a selector"
            raise self._bad_selector(look, "SelectorRequired", "InvalidSelector", why, told)
        try:
            selector = LabelSelector.parse(text)
        except SelectorError as error:
            why = f"couldn't convert selector into a corresponding internal selector object: {error}"
            raise self._bad_selector(look, "InvalidSelector", "InvalidSelector", why, why) from error
        self._selectors[key] = selector
        others = [
            (other, theirs)
            for other, theirs in self._selectors.items()
            if other != key and other.namespace == key.namespace
        ]
        if others:
            labels = [pod.labels() for pod in self._pods.cache.list(key.namespace, selector)]
            rival = next(
                (other for other, theirs in others if any(theirs.matches(one) for one in labels)), None
            )
            if rival is not None:
                both = " ".join(map(str, sorted((key, rival))))
                why = f"pods by selector {text} are controlled by more than one HPA (e.g. [{both}])"
                raise self._bad_selector(look, "AmbiguousSelector", "AmbiguousSelector", why, why)
        return selector

    def _bad_selector(self, look: _Look, event: str, reason: str, why: str, told: str) -> _Stop:
        self._warn(look, event, why)
        look.add_condition("ScalingActive", "False", reason, told)
        return _Stop(why)

    def _limited(
        self, look: _Look, history: ScaleHistory, current: int, least: int, best: Proposal
    ) -> tuple[int, str]:
        """The size to go to now, and why there."""
        reason = ""
        if best.replicas > current:
            reason = f"{best.metric} above target"
        elif best.replicas < current:
            reason = "All metrics below target"
        limited = limit(look.spec, history, current, best.replicas, look.now)
        look.add_condition("AbleToScale", "True", *limited.stabilized)
        look.add_condition("ScalingLimited", "True" if limited.limited else "False", *limited.reason)
        if current == 0 and limited.replicas < least:
            return least, reason or "Current number of replicas below Spec.MinReplicas"
        return limited.replicas, reason

    def _report_zero(self, look: _Look, current: int, desired: int, least: int) -> None:
        """Whether it was us who scaled to zero: then it is for us to scale up again."""
        if current > 0 and desired == 0 and least == 0 and _measures_others(look.spec):
            note = "the HPA controller scaled the workload to zero"
            look.add_condition("ScaledToZero", "True", "ScaledToZero", note)
        else:
            note = "the HPA controller did not scale the workload to zero"
            look.add_condition("ScaledToZero", "False", "NotScaledToZero", note)

    def _warn(self, look: _Look, reason: str, note: str) -> None:
        self._recorder.event(look.obj, "Warning", reason, note)


def _measures_others(spec: HorizontalPodAutoscalerSpec) -> bool:
    """Whether there are metrics that have values though there are no pods."""
    return any(metric["type"] in ("Object", "External") for metric in spec.get("metrics") or ())


def _may_wake(look: _Look, least: int) -> bool:
    """Whether a workload of no pods is looked at: not if somebody else switched it off."""
    return condition_is(look.conditions, "ScaledToZero") and (least != 0 or _measures_others(look.spec))


def _tolerances(behavior: Mapping[str, Any] | None) -> Tolerances:
    given = {}
    for name, field in (("down", "scaleDown"), ("up", "scaleUp")):
        tolerance = ((behavior or {}).get(field) or {}).get("tolerance")
        if tolerance is not None:
            given[name] = float(Quantity.parse(tolerance).as_fraction())
    return Tolerances(**given)
