"""How operators are to be run in a cluster: what the command line asks for, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steersman.election import RaftConfig
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1123_label
from steersman.operator.errors import OperatorError
from steersman.operator.operator import Chain
from steersman.operator.packaging.election import Engine, engine_of
from steersman.operator.packaging.permissions import Permission, permissions
from steersman.webhooks import default_names

__all__ = ["METRICS_PORT", "WEBHOOK_PORT", "Release", "default_name"]

METRICS_PORT = 8080
WEBHOOK_PORT = 9443


def default_name(operators: Sequence[Chain[Any]]) -> str:
    """`webapp-operator`: of the kind that the first operator is for."""
    kind = operators[0].definition.resource.kind
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z]+[A-Z])", "-", kind)
    return f"{words.lower()}-operator"


@dataclass(frozen=True, slots=True)
class Release:
    """Operators as one workload. Raises OperatorError for what would not work."""

    operators: Sequence[Chain[Any]]
    name: str
    namespace: str
    image: str
    #: What the container runs.
    command: Sequence[str]
    #: None: as many as the election is good for.
    wanted_replicas: int | None = None
    crds: Sequence[Object] = ()
    fencing: bool = False
    #: The Secret with the key `url` of Redis or PostgreSQL; by default NAME-lock.
    lock_secret: str = ""
    #: Whether the election was chosen for this release; else the operators declare it.
    chosen_election: bool = False

    def __post_init__(self) -> None:
        for what, value in (("name", self.name), ("namespace", self.namespace)):
            if problems := is_dns1123_label(value):
                raise OperatorError(f"the {what} {value!r} cannot be used: {problems[0]}")
        if self.replicas > 1 and not self.is_coordinated:
            raise OperatorError(
                "several replicas without leader election would all do the same work: choose one with --ha"
            )
        if self.fencing and self.engine is Engine.NONE:
            raise OperatorError("fencing needs leader election: choose --ha")
        raft = self.raft
        if raft is not None and raft.settings.namespace != self.namespace:
            raise OperatorError(
                f"the operator's RaftConfig is for the namespace {raft.settings.namespace!r}, "
                f"not for {self.namespace!r}"
            )
        if raft is not None and not raft.settings.service:
            raise OperatorError("the operator's RaftConfig names no headless Service: .service_name(…)")

    @property
    def labels(self) -> Mapping[str, str]:
        """What its objects carry and its pods are selected by."""
        return {"app.kubernetes.io/name": self.name}

    @property
    def engine(self) -> Engine:
        return engine_of(self.operators)

    @property
    def is_coordinated(self) -> bool:
        """Whether several replicas do not do the same work: one leads, or they share the objects."""
        shared = any(operator.definition.sharding is not None for operator in self.operators)
        return shared or self.engine is not Engine.NONE

    @property
    def replicas(self) -> int:
        if self.wanted_replicas is not None:
            return self.wanted_replicas
        return 3 if self.engine is Engine.RAFT else 2 if self.is_coordinated else 1

    @property
    def raft(self) -> RaftConfig | None:
        """The Raft cluster that the replicas are, if they are one."""
        for operator in self.operators:
            if isinstance(operator.definition.election, RaftConfig):
                return operator.definition.election
        return None

    @property
    def webhooks(self) -> str:
        """The Service that the API asks webhooks through; empty without any."""
        for operator in self.operators:
            definition = operator.definition
            if definition.hooks or definition.versions is not None:
                return default_names(definition.name)[1]
        return ""

    @property
    def permissions(self) -> list[Permission]:
        return permissions(self.operators, namespace=self.namespace, name=self.name)
