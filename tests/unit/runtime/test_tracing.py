"""Spans with the real OpenTelemetry SDK, and nothing at all while nobody records."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from steersman.client import Client
from steersman.http import ClientResponse, Headers
from steersman.objects.resource_type import ResourceType
from steersman.runtime import tracing
from steersman.runtime.tracing import span, trace_requests

CONFIG_MAPS = ResourceType("", "v1", "ConfigMap", "configmaps")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What was recorded, in memory. The global provider can be set once only, so it is left alone."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter, provider = memory.InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    monkeypatch.setattr(sys.modules["opentelemetry.trace"], "get_tracer_provider", lambda: provider)
    yield exporter
    provider.shutdown()


class Answering:
    """A transport that answers everything, and remembers the headers."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.headers: dict[str, str] = {}

    async def request(self, method: str, target: str, *, headers: Any = (), **_: Any) -> ClientResponse:
        self.headers = {name.decode(): value.decode() for name, value in headers}
        return ClientResponse(self.status, Headers([]), b'{"kind": "ConfigMap", "metadata": {"name": "a"}}')

    async def close(self) -> None:
        return None


def test_a_span_takes_part_in_the_trace_of_a_request(spans: Any) -> None:
    with span("webhook /x", {"a": 1}, kind="server", headers=Headers([(b"traceparent", PARENT.encode())])):
        with span("inside") as inside:
            inside.set_attribute("b", True)
    inner, outer = spans.get_finished_spans()
    assert (inner.name, dict(inner.attributes)) == ("inside", {"b": True})
    assert inner.parent.span_id == outer.context.span_id
    assert format(outer.context.trace_id, "032x") == PARENT.split("-")[1]
    assert (outer.kind.name, dict(outer.attributes)) == ("SERVER", {"a": 1})


def test_an_error_marks_a_span_by_its_type_alone(spans: Any) -> None:
    with pytest.raises(ValueError, match="hunter2"), span("x"):
        raise ValueError("password=hunter2")
    failed = spans.get_finished_spans()[0]
    assert (failed.status.status_code.name, failed.attributes["error.type"]) == ("ERROR", "ValueError")
    assert "hunter2" not in failed.to_json()


def test_requests_of_a_client_are_spans_and_name_their_trace(spans: Any) -> None:
    async def ask() -> dict[str, str]:
        transport: Any = Answering()
        client = Client(transport)
        trace_requests(client)
        trace_requests(client)
        await client.get(CONFIG_MAPS, "a", "shop")
        headers: dict[str, str] = transport.headers
        return headers

    headers = asyncio.run(ask())
    (sent,) = spans.get_finished_spans()
    assert (sent.name, sent.kind.name) == ("GET", "CLIENT")
    assert dict(sent.attributes) == {
        "http.request.method": "GET",
        "url.path": "/api/v1/namespaces/shop/configmaps/a",
        "http.response.status_code": 200,
    }
    assert headers["traceparent"].split("-")[2] == format(sent.context.span_id, "016x")


def test_a_reconcile_and_its_requests_are_one_trace(spans: Any) -> None:
    from steersman.objects.builders import ConfigMap
    from steersman.operator import Context, Operator
    from steersman.testing import Cluster, eventually, run_virtual

    op = Operator(ConfigMap, name="copies").with_selector("copy")

    @op.reconcile
    async def copy(ctx: Context[ConfigMap]) -> None:
        await ctx.apply(ConfigMap(f"{ctx.name}-copy"))

    async def live() -> None:
        async with Cluster() as cluster, cluster.run_operator(op):
            client = cluster.client()
            await client.create(ConfigMap("a").label("copy", "yes"))
            await eventually(lambda: client.find(ConfigMap, "a-copy"))
            await cluster.clock.settle()

    run_virtual(live())
    done = spans.get_finished_spans()
    reconcile = next(each for each in done if each.name == "reconcile copies")
    assert reconcile.attributes["k8s.object.name"] == "a"
    children = [each for each in done if each.parent and each.parent.span_id == reconcile.context.span_id]
    assert [(each.name, each.attributes["url.path"].rpartition("/")[2]) for each in children] == [
        ("PATCH", "a-copy")
    ]


def test_nothing_is_done_while_nobody_records() -> None:
    pytest.importorskip("opentelemetry.trace")
    transport: Any = Answering()
    client = Client(transport)
    trace_requests(client)
    assert not tracing.is_recording()
    with span("x", headers=Headers([(b"traceparent", PARENT.encode())])) as nothing:
        nothing.set_attribute("a", 1)
        nothing.failed(ValueError())
        asyncio.run(client.get(CONFIG_MAPS, "a", "shop"))
    assert "traceparent" not in transport.headers


@pytest.mark.parametrize(
    ("environment", "first", "loaded"),
    [
        ({}, "sys.modules['opentelemetry'] = None", False),
        ({}, "", False),
        ({"OTEL_PYTHON_TRACER_PROVIDER": "x"}, "", True),
        ({"OTEL_PYTHON_TRACER_PROVIDER": "x"}, "sys.modules['opentelemetry'] = None", False),
    ],
    ids=["not installed", "installed", "provider named in the environment", "named but not installed"],
)
def test_it_is_loaded_only_for_those_who_record(
    environment: dict[str, str], first: str, loaded: bool
) -> None:
    pytest.importorskip("opentelemetry.trace")
    code = (
        f"import sys\n{first}\n"
        "from steersman.operator import Operator\n"
        "from steersman.runtime import tracing\n"
        f"assert ('opentelemetry.trace' in sys.modules) is {loaded}\n"
        f"assert {loaded} or not tracing.is_recording()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env={**os.environ, **environment})
