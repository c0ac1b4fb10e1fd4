"""Metrics under the public project's names, and ours: epoch, renew lag, lease margin, readiness.

Made from the boards when scraped; nothing is computed in between. Every series has its tenant. What the
public project counts exists from the start with value 0, so that rates and alerts work from the first
scrape.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from steersman.highlander.state import Board, ControllerPhase, Distribution, WorkloadKind, WorkloadPhase

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

__all__ = ["COUNTERS", "HISTOGRAMS", "PREFIX", "HighlanderMetrics"]

PREFIX = "k8_highlander_"

#: Counters that boards keep: help, and labels beside the tenant.
COUNTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "leadership_transitions_total": ("Changes of leadership seen here.", ()),
    "leadership_acquisitions_total": ("How often this controller became the leader.", ()),
    "leadership_losses_total": ("How often this controller ceased to be the leader.", ()),
    "leadership_failed_attempts_total": ("Attempts to take the lock that failed.", ()),
    "workload_operations_total": (
        "What was done for workloads.",
        ("type", "name", "namespace", "operation"),
    ),
    "workload_errors_total": ("What failed for workloads.", ("type", "name", "namespace", "error_type")),
    "failover_total": ("Takeovers from another leader.", ()),
    "failover_errors_total": ("Takeovers that failed.", ()),
    "db_operations_total": ("Operations on the lock's storage.", ("operation",)),
    "db_errors_total": ("Operations on the lock's storage that failed.", ("operation", "error_type")),
    "workload_retry_attempts_total": ("Workloads started again after a failure.", ()),
    "workload_retry_success_total": ("Workloads that ran after they had been started again.", ()),
}
#: Likewise of distributions.
HISTOGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "leadership_duration_seconds": ("How long leaderships of this controller lasted.", ()),
    "workload_startup_duration_seconds": (
        "From starting a workload until it was ready.",
        ("type", "name", "namespace"),
    ),
    "workload_shutdown_duration_seconds": (
        "From stopping a workload until it was gone.",
        ("type", "name", "namespace"),
    ),
    "failover_duration_seconds": ("From being elected until all workloads had been started.", ()),
    "db_latency_seconds": ("How long operations on the lock's storage took.", ("operation",)),
}
_RUNNING = (WorkloadPhase.RUNNING, WorkloadPhase.DEGRADED)
#: The public project's family of a kind.
_BY_KIND = {
    WorkloadKind.PROCESS: "process_status",
    WorkloadKind.SERVICE: "service_status",
    WorkloadKind.PERSISTENT: "persistent_status",
    WorkloadKind.CRON_JOB: "cronjob_status",
}
_Samples = Iterable[tuple[tuple[str, ...], float]]


class HighlanderMetrics:
    """What one process exposes on /metrics."""

    def __init__(self, boards: Mapping[str, Board]) -> None:
        """`boards` by tenant: read when scraped, so it may change."""
        self._boards = boards
        self._registry: CollectorRegistry | None = None

    @property
    def registry(self) -> CollectorRegistry:
        """Where others add what they count; made when first asked for."""
        if self._registry is None:
            from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector

            self._registry = CollectorRegistry()
            self._registry.register(self)
            ProcessCollector(registry=self._registry)
            PlatformCollector(registry=self._registry)
        return self._registry

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """All families in the format the scraper prefers, and its content type."""
        from prometheus_client.exposition import choose_encoder

        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    def collect(self) -> Iterator[Metric]:
        """For the registry: the families, made now."""
        yield from self._controllers()
        yield from self._workloads()
        yield from self._counters()
        yield from self._histograms()

    def _controllers(self) -> Iterator[Metric]:
        states = [(tenant, board.controller) for tenant, board in self._boards.items()]
        for name, text, value in _CONTROLLER_GAUGES:
            yield _gauge(name, text, (), (((tenant,), value(state)) for tenant, state in states))
        yield _gauge(
            "cluster_health",
            "1 if the cluster's API answers.",
            ("cluster",),
            (((tenant, state.cluster_name), float(state.cluster_healthy)) for tenant, state in states),
        )
        yield _gauge(
            "controller_state",
            "1 for the state the controller is in, 0 for the others.",
            ("state",),
            (
                ((tenant, phase), float(state.phase is phase))
                for tenant, state in states
                for phase in ControllerPhase
            ),
        )

    def _workloads(self) -> Iterator[Metric]:
        each = [(tenant, one) for tenant, board in self._boards.items() for one in board.workloads.values()]
        for name, text, value in _WORKLOAD_GAUGES:
            yield _gauge(
                name,
                text,
                ("type", "name", "namespace"),
                (((tenant, one.kind, one.name, one.namespace), value(one)) for tenant, one in each),
            )
        for kind, name in _BY_KIND.items():
            yield _gauge(
                name,
                f"workload_status of kind {kind}.",
                ("name", "namespace"),
                (
                    ((tenant, one.name, one.namespace), float(one.phase in _RUNNING))
                    for tenant, one in each
                    if one.kind is kind
                ),
            )

    def _counters(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily

        found: dict[str, list[tuple[dict[str, str], float]]] = defaultdict(list)
        for tenant, board in self._boards.items():
            for name, (_, labels) in COUNTERS.items():
                if not labels and (name, ()) not in board.counters:
                    found[name].append(({"tenant": tenant}, 0))
            for (name, pairs), value in board.counters.items():
                found[name].append(({"tenant": tenant, **dict(pairs)}, value))
        for name in dict.fromkeys((*COUNTERS, *found)):
            text, labels = COUNTERS.get(name, ("Counted by the controller.", ()))
            names = _labels(labels, found[name])
            family = CounterMetricFamily(PREFIX + name.removesuffix("_total"), text, labels=names)
            for given, value in found[name]:
                family.add_metric([given.get(label, "") for label in names], value)
            yield family

    def _histograms(self) -> Iterator[Metric]:
        from prometheus_client.core import HistogramMetricFamily

        found: dict[str, list[tuple[dict[str, str], Distribution]]] = defaultdict(list)
        for tenant, board in self._boards.items():
            for name, (_, labels) in HISTOGRAMS.items():
                if not labels and (name, ()) not in board.durations:
                    found[name].append(({"tenant": tenant}, Distribution()))
            for (name, pairs), distribution in board.durations.items():
                found[name].append(({"tenant": tenant, **dict(pairs)}, distribution))
        for name in dict.fromkeys((*HISTOGRAMS, *found)):
            text, labels = HISTOGRAMS.get(name, ("Measured by the controller.", ()))
            names = _labels(labels, found[name])
            family = HistogramMetricFamily(PREFIX + name, text, labels=names)
            for given, distribution in found[name]:
                family.add_metric(
                    [given.get(label, "") for label in names], _buckets(distribution), distribution.total
                )
            yield family


def _labels(known: tuple[str, ...], found: Iterable[tuple[dict[str, str], Any]]) -> list[str]:
    """The tenant, those a family always has, and what else boards gave."""
    given = (label for labels, _ in found for label in labels)
    return list(dict.fromkeys(("tenant", *known, *given)))


def _gauge(name: str, text: str, labels: tuple[str, ...], samples: _Samples) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(PREFIX + name, text, labels=("tenant", *labels))
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _buckets(distribution: Distribution) -> list[tuple[str, float]]:
    bounds = (*map(str, distribution.bounds), "+Inf")
    return list(zip(bounds, accumulate(distribution.counts), strict=True))


#: Name, help, and how the value is read from a ControllerState.
_CONTROLLER_GAUGES: tuple[tuple[str, str, Any], ...] = (
    ("is_leader", "1 if this controller leads at this moment.", lambda s: float(s.is_leader)),
    (
        "last_leader_transition_timestamp_seconds",
        "When the leader last changed.",
        lambda s: s.last_transition or 0.0,
    ),
    ("db_lock_ttl_seconds", "For how long the lock is taken at a time.", lambda s: s.lease_duration_s),
    ("epoch", "The highest epoch known: it grows with every leadership.", lambda s: s.epoch),
    (
        "lease_margin_seconds",
        "For how long this leader may lead without another renewal; 0 if it does not lead.",
        lambda s: s.lease_margin_s or 0.0,
    ),
    (
        "renew_lag_seconds",
        "How long ago the last renewal that counts was sent; 0 if this controller does not lead.",
        lambda s: s.renew_lag_s or 0.0,
    ),
    ("db_connected", "1 if the lock's storage answers.", lambda s: float(s.storage_healthy)),
    ("config_reload_failed", "1 if the last reload was refused.", lambda s: float(bool(s.config_error))),
    ("start_time_seconds", "When the controller was started.", lambda s: s.started),
)
#: Likewise from a WorkloadState.
_WORKLOAD_GAUGES: tuple[tuple[str, str, Any], ...] = (
    ("workload_status", "1 if the workload runs.", lambda w: float(w.phase in _RUNNING)),
    ("workload_ready", "1 if the workload is ready.", lambda w: float(w.ready)),
    (
        "workload_completed",
        "1 if the workload is a process that came to its end.",
        lambda w: float(w.phase is WorkloadPhase.COMPLETED),
    ),
    ("workload_paused", "1 if the workload is paused.", lambda w: float(w.paused)),
    ("workload_restarts", "How often the workload was started again.", lambda w: w.restarts),
    (
        "workload_failed",
        "1 if the workload is given up, or refused because of a foreign object.",
        lambda w: float(w.phase in (WorkloadPhase.FAILED, WorkloadPhase.REFUSED)),
    ),
    ("workload_epoch", "The epoch its objects were last written in.", lambda w: w.epoch),
)
