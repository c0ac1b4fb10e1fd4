"""The pods of a Job to create and to delete. Pure.

One reconcile either deletes pods or creates pods, never both; deletion comes first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from steersman.cluster.controllers.deletion_order import first_to_go
from steersman.cluster.controllers.job.backoff import JobBackoff, index_wait_s
from steersman.cluster.controllers.job.indexes import NO_INDEXES, Indexes
from steersman.cluster.controllers.job.job_pods import JobPod
from steersman.cluster.controllers.job.tally import JobTally
from steersman.cluster.controllers.pod_control import BURST

__all__ = ["JobPlan", "plan"]


@dataclass(frozen=True, slots=True)
class JobPlan:
    """The pods to create and to delete."""

    delete: Sequence[JobPod] = ()
    #: The index of each pod to make; None for pods without one.
    create: Sequence[int | None] = ()
    #: How long to wait before anything can be made.
    wait_s: float = 0.0


def plan(tally: JobTally, backoff: JobBackoff, now: datetime) -> JobPlan:
    job, active = tally.job, tally.active
    if job.suspended:
        return JobPlan(delete=active)
    wanted = _wanted(tally)
    if surplus := _surplus(tally, max(0, len(active) - wanted), now):
        return JobPlan(delete=surplus[:BURST])
    missing = wanted - len(active)
    if job.replaces_only_failed:
        missing -= sum(pod.state.terminating for pod in tally.pods)
    if missing <= 0:
        return JobPlan()
    if job.backoff_limit_per_index is None and (wait_s := backoff.wait_s(now)) > 0:
        return JobPlan(wait_s=wait_s)
    if not job.indexed:
        return JobPlan(create=[None] * min(missing, BURST))
    return _of_indexes(tally, min(missing, BURST), now)


def _wanted(tally: JobTally) -> int:
    """How many pods should be at work."""
    job = tally.job
    if job.completions is None:
        # The first success says that the work is done: what runs may finish, nothing is started.
        return len(tally.active) if tally.succeeded else job.parallelism
    return max(0, min(job.completions - tally.succeeded, job.parallelism))


def _surplus(tally: JobTally, at_least: int, now: datetime) -> list[JobPod]:
    surplus, rest = _misplaced(tally, now) if tally.job.indexed else ([], list(tally.active))
    if len(surplus) < at_least:
        surplus += _first(rest, at_least - len(surplus), now)
    return surplus


def _misplaced(tally: JobTally, now: datetime) -> tuple[list[JobPod], list[JobPod]]:
    """The pods without a proper index and all but one of each index; and the others."""
    surplus: list[JobPod] = []
    rest: list[JobPod] = []
    by_index: dict[int, list[JobPod]] = defaultdict(list)
    for pod in tally.active:
        if pod.index is None or not tally.job.counts_index(pod):
            surplus.append(pod)
        else:
            by_index[pod.index].append(pod)
    for pods in by_index.values():
        going = _first(pods, len(pods) - 1, now)
        surplus += going
        rest += [pod for pod in pods if pod not in going]
    return surplus, rest


def _first(pods: Sequence[JobPod], number: int, now: datetime) -> list[JobPod]:
    chosen = first_to_go([pod.state for pod in pods], number, (), now)
    by_uid = {pod.uid: pod for pod in pods}
    return [by_uid[state.uid] for state in chosen]


def _of_indexes(tally: JobTally, most: int, now: datetime) -> JobPlan:
    """The first indexes that nobody works at, without those that have to wait."""
    job = tally.job
    taken = [pod for pod in tally.pods if pod.state.active]
    if job.replaces_only_failed:
        taken += [pod for pod in tally.pods if pod.state.terminating]
    settled = tally.succeeded_indexes | (tally.failed_indexes or NO_INDEXES)
    settled |= Indexes.of({pod.index for pod in taken if pod.index is not None})
    pending = list(islice(settled.missing(job.completions or 0), most))
    waits = {index: index_wait_s(tally.last_failed.get(index), now) for index in pending}
    ready = [index for index in pending if not waits[index]]
    return JobPlan(create=ready) if ready or not waits else JobPlan(wait_s=min(waits.values()))
