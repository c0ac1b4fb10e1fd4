"""A WebApp whose writes are looked at before they are stored: completed, checked, refused.

    kubectl apply ──▶ API server ──▶ complete   labels, and a registry where none is named
                          │      ──▶ check      a tag is needed; what is odd is warned of
                          │      ──▶ protect    some must not be deleted
                          ▼
                        stored ──▶ reconcile

Certificates, the registration and the Secret that replicas share are the operator's own business.
"""

from __future__ import annotations

from steersman import (
    AdmissionRequest,
    Container,
    Context,
    CustomResource,
    Denied,
    Deployment,
    Field,
    Model,
    Operator,
)

REGISTRY = "docker.io"
PROTECTED = "example.com/protected"


class WebAppSpec(Model):
    image: str = Field(min_length=1, description="What the pods run, such as nginx:1.25.")
    replicas: int = Field(1, ge=0, le=50)


class WebApp(CustomResource, group="example.com", version="v1"):
    spec: WebAppSpec


op = Operator(WebApp).owns(Deployment)


@op.mutate
async def complete(request: AdmissionRequest[WebApp]) -> None:
    """May be asked twice about one write: the second time there is nothing left to do."""
    app = request.resource
    app.metadata.labels.setdefault("app", app.name)
    if "/" not in app.spec.image:
        app.spec.image = f"{REGISTRY}/library/{app.spec.image}"


@op.validate
async def check(request: AdmissionRequest[WebApp]) -> list[str]:
    """What a schema cannot say. Warnings are shown to whoever writes, and change nothing."""
    image, replicas = request.resource.spec.image, request.resource.spec.replicas
    _, colon, tag = image.rpartition("/")[2].partition(":")
    if not colon:
        raise Denied(f"{image} has no tag: what runs would change by itself", field="spec.image")
    warnings = []
    if tag == "latest":
        warnings.append("spec.image: latest is another image every day")
    if request.old is not None and request.old.spec.replicas and not replicas:
        warnings.append(f"no server will be running by {request.name} any more")
    return warnings


@op.validate(operations=("DELETE",), object_selector={"matchLabels": {PROTECTED: "true"}})
async def protect(request: AdmissionRequest[WebApp]) -> None:
    """The API asks only about those that have the label."""
    raise Denied(f"{request.name} is protected: remove the label {PROTECTED} first")


@op.reconcile
async def reconcile(ctx: Context[WebApp]) -> None:
    app = ctx.resource
    container = Container("app").image(app.spec.image)
    await ctx.apply(Deployment(ctx.name).replicas(app.spec.replicas).container(container))


if __name__ == "__main__":
    op.run()
