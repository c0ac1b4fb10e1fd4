"""`Operator`: how an operator is declared, by decorators or as one chain of calls.

    op = Operator(WebApp).owns(Deployment, Service)

    @op.reconcile
    async def reconcile(ctx: Context[WebApp]) -> Action: ...

    op.run()

or `Operator(WebApp).reconcile(f).on_delete(g).requeue_after(300).run()`: what registers a function returns
it as a `Handler`, which can be called like the function and continues the chain.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, Self, TypeVar, Unpack, cast, overload

from steersman.client import Client
from steersman.election.config import ElectionConfig
from steersman.objects.custom import CustomResource, Versions
from steersman.objects.resource_type import ResourceType, Typed
from steersman.operator import dependents
from steersman.operator.action import seconds
from steersman.operator.context import Context
from steersman.operator.definition import (
    Conversion,
    Daemon,
    Definition,
    Dependent,
    Mapper,
    Predicate,
    Reconcile,
    Timer,
    Watch,
)
from steersman.operator.errors import OperatorError
from steersman.operator.kinds import Kind, resource_of
from steersman.operator.sharding import Sharding
from steersman.runtime import RetryPolicy
from steersman.webhooks import AdmissionRequest, Hook, HookKeywords, HookOptions, WebhookError

__all__ = ["Chain", "Handler", "Operator"]

R = TypeVar("R", bound=Typed)
D = TypeVar("D", bound=Typed)
P = ParamSpec("P")
V = TypeVar("V")
F = TypeVar("F", bound=Callable[..., Awaitable[Any]])
Source = TypeVar("Source", bound=CustomResource)
Target = TypeVar("Target", bound=CustomResource)
#: A validating function returns warnings or nothing, a mutating one a changed object or nothing.
Ask = Callable[[AdmissionRequest[V]], Awaitable[Any]]

#: Timers of shorter intervals do not write down when they were called, unless they are asked to.
_CATCHES_UP_FROM_S = 3600.0


class Chain(Generic[R]):
    """Everything that can be declared. An `Operator` has it, and so has each of its handlers."""

    definition: Definition[R]

    # what it does

    def reconcile(self, function: Reconcile[R]) -> Handler[R, [Context[R]], Any]:
        """The function that brings the world to what an object says. Required, unless dependents do it."""
        self.definition.reconcile = _asynchronous(function, "reconcile")
        return Handler(self.definition, function)

    def on_delete(self, function: Reconcile[R]) -> Handler[R, [Context[R]], Any]:
        """The function that cleans up before an object goes. A finalizer holds the object until it has
        returned; an `Action.requeue` from it keeps the object longer."""
        self.definition.on_delete = _asynchronous(function, "on_delete")
        if self.definition.finalizer is None:
            self.definition.finalizer = self.definition.default_finalizer
        return Handler(self.definition, function)

    def timer(
        self, every: float | timedelta, *, catch_up: bool | None = None
    ) -> Callable[[Callable[[Context[R]], Awaitable[None]]], Handler[R, [Context[R]], None]]:
        """`@op.timer(60)`: a function called for every object in this interval, while the operator leads. The
        times of an object are the same after a restart.

        With `catch_up` a time that fell into a gap (a restart, a change of leader, an hour without operators)
        is made up for: once, however many were missed, and soon, within a fifth of the interval and ten
        minutes, not for all objects at once. For that, each call leaves its time in an annotation of the
        object. Without it the next time is waited for, and nothing is written. By default timers of an hour
        and more catch up.
        """
        every_s = seconds(every)
        if every_s <= 0:
            raise OperatorError("a timer needs an interval greater than zero")
        catches_up = every_s >= _CATCHES_UP_FROM_S if catch_up is None else catch_up

        def register(function: Callable[[Context[R]], Awaitable[None]]) -> Handler[R, [Context[R]], None]:
            timer = Timer(function.__name__, _asynchronous(function, "timer"), every_s, catches_up)
            self.definition.timers.append(timer)
            return Handler(self.definition, function)

        return register

    def daemon(self, function: Callable[[Context[R]], Awaitable[None]]) -> Handler[R, [Context[R]], None]:
        """A function that runs for every object as long as it exists; it is cancelled when the object or
        the leadership goes, and started again when it fails. One that returns is done with its object."""
        self.definition.daemons.append(Daemon(function.__name__, _asynchronous(function, "daemon")))
        return Handler(self.definition, function)

    def dependent(
        self,
        kind: type[D],
        *,
        after: str | Handler[Any, Any, Any] | tuple[str | Handler[Any, Any, Any], ...] = (),
        ready: Callable[[D], bool] | None = None,
    ) -> Callable[[Callable[[Context[R]], Awaitable[D | None]]], Handler[R, [Context[R]], D | None]]:
        """`@op.dependent(Deployment, after=config, ready=…)`: a function that returns a child, or None for
        none. One is made only when those it comes `after` (also by name: they may be declared later) are
        ready; others at the same time."""

        def register(
            function: Callable[[Context[R]], Awaitable[D | None]],
        ) -> Handler[R, [Context[R]], D | None]:
            earlier = after if isinstance(after, tuple) else (after,)
            dependent = Dependent(
                function.__name__,
                kind,
                _asynchronous(function, "dependent"),
                tuple(each if isinstance(each, str) else each.__name__ for each in earlier),
                ready,
            )
            dependents.add(self.definition.dependents, dependent)
            self.owns(kind)
            return Handler(self.definition, function)

        return register

    def with_ordered_deletion(self) -> Self:
        """Before an object goes, delete its dependents one after the other, those that come last first. A
        finalizer holds it until then; without this the cluster deletes them in any order."""
        self.definition.ordered_deletion = True
        if self.definition.finalizer is None:
            self.definition.finalizer = self.definition.default_finalizer
        return self

    # what the API asks before it stores

    @overload
    def validate(self, function: Ask[R], /) -> Handler[R, [AdmissionRequest[R]], Any]: ...

    @overload
    def validate(
        self, *, kind: type[D], **options: Unpack[HookKeywords]
    ) -> Callable[[Ask[D]], Handler[R, [AdmissionRequest[D]], Any]]: ...

    @overload
    def validate(
        self, *, kind: ResourceType, **options: Unpack[HookKeywords]
    ) -> Callable[[Ask[dict[str, Any]]], Handler[R, [AdmissionRequest[dict[str, Any]]], Any]]: ...

    @overload
    def validate(
        self, **options: Unpack[HookKeywords]
    ) -> Callable[[Ask[R]], Handler[R, [AdmissionRequest[R]], Any]]: ...

    def validate(self, function: Ask[Any] | None = None, *, kind: Kind | None = None, **options: Any) -> Any:
        """`@op.validate`, or with options (`HookOptions`): a function that raises `Denied` to refuse a write,
        and returns warnings or nothing. `kind` is another class than the operator's own."""
        return self._hook(function, kind, HookOptions(**options), mutating=False)

    @overload
    def mutate(self, function: Ask[R], /) -> Handler[R, [AdmissionRequest[R]], Any]: ...

    @overload
    def mutate(
        self, *, kind: type[D], **options: Unpack[HookKeywords]
    ) -> Callable[[Ask[D]], Handler[R, [AdmissionRequest[D]], Any]]: ...

    @overload
    def mutate(
        self, *, kind: ResourceType, **options: Unpack[HookKeywords]
    ) -> Callable[[Ask[dict[str, Any]]], Handler[R, [AdmissionRequest[dict[str, Any]]], Any]]: ...

    @overload
    def mutate(
        self, **options: Unpack[HookKeywords]
    ) -> Callable[[Ask[R]], Handler[R, [AdmissionRequest[R]], Any]]: ...

    def mutate(self, function: Ask[Any] | None = None, *, kind: Kind | None = None, **options: Any) -> Any:
        """`@op.mutate`, or with options: a function that changes `request.resource`, or returns a changed
        one, before it is stored. It may be asked twice about one write and then has nothing left to do."""
        return self._hook(function, kind, HookOptions(**options), mutating=True)

    def convert(
        self, source: type[Source], target: type[Target]
    ) -> Callable[[Callable[[Source], Target]], Callable[[Source], Target]]:
        """`@op.convert(WebAppV1, WebAppV2)`: a plain function from one version to another. The operator's own
        class is the version that is stored; what a version cannot hold is not lost (`Versions`)."""

        def register(function: Callable[[Source], Target]) -> Callable[[Source], Target]:
            self.definition.conversions.append(Conversion(source, target, function))
            return function

        return register

    def with_versions(self, versions: Versions) -> Self:
        """Serve these conversions, instead of declaring each with `convert`."""
        self.definition.given_versions = versions
        return self

    def _hook(
        self, function: Ask[Any] | None, kind: Kind | None, options: HookOptions, *, mutating: bool
    ) -> Any:
        def register(function: Ask[Any]) -> Handler[R, [AdmissionRequest[Any]], Any]:
            definition = self.definition
            try:
                hook = Hook.declare(
                    kind or definition.kind,
                    function,
                    mutating=mutating,
                    options=options,
                    others=definition.hooks,
                )
            except WebhookError as error:
                raise OperatorError(str(error)) from error
            definition.hooks.append(hook)
            return Handler(definition, function)

        return register if function is None else register(function)

    # what it looks at

    def owns(self, *kinds: Kind, when: Predicate | None = None) -> Self:
        """Changes of these objects, if they belong to one of ours, bring that one back."""
        for kind in kinds:
            self.definition.owns[resource_of(kind)] = when
        return self

    def watches(self, kind: Kind, mapper: Mapper, *, when: Predicate | None = None) -> Self:
        """Changes of other objects bring those of ours back that `mapper` names."""
        self.definition.watches.append(Watch(resource_of(kind), mapper, when))
        return self

    def uses(self, kind: Kind, *verbs: str) -> Self:
        """Say what the functions do with objects that are neither owned nor watched: `uses(Secret, "get")`.

        Nothing here checks it; the rights that `steer rbac` and `steer manifests` give are made of it.
        """
        resource = resource_of(kind)
        if not verbs:
            raise OperatorError(f"what is done with {resource.plural}? uses({resource.kind}, 'get')")
        known = self.definition.uses.get(resource, ())
        self.definition.uses[resource] = tuple(dict.fromkeys((*known, *verbs)))
        return self

    def when(self, predicate: Predicate) -> Self:
        """Look only at changes of our own objects that fit."""
        self.definition.predicate = predicate
        return self

    def in_namespaces(self, *namespaces: str, selector: str = "") -> Self:
        """Work in these namespaces only, or in those with the labels of `selector`, as they come and go; in
        all of them without this."""
        if namespaces and selector:
            raise OperatorError("namespaces are chosen by their names or by their labels, not by both")
        self.definition.namespaces = namespaces
        self.definition.namespace_selector = selector
        return self

    def with_selector(self, labels: str) -> Self:
        """Look only at objects with these labels; the API server chooses them."""
        self.definition.selector = labels
        return self

    # how it does it

    def with_finalizer(self) -> Self:
        """Hold objects until the operator has seen that they are to go."""
        return self.with_custom_finalizer(self.definition.default_finalizer)

    def with_custom_finalizer(self, name: str) -> Self:
        if "/" not in name:
            raise OperatorError(f"a finalizer's name is DOMAIN/NAME: {name!r}")
        self.definition.finalizer = name
        return self

    def requeue_after(self, after: float | timedelta) -> Self:
        """Look at every object again after this long, unless its reconcile says otherwise."""
        self.definition.requeue_after_s = seconds(after)
        return self

    def error_requeue(self, after: float | timedelta) -> Self:
        """Try again this long after a failure, always. Without this the wait doubles: 1 s, 2 s, … 5 min."""
        self.definition.retry = RetryPolicy.flat(seconds(after))
        return self

    def with_retry(self, retry: RetryPolicy) -> Self:
        self.definition.retry = retry
        return self

    def with_concurrency(self, reconciles: int) -> Self:
        """How many objects are reconciled at the same time; one object never twice."""
        if reconciles < 1:
            raise OperatorError("an operator needs at least one reconcile at a time")
        self.definition.concurrency = reconciles
        return self

    def with_timeout(self, limit: float | timedelta) -> Self:
        """Cancel a reconcile that takes longer; it counts as failed."""
        self.definition.timeout_s = seconds(limit)
        return self

    def with_min_interval(self, interval: float | timedelta) -> Self:
        """Let this much time pass between two reconciles of one object, however often it changes."""
        self.definition.min_interval_s = seconds(interval)
        return self

    def with_leader_election(self, election: ElectionConfig) -> Self:
        """Of all replicas let one work; the others stand by with warm caches."""
        self.definition.election = election
        return self

    def with_sharding(self, sharding: str | Sharding) -> Self:
        """Share the objects among all replicas: `with_sharding("my-operator")`. Each object is worked on by
        one of them at a time, and by another within seconds when that one goes."""
        self.definition.sharding = Sharding(sharding) if isinstance(sharding, str) else sharding
        return self

    # running

    def run(self) -> None:
        """Run until SIGTERM or Ctrl-C, against the cluster that the kubeconfig or the pod names."""
        from steersman.operator.assembly import run

        run(self)

    async def serve(self, client: Client | None = None, **settings: Any) -> None:
        """The same inside a running loop; see `steersman.operator.serve`."""
        from steersman.operator.assembly import serve

        await serve(self, client=client, **settings)


class Operator(Chain[R]):
    """An operator for the objects of one class: `Operator(WebApp)`."""

    def __init__(self, kind: type[R], *, name: str = "") -> None:
        resource = getattr(kind, "resource_type", None)
        if resource is None:
            raise OperatorError(f"{kind!r} is not a class of objects: derive it from CustomResource")
        default = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        self.definition = Definition(kind, name or default)

    def __repr__(self) -> str:
        return f"Operator({self.definition.kind.__name__})"


class Handler(Chain[R], Generic[R, P, V]):
    """A registered function: called like itself, and the chain goes on from it."""

    __name__: str

    def __init__(self, definition: Definition[R], function: Callable[P, Awaitable[V]]) -> None:
        self.definition = definition
        self._function = function
        update_wrapper(cast(Any, self), function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Awaitable[V]:
        return self._function(*args, **kwargs)


def _asynchronous(function: F, what: str) -> F:
    called = function if inspect.isroutine(function) else type(function).__call__
    if not inspect.iscoroutinefunction(called) and not isinstance(function, Handler):
        raise OperatorError(f"a {what} function is written with `async def`: {function!r} is not")
    return function
