"""A controller that keeps one object of a fixed name in every namespace: creates it, and restores it after
deletion.

The default service account and the certificate of the API server are such objects.
"""

from __future__ import annotations

from collections.abc import Callable

from steersman.client import AlreadyExists, ApiError, NotFound
from steersman.cluster.controllers.pod_control import namespace_is_terminating
from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds import Object
from steersman.objects.resources import NAMESPACES
from steersman.runtime import Change, Informer, Key, Request

__all__ = ["add_once_per_namespace"]


def add_once_per_namespace(
    setup: Setup,
    controller: str,
    informer: Informer,
    wanted: Object,
    right: Callable[[Object], Object | None] = lambda found: None,
) -> None:
    """Keep an object like `wanted` in each active namespace; `informer` sees at least those of its name.

    `right` puts right what is there, and returns None if nothing is wrong with it.
    """
    namespaces = setup.informer(NAMESPACES)
    writes = setup.writes(controller, informer)
    resource, name = informer.resource, wanted["metadata"]["name"]

    async def reconcile(request: Request) -> None:
        namespace = namespaces.cache.get(request.key)
        if namespace is None or namespace.object()["status"].get("phase") != "Active":
            return
        found = informer.cache.get((request.name, name))
        if found is not None:
            corrected = right(found.object())
            if corrected is not None:
                await writes.replace(resource, corrected)
            return
        metadata = {**wanted["metadata"], "namespace": request.name}
        try:
            await writes.create(resource, {**wanted, "metadata": metadata})
        except (AlreadyExists, NotFound):
            return
        except ApiError as error:
            if not namespace_is_terminating(error):
                raise

    def home(change: Change) -> list[Key]:
        return [Key("", change.key.namespace)] if change.key.name == name else []

    made = setup.controller(controller, retrying_conflicts(reconcile), concurrency=4)
    made.primary(namespaces)
    made.watches(informer, home)
