"""What the small operator with the crate k8s-operator does (`tests/originals/k8s-operator`): it notes in the
status how many replicas it saw. Started by `steer run`.
"""

from __future__ import annotations

from steersman import Action, Context, CustomResource, Model, Operator


class MyResourceSpec(Model):
    replicas: int


class MyResourceStatus(Model):
    replicas: int | None = None


class MyResource(CustomResource, group="steersman.bench.example.com", version="v1", scope="Cluster"):
    spec: MyResourceSpec
    status: MyResourceStatus = MyResourceStatus()


op = Operator(MyResource)


@op.reconcile
async def reconcile(ctx: Context[MyResource]) -> Action:
    await ctx.set_status(MyResourceStatus(replicas=ctx.resource.spec.replicas))
    return Action.requeue(300)
