"""Metrics under the public project's names, and ours: epoch, renew lag, lease margin, readiness.

Made from the boards when scraped; nothing is computed in between. Every series has its tenant. What the
public project counts exists from the start with value 0, so that rates and alerts work from the first
scrape.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from steersman.highlander.state import Board, ControllerPhase, Distribution, WorkloadKind, WorkloadPhase
from steersman.http.prometheus import CONTENT_TYPE, family, label_pairs

__all__ = ["COUNTERS", "HISTOGRAMS", "PREFIX", "HighlanderMetrics"]

PREFIX = "k8_highlander_"

#: Counters that boards keep: help, and whether they have labels beside the tenant.
COUNTERS: dict[str, tuple[str, bool]] = {
    "leadership_transitions_total": ("Changes of leadership that this controller saw.", False),
    "leadership_acquisitions_total": ("Times that this controller became the leader.", False),
    "leadership_losses_total": ("Times that this controller lost or released leadership.", False),
    "leadership_failed_attempts_total": ("Failed attempts to acquire the lock.", False),
    "workload_operations_total": ("Operations on workloads.", True),
    "workload_errors_total": ("Failed operations on workloads.", True),
    "failover_total": ("Takeovers from another leader.", False),
    "failover_errors_total": ("Failed takeovers.", False),
    "db_operations_total": ("Operations on the storage of the lock.", True),
    "db_errors_total": ("Failed operations on the storage of the lock.", True),
    "workload_retry_attempts_total": ("Restarts of workloads after a failure.", False),
    "workload_retry_success_total": ("Restarts of workloads that succeeded.", False),
}
#: Likewise of distributions.
HISTOGRAMS: dict[str, tuple[str, bool]] = {
    "leadership_duration_seconds": ("Duration of the leaderships of this controller.", False),
    "workload_startup_duration_seconds": ("Time from starting a workload until it was ready.", True),
    "workload_shutdown_duration_seconds": ("Time from stopping a workload until it had ended.", True),
    "failover_duration_seconds": ("Time from being elected until all workloads were started.", False),
    "db_latency_seconds": ("Duration of operations on the storage of the lock.", True),
}
_RUNNING = (WorkloadPhase.RUNNING, WorkloadPhase.DEGRADED)
#: The public project's family of a kind.
_BY_KIND = {
    WorkloadKind.PROCESS: "process_status",
    WorkloadKind.SERVICE: "service_status",
    WorkloadKind.PERSISTENT: "persistent_status",
    WorkloadKind.CRON_JOB: "cronjob_status",
}

Labels = Mapping[str, str]


class HighlanderMetrics:
    """What one process exposes on /metrics.

    The text is written here and not by prometheus_client: loading it, and having it write what hundreds of
    workloads have to say, takes so long that renewals of the lock would wait for it.
    """

    def __init__(self, boards: Mapping[str, Board]) -> None:
        """`boards` by tenant: read when scraped, so it may change."""
        self._boards = boards

    def render(self) -> tuple[bytes, str]:
        """All families as Prometheus' text, and its content type."""
        lines = [
            line
            for families in (self._controllers, self._workloads, self._counters, self._histograms, _process)
            for line in families()
        ]
        return "\n".join([*lines, ""]).encode(), CONTENT_TYPE

    def _controllers(self) -> Iterator[str]:
        states = [({"tenant": tenant}, board.controller) for tenant, board in self._boards.items()]
        for name, text, value in _CONTROLLER_GAUGES:
            yield from _family(name, "gauge", text)
            yield from (_sample(name, labels, value(state)) for labels, state in states)
        yield from _family("cluster_health", "gauge", "1 if the API server of the cluster responds.")
        for labels, state in states:
            located = {**labels, "cluster": state.cluster_name}
            yield _sample("cluster_health", located, state.cluster_healthy)
        text = "1 for the current state of the controller, 0 for the others."
        yield from _family("controller_state", "gauge", text)
        for labels, state in states:
            for phase in ControllerPhase:
                yield _sample("controller_state", {**labels, "state": phase}, state.phase is phase)

    def _workloads(self) -> Iterator[str]:
        each = [
            (label_pairs({"tenant": tenant, "name": one.name, "namespace": one.namespace}), one)
            for tenant, board in self._boards.items()
            for one in board.workloads.values()
        ]
        for name, text, value in _WORKLOAD_GAUGES:
            yield from _family(name, "gauge", text)
            for labels, one in each:
                yield f'{PREFIX}{name}{{{labels},type="{one.kind}"}} {float(value(one))}'
        for kind, name in _BY_KIND.items():
            yield from _family(name, "gauge", f"workload_status of kind {kind}.")
            for labels, one in each:
                if one.kind is kind:
                    yield f"{PREFIX}{name}{{{labels}}} {float(one.phase in _RUNNING)}"

    def _counters(self) -> Iterator[str]:
        found: dict[str, list[str]] = {name: [] for name in COUNTERS}
        for tenant, board in self._boards.items():
            for name, (_, labelled) in COUNTERS.items():
                if not labelled and (name, ()) not in board.counters:
                    found[name].append(_sample(name, {"tenant": tenant}, 0))
            for (name, labels), value in board.counters.items():
                sample = _sample(name, {"tenant": tenant, **dict(labels)}, value)
                found.setdefault(name, []).append(sample)
        for name, samples in found.items():
            text, _ = COUNTERS.get(name, ("Counted by the controller.", False))
            yield from _family(name, "counter", text)
            yield from samples

    def _histograms(self) -> Iterator[str]:
        found: dict[str, list[str]] = {name: [] for name in HISTOGRAMS}
        for tenant, board in self._boards.items():
            for name, (_, labelled) in HISTOGRAMS.items():
                if not labelled and (name, ()) not in board.durations:
                    found[name].extend(_distribution(name, {"tenant": tenant}, Distribution()))
            for (name, labels), distribution in board.durations.items():
                all_labels = {"tenant": tenant, **dict(labels)}
                found.setdefault(name, []).extend(_distribution(name, all_labels, distribution))
        for name, samples in found.items():
            text, _ = HISTOGRAMS.get(name, ("Measured by the controller.", False))
            yield from _family(name, "histogram", text)
            yield from samples


def _process() -> Iterator[str]:
    """The process itself, under the names that all of Prometheus' clients use; nothing without /proc."""
    try:
        stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        files = len(os.listdir("/proc/self/fd"))
        booted = float(Path("/proc/stat").read_text().partition("\nbtime ")[2].split()[0])
    except OSError:
        return
    ticks = os.sysconf("SC_CLK_TCK")
    # As proc(5) counts them, less the two before the name's end.
    for name, kind, text, value in (
        ("cpu_seconds_total", "counter", "CPU time in seconds.", (int(stat[11]) + int(stat[12])) / ticks),
        ("start_time_seconds", "gauge", "Start time of the process.", booted + int(stat[19]) / ticks),
        ("virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", int(stat[20])),
        (
            "resident_memory_bytes",
            "gauge",
            "Resident memory size in bytes.",
            int(stat[21]) * os.sysconf("SC_PAGE_SIZE"),
        ),
        ("open_fds", "gauge", "Number of open file descriptors.", files),
        (
            "max_fds",
            "gauge",
            "Maximum number of open file descriptors.",
            resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        ),
    ):
        yield from family(f"process_{name}", kind, text)
        yield f"process_{name} {float(value)}"


def _family(name: str, kind: str, text: str) -> tuple[str, str]:
    return family(f"{PREFIX}{name}", kind, text)


def _sample(name: str, labels: Labels, value: float) -> str:
    return f"{PREFIX}{name}{{{label_pairs(labels)}}} {float(value)}"


def _distribution(name: str, labels: Labels, distribution: Distribution) -> Iterator[str]:
    written = label_pairs(labels)
    bounds = (*map(str, distribution.bounds), "+Inf")
    for bound, count in zip(bounds, accumulate(distribution.counts), strict=True):
        yield f'{PREFIX}{name}_bucket{{{written},le="{bound}"}} {float(count)}'
    yield f"{PREFIX}{name}_count{{{written}}} {float(distribution.count)}"
    yield f"{PREFIX}{name}_sum{{{written}}} {distribution.total}"


#: Name, help, and how the value is read from a ControllerState.
_CONTROLLER_GAUGES: tuple[tuple[str, str, Any], ...] = (
    ("is_leader", "1 if this controller is the leader now.", lambda s: s.is_leader),
    (
        "last_leader_transition_timestamp_seconds",
        "Time of the last change of the leader.",
        lambda s: s.last_transition or 0.0,
    ),
    ("db_lock_ttl_seconds", "Lease duration of the lock.", lambda s: s.lease_duration_s),
    ("epoch", "The highest known epoch; grows with every new leader.", lambda s: s.epoch),
    (
        "lease_margin_seconds",
        "Remaining time of the lease without another renewal; 0 if this controller is not the leader.",
        lambda s: s.lease_margin_s or 0.0,
    ),
    (
        "renew_lag_seconds",
        "Time since the last successful renewal was sent; 0 if this controller is not the leader.",
        lambda s: s.renew_lag_s or 0.0,
    ),
    ("db_connected", "1 if the storage of the lock responds.", lambda s: s.storage_healthy),
    (
        "config_reload_failed",
        "1 if the last configuration reload was rejected.",
        lambda s: bool(s.config_error),
    ),
    ("start_time_seconds", "Start time of the controller.", lambda s: s.started),
)
#: Likewise from a WorkloadState.
_WORKLOAD_GAUGES: tuple[tuple[str, str, Any], ...] = (
    ("workload_status", "1 if the workload is running.", lambda w: w.phase in _RUNNING),
    ("workload_ready", "1 if the workload is ready.", lambda w: w.ready),
    (
        "workload_completed",
        "1 if the workload is a process that has completed.",
        lambda w: w.phase is WorkloadPhase.COMPLETED,
    ),
    ("workload_paused", "1 if the workload is paused.", lambda w: w.paused),
    ("workload_restarts", "Number of restarts of the workload.", lambda w: w.restarts),
    (
        "workload_failed",
        "1 if the workload has failed for good, or conflicts with an object that Highlander did not create.",
        lambda w: w.phase in (WorkloadPhase.FAILED, WorkloadPhase.REFUSED),
    ),
    ("workload_epoch", "The epoch of the last write to its objects.", lambda w: w.epoch),
)
