"""pods/exec, pods/attach and pods/portforward: the client is connected with the kubelet API of the pod's
node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote, urlencode

from steersman.cluster.apiserver.forwarding.node_connections import (
    ForwardTarget,
    NodeConnections,
    unreachable,
)
from steersman.cluster.apiserver.forwarding.relay import ForwardedRequest, forwarded_headers, splice
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.http import Response
from steersman.http.errors import ClientError
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, bad_request, forbidden, not_found

__all__ = ["chosen_container", "connections", "node_of", "stream"]

#: What options are called on the way to the node.
_PARAMETERS: Final = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}


async def stream(api: Api, call: Call, pod: Object, options: dict[str, Any]) -> Response | None:
    """`options` are PodExecOptions or their like, as admission left them."""
    _check_create(api, call)
    kind, name, namespace = call.path.subresource, call.path.name, call.path.namespace
    segments = [namespace, name]
    if kind != "portforward":
        segments.append(chosen_container(pod, options.get("container", "")))
    place = node_of(api, pod)
    if place is None:
        raise bad_request(f"pod {name} does not have a host assigned")
    if kind == "exec" and not options.get("command"):
        raise bad_request("you must specify at least 1 command for the container")
    if not call.request.upgradable:
        raise bad_request("Upgrade request required")
    path = "/".join(
        quote(part, safe="") for part in ("portForward" if kind == "portforward" else kind, *segments)
    )
    target = f"/{path}?{urlencode(list(_parameters(options)))}"
    client = connections(api).to(place)
    forwarded = ForwardedRequest(client, target, list(forwarded_headers(call.request)), call.request.method)
    try:
        return await splice(forwarded, call.request, lambda: call.started(101))
    except ClientError as error:
        raise StatusError(500, "", f"error dialing backend: {error}") from error


def connections(api: Api) -> NodeConnections:
    if api.nodes is None:
        raise unreachable("this API server cannot reach nodes")
    return api.nodes()


def node_of(api: Api, pod: Object, *, insecure: bool = False) -> ForwardTarget | None:
    """Where the pod's node serves its API; None if the pod has no node."""
    name = pod["spec"].get("nodeName")
    if not name:
        return None
    nodes = api.catalog.find("", "v1", "nodes")
    assert nodes is not None
    record = api.store.get(nodes.key("", name))
    if record is None:
        # An error about the node is worded for the pod that was asked for.
        raise not_found("", "pods", name)
    return connections(api).node(nodes.read(record.value), insecure=insecure)


def chosen_container(pod: Object, asked: str) -> str:
    """The container that is meant. Raises 400."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    kinds = ("initContainers", "containers", "ephemeralContainers")
    known = [container["name"] for kind in kinds for container in spec.get(kind) or ()]
    if asked:
        if asked not in known:
            raise bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    own = spec.get("containers") or []
    if len(own) == 1:
        return str(own[0]["name"])
    choice = f", choose one of: [{' '.join(known)}]" if own else ""
    raise bad_request(f"a container name must be specified for pod {name}{choice}")


def _check_create(api: Api, call: Call) -> None:
    """A WebSocket begins with GET, which must not let in those who may only look."""
    action = call.action._replace(verb="create")
    if call.action.verb != "create" and not api.access.authorizer.allows(call.user, action):
        reason = api.access.authorizer.decide(call.user, action).reason
        raise forbidden(action.group, action.resource, action.name, reason)


def _parameters(options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for option, parameter in _PARAMETERS.items():
        if options.get(option):
            yield parameter, "1"
    for word in options.get("command") or ():
        yield "command", word
    if ports := options.get("ports"):
        yield "port", ",".join(map(str, ports))
