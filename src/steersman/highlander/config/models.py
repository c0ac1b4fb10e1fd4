"""What can be said about one tenant: its lock, its cluster, its workloads. Values only.

The keys are those of the public project, whose files work unchanged; what is ours beside them is grouped
(`election`, `lease`, `raft`, `api`).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Literal

from pydantic import AliasChoices, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from steersman.highlander.config.specs import (
    CronJobSpec,
    PersistentSpec,
    ProcessSpec,
    ServiceSpec,
    Span,
    WorkloadSpec,
)
from steersman.objects.custom import Model

__all__ = [
    "ApiConfig",
    "ClusterSection",
    "ElectionSection",
    "LeaseSection",
    "RaftSection",
    "RedisSection",
    "TenantConfig",
    "WorkloadsSection",
]


class RedisSection(Model):
    addr: str = Field(
        default="localhost:6379", description="HOST:PORT, or a URL: redis://, rediss://, unix://, …"
    )
    password: SecretStr | None = Field(
        default=None, description="The password. Prefer passwordFile or HIGHLANDER_REDIS_PASSWORD."
    )
    password_file: str = ""
    db: int = Field(default=0, ge=0)


class ClusterSection(Model):
    name: str = "default"
    kubeconfig: str = Field(
        default="", description="The kubeconfig; default: KUBECONFIG, or the pod's service account."
    )
    context: str = ""


class ElectionSection(Model):
    """How long a lock lives without its leader, and how long a leader leads without its lock."""

    lease_duration: Span = timedelta(seconds=15)
    renew_deadline: Span = timedelta(seconds=10)
    retry_period: Span = timedelta(seconds=2)
    step_down_pause: Span = Field(
        default=timedelta(seconds=30), description="How long a leader does not contend after stepping down."
    )
    failback_after: Span = Field(
        default=timedelta(minutes=1),
        description="How long a contender of higher priority must be healthy before the leader hands over.",
    )
    give_up_after: Span | None = Field(
        default=None,
        description="How long a leader may be disconnected from its cluster before another one takes over, "
        "although its copies may still be running; default: never.",
    )

    @model_validator(mode="after")
    def _ordered(self) -> ElectionSection:
        if not self.lease_duration > self.renew_deadline > self.retry_period > timedelta():
            raise ValueError("leaseDuration > renewDeadline > retryPeriod > 0 must hold")
        return self


class LeaseSection(Model):
    name: str = Field(default="", description="The name of the Lease; default: highlander-TENANT.")
    namespace: str = ""


class RaftSection(Model):
    service: str = Field(
        default="", description="The headless Service of the StatefulSet of the controllers."
    )
    namespace: str = Field(
        default="", description="The namespace of the Service; default: the tenant's namespace."
    )
    node_id: int | None = None
    peers: dict[int, str] = Field(
        default_factory=dict, description="The node ID and HOST:PORT of every node."
    )
    storage: str = Field(default="", description="The data folder; default: in memory.")
    tls: str = Field(default="", description="A folder with ca.crt, tls.crt and tls.key.")
    insecure: bool = False
    listen: str = ""


class ApiConfig(Model):
    """The HTTP listener of the process; `port` is its port."""

    bind: str = Field(default="", description="The address to listen on; default: all addresses.")
    token_file: str = Field(
        default="", description="The file with the token for actions (pause, restart, step down, …)."
    )
    tls_cert_file: str = ""
    tls_key_file: str = ""
    client_ca_file: str = Field(
        default="", description="The CA of client certificates that are accepted instead of the token."
    )


class WorkloadsSection(Model):
    processes: list[ProcessSpec] = Field(default_factory=list)
    cron_jobs: list[CronJobSpec] = Field(default_factory=list)
    services: list[ServiceSpec] = Field(default_factory=list)
    persistent_sets: list[PersistentSpec] = Field(default_factory=list)

    def __iter__(self) -> Iterator[WorkloadSpec]:  # type: ignore[override]  # what people mean by its items
        yield from self.processes
        yield from self.cron_jobs
        yield from self.services
        yield from self.persistent_sets

    def placed(self) -> Iterator[tuple[tuple[str | int, ...], WorkloadSpec]]:
        """Each with its place in the file."""
        for name, kind in type(self).model_fields.items():
            for number, spec in enumerate(getattr(self, name)):
                yield ("workloads", kind.alias or name, number), spec


class TenantConfig(Model):
    """One lock and what runs under it."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(
        default="", description="The name of this controller; default: the host name. Need not be unique."
    )
    namespace: str = "default"
    tenant: str = "default"
    port: int = Field(default=8080, ge=0, le=65535)
    remains_follower: bool = Field(default=False, description="Never contend for the lock; follow only.")
    storage_type: Literal["redis", "db", "lease", "raft"] = "redis"
    redis: RedisSection = Field(default_factory=RedisSection)
    database_url: SecretStr | None = Field(
        default=None,
        alias="databaseURL",
        validation_alias=AliasChoices("databaseURL", "databaseUrl", "database_url"),
    )
    database_url_file: str = Field(default="", alias="databaseURLFile")
    lease: LeaseSection = Field(default_factory=LeaseSection)
    raft: RaftSection = Field(default_factory=RaftSection)
    cluster: ClusterSection = Field(default_factory=ClusterSection)
    election: ElectionSection = Field(default_factory=ElectionSection)
    api: ApiConfig = Field(default_factory=ApiConfig)
    termination_grace_period: Span | None = None
    on_loss: Literal["stop", "leave"] = Field(
        default="stop", description="What happens to the workloads when leadership is lost."
    )
    priority: int = Field(
        default=0, ge=0, description="A leader hands over to contenders with a higher priority."
    )
    custom_resources: bool = Field(
        default=False, description="Also run the custom resources (WorkloadProcess, …) of this tenant."
    )
    workloads: WorkloadsSection = Field(default_factory=WorkloadsSection)

    @property
    def references(self) -> frozenset[tuple[str, str, str]]:
        """Kind, namespace and name of custom resources that are this tenant's because the file says so."""
        return frozenset(
            (spec.kind, reference.namespace or spec.namespace or self.namespace, reference.name)
            for spec in self.workloads
            if (reference := spec.workload_crd_ref) is not None
        )

    @property
    def given_database_url(self) -> str:
        """The database's URL, with its password; empty if it is in `database_url_file`."""
        return self.database_url.get_secret_value() if self.database_url is not None else ""

    @property
    def storage_address(self) -> str:
        """Where the lock is, as far as it may be shown: nothing of who asks for it."""
        match self.storage_type:
            case "redis":
                return _without_user(self.redis.addr)
            case "db":
                url = self.given_database_url
                return _without_user(url) if "://" in url else self.database_url_file
            case "lease":
                return f"{self.lease.namespace or self.namespace}/{self.lease.name or self.tenant}"
            case "raft":
                return self.raft.service or ", ".join(self.raft.peers.values())

    @property
    def follows_custom_resources(self) -> bool:
        return self.custom_resources or bool(self.references)

    @model_validator(mode="after")
    def _complete(self) -> TenantConfig:
        problems = list(self._problems())
        if problems:
            text = "; ".join(message for _, message in problems)
            raise PydanticCustomError("incomplete", "{text}", {"text": text, "problems": problems})
        return self

    def _problems(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Where, and what is wrong there, of what concerns more than one field."""
        if self.storage_type == "db" and self.database_url is None and not self.database_url_file:
            needed = "storageType db needs databaseURL, databaseURLFile or HIGHLANDER_DATABASE_URL"
            yield ("storageType",), needed
        seen: set[tuple[str, str, str]] = set()
        for place, spec in self.workloads.placed():
            key = (spec.kind, spec.namespace or self.namespace, spec.name)
            if not spec.name:
                yield (*place, "name"), f"a {spec.kind} has no name"
            elif key in seen:
                yield (*place, "name"), f"two workloads have the name {'/'.join(key)}"
            seen.add(key)
            if spec.workload_crd_ref is not None:
                continue
            if not spec.image:
                yield (*place, "image"), f"{spec.kind} {spec.name}: image is missing"
            if isinstance(spec, CronJobSpec) and not spec.schedule:
                yield (*place, "schedule"), f"{spec.kind} {spec.name}: schedule is missing"


def _without_user(url: str) -> str:
    """Without name, password and query, any of which may be secret."""
    scheme, separator, rest = url.rpartition("://")
    place, _, query = rest.partition("?")
    # Where an @ follows a ?, either may be part of a password.
    return f"{scheme}{separator}{'' if '@' in query else place.rpartition('@')[2]}"
