"""Subresources that connect to a pod, service or node: log, exec, attach, portforward, proxy.

They are answered by node agents and by what runs there. What is said here: whether admission lets the client
connect, and which pod is meant.
"""

from __future__ import annotations

from typing import Any

from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import connect_options
from steersman.cluster.apiserver.reading.get import find
from steersman.http import Response
from steersman.objects.status import bad_request

__all__ = ["connect"]


async def connect(api: Api, call: Call) -> Response | None:
    # With the first connection: a start does not pay for HTTP's client side.
    from steersman.cluster.apiserver.subresources.pod_logs import read_log
    from steersman.cluster.apiserver.subresources.pod_streams import stream
    from steersman.cluster.apiserver.subresources.proxying import proxy

    if call.path.subresource == "log":
        pod = call.resource.read(find(api, call.resource, call.path.namespace, call.path.name).value)
        return await read_log(api, call, pod)
    options = await _admit(api, call)
    if call.path.subresource == "proxy":
        return await proxy(api, call)
    pod = call.resource.read(find(api, call.resource, call.path.namespace, call.path.name).value)
    return await stream(api, call, pod, options)


async def _admit(api: Api, call: Call) -> dict[str, Any]:
    """The options of the connection, as admission leaves them."""
    if "dryRun" in call.query:
        raise bad_request("dryRun is not supported")
    kind = call.resource.type.subresources[call.path.subresource].gvk
    open_end = call.request.path.endswith("/proxy/")
    rest = f"/{call.path.rest}" if call.path.rest or open_end else ""
    options = connect_options(call.query, kind.kind, rest)
    attributes = call.attributes("CONNECT", call.path.name, options, None, dry_run=False)
    attributes.object_kind = kind
    await api.admission.admit(attributes)
    await api.admission.validate(attributes)
    return attributes.object or options
