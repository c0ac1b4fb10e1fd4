"""The points at which plugins take part in finding a place for a pod, in the order they are asked.

    pre_enqueue   may the pod be looked at yet?
    sort_key      which pod comes first
    pre_filter    the pod as a whole: refuse it, limit the nodes, note something, or have nothing to say
    filter        each node: refuse it, or not
    post_filter   no node is left: what can be done?
    pre_score     note something for scoring, or have nothing to say
    score         each node that is left: 0 to 100 after `normalize`, times the plugin's weight
    reserve       the pod has its node; `unreserve` when it comes to nothing after all
    permit        let it be bound, refuse, or wait
    pre_bind      what must be done before (asynchronous)
    bind          bind it (asynchronous); the first that does it ends the matter
    post_bind     it is done

A plugin is any object with a `name` and some of these methods: those it has are the points it takes part in.
Methods before `pre_bind` run in the scheduler's loop and must not block.

**Many nodes.** Asking a function about each of thousands of nodes for each pod is slow. Two ways out:
- A plugin whose `filter` and `score` depend on the node (and its pods) and a part of the pod alone has a
  `sign`: what of the pod it looks at. Its answers are remembered for pods signed alike, and only nodes that
  changed are asked about again. It gets no `pre_score`, and notes of `pre_filter` must follow from the
  signed part.
- A plugin that looks beyond the node may answer for many rows at once: `refused_rows`, `score_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from steersman.cluster.scheduler.framework.cycle import Cycle
from steersman.cluster.scheduler.framework.events import Hints
from steersman.cluster.scheduler.framework.verdicts import Nomination, OnlyNodes, Refusal, Skip, Wait
from steersman.cluster.scheduler.model.node import Node
from steersman.cluster.scheduler.model.pod import Pod
from steersman.objects.resource_type import ResourceType
from steersman.runtime import Change

__all__ = [
    "MAX_SCORE",
    "Bind",
    "ColumnFilter",
    "ColumnScore",
    "Filter",
    "Following",
    "Foreseeing",
    "Normalizing",
    "Permit",
    "Plugin",
    "PostBind",
    "PostFilter",
    "PreBind",
    "PreEnqueue",
    "PreFilter",
    "PreScore",
    "QueueSort",
    "Remembered",
    "Reserve",
    "Resources",
    "Score",
    "Simulated",
    "Waking",
]

MAX_SCORE: Final = 100

#: What a plugin reads besides pods and nodes, and who is to be told of changes.
Resources = Mapping[ResourceType, Callable[[Change], None] | None]


class Plugin(Protocol):
    """All that every plugin has."""

    @property
    def name(self) -> str: ...


@runtime_checkable
class QueueSort(Plugin, Protocol):
    def sort_key(self, pod: Pod, queued_at: float) -> tuple[float, ...]:
        """Pods with smaller keys come first."""
        ...


@runtime_checkable
class PreEnqueue(Plugin, Protocol):
    def pre_enqueue(self, pod: Pod) -> Refusal | None: ...


@runtime_checkable
class PreFilter(Plugin, Protocol):
    def pre_filter(self, cycle: Cycle, pod: Pod) -> Refusal | OnlyNodes | Skip | None: ...


@runtime_checkable
class Filter(Plugin, Protocol):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Refusal | None: ...


@runtime_checkable
class ColumnFilter(Filter, Protocol):
    def refused_rows(self, cycle: Cycle, pod: Pod) -> Iterable[tuple[Refusal, Iterable[int]]]:
        """All rows that `filter` refuses, and why; the first reason given for a row counts."""
        ...


@runtime_checkable
class Simulated(Plugin, Protocol):
    """What was noted in `pre_filter` depends on other pods: preemption tries what if they were not there."""

    def simulate(self, cycle: Cycle, pod: Pod, other: Pod, node: Node, sign: int) -> None:
        """`other` is added to the node (`sign` 1) or taken from it (-1)."""
        ...


@runtime_checkable
class PostFilter(Plugin, Protocol):
    def post_filter(
        self, cycle: Cycle, pod: Pod, refusals: Mapping[str, Refusal], unasked: Refusal | None
    ) -> Nomination | None:
        """`refusals` are by node; `unasked` is for the nodes not among them. None: no opinion."""
        ...


@runtime_checkable
class PreScore(Plugin, Protocol):
    def pre_score(self, cycle: Cycle, pod: Pod) -> Skip | None: ...


@runtime_checkable
class Score(Plugin, Protocol):
    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int: ...


@runtime_checkable
class ColumnScore(Plugin, Protocol):
    """Instead of `Score`."""

    def score_rows(self, cycle: Cycle, pod: Pod, rows: Sequence[int]) -> Sequence[int]:
        """The scores of the rows: all those that are left."""
        ...


@runtime_checkable
class Normalizing(Plugin, Protocol):
    def normalize(self, cycle: Cycle, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        """The scores of all nodes that are left, brought to 0–100."""
        ...


@runtime_checkable
class Remembered(Plugin, Protocol):
    def sign(self, pod: Pod) -> Hashable:
        """What of the pod the plugin looks at; see the module."""
        ...


@runtime_checkable
class Reserve(Plugin, Protocol):
    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Refusal | None: ...

    def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None: ...


@runtime_checkable
class Permit(Plugin, Protocol):
    def permit(self, cycle: Cycle, pod: Pod, node: str) -> Refusal | Wait | None: ...


@runtime_checkable
class Foreseeing(Plugin, Protocol):
    """A `PreBind` that knows before how long it may take."""

    def will_pre_bind(self, cycle: Cycle, pod: Pod, node: str) -> bool:
        """Whether there is something to wait for before this pod can be bound; others are told meanwhile."""
        ...


@runtime_checkable
class PreBind(Plugin, Protocol):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Raises whatever keeps the pod from being bound now; it is tried again later."""
        ...


@runtime_checkable
class Bind(Plugin, Protocol):
    async def bind(self, cycle: Cycle, pod: Pod, node: str) -> bool:
        """Whether this plugin has bound the pod."""
        ...


@runtime_checkable
class PostBind(Plugin, Protocol):
    def post_bind(self, cycle: Cycle, pod: Pod, node: str) -> None: ...


@runtime_checkable
class Waking(Plugin, Protocol):
    """Knows what may help pods it refused; those of other plugins are tried again whatever happens."""

    @property
    def hints(self) -> Hints: ...


@runtime_checkable
class Following(Plugin, Protocol):
    """Reads other resources through `Handle.cache`: the scheduler follows those it names."""

    @property
    def resources(self) -> Resources: ...
