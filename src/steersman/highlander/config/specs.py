"""What can be said of a workload: in the file, and as the spec of a custom resource.

Names and meanings are those of the public project where it has them; the rest are Kubernetes' own, given as
Kubernetes spells them and passed on as they are.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from steersman.highlander.state import WorkloadKind
from steersman.objects.custom import Duration, Model, preserve_unknown
from steersman.objects.custom.scalars import INT_OR_STRING
from steersman.objects.kinds.enums import Protocol, PullPolicy, RestartPolicy
from steersman.objects.names import is_dns1035_label, is_dns1123_label, is_dns1123_subdomain

__all__ = [
    "CronJobSpec",
    "PersistentSpec",
    "PersistentVolume",
    "Port",
    "ProcessSpec",
    "Raw",
    "ResourcesSpec",
    "Script",
    "ServiceSpec",
    "Sidecar",
    "Span",
    "WorkloadSpec",
]

#: A piece of a Kubernetes object, judged by the API server.
Raw = Annotated[dict[str, Any], preserve_unknown()]


def _span(value: object) -> object:
    """Seconds may be given as a number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return timedelta(seconds=value)
    return value


#: `30`, `"30s"` or `"2m"`.
Span = Annotated[Duration, BeforeValidator(_span), WithJsonSchema(INT_OR_STRING)]


def _text(value: object) -> object:
    """YAML makes numbers and booleans of what is meant as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


Text = Annotated[str, BeforeValidator(_text)]


class Script(Model):
    """Commands of a shell, one after the other; the first that fails is the last."""

    commands: list[str] = Field(min_length=1)
    shell: str = "/bin/sh"


class ResourcesSpec(Model):
    cpu_request: Text = ""
    memory_request: Text = ""
    cpu_limit: Text = ""
    memory_limit: Text = ""


class Port(Model):
    name: str = ""
    container_port: int = Field(ge=1, le=65535)
    service_port: int | None = Field(default=None, ge=1, le=65535)
    protocol: Protocol = "TCP"


class Sidecar(Model):
    """A container beside the main one, or (under `initContainers`) before it."""

    name: str
    image: str
    command: list[str] = Field(default_factory=list)
    args: list[str] = Field(default_factory=list)
    env: dict[str, Text] = Field(default_factory=dict)
    resources: ResourcesSpec | None = None
    volume_mounts: list[Raw] = Field(default_factory=list)
    security_context: Raw | None = None
    ports: list[Port] = Field(default_factory=list)


class CrdReference(Model):
    """The custom resource whose spec this entry is."""

    api_version: str = ""
    kind: str = ""
    name: str
    namespace: str = ""


class WorkloadSpec(Model):
    """What all four kinds have in common."""

    kind: ClassVar[WorkloadKind]

    name: str = ""
    namespace: str = ""
    image: str = ""
    script: Script | None = None
    command: list[str] = Field(default_factory=list)
    args: list[str] = Field(default_factory=list)
    env: dict[str, Text] = Field(default_factory=dict)
    env_list: list[Raw] = Field(default_factory=list, description="Variables with name, value or valueFrom.")
    env_from: list[Raw] = Field(default_factory=list)
    resources: ResourcesSpec | None = None
    config_maps: list[str] = Field(default_factory=list, description="Mounted at /etc/config/NAME.")
    secrets: list[str] = Field(default_factory=list, description="Mounted at /etc/secrets/NAME.")
    labels: dict[str, Text] = Field(default_factory=dict)
    annotations: dict[str, Text] = Field(default_factory=dict)
    restart_policy: RestartPolicy | None = None
    node_selector: dict[str, Text] = Field(default_factory=dict)
    ports: list[Port] = Field(default_factory=list)
    sidecars: list[Sidecar] = Field(default_factory=list)
    init_containers: list[Sidecar] = Field(default_factory=list)
    volumes: list[Raw] = Field(default_factory=list)
    volume_mounts: list[Raw] = Field(default_factory=list)
    liveness_probe: Raw | None = None
    readiness_probe: Raw | None = None
    startup_probe: Raw | None = None
    affinity: Raw | None = None
    tolerations: list[Raw] = Field(default_factory=list)
    service_account: str = ""
    image_pull_secrets: list[str] = Field(default_factory=list)
    image_pull_policy: PullPolicy | None = None
    security_context: Raw | None = Field(default=None, description="Of the pod.")
    container_security_context: Raw | None = None
    priority_class_name: str = ""
    pod_template_patch: Raw | None = Field(
        default=None, description="Merged into the pod template, strategically."
    )
    termination_grace_period: Span | None = None
    readiness_timeout: Span = timedelta(minutes=2)
    max_restarts: int | None = Field(
        default=None, ge=0, description="How often it may fail before it is given up."
    )
    tenant: str = Field(default="", description="The tenant it belongs to; in custom resources only.")
    workload_crd_ref: CrdReference | None = Field(default=None, alias="workloadCRDRef")

    @field_validator("name", "namespace")
    @classmethod
    def _names(cls, value: str) -> str:
        if value and (problems := is_dns1123_label(value)):
            raise ValueError(problems[0])
        return value

    @field_validator("config_maps", "secrets", "image_pull_secrets")
    @classmethod
    def _references(cls, values: list[str]) -> list[str]:
        for value in values:
            if problems := is_dns1123_subdomain(value):
                raise ValueError(f"{value!r}: {problems[0]}")
        return values

    @model_validator(mode="after")
    def _one_way_to_start(self) -> WorkloadSpec:
        if self.script is not None and (self.command or self.args):
            raise ValueError("script and command (or args) exclude each other: give one")
        return self

    @property
    def grace_s(self) -> int | None:
        span = self.termination_grace_period
        return None if span is None else max(0, round(span.total_seconds()))


class ProcessSpec(WorkloadSpec):
    """One pod."""

    kind = WorkloadKind.PROCESS

    grace_period: Span | None = Field(default=None, description="The same as terminationGracePeriod.")

    @property
    def grace_s(self) -> int | None:
        span = self.termination_grace_period or self.grace_period
        return None if span is None else max(0, round(span.total_seconds()))


class CronJobSpec(WorkloadSpec):
    kind = WorkloadKind.CRON_JOB

    schedule: str = ""
    time_zone: str = ""
    starting_deadline: Span | None = None
    active_deadline: Span | None = Field(default=None, description="How long a run may take.")
    backoff_limit: int | None = Field(default=None, ge=0)
    successful_jobs_history_limit: int | None = Field(default=None, ge=0)
    failed_jobs_history_limit: int | None = Field(default=None, ge=0)


class ServiceSpec(WorkloadSpec):
    kind = WorkloadKind.SERVICE

    replicas: int = Field(default=1, ge=0)
    health_check_path: str = ""
    health_check_port: int | None = Field(default=None, ge=1, le=65535)
    service_type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = "ClusterIP"


class PersistentVolume(Model):
    name: str
    mount_path: str
    storage_class_name: str = ""
    size: Text = "1Gi"
    access_modes: list[str] = Field(default_factory=lambda: ["ReadWriteOnce"])

    @field_validator("name")
    @classmethod
    def _is_name(cls, value: str) -> str:
        if problems := is_dns1123_label(value):
            raise ValueError(problems[0])
        return value


class PersistentSpec(ServiceSpec):
    kind = WorkloadKind.PERSISTENT

    service_name: str = Field(default="", description="Of the Service that names its pods; NAME if empty.")
    persistent_volumes: list[PersistentVolume] = Field(default_factory=list)

    @field_validator("service_name")
    @classmethod
    def _is_service_name(cls, value: str) -> str:
        if value and (problems := is_dns1035_label(value)):
            raise ValueError(problems[0])
        return value
