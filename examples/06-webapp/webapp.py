"""The WebApp operator: an image, a number of replicas; the operator runs and repairs the rest.

Every WebApp has a Deployment and a Service, both called like it. Its phase is that of this machine, which is
computed from what there is and never from what was done, so that a crash at any point does no harm:

    (none) ──▶ Reconciling ──▶ WaitingForPods ──▶ Ready ──▶ Scaling ──▶ Ready
                    ▲                                │
                    └── the Deployment was deleted ──┤
                                                     └──▶ Deleting ──▶ (gone)

`before_acting` and `after_acting` are the whole of it. The phase that announces a change is written before
the change is made, the one that reports its outcome afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from steersman import (
    AGE,
    Action,
    Condition,
    Container,
    Context,
    CustomResource,
    Deployment,
    Field,
    Lease,
    Model,
    NewCondition,
    Operator,
    PrinterColumn,
    Scale,
    Service,
    list_map,
)

#: Changes arrive by themselves; this is how long something that was missed can stay unnoticed.
LOOK_AGAIN_S = 30
#: While children that are to go are still there.
STILL_THERE_S = 5


class Phase(StrEnum):
    RECONCILING = "Reconciling"
    WAITING_FOR_PODS = "WaitingForPods"
    READY = "Ready"
    SCALING = "Scaling"
    DELETING = "Deleting"


class WebAppSpec(Model):
    image: str = Field(min_length=1, description="What the pods run, such as nginx:1.25.")
    replicas: int = Field(1, ge=0, le=50)
    port: int = Field(80, ge=1, le=65535, description="Where the pods and the Service listen.")


class WebAppStatus(Model):
    phase: Phase | None = None
    replicas: int = 0
    available_replicas: int = 0
    #: For `kubectl scale` and autoscalers.
    selector: str = ""
    observed_generation: int | None = None
    conditions: Annotated[list[Condition], list_map("type")] = Field(default_factory=list)


class WebApp(
    CustomResource,
    group="example.com",
    version="v1",
    short_names=["wa"],
    scale=Scale(label_selector=".status.selector"),
    columns=[
        PrinterColumn("Image", ".spec.image"),
        PrinterColumn("Desired", ".spec.replicas"),
        PrinterColumn("Available", ".status.availableReplicas"),
        PrinterColumn("Phase", ".status.phase"),
        AGE,
    ],
):
    spec: WebAppSpec
    status: WebAppStatus = WebAppStatus()


def before_acting(phase: Phase | None, deployed: int | None, wanted: int) -> Phase:
    """The phase in which the children are brought up to date; `deployed` is None without a Deployment."""
    if phase is None or deployed is None:
        return Phase.RECONCILING
    if phase is Phase.READY and deployed != wanted:
        return Phase.SCALING
    return phase


def after_acting(phase: Phase, rolled_out: bool) -> Phase:
    """The phase once they are."""
    if rolled_out:
        return Phase.READY
    return Phase.SCALING if phase is Phase.SCALING else Phase.WAITING_FOR_PODS


op = Operator(WebApp).owns(Deployment, Service).with_leader_election(Lease("webapp-operator"))


@op.reconcile
async def reconcile(ctx: Context[WebApp]) -> Action:
    app = ctx.resource
    current = await ctx.get(Deployment, ctx.name)
    deployed = None if current is None else current.spec.get("replicas", 1)
    phase = before_acting(app.status.phase, deployed, app.spec.replicas)
    await enter(ctx, phase)

    deployment = await ctx.apply(
        Deployment(ctx.name)
        .replicas(app.spec.replicas)
        .container(Container("app").image(app.spec.image).port(app.spec.port))
    )
    await ctx.apply(Service(ctx.name).port(app.spec.port).selector(app=ctx.name))

    phase = after_acting(phase, is_rolled_out(deployment, app.spec.replicas))
    await report(ctx, phase, deployment.status)
    return Action.requeue(LOOK_AGAIN_S)


@op.on_delete
async def clean_up(ctx: Context[WebApp]) -> Action:
    """First nobody is sent there any more, then the pods go; the WebApp stays until both are gone."""
    await enter(ctx, Phase.DELETING)
    await ctx.delete(Service, ctx.name)
    await ctx.delete(Deployment, ctx.name)
    gone = await ctx.get(Service, ctx.name) is None and await ctx.get(Deployment, ctx.name) is None
    return Action.done() if gone else Action.requeue(STILL_THERE_S)


def is_rolled_out(deployment: Deployment, wanted: int) -> bool:
    """Whether all pods that should run do, and run what they should."""
    status = deployment.status
    seen = status.get("observedGeneration", 0) >= deployment.metadata["generation"]
    counts = ("replicas", "updatedReplicas", "availableReplicas")
    return seen and all(status.get(count, 0) == wanted for count in counts)


async def enter(ctx: Context[WebApp], phase: Phase) -> None:
    """Show the phase, and leave everything else in the status as it is."""
    before = ctx.resource.status
    if before.phase is not phase:
        await ctx.set_status(before.model_copy(update={"phase": phase, "conditions": []}))
        await tell(ctx, before.phase, phase)


async def report(ctx: Context[WebApp], phase: Phase, deployment: Mapping[str, Any]) -> None:
    """Show the phase and what it rests on."""
    available = deployment.get("availableReplicas", 0)
    message = f"{available} of {ctx.resource.spec.replicas} replicas are available"
    before = ctx.resource.status.phase
    await ctx.set_status(
        WebAppStatus(
            phase=phase,
            replicas=deployment.get("replicas", 0),
            available_replicas=available,
            selector=f"app={ctx.name}",
        ),
        NewCondition("Ready", str(phase is Phase.READY), phase, message),
        NewCondition("Progressing", str(phase is not Phase.READY), phase, message),
    )
    if before is not phase:
        await tell(ctx, before, phase)


async def tell(ctx: Context[WebApp], before: Phase | None, now: Phase) -> None:
    text = f"{before or 'Created'} → {now}"
    ctx.log.info("%s", text)
    await ctx.event(now, text)


if __name__ == "__main__":
    op.run()
