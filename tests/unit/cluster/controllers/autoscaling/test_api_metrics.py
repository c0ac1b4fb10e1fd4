"""Metrics as the metrics APIs answer them, and as nodes of the same process measure them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import unquote

import orjson
import pytest

from steersman.client import Client
from steersman.cluster.controllers.autoscaling.api_metrics import ApiMetrics
from steersman.cluster.controllers.metrics_source import MetricsError, NodeUsage, PodMetric
from steersman.http import ClientResponse, Headers, RawHeaders, StreamingResponse
from steersman.objects.selectors import EVERYTHING, LabelSelector
from steersman.objects.times import parse_time
from steersman.runtime import Key
from tests.unit.cluster.controllers.workload_objects import NOW

Object = dict[str, Any]

TIME = "2026-05-01T12:00:00Z"
CUSTOM = "/apis/custom.metrics.k8s.io"
SELECTOR = LabelSelector.parse("app=web")
ORDERS = LabelSelector.parse("verb=GET")


@dataclass
class Answers:
    """A transport that answers each target with what is written down for it, and 404 otherwise."""

    bodies: Mapping[str, Object] = field(default_factory=dict)

    async def request(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
    ) -> ClientResponse:
        body = self.bodies.get(unquote(target))
        if body is None:
            return ClientResponse(404, Headers([]), b"404 page not found\n")
        return ClientResponse(200, Headers([]), orjson.dumps(body))

    @asynccontextmanager
    async def stream(self, method: str, target: str, **options: Any) -> AsyncIterator[StreamingResponse]:
        raise NotImplementedError
        yield  # type: ignore[unreachable]

    async def close(self) -> None:
        return


def ask(bodies: Mapping[str, Object], question: Callable[[ApiMetrics], Awaitable[Any]]) -> Any:
    async def body() -> Any:
        async with Client(Answers(bodies)) as client:  # type: ignore[arg-type]
            return await question(ApiMetrics(client))

    return asyncio.run(body())


def _pod(name: str, *usages: Object) -> Object:
    containers = [{"name": f"c{number}", "usage": usage} for number, usage in enumerate(usages)]
    return {"metadata": {"name": name}, "timestamp": TIME, "window": "1m30.5s", "containers": containers}


PODS = {
    "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=app=web": {
        "items": [
            _pod("a", {"cpu": "250m", "memory": "1Ki"}, {"cpu": "1", "memory": "1Ki"}),
            _pod("b", {"cpu": "1"}, {"memory": "1Ki"}),
            _pod("c"),
        ]
    }
}


@pytest.mark.parametrize(
    ("resource", "container", "expected"),
    [
        pytest.param("cpu", "", {"a": 1250}, id="pods whose containers are all known"),
        pytest.param("cpu", "c0", {"a": 250, "b": 1000}, id="one container"),
        pytest.param("memory", "", {"a": 2048_000}, id="memory"),
    ],
)
def test_what_pods_use(resource: str, container: str, expected: dict[str, int]) -> None:
    found = ask(PODS, lambda metrics: metrics.resource("shop", SELECTOR, resource, container))
    window = timedelta(seconds=90.5)
    assert found == {name: PodMetric(milli, parse_time(TIME), window) for name, milli in expected.items()}


def _value(name: str, value: str, **more: Any) -> Object:
    return {"describedObject": {"name": name}, "timestamp": TIME, "value": value, **more}


SERVED = {
    "/apis/custom.metrics.k8s.io": {"versions": [{"version": "v1beta1"}, {"version": "v1beta2"}]},
    "/api/v1": {"resources": [{"name": "services", "kind": "Service", "namespaced": True}]},
    "/apis/networking.k8s.io/v1": {
        "resources": [{"name": "ingresses", "kind": "Ingress", "namespaced": True}]
    },
    f"{CUSTOM}/v1beta2/namespaces/shop/pods/*/qps?labelSelector=app=web&metricLabelSelector=verb=GET": {
        "items": [_value("a", "1500m", windowSeconds=30), _value("b", "2")]
    },
    f"{CUSTOM}/v1beta2/namespaces/shop/services/web/qps": {"items": [_value("web", "7")]},
    f"{CUSTOM}/v1beta2/namespaces/shop/ingresses.networking.k8s.io/web/qps": {"items": [_value("web", "8")]},
    f"{CUSTOM}/v1beta2/namespaces/shop/metrics/qps": {"items": [_value("shop", "9")]},
    f"{CUSTOM}/v1beta2/namespaces/shop/services/many/qps": {"items": [_value("a", "1"), _value("b", "2")]},
    "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue?labelSelector=verb=GET": {
        "items": [_value("", "3"), _value("", "500m")]
    },
}


def test_custom_metrics_of_pods() -> None:
    found = ask(SERVED, lambda metrics: metrics.pods("shop", SELECTOR, "qps", ORDERS))
    time = parse_time(TIME)
    assert found == {"a": PodMetric(1500, time, timedelta(seconds=30)), "b": PodMetric(2000, time)}


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param({"apiVersion": "v1", "kind": "Service", "name": "web"}, 7000, id="a core object"),
        pytest.param(
            {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"}, 8000, id="another"
        ),
        pytest.param({"apiVersion": "v1", "kind": "Namespace", "name": "x"}, 9000, id="the namespace itself"),
    ],
)
def test_custom_metrics_of_objects(reference: Object, expected: int) -> None:
    assert ask(SERVED, lambda metrics: metrics.object("shop", reference, "qps", EVERYTHING)) == expected


def test_external_metrics() -> None:
    assert ask(SERVED, lambda metrics: metrics.external("shop", "queue", ORDERS)) == [3000, 500]


_MANY = {"apiVersion": "v1", "kind": "Service", "name": "many"}


@pytest.mark.parametrize(
    ("bodies", "question", "message"),
    [
        pytest.param(
            {},
            lambda metrics: metrics.pods("shop", SELECTOR, "qps", EVERYTHING),
            "unable to fetch metrics from custom metrics API: no custom metrics API "
            "(custom.metrics.k8s.io) registered",
            id="no custom metrics",
        ),
        pytest.param(
            {},
            lambda metrics: metrics.resource("shop", SELECTOR, "cpu", ""),
            "unable to fetch metrics from resource metrics API: the server could not find the requested "
            "resource (get pods.metrics.k8s.io)",
            id="no resource metrics",
        ),
        pytest.param(
            SERVED,
            lambda metrics: metrics.object("shop", _MANY, "qps", EVERYTHING),
            "unable to fetch metrics from custom metrics API: the custom metrics API server returned 2 "
            "results when we asked for exactly one",
            id="several values of one object",
        ),
        pytest.param(
            {next(iter(PODS)): {"items": []}},
            lambda metrics: metrics.resource("shop", SELECTOR, "cpu", ""),
            "no metrics returned from resource metrics API",
            id="no values",
        ),
    ],
)
def test_what_is_missing_is_told(
    bodies: Mapping[str, Object], question: Callable[[ApiMetrics], Awaitable[Any]], message: str
) -> None:
    with pytest.raises(MetricsError) as caught:
        ask(bodies, question)
    assert str(caught.value) == message


class _Usage(NamedTuple):
    cpu_cores: float
    memory_bytes: int


class _PodUsage(NamedTuple):
    key: Key
    containers: Mapping[str, _Usage]


@pytest.mark.parametrize(
    ("resource", "container", "expected"),
    [
        pytest.param("cpu", "", {"a": 300}, id="cpu"),
        pytest.param("memory", "", {"a": 3_000}, id="memory"),
        pytest.param("cpu", "side", {"a": 50}, id="one container"),
    ],
)
def test_what_nodes_of_this_process_measure(resource: str, container: str, expected: dict[str, int]) -> None:
    def usage(namespace: str) -> Iterator[_PodUsage]:
        yield _PodUsage(Key(namespace, "a"), {"main": _Usage(0.25, 1), "side": _Usage(0.05, 2)})
        yield _PodUsage(Key(namespace, "other"), {"main": _Usage(9, 9)})

    async def body() -> dict[str, PodMetric]:
        async with Client(Answers()) as client:  # type: ignore[arg-type]
            source = NodeUsage(usage, lambda key, selector: key.name == "a", lambda: NOW, ApiMetrics(client))
            return await source.resource("shop", SELECTOR, resource, container)

    assert asyncio.run(body()) == {
        name: PodMetric(milli, NOW, timedelta(0)) for name, milli in expected.items()
    }
