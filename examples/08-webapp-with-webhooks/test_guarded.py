"""What the webhooks of the example let through, change and refuse, asked by a real API server."""

from __future__ import annotations

import pytest
from guarded import PROTECTED, WebApp, WebAppSpec, op

from steersman import Client, Deployment, Forbidden, Invalid, ObjectMeta
from steersman.testing import RunningOperator, eventually
from steersman.testing.plugin import OperatorRunner


def web(image: str, **labels: str) -> WebApp:
    return WebApp(metadata=ObjectMeta(name="shop", labels=labels), spec=WebAppSpec(image=image))


async def ready(run_operator: OperatorRunner) -> RunningOperator:
    running = await run_operator(op)
    await eventually(lambda: running.manager is not None and not running.manager.probes.problems())
    return running


async def test_a_webapp_is_completed_and_runs(client: Client, run_operator: OperatorRunner) -> None:
    await ready(run_operator)
    made = await client.create(web("nginx:1.25"))
    assert (made.spec.image, made.metadata.labels) == ("docker.io/library/nginx:1.25", {"app": "shop"})
    deployment = await eventually(lambda: client.find(Deployment, "shop"))
    assert deployment.spec["template"]["spec"]["containers"][0]["image"] == made.spec.image


async def test_a_bad_image_is_refused_and_a_dry_run_stores_nothing(
    client: Client, run_operator: OperatorRunner
) -> None:
    await ready(run_operator)
    with pytest.raises(Invalid, match=r"spec.image: docker.io/library/nginx has no tag"):
        await client.create(web("nginx"))
    tried = await client.create(web("nginx:1.25"), dry_run=True)
    assert tried.metadata.labels == {"app": "shop"}
    assert await client.find(WebApp, "shop") is None


async def test_a_protected_webapp_stays(client: Client, run_operator: OperatorRunner) -> None:
    await ready(run_operator)
    await client.create(web("nginx:1.25", **{PROTECTED: "true"}))
    with pytest.raises(Forbidden, match="shop is protected"):
        await client.delete(WebApp, "shop")
    await client.patch(WebApp, "shop", {"metadata": {"labels": {PROTECTED: None}}})
    await client.delete(WebApp, "shop")


async def test_warnings_reach_whoever_writes(
    client: Client, run_operator: OperatorRunner, caplog: pytest.LogCaptureFixture
) -> None:
    await ready(run_operator)
    await client.create(web("nginx:latest"))
    await client.patch(WebApp, "shop", {"spec": {"replicas": 0}})
    assert "latest is another image every day" in caplog.text
    assert "no server will be running by shop any more" in caplog.text
