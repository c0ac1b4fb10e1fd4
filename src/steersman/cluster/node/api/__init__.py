"""The kubelet API of a node: logs, exec, attach, port-forward, metrics and pod lists.

Start reading at `server`. The API server is its main client; `access` authenticates and authorizes all
clients. `remote_commands` and `port_forwarding` implement the streaming protocols; everything else is plain
HTTP.
"""

from __future__ import annotations

from steersman.cluster.node.api.server import NodeApi

__all__ = ["NodeApi"]
