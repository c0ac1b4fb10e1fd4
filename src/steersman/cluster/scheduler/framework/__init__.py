"""The scheduling framework: extension points, results, profiles and the handle of plugins. Start reading at
`plugin`.
"""

from __future__ import annotations

from steersman.cluster.scheduler.framework.cycle_state import CycleState, StateData
from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind, Hint, Hints
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import (
    MAX_SCORE,
    Bind,
    ColumnFilter,
    ColumnScore,
    EnqueueExtensions,
    Filter,
    NormalizeScore,
    Permit,
    Plugin,
    PostBind,
    PostFilter,
    PreBind,
    PreBindPreFlight,
    PreEnqueue,
    PreFilter,
    PreFilterExtensions,
    PreScore,
    QueueSort,
    Reserve,
    Resources,
    Score,
    SignPlugin,
    UsesResources,
)
from steersman.cluster.scheduler.framework.profile import Profile
from steersman.cluster.scheduler.framework.verdicts import (
    SKIP,
    NoFit,
    Nomination,
    OnlyNodes,
    Refusal,
    Skip,
    Wait,
)

__all__ = [
    "MAX_SCORE",
    "SKIP",
    "Bind",
    "ClusterEvent",
    "ColumnFilter",
    "ColumnScore",
    "CycleState",
    "EnqueueExtensions",
    "EventKind",
    "Filter",
    "Handle",
    "Hint",
    "Hints",
    "NoFit",
    "Nomination",
    "NormalizeScore",
    "OnlyNodes",
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
    "Profile",
    "QueueSort",
    "Refusal",
    "Reserve",
    "Resources",
    "Score",
    "SignPlugin",
    "Skip",
    "StateData",
    "UsesResources",
    "Wait",
]
