"""The admission chain: plugins that change or reject a write between authorization and storage.

Plugins are called in a fixed order: first every `admit` (may change the object), later, on the final object,
every `validate` (may only reject). A plugin rejects by raising a StatusError. Which plugins handle which
writes is computed once per (operation, resource), so the others cost nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from steersman.cluster.auth.users import User
from steersman.cluster.schema.resources import GVK
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, forbidden

__all__ = ["AdmissionChain", "AdmissionPlugin", "Attributes", "PendingEffect", "Reader"]


class Reader(Protocol):
    """Read access of plugins to stored objects."""

    def get(self, group: str, plural: str, namespace: str, name: str) -> Object | None: ...

    def list(self, group: str, plural: str, namespace: str = "") -> Sequence[Object]: ...


class PendingEffect(Protocol):
    """Something that a plugin reserved in `validate` (quota) and that is released if the write fails."""

    async def settle(self, *, stored: bool) -> None:
        """The write has ended; called once."""


@dataclass(slots=True)
class Attributes:
    """The write to be admitted (admission.Attributes). `object` is what would be stored (None on delete)."""

    operation: str  # CREATE, UPDATE, DELETE or CONNECT
    group: str
    version: str
    plural: str
    kind: str
    subresource: str
    namespace: str
    name: str
    object: Object | None
    old: Object | None
    user: User
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list)
    #: The request's options (CreateOptions, …) as clients of admission see them.
    options: Object | None = None
    #: The kind of `object` where it is not the resource's own (Scale, Eviction, Binding).
    object_kind: GVK | None = None
    #: What plugins note for the audit log; the first word on a key counts.
    annotations: dict[str, str] = field(default_factory=dict)
    #: Set by a plugin that changed what others have already seen: all are asked once more.
    wants_reinvocation: bool = False
    #: 0 the first time, 1 when plugins are asked once more.
    round: int = 0
    #: What plugins remember from the first round to the second, by their name.
    memory: dict[str, Any] = field(default_factory=dict)
    #: What whoever asked must settle when the write has ended, well or not.
    pending: tuple[PendingEffect, ...] = ()

    async def settle(self, *, stored: bool) -> None:
        """Tell the plugins that did something for this write how it ended."""
        pending, self.pending = self.pending, ()
        for each in pending:
            await each.settle(stored=stored)

    def refusal(self, why: str) -> StatusError:
        """The 403 of a plugin that says no. A name not generated yet is shown as far as it is known."""
        metadata = (self.object or {}).get("metadata", {})
        name = self.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
        return forbidden(self.group, self.plural, name, why)

    @property
    def gvk(self) -> GVK:
        return self.object_kind or GVK(self.group, self.version, self.kind)

    def replace_object(self, new: Object) -> None:
        """Make `object` equal to `new` without becoming another: the verb that asks holds on to it and to
        its metadata."""
        assert self.object is not None
        metadata = self.object["metadata"]
        if new["metadata"] is not metadata:
            changed = dict(new["metadata"])
            metadata.clear()
            metadata.update(changed)
        parts = {**new, "metadata": metadata}
        self.object.clear()
        self.object.update(parts)


class AdmissionPlugin(Protocol):
    """An admission plugin: `admit`, `validate` or both."""

    @property
    def name(self) -> str: ...

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool: ...

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Change the object, or refuse."""

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Refuse, or let pass."""


class AdmissionChain:
    """The plugins in the order they are called."""

    def __init__(self, plugins: Sequence[AdmissionPlugin], order: Sequence[str] = ()) -> None:
        """`order` are plugin names; `add` puts later ones in their places."""
        self._plugins = tuple(plugins)
        self._order = order
        self._interested: dict[tuple[str, str, str, str], tuple[AdmissionPlugin, ...]] = {}

    def add(self, plugins: Sequence[AdmissionPlugin]) -> None:
        together = [*self._plugins, *plugins]
        self._plugins = tuple(sorted(together, key=lambda plugin: self._order.index(plugin.name)))
        self._interested.clear()

    def _for(self, attributes: Attributes) -> tuple[AdmissionPlugin, ...]:
        key = (attributes.operation, attributes.group, attributes.plural, attributes.subresource)
        found = self._interested.get(key)
        if found is None:
            found = self._interested[key] = tuple(p for p in self._plugins if p.handles(*key))
        return found

    async def admit(self, attributes: Attributes) -> None:
        plugins = self._for(attributes)
        for plugin in plugins:
            if (pending := plugin.admit(attributes)) is not None:
                await pending
        if attributes.wants_reinvocation and not attributes.round:
            attributes.round = 1
            for plugin in plugins:
                if (pending := plugin.admit(attributes)) is not None:
                    await pending

    async def validate(self, attributes: Attributes) -> None:
        for plugin in self._for(attributes):
            if (pending := plugin.validate(attributes)) is not None:
                await pending
