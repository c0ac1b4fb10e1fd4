"""The custom resources: one kind per kind of workload, in our group and in the public project's.

kubectl get workloadprocesses        the same fields as in the file; `tenant` says who runs it
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from steersman.highlander.config.specs import CronJobSpec, PersistentSpec, ProcessSpec, ServiceSpec
from steersman.objects.custom import (
    AGE,
    Condition,
    CustomResource,
    Field,
    Model,
    PrinterColumn,
    list_map,
)

__all__ = [
    "RESOURCES",
    "Workload",
    "WorkloadCronJob",
    "WorkloadPersistent",
    "WorkloadProcess",
    "WorkloadService",
    "WorkloadStatus",
    "definitions",
]

_GROUP: Final = "highlander.steersman.dev"
_PUBLIC_GROUP: Final = "highlander.plexobject.io"


class WorkloadStatus(Model):
    phase: str = ""
    ready: bool = False
    restarts: int = 0
    epoch: int = 0
    controller: str = ""
    last_error: str = ""
    observed_generation: int = 0
    conditions: Annotated[list[Condition], list_map("type")] = Field(default_factory=list)


_COLUMNS: Final = (
    PrinterColumn("Tenant", ".spec.tenant"),
    PrinterColumn("Phase", ".status.phase"),
    PrinterColumn("Ready", ".status.ready"),
    PrinterColumn("Restarts", ".status.restarts"),
    PrinterColumn("Epoch", ".status.epoch", priority=1),
    PrinterColumn("Controller", ".status.controller", priority=1),
    AGE,
)


class WorkloadProcess(
    CustomResource, group=_GROUP, version="v1", columns=_COLUMNS, categories=["highlander"]
):
    """One pod of which there is never a second."""

    spec: ProcessSpec
    status: WorkloadStatus = WorkloadStatus()


class WorkloadCronJob(
    CustomResource, group=_GROUP, version="v1", columns=_COLUMNS, categories=["highlander"]
):
    """A job by schedule, of which one runs at a time."""

    spec: CronJobSpec
    status: WorkloadStatus = WorkloadStatus()


class WorkloadService(
    CustomResource, group=_GROUP, version="v1", columns=_COLUMNS, categories=["highlander"]
):
    """A Deployment and its Service, in one cluster at a time."""

    spec: ServiceSpec
    status: WorkloadStatus = WorkloadStatus()


class WorkloadPersistent(
    CustomResource, group=_GROUP, version="v1", columns=_COLUMNS, categories=["highlander"]
):
    """A StatefulSet, its Service and its claims."""

    spec: PersistentSpec
    status: WorkloadStatus = WorkloadStatus()


class PublicProcess(WorkloadProcess, group=_PUBLIC_GROUP):
    """As the public project has it."""


class PublicCronJob(WorkloadCronJob, group=_PUBLIC_GROUP):
    """As the public project has it."""


class PublicService(WorkloadService, group=_PUBLIC_GROUP):
    """As the public project has it."""


class PublicPersistent(WorkloadPersistent, group=_PUBLIC_GROUP):
    """As the public project has it."""


Workload = WorkloadProcess | WorkloadCronJob | WorkloadService | WorkloadPersistent

RESOURCES: Final[tuple[type[Workload], ...]] = (
    WorkloadProcess,
    WorkloadCronJob,
    WorkloadService,
    WorkloadPersistent,
    PublicProcess,
    PublicCronJob,
    PublicService,
    PublicPersistent,
)


def definitions(*, public: bool = False) -> list[dict[str, Any]]:
    """The custom resource definitions; with `public`, those of the public project's group too."""
    return [each.crd() for each in RESOURCES if public or each.resource_type.group == _GROUP]
