"""A cluster on this machine: an API server with its data folder, keys, kubeconfig and components.

`LocalCluster` is what `steer up`, the tests and the demo start. How each part works is in its own package;
here they are put together, started and stopped.
"""

from __future__ import annotations

from steersman.cluster.local.cluster import LocalCluster
from steersman.cluster.local.config import MEMORY, ClusterConfig
from steersman.cluster.local.data_folder import default_data_folder

__all__ = ["MEMORY", "ClusterConfig", "LocalCluster", "default_data_folder"]
