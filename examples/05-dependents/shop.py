"""Children with an order: password → database → migration → web, and an ingress if there is a host.

Each function returns one child, or None for none. `after` says what must be ready before it is made, `ready`
when it is. Nothing waits: a child that becomes ready is a change, and brings the shop back.
"""

from __future__ import annotations

import secrets
from typing import Annotated

from steersman import (
    Condition,
    Container,
    Context,
    CustomResource,
    Deployment,
    Field,
    Ingress,
    IngressRule,
    Job,
    Model,
    Operator,
    PersistentVolumeClaim,
    Secret,
    Service,
    StatefulSet,
    list_map,
)


class ShopSpec(Model):
    #: The version of the shop: what the images are tagged with.
    version: str = Field(pattern=r"^\d+(\.\d+)*$")
    replicas: int = Field(2, ge=0, le=20)
    host: str | None = None


class ShopStatus(Model):
    conditions: Annotated[list[Condition], list_map("type")] = Field(default_factory=list)


class Shop(CustomResource, group="examples.steersman.dev", version="v1"):
    spec: ShopSpec
    status: ShopStatus = ShopStatus()


op = Operator(Shop)


@op.dependent(Secret)
async def password(ctx: Context[Shop]) -> Secret:
    """Made up once; afterwards it is what it is."""
    name = f"{ctx.name}-db"
    there = await ctx.get(Secret, name)
    value = there.value("password") if there else None
    return Secret(name).data("password", value or secrets.token_urlsafe(24))


@op.dependent(StatefulSet, after=password, ready=lambda db: db.status.get("readyReplicas") == 1)
async def database(ctx: Context[Shop]) -> StatefulSet:
    container = (
        Container("postgres")
        .image("postgres:17")
        .port(5432)
        .env_from_secret("POSTGRES_PASSWORD", f"{ctx.name}-db", "password")
        .volume_mount("data", "/var/lib/postgresql/data")
    )
    return (
        StatefulSet(f"{ctx.name}-db")
        .service_name(f"{ctx.name}-db")
        .replicas(1)
        .container(container)
        .volume_claim_template(PersistentVolumeClaim("data").storage("1Gi").access_mode("ReadWriteOnce"))
    )


@op.dependent(Job, after=database, ready=lambda job: job.status.get("succeeded") == 1)
async def migration(ctx: Context[Shop]) -> Job:
    """A job cannot be changed, so every version has its own."""
    version = ctx.resource.spec.version
    migrate = Container("migrate").image(f"shop:{version}").command("shop", "migrate")
    return Job(f"{ctx.name}-migrate-{version}").backoff_limit(3).container(migrate)


@op.dependent(Deployment, after=migration)
async def web(ctx: Context[Shop]) -> Deployment:
    spec = ctx.resource.spec
    return (
        Deployment(ctx.name)
        .replicas(spec.replicas)
        .container(Container("web").image(f"shop:{spec.version}").port(8080))
    )


@op.dependent(Service, after=web)
async def address(ctx: Context[Shop]) -> Service:
    return Service(ctx.name).port(80, 8080).selector(app=ctx.name)


@op.dependent(Ingress, after=address)
async def entrance(ctx: Context[Shop]) -> Ingress | None:
    host = ctx.resource.spec.host
    return None if host is None else Ingress(ctx.name).rule(IngressRule(host).path("/", ctx.name, 80))


if __name__ == "__main__":
    op.run()
