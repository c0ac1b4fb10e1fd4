"""A scheduling profile: the plugins and score weights for one `spec.schedulerName`.

`Profile` sorts them by the points they take part in, once; everything else works with the sorted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from steersman.cluster.scheduler.framework.plugin import (
    Bind,
    ColumnScore,
    Filter,
    Permit,
    Plugin,
    PostBind,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    PreFilterExtensions,
    QueueSort,
    Reserve,
    Score,
    SignPlugin,
)

__all__ = ["Profile", "Weighted"]


class Weighted(NamedTuple):
    """A score plugin with its weight."""

    plugin: Score | ColumnScore
    weight: int


class Profile:
    """The plugins of a profile, in the order they are called."""

    def __init__(
        self, scheduler: str, plugins: Sequence[Plugin], weights: Mapping[str, int] | None = None
    ) -> None:
        """`weights` are of scores; 1 unless given, 0 leaves a score out. Raises ValueError for a profile
        that could not work: two plugins of one name, none that sorts or binds."""
        weights = weights or {}
        self.scheduler = scheduler
        self.plugins = tuple(plugins)
        names = [plugin.name for plugin in plugins]
        if len(set(names)) != len(names):
            raise ValueError(f"the profile {scheduler!r} has two plugins of one name: {', '.join(names)}")
        if unknown := set(weights) - set(names):
            raise ValueError(
                f"the profile {scheduler!r} has weights for no plugins: {', '.join(sorted(unknown))}"
            )
        sorting = [plugin for plugin in plugins if isinstance(plugin, QueueSort)]
        self.binding = [plugin for plugin in plugins if isinstance(plugin, Bind)]
        if len(sorting) != 1 or not self.binding:
            raise ValueError(f"the profile {scheduler!r} needs one plugin that sorts and one that binds")
        self.sorting = sorting[0]
        self.pre_enqueue = [plugin for plugin in plugins if isinstance(plugin, PreEnqueue)]
        self.pre_filters = [plugin for plugin in plugins if isinstance(plugin, PreFilter)]
        self.filters = [plugin for plugin in plugins if isinstance(plugin, Filter)]
        self.simulated = [plugin for plugin in plugins if isinstance(plugin, PreFilterExtensions)]
        self.post_filters = [plugin for plugin in plugins if isinstance(plugin, PostFilter)]
        self.scores = [
            Weighted(plugin, weights.get(plugin.name, 1))
            for plugin in self.plugins
            if isinstance(plugin, (Score, ColumnScore)) and weights.get(plugin.name, 1)
        ]
        self.reserving = [plugin for plugin in plugins if isinstance(plugin, Reserve)]
        self.permitting = [plugin for plugin in plugins if isinstance(plugin, Permit)]
        self.pre_binding = [plugin for plugin in plugins if isinstance(plugin, PreBind)]
        self.post_binding = [plugin for plugin in plugins if isinstance(plugin, PostBind)]
        self.remembered = [
            plugin
            for plugin in plugins
            if isinstance(plugin, SignPlugin) and isinstance(plugin, (Filter, Score))
        ]
