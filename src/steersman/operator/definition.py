"""What an operator is made of, as declared. Pure data: `Operator` fills it, `assembly` runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from steersman.election.config import ElectionConfig
from steersman.objects.custom import CustomResource, Versions
from steersman.objects.resource_type import ResourceType, Typed
from steersman.operator.action import Action
from steersman.operator.context import Context
from steersman.operator.dependents import in_order
from steersman.operator.errors import OperatorError
from steersman.operator.sharding import Sharding
from steersman.runtime import Change, Key, RetryPolicy
from steersman.webhooks import Hook

__all__ = ["Conversion", "Daemon", "Definition", "Dependent", "Mapper", "Reconcile", "Timer", "Watch"]

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
    #: Whether a time at which nobody led is made up for.
    catch_up: bool


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


@dataclass(frozen=True, slots=True)
class Conversion:
    """A function from one version of the operator's resource to another."""

    source: type[CustomResource]
    target: type[CustomResource]
    function: Callable[[Any], Any]


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
    #: Whether dependents are deleted in the opposite order before their owner goes.
    ordered_deletion: bool = False
    hooks: list[Hook] = field(default_factory=list)
    conversions: list[Conversion] = field(default_factory=list)
    given_versions: Versions | None = None
    election: ElectionConfig | None = None
    sharding: Sharding | None = None
    #: Empty: all of them.
    namespaces: tuple[str, ...] = ()
    #: Labels of the namespaces to work in, instead of their names.
    namespace_selector: str = ""
    selector: str = ""
    concurrency: int = 8
    timeout_s: float | None = None
    min_interval_s: float = 0.0

    @property
    def resource(self) -> ResourceType:
        return self.kind.resource_type

    def check(self) -> None:
        """Raises OperatorError for what cannot run."""
        in_order(self.dependents)
        works = self.reconcile or self.dependents or self.timers or self.daemons
        if not (works or self.hooks or self.conversions or self.given_versions):
            raise OperatorError(f"the operator {self.name} has nothing to do: give it a reconcile function")

    @property
    def reconciles(self) -> bool:
        """Whether it looks after objects; one that only answers webhooks need not watch them."""
        return bool(self.reconcile or self.dependents or self.timers or self.daemons or self.finalizer)

    @property
    def versions(self) -> Versions | None:
        """The versions of its resource, if conversions between them are its work."""
        if self.given_versions is not None or not self.conversions:
            return self.given_versions
        if not issubclass(self.kind, CustomResource):
            raise OperatorError(
                f"{self.kind.__name__} is not a custom resource: it has no versions to convert"
            )
        ends = [end for each in self.conversions for end in (each.source, each.target)]
        classes: list[type[CustomResource]] = list(dict.fromkeys([*ends, self.kind]))
        made = Versions(*classes, storage=self.resource.version, lossless=True)
        for each in self.conversions:
            made.converts(each.source, each.target)(each.function)
        return made

    def crd(self) -> dict[str, Any] | None:
        """The definition of its resource, with all versions; None for a kind that the API has by itself."""
        if self.versions is not None:
            return self.versions.crd()
        return self.kind.crd() if issubclass(self.kind, CustomResource) else None

    @property
    def has_status(self) -> bool:
        """Whether the status is written through a subresource of its own: built-in kinds' always is."""
        declared = getattr(self.kind, "model_fields", None)
        return declared is None or "status" in declared

    @property
    def default_finalizer(self) -> str:
        return f"{self.resource.kind.lower()}.{self.resource.group or 'steersman.dev'}/finalizer"
