"""Endpoints that lead to a running pod or node: log, exec, attach, portforward, proxy.

They are answered by node agents. What the API server itself knows is said here: which pod, whether it has
a node, and that the node cannot be reached while it has no agent.
"""

from __future__ import annotations

from steersman.cluster.apiserver.call import Api, Call
from steersman.cluster.apiserver.reads import find
from steersman.http import Response
from steersman.objects.status import bad_request, unavailable

__all__ = ["CONNECTS", "connect"]

CONNECTS = frozenset({"attach", "exec", "log", "portforward", "proxy"})


def connect(api: Api, call: Call) -> Response:
    resource, name = call.resource, call.path.name
    obj = resource.read(find(api, resource, call.path.namespace, name.partition(":")[0]).value)
    if resource.plural == "services":
        raise unavailable(f'no endpoints available for service "{name}"')
    if resource.plural == "nodes":
        raise unavailable(f"node {name} cannot be reached: it has no agent")
    node = obj["spec"].get("nodeName")
    if node:
        raise unavailable(f"node {node} of pod {name} cannot be reached: it has no agent")
    if call.path.subresource == "log":
        return Response(204)
    raise bad_request(f"pod {name} does not have a host assigned")
