"""The DefaultBinder plugin: binds a pod to its node through `pods/binding`."""

from __future__ import annotations

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.model.pod import PodInfo

__all__ = ["DefaultBinder"]


class DefaultBinder:
    name = "DefaultBinder"

    def __init__(self, handle: Handle) -> None:
        self._client = handle.client

    async def bind(self, cycle: CycleState, pod: PodInfo, node: str) -> bool:
        """Raises `ClientError`."""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": node},
        }
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
        await self._client.request("POST", path, body=binding)
        return True
