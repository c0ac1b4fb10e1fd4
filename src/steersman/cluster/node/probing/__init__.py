"""Probes of containers that really run: startup, readiness, liveness, by HTTP, TCP, gRPC and commands.

Start reading at `prober` (when, and what follows), then `attempts` (what one attempt does).
"""

from __future__ import annotations

from steersman.cluster.node.probing.prober import ContainerProber

__all__ = ["ContainerProber"]
