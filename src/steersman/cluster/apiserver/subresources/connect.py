"""Endpoints that lead to a running pod or node: log, exec, attach, portforward, proxy.

They are answered by node agents. What the API server itself knows is said here: whether admission lets the
client connect, which pod, whether it has a node, and that the node cannot be reached while it has no agent.
"""

from __future__ import annotations

from steersman.cluster.apiserver.call import Api, Call
from steersman.cluster.apiserver.options import connect_options
from steersman.cluster.apiserver.reads import find
from steersman.http import Response
from steersman.objects.status import bad_request, unavailable

__all__ = ["CONNECTS", "connect"]

CONNECTS = frozenset({"attach", "exec", "log", "portforward", "proxy"})


async def connect(api: Api, call: Call) -> Response:
    resource, name = call.resource, call.path.name
    if call.path.subresource != "log":
        await _admit(api, call)
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


async def _admit(api: Api, call: Call) -> None:
    if "dryRun" in call.query:
        raise bad_request("dryRun is not supported")
    kind = call.resource.type.subresources[call.path.subresource].gvk
    rest = f"/{call.path.rest}" if call.path.rest else ""
    options = connect_options(call.query, kind.kind, rest)
    attributes = call.attributes("CONNECT", call.path.name, options, None, dry_run=False)
    attributes.object_kind = kind
    await api.admission.admit(attributes)
    await api.admission.validate(attributes)
