"""What plugins answer, and what becomes of it when no node is left. Pure.

The words of `NoFit` are kube-scheduler's: people and tools look for them in events and conditions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["SKIP", "NoFit", "Nomination", "OnlyNodes", "Refusal", "Skip", "Wait"]


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """A node (or, before nodes are looked at, the pod itself) will not do.

    Plugins answer with constants where they can, so that thousands of nodes share one.
    """

    plugin: str
    reasons: tuple[str, ...]
    #: Whether removing pods from the node might help.
    resolvable: bool = True

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)


@dataclass(frozen=True, slots=True)
class Skip:
    """The plugin has nothing to say about this pod: it is not asked about nodes."""


SKIP: Final = Skip()


@dataclass(frozen=True, slots=True)
class OnlyNodes:
    """Only these nodes can do at all."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Wait:
    """The pod has its place but is not bound before somebody allows it, for so long at most."""

    timeout_s: float


@dataclass(frozen=True, slots=True)
class Nomination:
    """What a post-filter answers: where the pod is to go (empty: nowhere, None: as before), and why."""

    node: str | None
    message: str = ""


@dataclass(slots=True)
class NoFit:
    """Why no node took a pod."""

    nodes: int
    #: By the name of each node that was asked.
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    #: For the nodes that were not asked.
    unasked: Refusal | None = None
    #: The pod itself was refused before nodes were asked.
    pod: Refusal | None = None
    #: What a post-filter had to say.
    after: str = ""

    @property
    def plugins(self) -> set[str]:
        """Who refused."""
        found = {refusal.plugin for refusal in self.refusals.values()}
        found |= {refusal.plugin for refusal in (self.unasked, self.pod) if refusal is not None}
        return {name for names in found for name in names.split(",") if name}

    @property
    def message(self) -> str:
        text = f"0/{self.nodes} nodes are available:"
        if self.pod is not None:
            text += f" {self.pod.message}."
        elif reasons := _histogram(self._counted()):
            text += f" {', '.join(reasons)}."
        return f"{text} {self.after}" if self.after else text

    def _counted(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for refusal, count in Counter(self.refusals.values()).items():
            for reason in refusal.reasons:
                counts[reason] += count
        absent = self.nodes - len(self.refusals)
        if self.unasked is not None and absent > 0:
            for reason in self.unasked.reasons:
                counts[reason] += absent
        return counts


def _histogram(counts: Counter[str]) -> Iterable[str]:
    return sorted(f"{count} {reason}" for reason, count in counts.items())
