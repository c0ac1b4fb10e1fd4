"""Uses of the front door, right and wrong; each wrong one is marked with the code of mypy's error."""

from __future__ import annotations

import steersman
from steersman import Action, Container, Context, CustomResource, Deployment, Field, Model, Operator


class WebAppSpec(Model):
    image: str = Field(pattern=r".+:.+")


class WebApp(CustomResource, group="example.com", version="v1"):
    spec: WebAppSpec


op = Operator(WebApp).owns(Deployment)


@op.reconcile
async def reconcile(ctx: Context[WebApp]) -> Action:
    app = ctx.resource.spec
    made: Deployment = await ctx.apply(Deployment(ctx.name).container(Container("app").image(app.image)))
    number: int = made  # error: assignment
    print(app.imge)  # error: attr-defined
    return steersman.Action.requeue(number)


steersman.Servic("web")  # error: attr-defined
Container(1)  # error: arg-type
