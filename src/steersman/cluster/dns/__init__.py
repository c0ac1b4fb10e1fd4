"""The cluster DNS server: names of Services and pods; other names are forwarded to the machine's resolvers.

Start reading at `setup` (its objects in the cluster, and where it listens), then `zone` (the records of a
name) and `server`. `wire` is the message format, `forwarding` asks other resolvers.
"""

from __future__ import annotations

from steersman.cluster.dns.setup import ClusterDns, add_dns

__all__ = ["ClusterDns", "add_dns"]
