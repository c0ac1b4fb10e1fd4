"""Startup, readiness and liveness probes of real containers, by HTTP, TCP, gRPC and exec.

Start reading at `prober` (scheduling and results), then `attempts` (one probe attempt).
"""

from __future__ import annotations

from steersman.cluster.node.probing.prober import ContainerProber

__all__ = ["ContainerProber"]
