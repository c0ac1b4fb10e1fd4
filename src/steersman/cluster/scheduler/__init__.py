"""The scheduler: gives pods that have none a node. An API client like any other.

Start reading at `scheduler` (what happens to a pod), then `placing` and `board` (how a node is found among
thousands), `queue` (pods that wait), `framework.plugin` (how to write a plugin) and `plugins/`.

    add_scheduler(manager)
    add_scheduler(manager, [ProfileConfig(), ProfileConfig("packing", add=[MyPlugin])])
"""

from __future__ import annotations

from steersman.cluster.scheduler.profiles import PluginFactory, ProfileConfig
from steersman.cluster.scheduler.setup import add_scheduler

__all__ = ["PluginFactory", "ProfileConfig", "add_scheduler"]
