"""The endpoints `/pods`, `/runningpods/` and `/configz`."""

from __future__ import annotations

from typing import Final

import orjson

from steersman.cluster.node.agent import NodeAgent
from steersman.cluster.node.cri import ContainerState
from steersman.http import Response
from steersman.objects.kinds import Object

__all__ = ["configuration", "json_response", "pods_of", "running_pods_of"]


_JSON: Final = ((b"Content-Type", b"application/json"),)


def json_response(body: Object) -> Response:
    return Response(200, orjson.dumps(body), _JSON)


def pods_of(agent: NodeAgent) -> Object:
    """The pods that the node takes care of, as it last saw them."""
    found = (agent.host.pods.get(worker.key) for worker in list(agent.workers.values()))
    return _pod_list([cached.object() for cached in found if cached is not None])


async def running_pods_of(agent: NodeAgent) -> Object:
    """The pods that have running containers, as the engine knows them."""
    pods = []
    for worker in list(agent.workers.values()):
        running = [
            {"name": one.name, "image": one.image, "resources": {}}
            for one in await agent.host.runtime.list_containers(worker.uid)
            if one.state is ContainerState.RUNNING
        ]
        if running:
            metadata = {"name": worker.key.name, "namespace": worker.key.namespace, "uid": worker.uid}
            pods.append({"metadata": metadata, "spec": {"containers": running}, "status": {}})
    return _pod_list(pods)


def _pod_list(items: list[Object]) -> Object:
    return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}


def configuration(agent: NodeAgent) -> Object:
    """What of a KubeletConfiguration a node here has."""
    config = agent.host.config
    return {
        "kubeletconfig": {
            "kind": "KubeletConfiguration",
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "port": config.port,
            "authentication": {
                "x509": {},
                "webhook": {"enabled": True},
                "anonymous": {"enabled": False},
            },
            "authorization": {"mode": "Webhook", "webhook": {}},
            "nodeStatusUpdateFrequency": f"{agent.heartbeat.period_s:g}s",
            "nodeLeaseDurationSeconds": agent.heartbeat.duration_s,
            "maxPods": int(config.capacity.get("pods", "110")),
            "systemReserved": dict(config.reserved),
            "enableServer": True,
        }
    }
