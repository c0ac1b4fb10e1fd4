"""What an operator is made of, as declared. Pure data: `Operator` fills it, `assembly` runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from steersman.election.config import ElectionConfig
from steersman.objects.resource_type import ResourceType, Typed
from steersman.operator.action import Action
from steersman.operator.context import Context
from steersman.operator.errors import OperatorError
from steersman.runtime import Change, Key, RetryPolicy

__all__ = ["Daemon", "Definition", "Dependent", "Mapper", "Reconcile", "Timer", "Watch"]

R = TypeVar("R", bound=Typed)

Reconcile = Callable[[Context[R]], Awaitable[Action | None]]
#: Which objects a change of another one concerns.
Mapper = Callable[[Change], Iterable[Key | str]]
Predicate = Callable[[Change], bool]


@dataclass(frozen=True, slots=True)
class Watch:
    """Changes of another resource that bring objects back."""

    resource: ResourceType
    mapper: Mapper
    predicate: Predicate | None = None


@dataclass(frozen=True, slots=True)
class Timer:
    name: str
    function: Callable[[Context[Any]], Awaitable[None]]
    every_s: float


@dataclass(frozen=True, slots=True)
class Daemon:
    name: str
    function: Callable[[Context[Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Dependent:
    """An object made for every object of the operator's, after those it needs are ready."""

    name: str
    kind: type[Typed]
    make: Callable[[Context[Any]], Awaitable[Typed | None]]
    after: tuple[str, ...]
    ready: Callable[[Any], bool] | None


@dataclass(slots=True)
class Definition(Generic[R]):
    kind: type[R]
    name: str
    reconcile: Reconcile[R] | None = None
    on_delete: Reconcile[R] | None = None
    finalizer: str | None = None
    requeue_after_s: float | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy.exponential)
    owns: dict[ResourceType, Predicate | None] = field(default_factory=dict)
    watches: list[Watch] = field(default_factory=list)
    #: What its functions do with other resources, beyond what follows from the rest: verbs by resource.
    uses: dict[ResourceType, tuple[str, ...]] = field(default_factory=dict)
    predicate: Predicate | None = None
    timers: list[Timer] = field(default_factory=list)
    daemons: list[Daemon] = field(default_factory=list)
    dependents: dict[str, Dependent] = field(default_factory=dict)
    election: ElectionConfig | None = None
    #: Empty: all of them.
    namespaces: tuple[str, ...] = ()
    selector: str = ""
    concurrency: int = 8
    timeout_s: float | None = None
    min_interval_s: float = 0.0

    @property
    def resource(self) -> ResourceType:
        return self.kind.resource_type

    def check(self) -> None:
        """Raises OperatorError for what cannot run."""
        if self.reconcile is None and not (self.dependents or self.timers or self.daemons):
            raise OperatorError(f"the operator {self.name} has nothing to do: give it a reconcile function")

    @property
    def has_status(self) -> bool:
        """Whether the status is written through a subresource of its own: built-in kinds' always is."""
        declared = getattr(self.kind, "model_fields", None)
        return declared is None or "status" in declared

    @property
    def default_finalizer(self) -> str:
        return f"{self.resource.kind.lower()}.{self.resource.group or 'steersman.dev'}/finalizer"
