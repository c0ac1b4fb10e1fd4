"""CustomResourceDefinitions, followed in the store: names, conditions, and the resources served for them.

One worker goes through the definitions that changed, one at a time and always from their newest state:

    stored ──names──> NamesAccepted ──served by the catalog──> Established
       └──deleted──> Terminating: instances go, then the finalizer, then the definition

The catalog changes before `Established` is written, so a client that sees the condition can use the
resource at once. All versions of a definition change at once. From the moment its new spec is stored until
they have, requests for them wait, and what has begun is stored by the new ones or not at all: who has seen
the definition change sees its objects changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from steersman.cluster.apiserver.custom.deletion import in_progress, remove_instances
from steersman.cluster.apiserver.custom.kind import ShapeRevision
from steersman.cluster.apiserver.custom.resource import CustomResource
from steersman.cluster.apiserver.custom.serving import custom_resources
from steersman.cluster.apiserver.pipeline.call import Api, StoreReader
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.apiserver.resources.strategies.extensions import CLEANUP_FINALIZER
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.cel import in_worker_thread, on_loop
from steersman.cluster.schema.openapi import Extension
from steersman.cluster.schema.resources import ResourceType
from steersman.cluster.schema.structural.naming import (
    approval_condition,
    condition_is_true,
    established,
    named_status,
    set_condition,
)
from steersman.cluster.schema.structural.publishing import definitions
from steersman.cluster.schema.validation.crd_conversion import ca_bundle_is_valid
from steersman.cluster.store import Conflict, Event, NotFound, Subscription, Unavailable
from steersman.objects.kinds import Object
from steersman.objects.kinds.views.definitions import DefinitionView
from steersman.objects.lifetime import is_deleting
from steersman.objects.managed import track_update

if TYPE_CHECKING:
    from steersman.cluster.admission.webhooks import WebhookClients

__all__ = ["Definitions"]

_log = logging.getLogger(__name__)
_MANAGER = "kube-apiserver"
_RETRY_S = 0.5
_LONGEST_REQUEST_S = 60.0


class _Served(NamedTuple):
    """What is served of a definition, and what it was made from."""

    basis: Object
    generation: int
    resources: Sequence[CustomResource]


class Definitions:
    def __init__(self, api: Api, changed: Callable[[], None]) -> None:
        """`changed` is called whenever other resources are served than before."""
        self._api = api
        self._changed = changed
        resource = api.catalog.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert resource is not None
        self._resource: Resource = resource
        self._waiting: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._subscription: Subscription | None = None
        #: Connections to conversion webhooks, once there is one.
        self._clients: WebhookClients | None = None
        self._served: dict[str, _Served] = {}

    def start(self) -> None:
        """Serve what is established already, then follow."""
        store, prefix = self._api.store, self._resource.prefix
        for record in store.range(prefix).records:
            definition = self._resource.read(record.value)
            if condition_is_true(definition, "Established"):
                since = ShapeRevision()
                resources = custom_resources(definition, since, self._webhook_clients)
                self._replace(record.key, definition, since, resources)
            self._note(record.key)
        self._subscription = store.watch(prefix, store.revision, self._on_events)
        self._api.scope.start(self._work(), name="custom resource definitions")

    def _on_events(self, events: Sequence[Event]) -> None:
        for event in events:
            self._note(event.key)
            served = self._served.get(event.key)
            if served is not None and (event.deleted or _generation(event.value) != served.generation):
                for resource in served.resources:
                    resource.begin_handover()

    def _note(self, key: str) -> None:
        self._waiting[key] = None
        self._wake.set()

    async def _work(self) -> None:
        try:
            await self._follow()
        finally:
            if self._clients is not None:
                await self._clients.close()

    async def _follow(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                key = next(iter(self._waiting))
                del self._waiting[key]
                try:
                    await self._settle(key)
                except (Conflict, NotFound):
                    self._note(key)
                except Unavailable:
                    self._note(key)
                    await asyncio.sleep(_RETRY_S)
                except Exception:  # noqa: BLE001 - one bad definition must not stop the others
                    _log.exception("custom resource definition %s could not be served", key)
                finally:
                    self._confirm(key)

    async def _settle(self, key: str) -> None:
        """Bring one definition one step further; a written step wakes us for the next."""
        record = self._api.store.get(key)
        if record is None:
            self._withdraw(key)
            self._recheck_names(key)
            return
        definition = self._resource.read(record.value)
        if is_deleting(definition):
            await self._finish_deletion(key, definition, record.revision)
            return
        now = timestamp(self._api.now())
        status = named_status(definition, self._others(key), now)
        if (condition := approval_condition(definition)) is not None:
            status = set_condition(status, condition, now)
        definition["status"] = status
        if condition_is_true(definition, "NamesAccepted"):
            valid = _bundle_is_valid(definition)
            if valid or condition_is_true(definition, "Established"):
                await self._serve(definition)
            definition["status"] = established(definition, now, ca_bundle_valid=valid)
        before = self._resource.read(record.value)
        if definition["status"] != before["status"]:
            self._own(before, definition, now)
            await self._api.store.put(key, encode(definition), expected=record.revision)

    def _own(self, before: Object, definition: Object, now: str) -> None:
        """The status is this server's."""
        owners = track_update(
            before,
            definition,
            self._resource.kind.schema,
            manager=_MANAGER,
            api_version=self._resource.type.api_version,
            time=now,
            subresource="status",
            keep=self._resource.ownable("status"),
        )
        if owners:
            definition["metadata"]["managedFields"] = owners

    def _others(self, key: str) -> list[Object]:
        records = self._api.store.range(self._resource.prefix).records
        return [self._resource.read(record.value) for record in records if record.key != key]

    def _recheck_names(self, gone: str) -> None:
        """A definition that went may have left names that others wait for."""
        for other in self._others(gone):
            if not condition_is_true(other, "NamesAccepted"):
                self._note(self._resource.key("", other["metadata"]["name"]))

    async def _serve(self, definition: Object) -> None:
        key = self._resource.key("", definition["metadata"]["name"])
        known = self._served.get(key)
        if known is not None and known.basis == _basis(definition):
            self._served[key] = known._replace(generation=definition["metadata"].get("generation", 0))
            self._confirm(key)
            return
        since, clients = ShapeRevision(), partial(on_loop, self._webhook_clients)
        resources = await in_worker_thread(lambda: custom_resources(definition, since, clients))
        self._replace(key, definition, since, resources)

    def _confirm(self, key: str) -> None:
        """What is served of a definition is what it says; unless it has changed once more."""
        if key in self._served and key not in self._waiting:
            for resource in self._served[key].resources:
                resource.confirm()

    def _webhook_clients(self) -> WebhookClients:
        if self._clients is None:
            from steersman.cluster.admission.services import EndpointResolver
            from steersman.cluster.admission.webhooks import WebhookClients

            reader = StoreReader(self._api.store, self._api.catalog)
            self._clients = WebhookClients(EndpointResolver(reader))
        return self._clients

    def _withdraw(self, key: str) -> None:
        known = self._served.pop(key, None)
        if known is not None:
            self._change(known.resources, ())

    def _replace(
        self, key: str, definition: Object, since: ShapeRevision, resources: Sequence[CustomResource]
    ) -> None:
        """Serve a definition's resources from now on. What is written next is written by their schemas,
        except by requests that have begun."""
        known = self._served.get(key)
        self._change(known.resources if known else (), resources)
        generation = definition["metadata"].get("generation", 0)
        self._served[key] = _Served(_basis(definition), generation, resources)
        if key in self._waiting:
            for resource in resources:
                resource.begin_handover()
        if known is None:
            since.revision = self._api.store.revision + 1
        else:
            self._api.scope.start(self._end_of_requests(since), name="end of requests")

    async def _end_of_requests(self, since: ShapeRevision) -> None:
        """Wait until no request is left that began before."""
        await asyncio.sleep(_LONGEST_REQUEST_S)
        since.revision = self._api.store.revision + 1

    def _change(self, old: Sequence[CustomResource], new: Sequence[CustomResource]) -> None:
        self._api.catalog.replace(old, new)
        for resource in old:
            resource.retire()
        # Watchers come again and see the objects as they are served now.
        for prefix in {resource.prefix for resource in old}:
            self._api.hubs.end(prefix)
        self._changed()

    def published(self) -> list[Extension]:
        """What OpenAPI shows of the resources served now."""
        shown = []
        for key, served in self._served.items():
            record = self._api.store.get(key)
            if record is not None:
                definition = self._resource.read(record.value)
                types = [resource.type for resource in served.resources]
                shown.append(Extension(types, partial(_published_types, definition, types)))
        return shown

    async def _finish_deletion(self, key: str, definition: Object, revision: int) -> None:
        finalizers = definition["metadata"].get("finalizers") or []
        if CLEANUP_FINALIZER not in finalizers:
            return
        self._end_creates(key)
        now = timestamp(self._api.now())
        status = in_progress(definition["status"], now)
        if status != definition["status"]:
            begun = {**definition, "metadata": {**definition["metadata"]}, "status": status}
            self._own(definition, begun, now)
            await self._api.store.put(key, encode(begun), expected=revision)
            return
        await self._serve(definition)
        self._end_creates(key)
        if await remove_instances(self._api, self._instances(definition)):
            # Objects with finalizers of their own: look again when one of them went.
            self._api.scope.start(self._later(key), name="look again")
            return
        self._withdraw(key)
        rest = [name for name in finalizers if name != CLEANUP_FINALIZER]
        if not rest:
            await self._api.store.delete(key, expected=revision)
            return
        definition["metadata"]["finalizers"] = rest
        await self._api.store.put(key, encode(definition), expected=revision)

    def _end_creates(self, key: str) -> None:
        for resource in self._served[key].resources if key in self._served else ():
            resource.terminating = True

    def _instances(self, definition: Object) -> Resource:
        """The resource that has a definition's objects, even when no version is served any more."""
        spec = definition["spec"]
        versions = [{**version, "served": True} for version in spec["versions"]]
        whole = {**definition, "spec": {**spec, "versions": versions}}
        since = ShapeRevision(self._api.store.revision + 1)
        return custom_resources(whole, since, self._webhook_clients)[0]

    async def _later(self, key: str) -> None:
        await asyncio.sleep(_RETRY_S)
        self._note(key)


_definition = msgspec.json.Decoder(DefinitionView).decode


def _generation(value: bytes) -> int:
    """The generation of a stored definition, which its spec alone changes."""
    return _definition(value).metadata.generation


def _basis(definition: Object) -> Object:
    """What the resources of a definition are made from."""
    names = (definition.get("status") or {}).get("acceptedNames")
    return {"spec": definition["spec"], "names": names}


def _bundle_is_valid(definition: Object) -> bool:
    """Whether the CA bundle of a conversion webhook, where there is one, holds certificates."""
    webhook = (definition["spec"].get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    return not bundle or ca_bundle_is_valid(bundle)


def _published_types(
    definition: Object, types: Sequence[ResourceType], openapi: int
) -> dict[str, dict[str, Any]]:
    """The types of a definition's served versions, by their names."""
    found: dict[str, dict[str, Any]] = {}
    for each in types:
        found |= definitions(definition, each.version, openapi)
    return found
