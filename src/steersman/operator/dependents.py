"""Dependents: children declared one by one, with what must be ready before each.

    waiting   something it comes after is not there or not ready
    applied   made, or found as wanted; its own readiness is not reached
    ready     applied, and `ready(child)` says so (always, without such a function)

They form a graph without cycles. Branches that do not depend on each other are brought about at the same
time, and taken down in the opposite order if that was asked for. Nothing here waits: a child that becomes
ready, or is gone, is a change, and brings the object back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from steersman.aio import Scope
from steersman.operator.errors import OperatorError

if TYPE_CHECKING:
    from steersman.operator.context import Context
    from steersman.operator.definition import Dependent

__all__ = ["LABEL", "Progress", "add", "bring_about", "in_order", "take_down"]

#: Says which dependent of its owner a child is.
LABEL = "steersman.dev/dependent"


@dataclass(slots=True)
class Progress:
    ready: list[str]
    #: Applied or waited for, in order.
    pending: list[str]

    @property
    def complete(self) -> bool:
        return not self.pending


def add(declared: dict[str, Dependent], dependent: Dependent) -> None:
    """Declare one more. What it comes after may be declared later; `in_order` looks at the whole."""
    if dependent.name in declared:
        raise OperatorError(f"two dependents are named {dependent.name}")
    declared[dependent.name] = dependent


def in_order(declared: Mapping[str, Dependent]) -> list[Dependent]:
    """Each after all that it comes after. Raises OperatorError where that is impossible."""
    for name, dependent in declared.items():
        for earlier in dependent.after:
            if earlier not in declared:
                raise OperatorError(f"the dependent {name} comes after {earlier}, which is not declared")
    try:
        names = list(TopologicalSorter({name: each.after for name, each in declared.items()}).static_order())
    except CycleError as error:
        raise OperatorError(f"dependents wait for each other: {' → '.join(error.args[1])}") from None
    return [declared[name] for name in names]


async def bring_about(ctx: Context[Any], declared: Mapping[str, Dependent]) -> Progress:
    """Make what can be made now. Live children end up in `ctx.dependents`."""
    tasks: dict[str, asyncio.Task[bool | Exception]] = {}
    async with Scope() as scope:
        for dependent in in_order(declared):
            earlier = [tasks[name] for name in dependent.after]
            tasks[dependent.name] = scope.start(_settle(ctx, dependent, earlier), name=dependent.name)
        await scope.join()
    progress = Progress([], [])
    for name in declared:
        outcome = tasks[name].result()
        if isinstance(outcome, Exception):
            raise outcome
        (progress.ready if outcome else progress.pending).append(name)
    return progress


async def _settle(
    ctx: Context[Any], dependent: Dependent, earlier: Sequence[asyncio.Task[bool | Exception]]
) -> bool | Exception:
    """Whether it is ready, or why that cannot be said; other branches go on."""
    for task in earlier:
        if await task is not True:
            return False
    try:
        wanted = await dependent.make(ctx)
        if wanted is None:
            await _remove(ctx, dependent)
            return True
        live = ctx.dependents[dependent.name] = await _apply(ctx, dependent, wanted)
        return dependent.ready is None or bool(dependent.ready(live))
    except Exception as error:  # noqa: BLE001 - raised by `bring_about` when all have ended
        return error


async def take_down(ctx: Context[Any], declared: Mapping[str, Dependent]) -> Progress:
    """Delete what nothing else needs any more. Pending is what is still there."""
    progress = Progress([], [])
    kept: set[str] = set()
    for dependent in reversed(in_order(declared)):
        if dependent.name not in kept:
            await _remove(ctx, dependent)
        if dependent.name in kept or await _children(ctx, dependent):
            progress.pending.append(dependent.name)
            kept.update(dependent.after)
        else:
            progress.ready.append(dependent.name)
    return progress


async def _apply(ctx: Context[Any], dependent: Dependent, wanted: Any) -> Any:
    config = wanted.to_object()
    metadata = config["metadata"]
    metadata["labels"] = {**metadata.get("labels", {}), LABEL: dependent.name}
    return await ctx.apply(dependent.kind.from_object(config))


async def _children(ctx: Context[Any], dependent: Dependent) -> list[dict[str, Any]]:
    """The metadata of what earlier reconciles made of it."""
    found = [child.to_object()["metadata"] for child in await ctx.children(dependent.kind)]
    return [metadata for metadata in found if metadata.get("labels", {}).get(LABEL) == dependent.name]


async def _remove(ctx: Context[Any], dependent: Dependent) -> None:
    for metadata in await _children(ctx, dependent):
        if "deletionTimestamp" not in metadata:
            await ctx.delete(dependent.kind, metadata["name"], metadata.get("namespace"))
