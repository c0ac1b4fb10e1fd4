"""What controllers, queues, clients and electors count, under controller-runtime's names.

Counting is plain arithmetic on the objects here, done where things happen; the Prometheus families are
made when they are scraped, by the registry each `Metrics` has of its own. Nothing is global, so several
managers live in one process. Families and label values that are known beforehand exist from the start
with value 0, so that rates and alerts work from the first scrape.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from steersman.aio import Clock

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

    from steersman.runtime.queue_core import QueueCore
    from steersman.runtime.sharding import Shard

__all__ = ["RESULTS", "ControllerMetrics", "Histogram", "Metrics", "QueueMetrics", "WebhookMetrics"]

#: How a reconcile can end, as `controller_runtime_reconcile_total` tells it.
RESULTS = ("success", "error", "requeue", "requeue_after")

_RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0),
    *(30.0, 40.0, 50.0, 60.0),
)
_QUEUE_BUCKETS = tuple(10.0**power for power in range(-8, 4))
_WEBHOOK_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Histogram:
    """Counts of observations per bucket and their sum."""

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self._counts)

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative, as Prometheus wants them."""
        names = (*map(str, self._bounds), "+Inf")
        return list(zip(names, accumulate(self._counts), strict=True))


class QueueMetrics:
    """Of one work queue."""

    def __init__(self, name: str, controller: str) -> None:
        self.labels = (name, controller)
        self._waits = Histogram(_QUEUE_BUCKETS)
        self._works = Histogram(_QUEUE_BUCKETS)
        self.waited = self._waits.observe
        self.worked = self._works.observe
        self._core: QueueCore[Any] | None = None
        self._clock: Clock | None = None
        # Of the queues this one followed: a controller that leads again starts with a new queue.
        self._adds = 0
        self._retries = 0

    def attach(self, core: QueueCore[Any], clock: Clock) -> None:
        """Count for `core` from now on."""
        self.detach()
        self._core, self._clock = core, clock

    def detach(self) -> None:
        if self._core is not None:
            self._adds += self._core.adds
            self._retries += self._core.retries
            self._core = None

    @property
    def depth(self) -> int:
        return self._core.depth if self._core is not None else 0

    @property
    def adds(self) -> int:
        return self._adds + (self._core.adds if self._core is not None else 0)

    @property
    def retries(self) -> int:
        return self._retries + (self._core.retries if self._core is not None else 0)

    @property
    def unfinished_s(self) -> float:
        return sum(self._running_s())

    @property
    def longest_s(self) -> float:
        return max(self._running_s(), default=0.0)

    def _running_s(self) -> list[float]:
        """For how long each key in work has been so."""
        if self._core is None or self._clock is None:
            return []
        now = self._clock.monotonic()
        return [now - started for started in self._core.processing.values()]

    @property
    def durations(self) -> tuple[Histogram, Histogram]:
        """Waiting for a worker, and being worked on."""
        return self._waits, self._works


class ControllerMetrics:
    """Of one controller."""

    def __init__(self, name: str, concurrency: int) -> None:
        self.name = name
        self.queue = QueueMetrics(name, name)
        self.concurrency = concurrency
        self.active = 0
        self.results = dict.fromkeys(RESULTS, 0)
        self.terminal_errors = 0
        self.panics = 0
        self.timeouts = 0
        self.durations = Histogram(_RECONCILE_BUCKETS)


class WebhookMetrics:
    """Of one webhook, named by its path."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.latency = Histogram(_WEBHOOK_BUCKETS)
        self.requests = {200: 0, 500: 0}
        self.in_flight = 0
        self.panics = 0

    def answered(self, code: int, seconds: float) -> None:
        self.requests[code] = self.requests.get(code, 0) + 1
        self.latency.observe(seconds)


class Metrics:
    """Everything one manager exposes on /metrics."""

    def __init__(self) -> None:
        self._controllers: list[ControllerMetrics] = []
        self._webhooks: list[WebhookMetrics] = []
        self._requests: dict[tuple[str, str, str], int] = defaultdict(int)
        self._leaders: dict[str, Callable[[], bool]] = {}
        self._shards: list[Shard] = []
        self._certificates: Callable[[], Mapping[str, float]] = dict
        self._registry: CollectorRegistry | None = None

    def add_controller(self, metrics: ControllerMetrics) -> None:
        self._controllers.append(metrics)

    def webhook(self, path: str) -> WebhookMetrics:
        metrics = WebhookMetrics(path)
        self._webhooks.append(metrics)
        return metrics

    def observe_requests(self, host: str) -> Callable[[str, str], None]:
        """What a client to `host` calls with the method and code of every answer."""

        def observe(method: str, code: str) -> None:
            self._requests[(code, method, host)] += 1

        return observe

    def add_elector(self, name: str, is_leader: Callable[[], bool]) -> None:
        self._leaders[name] = is_leader

    def add_shard(self, shard: Shard) -> None:
        self._shards.append(shard)

    def add_certificates(self, ends: Callable[[], Mapping[str, float]]) -> None:
        """When each certificate that webhooks use ends, in seconds since the epoch."""
        self._certificates = ends

    @property
    def registry(self) -> CollectorRegistry:
        """Where an application adds metrics of its own; made when first asked for."""
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
        yield from self._reconciles()
        yield from self._queues()
        yield from self._webhook_families()
        yield _counter(
            "rest_client_requests",
            "Requests to the API server by code, method and host.",
            ("code", "method", "host"),
            self._requests.items(),
        )
        yield _gauge(
            "leader_election_master_status",
            "1 if this process is the leader, 0 if it is a standby.",
            ("name",),
            (((name,), int(is_leader())) for name, is_leader in self._leaders.items()),
        )
        yield from self._shard_families()

    def _shard_families(self) -> Iterator[Metric]:
        shards = self._shards
        yield _gauge(
            "steersman_shard_members",
            "Number of shard members that this member sees.",
            ("name",),
            [((shard.name,), shard.members) for shard in shards],
        )
        yield _gauge(
            "steersman_shard_objects",
            "Objects that are assigned to this member.",
            ("name",),
            [((shard.name,), shard.owned) for shard in shards],
        )
        yield _counter(
            "steersman_shard_moves",
            "Objects that moved to this member from another one.",
            ("name",),
            [((shard.name,), shard.moves) for shard in shards],
        )
        yield _gauge(
            "webhook_certificate_expiration_timestamp_seconds",
            "Expiry time of the webhook certificates, in seconds since the Unix epoch.",
            ("certificate",),
            (((name,), end) for name, end in self._certificates().items()),
        )

    def _reconciles(self) -> Iterator[Metric]:
        each = self._controllers
        prefix, labels = "controller_runtime_", ("controller",)
        totals = [((c.name, result), count) for c in each for result, count in c.results.items()]
        errors = [((c.name,), c.results["error"]) for c in each]
        times = [((c.name,), c.durations) for c in each]
        for alias in (prefix, ""):
            help_of_alias = "" if alias else f" (the same as {prefix}*)"
            yield _counter(
                f"{alias}reconcile",
                f"Reconciles by result{help_of_alias}.",
                ("controller", "result"),
                totals,
            )
            yield _counter(f"{alias}reconcile_errors", f"Failed reconciles{help_of_alias}.", labels, errors)
        yield _histogram(f"{prefix}reconcile_time_seconds", "Duration of reconciles.", labels, times)
        yield _histogram("reconcile_duration_seconds", "Duration of reconciles.", labels, times)
        for family, name, text, field in _CONTROLLER_NUMBERS:
            yield family(prefix + name, text, labels, [((c.name,), getattr(c, field)) for c in each])

    def _queues(self) -> Iterator[Metric]:
        each = [controller.queue for controller in self._controllers]
        labels = ("name", "controller")
        for family, name, text, field in _QUEUE_NUMBERS:
            yield family(f"workqueue_{name}", text, labels, [(q.labels, getattr(q, field)) for q in each])
        for index, (name, text) in enumerate(
            (
                ("queue_duration_seconds", "Time that keys waited in the queue."),
                ("work_duration_seconds", "Processing time of keys."),
            )
        ):
            yield _histogram(
                f"workqueue_{name}", text, labels, [(q.labels, q.durations[index]) for q in each]
            )

    def _webhook_families(self) -> Iterator[Metric]:
        each = self._webhooks
        prefix, labels = "controller_runtime_webhook_", ("webhook",)
        yield _histogram(
            f"{prefix}latency_seconds",
            "Latency of webhook responses.",
            labels,
            [((w.path,), w.latency) for w in each],
        )
        yield _counter(
            f"{prefix}requests",
            "Webhook requests by status code.",
            ("webhook", "code"),
            [((w.path, str(code)), count) for w in each for code, count in w.requests.items()],
        )
        yield _gauge(
            f"{prefix}requests_in_flight",
            "Webhook requests in progress.",
            labels,
            [((w.path,), w.in_flight) for w in each],
        )
        yield _counter(
            f"{prefix}panics",
            "Webhook requests that raised an exception.",
            labels,
            [((w.path,), w.panics) for w in each],
        )


_Samples = Iterable[tuple[Sequence[str], float]]


def _counter(name: str, text: str, labels: Sequence[str], samples: _Samples) -> Metric:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(name, text, labels=labels)
    for values, count in samples:
        family.add_metric(values, count)
    return family


def _gauge(name: str, text: str, labels: Sequence[str], samples: _Samples) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _histogram(
    name: str, text: str, labels: Sequence[str], samples: Iterable[tuple[Sequence[str], Histogram]]
) -> Metric:
    from prometheus_client.core import HistogramMetricFamily

    family = HistogramMetricFamily(name, text, labels=labels)
    for values, histogram in samples:
        family.add_metric(values, histogram.buckets(), sum_value=histogram.sum)
    return family


#: Families of one number each: how it is made, its name, its help, and the field it is read from.
_CONTROLLER_NUMBERS = (
    (_counter, "terminal_reconcile_errors", "Failures that are not retried.", "terminal_errors"),
    (
        _counter,
        "reconcile_panics",
        "Reconciles that raised a BaseException other than an Exception.",
        "panics",
    ),
    (_counter, "reconcile_timeouts", "Reconciles that timed out.", "timeouts"),
    (_gauge, "max_concurrent_reconciles", "Maximum number of concurrent reconciles.", "concurrency"),
    (_gauge, "active_workers", "Number of running reconciles.", "active"),
)
_QUEUE_NUMBERS = (
    (_gauge, "depth", "Keys in the queue.", "depth"),
    (_counter, "adds", "Keys added.", "adds"),
    (_counter, "retries", "Keys retried after a failure.", "retries"),
    (_gauge, "unfinished_work_seconds", "Total time of the running reconciles so far.", "unfinished_s"),
    (
        _gauge,
        "longest_running_processor_seconds",
        "Time of the longest running reconcile so far.",
        "longest_s",
    ),
)
