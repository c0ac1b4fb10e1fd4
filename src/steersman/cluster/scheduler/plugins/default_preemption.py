"""The DefaultPreemption plugin: nominates a node on which pods of lower priority can be evicted."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import Resources
from steersman.cluster.scheduler.framework.verdicts import NoFit, Nomination, Refusal
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.preemption import (
    DisruptionBudget,
    PreemptionCandidate,
    PreemptionResults,
    Trial,
    cheapest,
)
from steersman.objects.errors import SelectorError
from steersman.objects.resources import POD_DISRUPTION_BUDGETS
from steersman.objects.selectors import LabelSelector

__all__ = ["DefaultPreemption"]

_NAME: Final = "DefaultPreemption"
_NOT_HELPFUL: Final = Refusal(_NAME, ("Preemption is not helpful for scheduling",), resolvable=False)
#: How many nodes to choose among: a part of those that come into question, but at least some.
_PERCENT: Final = 10
_LEAST: Final = 100


class DefaultPreemption:
    name = _NAME

    def __init__(self, handle: Handle, rand: random.Random | None = None) -> None:
        self._handle = handle
        self._rand = rand or random.Random()
        self._findings = PreemptionResults(handle.nodes)
        self.resources: Resources = {POD_DISRUPTION_BUDGETS: None}

    def post_filter(
        self, cycle: CycleState, pod: PodInfo, refusals: Mapping[str, Refusal], unasked: Refusal | None
    ) -> Nomination | None:
        problem = self._is_not_eligible(pod, refusals, unasked)
        if problem:
            return Nomination(None, f"preemption: {problem}")
        names = [name for name, refusal in refusals.items() if refusal.resolvable]
        tried: dict[str, Refusal] = {}
        candidates = self._candidates(cycle, pod, names, tried) if names else []
        if not candidates:
            failure = NoFit(len(self._handle.nodes), tried, _NOT_HELPFUL)
            return Nomination("", f"preemption: {failure.message}")
        best = cheapest(candidates)
        self._handle.evict(pod, best.node, list(best.victims))
        return Nomination(
            best.node,
            f"preemption: found a potential placement for pod on node {best.node}, "
            f"preempting {len(best.victims)} victims",
        )

    def _is_not_eligible(self, pod: PodInfo, refusals: Mapping[str, Refusal], unasked: Refusal | None) -> str:
        if not pod.preempts:
            return "not eligible due to preemptionPolicy=Never."
        nominated = self._handle.nominations.node_of(pod.key) or pod.nominated
        node = self._handle.nodes.get(nominated) if nominated else None
        if node is None:
            return ""
        refusal = refusals.get(nominated, unasked)
        if refusal is not None and not refusal.resolvable:
            return ""
        if any(other.deleting and other.priority < pod.priority for other in node.pods.values()):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def _candidates(
        self, cycle: CycleState, pod: PodInfo, names: list[str], tried: dict[str, Refusal]
    ) -> list[PreemptionCandidate]:
        enough = min(max(len(names) * _PERCENT // 100, _LEAST), len(names))
        start = self._rand.randrange(len(names))
        budgets = self._budgets()
        trial = Trial(self._handle.check, self._handle.simulate, budgets)
        alike = self._handle.sign(cycle, pod)
        # Budgets change without a node being any different.
        known = self._findings.of((alike, pod.priority)) if alike is not None and not budgets else {}
        harmless: list[PreemptionCandidate] = []
        violating: list[PreemptionCandidate] = []
        for name in (*names[start:], *names[:start]):
            found = self._try(cycle, pod, name, trial, known)
            if isinstance(found, Refusal):
                tried[name] = found
            elif found is not None and found.victims:
                (violating if found.violations else harmless).append(found)
                if harmless and len(harmless) + len(violating) >= enough:
                    break
        return harmless + violating

    def _try(
        self,
        cycle: CycleState,
        pod: PodInfo,
        name: str,
        trial: Trial,
        known: dict[str, PreemptionCandidate | Refusal],
    ) -> PreemptionCandidate | Refusal | None:
        promised = self._handle.nominations.on(name)
        if not promised and (found := known.get(name)) is not None:
            return found
        node = self._handle.nodes.get(name)
        if node is None:
            return None
        found = trial.victims_on(cycle, pod, node)
        if not promised:
            known[name] = found
        return found

    def _budgets(self) -> list[DisruptionBudget]:
        budgets = []
        for cached in self._handle.cache(POD_DISRUPTION_BUDGETS):
            budget = cached.object()
            status = budget.get("status") or {}
            try:
                selector = LabelSelector.from_object((budget.get("spec") or {}).get("selector"))
            except SelectorError:
                continue
            disrupted = frozenset(status.get("disruptedPods") or ())
            allowed = status.get("disruptionsAllowed") or 0
            budgets.append(DisruptionBudget(cached.key.namespace, selector, allowed, disrupted))
        return budgets
