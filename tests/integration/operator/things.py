"""A kind for tests of operators, and its objects."""

from __future__ import annotations

from steersman.objects.custom import Condition, CustomResource, Field, Model

__all__ = ["Status", "Thing", "thing"]


class Spec(Model):
    value: str = "v"
    replicas: int = 1


class Status(Model):
    seen: str = ""
    observed_generation: int | None = None
    conditions: list[Condition] = Field(default_factory=list)


class Thing(CustomResource, group="example.com", version="v1"):
    spec: Spec = Spec()
    status: Status = Status()


def thing(name: str = "a", namespace: str = "default", **spec: object) -> Thing:
    return Thing.from_object({"metadata": {"name": name, "namespace": namespace}, "spec": spec})
