"""The demo's operator: a WebApp has so many pods and one address."""

from __future__ import annotations

from typing import Final

from steersman.cluster.machine.ports import may_listen
from steersman.objects.builders import Container, Deployment, Hook, Probe, Service
from steersman.objects.custom import AGE, CustomResource, Field, Model, PrinterColumn
from steersman.operator import Action, Context, Operator

__all__ = ["IMAGE", "PORT", "WebApp", "operator", "service_port"]

IMAGE: Final = "steersman/demo:1"
PORT: Final = 8080
_USUAL_PORT: Final = 80


def service_port() -> int:
    """Where browsers look first, if this process may listen there."""
    return _USUAL_PORT if may_listen(_USUAL_PORT) else PORT


class WebAppSpec(Model):
    greeting: str = Field("Hello", min_length=1)
    replicas: int = Field(1, ge=0, le=20)


class WebAppStatus(Model):
    ready: int = 0


class WebApp(
    CustomResource,
    group="demo.steersman.dev",
    version="v1",
    columns=[
        PrinterColumn("Wanted", ".spec.replicas"),
        PrinterColumn("Ready", ".status.ready"),
        AGE,
    ],
):
    spec: WebAppSpec
    status: WebAppStatus = WebAppStatus()


operator = Operator(WebApp).owns(Deployment, Service)


@operator.reconcile
async def reconcile(ctx: Context[WebApp]) -> Action:
    spec = ctx.resource.spec
    container = (
        Container("web")
        .image(IMAGE)
        .port(PORT)
        .env("GREETING", spec.greeting)
        .readiness_probe(Probe.http("/who", PORT).period(1))
        # Whoever was sent here a moment ago is still answered.
        .pre_stop(Hook.sleep(1))
    )
    deployment = await ctx.apply(Deployment(ctx.name).replicas(spec.replicas).container(container))
    await ctx.apply(Service(ctx.name).port(service_port(), PORT).selector(app=ctx.name).load_balancer())
    await ctx.set_status(WebAppStatus(ready=deployment.status.get("readyReplicas", 0)))
    return Action.done()
