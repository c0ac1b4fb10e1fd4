"""From a key in the queue to the author's function and back: what happens around every reconcile.

gone                        nothing
being deleted, ours to hold dependents taken down if they have an order, `on_delete`, finalizer removed
being deleted otherwise     nothing
there                       finalizer added if wanted, dependents, `reconcile`
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

from steersman.objects.errors import ObjectError
from steersman.objects.kinds import Object
from steersman.objects.lifetime import is_deleting
from steersman.objects.resource_type import Typed
from steersman.operator.action import Action
from steersman.operator.context import Context, Tools
from steersman.operator.definition import Definition
from steersman.operator.dependents import Progress, bring_about, take_down
from steersman.runtime import Cached, Key, Request, Result, TerminalError
from steersman.runtime.finalizers import add_finalizer, remove_finalizer

__all__ = ["Reconciler"]

R = TypeVar("R", bound=Typed)

#: The condition that dependents without a reconcile function keep.
_READY = "Ready"
#: A child that is gone is a change; this is for those whose change was missed.
_LOOK_AGAIN_S = 30.0


class Objects(Protocol):
    """What is asked of the cache of the operator's own objects."""

    def get(self, key: Key) -> Cached | None: ...


class Reconciler(Generic[R]):
    """One operator's reconcile, as its controller calls it."""

    def __init__(self, definition: Definition[R], cache: Objects, tools: Tools) -> None:
        self._definition = definition
        self._cache = cache
        self._tools = tools

    async def __call__(self, request: Request) -> Result:
        cached = self._cache.get(request.key)
        return Result.done() if cached is None else await self.reconcile(cached.object(), request)

    async def reconcile(self, obj: Object, request: Request) -> Result:
        """The same for an object that is at hand."""
        if is_deleting(obj):
            return await self._delete(obj, request)
        held = await self._hold(obj)
        if held is None:
            return Result.done()
        ctx = self.context(held, request)
        action: Action | None = None
        progress: Progress | None = None
        if self._definition.dependents:
            progress = await bring_about(ctx, self._definition.dependents)
        if self._definition.reconcile is not None:
            action = await self._definition.reconcile(ctx)
        elif progress is not None:
            await _show(ctx, progress)
        return self._result(action, self._definition.requeue_after_s)

    def context(self, obj: Object, request: Request) -> Context[R]:
        """A context for an object, which must be of its class."""
        ctx = Context(self._definition.kind, obj, request, self._tools)
        try:
            ctx.resource  # noqa: B018 - what the class does not accept fails here, before any work
        except ObjectError as error:
            self._tools.recorder.event(obj, "Warning", "InvalidObject", str(error))
            raise TerminalError(str(error)) from error
        return ctx

    async def _delete(self, obj: Object, request: Request) -> Result:
        finalizer = self._definition.finalizer
        if finalizer is None or finalizer not in obj["metadata"].get("finalizers", ()):
            return Result.done()
        if self._definition.ordered_deletion:
            progress = await take_down(self.context(obj, request), self._definition.dependents)
            if not progress.complete:
                return Result.requeue(_LOOK_AGAIN_S)
        action: Action | None = None
        if self._definition.on_delete is not None:
            ctx = self.context(obj, request)
            action = await self._definition.on_delete(ctx)
            obj = ctx.object
        if action is not None and action.after_s is not None:
            return Result.requeue(action.after_s)
        await remove_finalizer(self._tools.writes, self._definition.resource, obj, finalizer)
        return Result.done()

    async def _hold(self, obj: Object) -> Object | None:
        """The object with our finalizer, if it should have one; None if it is gone."""
        finalizer = self._definition.finalizer
        if finalizer is None or finalizer in obj["metadata"].get("finalizers", ()):
            return obj
        return await add_finalizer(self._tools.writes, self._definition.resource, obj, finalizer)

    @staticmethod
    def _result(action: Action | None, default_s: float | None) -> Result:
        after_s = default_s if action is None else action.after_s
        return Result.done() if after_s is None else Result.requeue(after_s)


async def _show(ctx: Context[Any], progress: Progress) -> None:
    """Say how far the dependents are, for kinds whose status has conditions."""
    if not _has_conditions(ctx.resource):
        return
    if progress.complete:
        await ctx.set_condition(_READY, True, "AllDependentsReady", "everything is there and ready")
    else:
        waiting = ", ".join(progress.pending)
        await ctx.set_condition(_READY, False, "WaitingForDependents", f"waiting for {waiting}")


def _has_conditions(resource: Any) -> bool:
    return hasattr(getattr(resource, "status", None), "conditions")
