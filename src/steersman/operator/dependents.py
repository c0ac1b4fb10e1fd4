"""Dependents: children declared one by one, with what must be ready before each.

    waiting   something it comes after is not there or not ready
    applied   made, or found as wanted; its own readiness is not reached
    ready     applied, and `ready(child)` says so (always, without such a function)

Nothing here waits: a child that becomes ready is a change, and brings the object back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steersman.operator.errors import OperatorError

if TYPE_CHECKING:
    from steersman.operator.context import Context
    from steersman.operator.definition import Dependent

__all__ = ["LABEL", "Progress", "add", "bring_about"]

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
    """Declare one more. What it comes after must be there already, so there are no cycles."""
    if dependent.name in declared:
        raise OperatorError(f"two dependents are named {dependent.name}")
    for earlier in dependent.after:
        if earlier not in declared:
            raise OperatorError(
                f"the dependent {dependent.name} comes after {earlier}, which is not declared before it"
            )
    declared[dependent.name] = dependent


async def bring_about(ctx: Context[Any], declared: Mapping[str, Dependent]) -> Progress:
    """Make what can be made now. Live children end up in `ctx.dependents`."""
    progress = Progress([], [])
    for name, dependent in declared.items():
        if any(earlier not in progress.ready for earlier in dependent.after):
            progress.pending.append(name)
            continue
        wanted = await dependent.make(ctx)
        if wanted is None:
            await _remove(ctx, dependent)
            progress.ready.append(name)
            continue
        live = ctx.dependents[name] = await _apply(ctx, dependent, wanted)
        is_ready = dependent.ready is None or dependent.ready(live)
        (progress.ready if is_ready else progress.pending).append(name)
    return progress


async def _apply(ctx: Context[Any], dependent: Dependent, wanted: Any) -> Any:
    config = wanted.to_object()
    metadata = config["metadata"]
    metadata["labels"] = {**metadata.get("labels", {}), LABEL: dependent.name}
    return await ctx.apply(dependent.kind.from_object(config))


async def _remove(ctx: Context[Any], dependent: Dependent) -> None:
    """Delete what an earlier reconcile made of it."""
    for child in await ctx.children(dependent.kind):
        metadata = child.to_object()["metadata"]
        if metadata.get("labels", {}).get(LABEL) == dependent.name:
            await ctx.delete(dependent.kind, metadata["name"], metadata.get("namespace"))
