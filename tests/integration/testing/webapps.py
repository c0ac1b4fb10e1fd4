"""A small operator for tests of the kit: a WebApp becomes a Deployment, its status says how many run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from steersman.objects.builders import Container, Deployment
from steersman.objects.custom import CustomResource, Model
from steersman.operator import Action, Context, Operator

__all__ = ["WebApp", "WebApps", "web_app"]


class Spec(Model):
    image: str
    replicas: int = 1


class Status(Model):
    ready: int = 0


class WebApp(CustomResource, group="kit.example.com", version="v1"):
    spec: Spec
    status: Status = Status()


def web_app(name: str, *, image: str = "nginx:1", replicas: int = 1) -> WebApp:
    return WebApp.from_object({"metadata": {"name": name}, "spec": {"image": image, "replicas": replicas}})


@dataclass
class WebApps:
    """An operator, and what it was called for."""

    requeue_s: float | None = None
    #: The loop's time and the reasons of each reconcile.
    calls: list[tuple[float, tuple[str, ...]]] = field(default_factory=list)
    #: While set, every reconcile fails with it.
    failure: Exception | None = None

    def operator(self) -> Operator[WebApp]:
        operator = Operator(WebApp).owns(Deployment)
        operator.reconcile(self._reconcile)
        return operator

    @property
    def times(self) -> list[float]:
        return [time for time, _ in self.calls]

    async def _reconcile(self, ctx: Context[WebApp]) -> Action:
        self.calls.append((asyncio.get_running_loop().time(), ctx.reasons))
        if self.failure is not None:
            raise self.failure
        app = ctx.resource
        deployment = await ctx.apply(
            Deployment(ctx.name)
            .replicas(app.spec.replicas)
            .container(Container("app").image(app.spec.image).port(80))
        )
        await ctx.set_status(Status(ready=deployment.status.get("readyReplicas", 0)))
        return Action.done() if self.requeue_s is None else Action.requeue(self.requeue_s)
