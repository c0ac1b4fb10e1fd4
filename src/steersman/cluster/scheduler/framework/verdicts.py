"""The results that plugins return, and the message of a pod that fits no node. Pure.

The wording of `NoFit` is kube-scheduler's: people and tools search for it in events and conditions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["SKIP", "NoFit", "Nomination", "OnlyNodes", "Refusal", "Skip", "Wait"]


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """A node (or, in `pre_filter`, the pod itself) is rejected.

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
    """The plugin does not apply to this pod: its `filter` or `score` is not called."""


SKIP: Final = Skip()


@dataclass(frozen=True, slots=True)
class OnlyNodes:
    """Restricts the nodes to be filtered to these."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Wait:
    """The pod is assigned to its node, but binding waits until a plugin allows it, at most this long."""

    timeout_s: float


@dataclass(frozen=True, slots=True)
class Nomination:
    """The result of `post_filter`: the node to nominate (empty: none, None: unchanged), and a message."""

    node: str | None
    message: str = ""


@dataclass(slots=True)
class NoFit:
    """The reasons why no node passed the filters (FitError)."""

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
