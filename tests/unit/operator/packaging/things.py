"""Operators to package."""

from __future__ import annotations

from typing import Any, TypeVar

from steersman.objects.custom import CustomResource, Model
from steersman.operator import Context, Operator
from steersman.operator.packaging import Release

R = TypeVar("R", bound=CustomResource)


class TeaStatus(Model):
    cups: int = 0


class Tea(CustomResource, group="example.com", version="v1"):
    status: TeaStatus = TeaStatus()


class Sugar(CustomResource, group="example.com", version="v1", scope="Cluster"):
    pass


def working(kind: type[R], *, name: str = "") -> Operator[R]:
    """An operator that looks after objects."""
    operator = Operator(kind, name=name)

    @operator.reconcile
    async def reconcile(ctx: Context[R]) -> None: ...

    return operator


def release(operator: Operator[Any], **options: Any) -> Release:
    given = {"image": "tea:1", "command": ("steer", "run", "tea"), **options}
    return Release([operator], "tea-operator", "kitchen", **given)
