"""The configuration of scheduling profiles, and constructing profiles from it.

    ProfileConfig()                                             kube-scheduler's own
    ProfileConfig("packing", add=[lambda handle: MyPlugin()])   a second one, with a plugin of yours

A pod chooses by `spec.schedulerName`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from steersman.cluster.scheduler.framework.events import Hints
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import EnqueueExtensions, Plugin
from steersman.cluster.scheduler.framework.profile import Profile
from steersman.cluster.scheduler.model.pod import DEFAULT_SCHEDULER
from steersman.cluster.scheduler.plugins.defaults import WEIGHTS, default_plugins

__all__ = ["PluginFactory", "ProfileConfig", "hints_of", "make_profile"]

#: Makes a plugin for a profile; the handle is how it looks at the cluster.
PluginFactory = Callable[[Handle], Plugin]


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """The plugins and weights for one scheduler name."""

    scheduler: str = DEFAULT_SCHEDULER
    #: Asked after the built-in ones. One with the name of a built-in plugin takes its place.
    add: Sequence[PluginFactory] = ()
    without: Collection[str] = ()
    weights: Mapping[str, int] = field(default_factory=dict)


def make_profile(config: ProfileConfig, handle: Handle) -> Profile:
    """Raises ValueError for a profile that could not work."""
    plugins: dict[str, Plugin] = {plugin.name: plugin for plugin in default_plugins(handle)}
    if unknown := set(config.without) - set(plugins):
        raise ValueError(f"there is no plugin {', '.join(sorted(unknown))}")
    for make in config.add:
        plugin = make(handle)
        plugins[plugin.name] = plugin
    chosen = [plugin for name, plugin in plugins.items() if name not in config.without]
    names = {plugin.name for plugin in chosen}
    weights = {name: weight for name, weight in WEIGHTS.items() if name in names}
    return Profile(config.scheduler, chosen, {**weights, **config.weights})


def hints_of(profile: Profile) -> Mapping[str, Hints | None]:
    """What may help pods that a plugin refused; None: anything."""
    return {
        plugin.name: plugin.hints if isinstance(plugin, EnqueueExtensions) else None
        for plugin in profile.plugins
    }
