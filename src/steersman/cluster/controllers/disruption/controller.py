"""The disruption controller: updates `status.disruptionsAllowed` of PodDisruptionBudgets when their pods
change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from steersman.cluster.controllers.disruption.budget import (
    budget_status,
    desired_healthy,
    disrupted_pods,
    failed_status,
    needs_scale,
)
from steersman.cluster.controllers.disruption.scales import Expected, NoScale, Scales
from steersman.cluster.controllers.disruption.stale_conditions import add_stale_conditions_controller
from steersman.cluster.controllers.pod_states import PodState, matters_to_owner
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.selector_text import selector_text
from steersman.cluster.controllers.setup import Setup
from steersman.objects.errors import SelectorError
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Pod
from steersman.objects.kinds.types.meta_v1 import ObjectMeta
from steersman.objects.kinds.types.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetStatus
from steersman.objects.resources import POD_DISRUPTION_BUDGETS, PODS
from steersman.objects.selectors import NOTHING, LabelSelector
from steersman.runtime import Cached, Change, Key, Request, Result, RetryPolicy

__all__ = ["add"]


#: All the pods of a namespace are looked at for each budget: not more often than this.
_INTERVAL_S: Final = 0.2


def add(setup: Setup) -> None:
    budgets = _Budgets(setup)
    controller = setup.controller(
        "disruption",
        retrying_conflicts(budgets.reconcile),
        concurrency=4,
        retry=RetryPolicy.client_go(),
        min_interval_s=_INTERVAL_S,
    )
    controller.primary(budgets.budgets).watches(budgets.pods, budgets.of_pod)
    add_stale_conditions_controller(setup, budgets.pods)


class _Budgets:
    """Reconciles PodDisruptionBudgets."""

    def __init__(self, setup: Setup) -> None:
        self.budgets = setup.informer(POD_DISRUPTION_BUDGETS)
        self.pods = setup.informer(PODS)
        self.writes = setup.writes("disruption", self.budgets)
        self._scales = Scales(setup)
        self._recorder = setup.recorder("controllermanager")
        self._clock = setup.clock
        #: What budgets select, by what they were read from.
        self._selectors: dict[Key, tuple[Cached, LabelSelector]] = {}

    def of_pod(self, change: Change) -> Iterable[Key]:
        """The budgets that a changed pod belongs or belonged to."""
        old, new = change.old, change.new
        if old is not None and new is not None and not change.resync and not matters_to_owner(old, new):
            return ()
        budgets = self.budgets.cache.list(change.key.namespace)
        if not budgets:
            return ()
        labels = [cached.labels() for cached in (old, new) if cached is not None]
        found = [
            budget.key for budget in budgets if any(self._selector(budget).matches(one) for one in labels)
        ]
        if len(found) > 1 and (pod := new or old) is not None:
            self._warn_of_several(pod, found)
        return found

    def _warn_of_several(self, pod: Cached, found: list[Key]) -> None:
        where = f"{quote(pod.key.namespace)}/{quote(pod.key.name)}"
        note = (
            f"Pod {where} matches multiple PodDisruptionBudgets.  Chose {quote(found[0].name)} arbitrarily."
        )
        self._recorder.event(pod.object(), "Warning", "MultiplePodDisruptionBudgets", note)

    def _selector(self, budget: Cached) -> LabelSelector:
        known = self._selectors.get(budget.key)
        if known is None or known[0] is not budget:
            try:
                selector = LabelSelector.from_object(budget.object()["spec"].get("selector"))
            except SelectorError:
                selector = NOTHING
            known = self._selectors[budget.key] = budget, selector
        return known[1]

    async def reconcile(self, request: Request) -> Result | None:
        cached = self.budgets.cache.get(request.key)
        if cached is None:
            self._selectors.pop(request.key, None)
            return None
        budget = cast("PodDisruptionBudget", cached.object())
        found = self.pods.cache.list(request.namespace, self._selector(cached))
        pods = [PodState.read(pod) for pod in found]
        now = moment(self._clock)
        if not pods:
            self._recorder.event(budget, "Normal", "NoPods", "No matching pods found")
        try:
            expected = await self._expected(budget, pods)
            desired = desired_healthy(budget, expected.pods)
        except (NoScale, ValueError) as error:
            note = f"Failed to calculate the number of expected pods: {error}"
            self._recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", note)
            await self._write(budget, failed_status(budget, str(error), now))
            return None
        if expected.unmanaged:
            self._warn_of_unmanaged(budget)
        disrupted = disrupted_pods(budget, pods, now)
        for pod in disrupted.kept:
            # Where one would expect the budget's name, Kubernetes says the namespace again.
            where = f"{request.namespace}/{request.namespace}"
            note = f"Pod was expected by PDB {where} to be deleted but it wasn't"
            self._recorder.event(self._reference(pod), "Warning", "NotDeleted", note)
        await self._write(budget, budget_status(budget, pods, expected.pods, desired, disrupted, now))
        return None if disrupted.recheck_s is None else Result.requeue(disrupted.recheck_s + 0.001)

    async def _expected(self, budget: PodDisruptionBudget, pods: list[PodState]) -> Expected:
        if needs_scale(budget):
            return await self._scales.expected(pods)
        return Expected(len(pods), unmanaged=False)

    def _warn_of_unmanaged(self, budget: PodDisruptionBudget) -> None:
        selector = selector_text(budget["spec"].get("selector"))
        self._recorder.event(
            budget,
            "Warning",
            "UnmanagedPods",
            f"Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. "
            "As a result, the status of the PDB cannot be calculated correctly, which may result in "
            'undefined behavior. To account for these pods please set ".spec.minAvailable" field of the '
            "PDB to an integer value.",
        )

    def _reference(self, pod: PodState) -> Pod:
        metadata: ObjectMeta = {"namespace": pod.metadata.namespace, "name": pod.name, "uid": pod.uid}
        return {"apiVersion": PODS.api_version, "kind": PODS.kind, "metadata": metadata}

    async def _write(self, budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus) -> None:
        if status != budget.get("status"):
            await self.writes.replace(
                POD_DISRUPTION_BUDGETS, {**budget, "status": status}, subresource="status"
            )
