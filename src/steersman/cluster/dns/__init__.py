"""The cluster's DNS server: names of services and pods; for all others it asks the machine's resolvers.

Start reading at `setup` (what is made in the cluster, where it listens), then `zone` (which name has which
records) and `server`. `wire` is the format of messages, `forwarding` asks others.
"""

from __future__ import annotations

from steersman.cluster.dns.setup import ClusterDns, add_dns

__all__ = ["ClusterDns", "add_dns"]
