"""HorizontalPodAutoscalers with an API server, played nodes and given metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from steersman.cluster.controllers.metrics_source import MetricsError, PodMetric, PodMetrics
from steersman.cluster.controllers.setup import Options
from steersman.objects.conditions import find_condition
from steersman.objects.resources import HORIZONTAL_POD_AUTOSCALERS, PODS, REPLICA_SETS
from steersman.objects.selectors import LabelSelector
from steersman.objects.times import parse_time
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads

Object = dict[str, Any]

LABELS = {"app": "web"}
CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
}
QUEUE = {
    "type": "External",
    "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "10"}},
}


class Measured:
    """Metrics as a test says: of each pod in thousandths of a CPU, and of one queue."""

    def __init__(self) -> None:
        self.world: World
        self.cpu: int | None = None
        self.queue: int | None = None

    async def resource(
        self, namespace: str, selector: LabelSelector, resource: str, container: str
    ) -> PodMetrics:
        if self.cpu is None:
            raise MetricsError("no metrics returned from resource metrics API")
        now = parse_time(self.world.nodes._now())
        return {name: PodMetric(self.cpu, now) for name in await self.world.names(PODS)}

    async def pods(
        self, namespace: str, selector: LabelSelector, metric: str, metric_selector: LabelSelector
    ) -> PodMetrics:
        raise MetricsError("nobody measures that")

    async def object(
        self, namespace: str, reference: Mapping[str, Any], metric: str, metric_selector: LabelSelector
    ) -> int:
        raise MetricsError("nobody measures that")

    async def external(self, namespace: str, metric: str, metric_selector: LabelSelector) -> list[int]:
        if self.queue is None:
            raise MetricsError("no metrics returned from external metrics API")
        return [self.queue * 1000]


def measured(test: Callable[[World, Measured], Any]) -> Callable[[], None]:
    """Make a test of an async function that takes a world and its metrics."""

    def run() -> None:
        source = Measured()

        async def body(world: World) -> None:
            source.world = world
            await world.create(REPLICA_SETS, replica_set())
            await asyncio.sleep(400)  # pods are past their start
            await test(world, source)

        controllers = ("replicaset", "horizontal-pod-autoscaling")
        with_workloads(*controllers, options=Options(metrics=source))(body)()

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def replica_set(replicas: int = 2) -> Object:
    containers = [{"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}]
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": containers}}
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
    return {"metadata": {"name": "web"}, "spec": spec}


def autoscaler(*metrics: Object, name: str = "web", **spec: Any) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}
    bounds = {"minReplicas": 1, "maxReplicas": 10}
    return {
        "metadata": {"name": name},
        "spec": {"scaleTargetRef": target, "metrics": list(metrics), **bounds, **spec},
    }


async def until_size(world: World, size: int) -> Object:
    async def holds() -> bool:
        return bool((await world.get(REPLICA_SETS, "web"))["spec"]["replicas"] == size)

    await world.until(holds, 600)
    await asyncio.sleep(30)
    return await world.get(HORIZONTAL_POD_AUTOSCALERS, "web")


def condition(obj: Object, kind: str) -> tuple[str, str, str]:
    found = find_condition(obj["status"]["conditions"], kind)
    assert found is not None
    return found["status"], found["reason"], found["message"]


@measured
async def test_it_grows_at_once_and_shrinks_after_a_while(world: World, metrics: Measured) -> None:
    metrics.cpu = 100
    await world.create(HORIZONTAL_POD_AUTOSCALERS, autoscaler(CPU))
    await asyncio.sleep(2)
    told = await world.events("HorizontalPodAutoscaler")
    why = "cpu resource utilization (percentage of request) above target"
    assert told == [("SuccessfulRescale", f"New size: 4; reason: {why}")]
    metrics.cpu = 50
    found = await until_size(world, 4)
    status = found["status"]
    assert (status["currentReplicas"], status["desiredReplicas"]) == (4, 4)
    current = {"averageUtilization": 50, "averageValue": "50m"}
    assert status["currentMetrics"] == [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
    assert status["observedGeneration"] == 1
    assert "lastScaleTime" in status
    assert condition(found, "ScalingActive")[1] == "ValidMetricFound"
    assert condition(found, "AbleToScale")[1] == "ReadyForNewScale"
    assert condition(found, "ScalingLimited")[:2] == ("False", "DesiredWithinRange")
    await world.quiet(40)
    metrics.cpu = 10
    await asyncio.sleep(60)
    found = await world.get(HORIZONTAL_POD_AUTOSCALERS, "web")
    assert condition(found, "AbleToScale") == (
        "True",
        "ScaleDownStabilized",
        "recent recommendations were higher than current one, applying the highest recent recommendation",
    )
    await until_size(world, 1)
    assert ("SuccessfulRescale", "New size: 1; reason: All metrics below target") in await world.events(
        "HorizontalPodAutoscaler"
    )


@measured
async def test_pods_that_start_do_not_make_it_grow_further(world: World, metrics: Measured) -> None:
    metrics.cpu = 100
    await world.create(HORIZONTAL_POD_AUTOSCALERS, autoscaler(CPU))
    await asyncio.sleep(60)
    # The two new pods count as idle while they start: four pods are enough for the use of two.
    assert (await world.get(REPLICA_SETS, "web"))["spec"]["replicas"] == 4


@measured
async def test_a_metric_that_nobody_measures_is_told_of(world: World, metrics: Measured) -> None:
    await world.create(HORIZONTAL_POD_AUTOSCALERS, autoscaler(CPU))
    await asyncio.sleep(5)
    found = await world.get(HORIZONTAL_POD_AUTOSCALERS, "web")
    cause = (
        "failed to get cpu utilization: unable to get metrics for resource cpu: "
        "no metrics returned from resource metrics API"
    )
    assert condition(found, "ScalingActive") == (
        "False",
        "FailedGetResourceMetric",
        f"the HPA was unable to compute the replica count: {cause}",
    )
    assert found["status"]["currentReplicas"] == 2
    told = await world.events("HorizontalPodAutoscaler")
    assert told == [
        ("FailedGetResourceMetric", cause),
        (
            "FailedComputeMetricsReplicas",
            "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: "
            + cause,
        ),
    ]


@measured
async def test_policies_bound_how_fast_it_grows(world: World, metrics: Measured) -> None:
    metrics.queue = 200
    policies = [{"type": "Pods", "value": 1, "periodSeconds": 60}]
    behavior = {"scaleUp": {"policies": policies, "stabilizationWindowSeconds": 0}}
    await world.create(HORIZONTAL_POD_AUTOSCALERS, autoscaler(QUEUE, behavior=behavior))
    await asyncio.sleep(5)
    found = await world.get(HORIZONTAL_POD_AUTOSCALERS, "web")
    assert condition(found, "ScalingLimited") == (
        "True",
        "ScaleUpLimit",
        "the desired replica count is increasing faster than the maximum scale rate",
    )
    assert found["status"]["desiredReplicas"] == 3
    await asyncio.sleep(40)
    assert (await world.get(REPLICA_SETS, "web"))["spec"]["replicas"] == 3
    await asyncio.sleep(30)
    assert (await world.get(REPLICA_SETS, "web"))["spec"]["replicas"] == 4
    found = await until_size(world, 10)
    assert condition(found, "ScalingLimited")[1] == "TooManyReplicas"
    assert condition(found, "ScalingActive")[2].endswith("from external metric queue(nil)")


@measured
async def test_what_is_out_of_bounds_is_brought_back(world: World, metrics: Measured) -> None:
    await world.create(HORIZONTAL_POD_AUTOSCALERS, autoscaler(CPU, minReplicas=5))
    await asyncio.sleep(2)
    why = "Current number of replicas below Spec.MinReplicas"
    assert (await world.events("HorizontalPodAutoscaler"))[0] == (
        "SuccessfulRescale",
        f"New size: 5; reason: {why}",
    )


@measured
async def test_a_workload_that_is_switched_off_stays_so(world: World, metrics: Measured) -> None:
    metrics.cpu = 100
    await world.patch(REPLICA_SETS, "web", replicas=0)
    await world.create(HORIZONTAL_POD_AUTOSCALERS, autoscaler(CPU))
    await asyncio.sleep(60)
    found = await world.get(HORIZONTAL_POD_AUTOSCALERS, "web")
    assert condition(found, "ScalingActive") == (
        "False",
        "ScalingDisabled",
        "scaling is disabled since the replica count of the target is zero",
    )
    assert (await world.get(REPLICA_SETS, "web"))["spec"]["replicas"] == 0


@measured
async def test_a_target_that_is_not_there_is_told_of(world: World, metrics: Measured) -> None:
    await world.client.delete(REPLICA_SETS, "web", NAMESPACE)
    await world.create(HORIZONTAL_POD_AUTOSCALERS, autoscaler(CPU))
    await asyncio.sleep(2)
    found = await world.get(HORIZONTAL_POD_AUTOSCALERS, "web")
    assert condition(found, "AbleToScale") == (
        "False",
        "FailedGetScale",
        'the HPA controller was unable to get the target\'s current scale: replicasets.apps "web" not found',
    )


@measured
async def test_two_autoscalers_of_the_same_pods_do_nothing(world: World, metrics: Measured) -> None:
    metrics.cpu = 50
    for name in ("one", "web"):
        await world.create(HORIZONTAL_POD_AUTOSCALERS, autoscaler(CPU, name=name))
        await asyncio.sleep(2)
    found = await world.get(HORIZONTAL_POD_AUTOSCALERS, "web")
    why = f"pods by selector app=web are controlled by more than one HPA (e.g. [{NAMESPACE}/one {NAMESPACE}/web])"
    assert condition(found, "ScalingActive")[1] == "AmbiguousSelector"
    assert condition(found, "ScalingActive")[2] == why


def test_the_metrics_apis_are_missing() -> None:
    async def body(world: World) -> None:
        await world.create(REPLICA_SETS, replica_set())
        await world.until_status(REPLICA_SETS, "web", readyReplicas=2)
        await world.create(HORIZONTAL_POD_AUTOSCALERS, autoscaler(CPU, QUEUE))
        await asyncio.sleep(5)
        told = dict(await world.events("HorizontalPodAutoscaler"))
        assert told["FailedGetResourceMetric"] == (
            "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics "
            "from resource metrics API: the server could not find the requested resource "
            "(get pods.metrics.k8s.io)"
        )
        assert told["FailedGetExternalMetric"] == (
            f"unable to get external metric {NAMESPACE}/queue/nil: unable to fetch metrics from external "
            "metrics API: the server could not find the requested resource (get queue.external.metrics.k8s.io)"
        )

    with_workloads("replicaset", "horizontal-pod-autoscaling")(body)()
