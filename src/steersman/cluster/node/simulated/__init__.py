"""The simulated container runtime: nodes and containers as records and timers, thousands in one process.

Start reading at `script` (the annotations that control containers), then `engine` and `fleet`.
"""

from __future__ import annotations

from steersman.cluster.node.simulated.engine import SimulatedRuntime
from steersman.cluster.node.simulated.fleet import FleetConfig, add_simulated_nodes
from steersman.cluster.node.simulated.image_store import SimulatedImages

__all__ = ["FleetConfig", "SimulatedImages", "SimulatedRuntime", "add_simulated_nodes"]
