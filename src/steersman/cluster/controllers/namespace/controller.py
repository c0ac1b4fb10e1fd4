"""The namespace controller: deletes the contents of terminating namespaces, then removes the finalizer
`kubernetes`.
"""

from __future__ import annotations

from typing import Final, cast

from steersman.client import Client, NotFound
from steersman.cluster.controllers.namespace.conditions import conditions_of
from steersman.cluster.controllers.namespace.emptying import Emptying
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds.types.core_v1 import Namespace, NamespaceCondition
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import NAMESPACES, PODS
from steersman.objects.times import format_time, parse_time
from steersman.runtime import Change, Key, Request, Requeue, Result, RetryPolicy

__all__ = ["add"]


_FINALIZER: Final = "kubernetes"
#: Creations that were admitted before the deletion are stored by then.
_SETTLE_S: Final = 1.0
_RETRY: Final = RetryPolicy(0.1, 60.0)


def add(setup: Setup) -> None:
    namespaces = setup.informer(NAMESPACES)
    pods = setup.informer(PODS)

    def is_ending(change: Change) -> bool:
        return change.new is not None and "deletionTimestamp" in change.new.metadata()

    def emptied_of_pods(change: Change) -> list[Key]:
        if change.new is not None:
            return []
        namespace = namespaces.cache.get(("", change.key.namespace))
        ending = namespace is not None and "deletionTimestamp" in namespace.metadata()
        return [Key("", change.key.namespace)] if ending and not pods.cache.list(change.key.namespace) else []

    controller = setup.controller(
        "namespace", retrying_conflicts(NamespaceController(setup).reconcile), concurrency=10, retry=_RETRY
    )
    controller.primary(namespaces, is_ending)
    controller.watches(pods, emptied_of_pods, reason="no pods left")


class NamespaceController:
    """Reconciles terminating namespaces."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    @property
    def _client(self) -> Client:
        return self._setup.client

    async def reconcile(self, request: Request) -> Result | None:
        found = await self._client.find(NAMESPACES, request.name)
        namespace = cast("Namespace | None", found)
        if namespace is None or not is_deleting(namespace):
            return None
        now = moment(self._setup.clock)
        age_s = (now - parse_time(namespace["metadata"]["deletionTimestamp"] or "")).total_seconds()
        if 0 <= age_s < _SETTLE_S:
            return Result.requeue(_SETTLE_S - age_s)
        if not namespace["spec"].get("finalizers"):
            return None
        self._setup.manager.check_leadership()
        emptying = Emptying(self._client, request.name, age_s)
        findings = await emptying.run()
        status = namespace["status"]
        conditions = conditions_of(findings, status.get("conditions"), format_time(now))
        if conditions is not status.get("conditions") or status.get("phase") != "Terminating":
            namespace = await self._write_conditions(namespace, conditions)
        if findings.failures or findings.undiscovered or findings.stale:
            raise Requeue
        if emptying.estimate_s:
            return Result.requeue(emptying.estimate_s // 2 + 1)
        await self._let_go(namespace)
        return None

    async def _write_conditions(
        self, namespace: Namespace, conditions: list[NamespaceCondition]
    ) -> Namespace:
        self._setup.manager.check_leadership()
        updated: Namespace = {**namespace, "status": {"phase": "Terminating", "conditions": conditions}}
        answer = await self._client.replace(updated, kind=NAMESPACES, subresource="status")
        return cast("Namespace", answer)

    async def _let_go(self, namespace: Namespace) -> None:
        self._setup.manager.check_leadership()
        finalizers = [name for name in namespace["spec"]["finalizers"] if name != _FINALIZER]
        if len(finalizers) == len(namespace["spec"]["finalizers"]):
            return
        final = {**namespace, "spec": {**namespace["spec"], "finalizers": finalizers}}
        try:
            await self._client.replace(final, kind=NAMESPACES, subresource="finalize")
        except NotFound:
            return
