"""The smallest operator: every Greeting gets its text."""

from __future__ import annotations

from steersman import Context, CustomResource, Model, Operator


class GreetingSpec(Model):
    whom: str = "world"


class GreetingStatus(Model):
    text: str = ""


class Greeting(CustomResource, group="examples.steersman.dev", version="v1"):
    spec: GreetingSpec = GreetingSpec()
    status: GreetingStatus = GreetingStatus()


op = Operator(Greeting)


@op.reconcile
async def greet(ctx: Context[Greeting]) -> None:
    text = f"Hello, {ctx.resource.spec.whom}!"
    ctx.log.info("%s", text)
    await ctx.set_status(GreetingStatus(text=text))


if __name__ == "__main__":
    op.run()
