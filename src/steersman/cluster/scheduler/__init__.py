"""The scheduler (kube-scheduler): assigns pending pods to nodes. An API client like any other.

Start reading at `scheduler` (the scheduling cycle of a pod), then `placing` and `node_results` (filtering and
scoring thousands of nodes), `queue` (pending pods), `framework.plugin` (the extension points) and `plugins/`.

    add_scheduler(manager)
    add_scheduler(manager, [ProfileConfig(), ProfileConfig("packing", add=[MyPlugin])])
"""

from __future__ import annotations

from steersman.cluster.scheduler.profiles import PluginFactory, ProfileConfig
from steersman.cluster.scheduler.setup import add_scheduler

__all__ = ["PluginFactory", "ProfileConfig", "add_scheduler"]
