"""The node's own API, as kubelet has it: logs, commands in containers, what is used, what runs.

Start reading at `server`. The API server is its main client; who else may ask, `access` finds out from the
API. `remote_commands` and `port_forwarding` speak the protocols of streams; everything else is plain HTTP.
"""

from __future__ import annotations

from steersman.cluster.node.api.server import NodeApi

__all__ = ["NodeApi"]
