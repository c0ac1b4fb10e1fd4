"""The extension points of the scheduling framework, in the order they are called.

    pre_enqueue   may the pod enter the active queue?
    sort_key      which pod comes first
    pre_filter    the pod as a whole: reject it, restrict the nodes, store state, or skip the plugin
    filter        each node: reject it, or not
    post_filter   no node passed: preempt or nominate
    pre_score     store state for scoring, or skip the plugin
    score         each node that passed: 0 to 100 after `normalize`, times the plugin's weight
    reserve       the pod is assumed on its node; `unreserve` when that is undone
    permit        allow binding, reject, or wait
    pre_bind      prepare binding (asynchronous)
    bind          bind it (asynchronous); the first plugin that does ends the list
    post_bind     the pod is bound

A plugin is any object with a `name` and some of these methods: those it has are the points it takes part in.
Methods before `pre_bind` run in the scheduler's loop and must not block.

**Many nodes.** Asking a function about each of thousands of nodes for each pod is slow. Two ways out:
- A plugin whose `filter` and `score` depend on the node (and its pods) and a part of the pod alone has a
  `sign`: the part of the pod that it reads. Its results are kept for pods with the same signature, and only
  nodes that changed are computed again. It gets no `pre_score`, and state of `pre_filter` must follow from
  the signed part.
- A plugin that looks beyond the node may answer for many rows at once: `refused_rows`, `score_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.events import Hints
from steersman.cluster.scheduler.framework.verdicts import Nomination, OnlyNodes, Refusal, Skip, Wait
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.objects.resource_type import ResourceType
from steersman.runtime import Change

__all__ = [
    "MAX_SCORE",
    "Bind",
    "ColumnFilter",
    "ColumnScore",
    "EnqueueExtensions",
    "Filter",
    "NormalizeScore",
    "Permit",
    "Plugin",
    "PostBind",
    "PostFilter",
    "PreBind",
    "PreBindPreFlight",
    "PreEnqueue",
    "PreFilter",
    "PreFilterExtensions",
    "PreScore",
    "QueueSort",
    "Reserve",
    "Resources",
    "Score",
    "SignPlugin",
    "UsesResources",
]

MAX_SCORE: Final = 100

#: What a plugin reads besides pods and nodes, and who is to be told of changes.
Resources = Mapping[ResourceType, Callable[[Change], None] | None]


class Plugin(Protocol):
    """What every plugin has: its name."""

    @property
    def name(self) -> str: ...


@runtime_checkable
class QueueSort(Plugin, Protocol):
    """Orders the scheduling queue."""

    def sort_key(self, pod: PodInfo, queued_at: float) -> tuple[float, ...]:
        """Pods with smaller keys come first."""
        ...


@runtime_checkable
class PreEnqueue(Plugin, Protocol):
    """Decides whether a pod may enter the active queue."""

    def pre_enqueue(self, pod: PodInfo) -> Refusal | None: ...


@runtime_checkable
class PreFilter(Plugin, Protocol):
    """Checks the pod as a whole before any node."""

    def pre_filter(self, cycle: CycleState, pod: PodInfo) -> Refusal | OnlyNodes | Skip | None: ...


@runtime_checkable
class Filter(Plugin, Protocol):
    """Decides whether a node can run the pod."""

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None: ...


@runtime_checkable
class ColumnFilter(Filter, Protocol):
    """A `Filter` that answers for all nodes in one call."""

    def refused_rows(self, cycle: CycleState, pod: PodInfo) -> Iterable[tuple[Refusal, Iterable[int]]]:
        """All rows that `filter` refuses, and why; the first reason given for a row counts."""
        ...


@runtime_checkable
class PreFilterExtensions(Plugin, Protocol):
    """Updates the state written in `pre_filter` when preemption simulates adding or removing a pod."""

    def simulate(self, cycle: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: int) -> None:
        """`other` is added to the node (`sign` 1) or taken from it (-1)."""
        ...


@runtime_checkable
class PostFilter(Plugin, Protocol):
    """Is called when no node passed the filters (preemption)."""

    def post_filter(
        self, cycle: CycleState, pod: PodInfo, refusals: Mapping[str, Refusal], unasked: Refusal | None
    ) -> Nomination | None:
        """`refusals` are by node; `unasked` is for the nodes not among them. None: no opinion."""
        ...


@runtime_checkable
class PreScore(Plugin, Protocol):
    """Prepares scoring."""

    def pre_score(self, cycle: CycleState, pod: PodInfo) -> Skip | None: ...


@runtime_checkable
class Score(Plugin, Protocol):
    """Scores a node that passed the filters."""

    def score(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> int: ...


@runtime_checkable
class ColumnScore(Plugin, Protocol):
    """A replacement for `Score` that scores all nodes in one call."""

    def score_rows(self, cycle: CycleState, pod: PodInfo, rows: Sequence[int]) -> Sequence[int]:
        """The scores of the rows: all those that are left."""
        ...


@runtime_checkable
class NormalizeScore(Plugin, Protocol):
    """Maps the scores of all nodes to 0–100."""

    def normalize(self, cycle: CycleState, pod: PodInfo, scores: Sequence[int]) -> Sequence[int]:
        """The scores of all nodes that are left, brought to 0–100."""
        ...


@runtime_checkable
class SignPlugin(Plugin, Protocol):
    """Gives the signature of a pod: the part of it that the plugin's `filter` and `score` read."""

    def sign(self, pod: PodInfo) -> Hashable:
        """What of the pod the plugin looks at; see the module."""
        ...


@runtime_checkable
class Reserve(Plugin, Protocol):
    """Is called when a pod has been assigned to a node (assumed), and when that is undone."""

    def reserve(self, cycle: CycleState, pod: PodInfo, node: str) -> Refusal | None: ...

    def unreserve(self, cycle: CycleState, pod: PodInfo, node: str) -> None: ...


@runtime_checkable
class Permit(Plugin, Protocol):
    """Allows, rejects or delays the binding of a pod."""

    def permit(self, cycle: CycleState, pod: PodInfo, node: str) -> Refusal | Wait | None: ...


@runtime_checkable
class PreBindPreFlight(Plugin, Protocol):
    """A `PreBind` that knows beforehand whether it has to wait."""

    def will_pre_bind(self, cycle: CycleState, pod: PodInfo, node: str) -> bool:
        """Whether there is something to wait for before this pod can be bound; others are told meanwhile."""
        ...


@runtime_checkable
class PreBind(Plugin, Protocol):
    """Prepares binding, for example by binding volumes."""

    async def pre_bind(self, cycle: CycleState, pod: PodInfo, node: str) -> None:
        """Raises whatever keeps the pod from being bound now; it is tried again later."""
        ...


@runtime_checkable
class Bind(Plugin, Protocol):
    """Binds the pod to its node."""

    async def bind(self, cycle: CycleState, pod: PodInfo, node: str) -> bool:
        """Whether this plugin has bound the pod."""
        ...


@runtime_checkable
class PostBind(Plugin, Protocol):
    """Is called after binding."""

    def post_bind(self, cycle: CycleState, pod: PodInfo, node: str) -> None: ...


@runtime_checkable
class EnqueueExtensions(Plugin, Protocol):
    """Names the events that may help pods it rejected; pods rejected by other plugins are retried on any
    event.
    """

    @property
    def hints(self) -> Hints: ...


@runtime_checkable
class UsesResources(Plugin, Protocol):
    """Reads other resources through `Handle.cache`: the scheduler starts informers for those it names."""

    @property
    def resources(self) -> Resources: ...
