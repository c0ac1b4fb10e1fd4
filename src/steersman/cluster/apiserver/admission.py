"""The admission chain of a running server: built-in plugins, quota, and what clients configure.

Webhooks and policies are loaded with the first object that configures one: most clusters have none, and
their code (expressions, an HTTP client) would lengthen every start.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING

from steersman.aio import Scope
from steersman.cluster.admission import AdmissionChain, AdmissionPlugin, Reader, ResourceQuota, build_chain
from steersman.cluster.apiserver.controllers.following import when_first
from steersman.cluster.apiserver.controllers.quota_recounting import QuotaRecounting
from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.auth.authorization import Authorizer
from steersman.cluster.schema.resources import GVK, ResourceType
from steersman.cluster.store import Conflict, NotFound, Store
from steersman.objects.kinds import Object
from steersman.objects.managed import track_update

if TYPE_CHECKING:
    from steersman.cluster.admission.webhooks import WebhookClients

__all__ = ["AdmissionSetup"]


_CONFIGURED = (
    "mutatingadmissionpolicies",
    "mutatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingwebhookconfigurations",
)


class AdmissionSetup:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        reader: Reader,
        authorizer: Authorizer,
        scope: Scope,
        disabled: Collection[str],
        now: Callable[[], float],
        *,
        enabled: Collection[str] = (),
        recounts: bool = True,
        lenient_default_account: bool = True,
    ) -> None:
        """`recounts`: keep the usage that quotas show true; else another process does.
        `lenient_default_account`: no controller makes `default` service accounts, so pods may do without."""
        self._store = store
        self._catalog = catalog
        self._reader = reader
        self._authorizer = authorizer
        self._disabled = disabled
        self._now = now
        self._clients: WebhookClients | None = None
        quota = ResourceQuota(reader, self._update_quota, scope)
        self.chain: AdmissionChain = build_chain(
            reader,
            disabled,
            enabled=enabled,
            authorizer=authorizer,
            resources_of=self._resources_of,
            lenient_default_account=lenient_default_account,
            others=[quota],
        )
        if recounts and quota.name not in disabled:
            scope.start(QuotaRecounting(store, quota).run(), name="quota recounting")
        prefixes = [f"/admissionregistration.k8s.io/{plural}/" for plural in _CONFIGURED]
        self._stop_waiting = when_first(store, prefixes, self._load)

    def _resources_of(self, kind: GVK) -> list[ResourceType]:
        return [resource.type for resource in self._catalog if resource.type.gvk == kind]

    async def _update_quota(self, old: Object, new: Object) -> bool:
        """Store a quota's status, as this server's, if the quota was not changed meanwhile."""
        resource = self._catalog.find("", "v1", "resourcequotas")
        assert resource is not None
        metadata = old["metadata"]
        owners = track_update(
            old,
            new,
            resource.kind.schema,
            manager="kube-apiserver",
            api_version=resource.type.api_version,
            time=timestamp(self._now()),
            subresource="status",
            keep=resource.ownable("status"),
        )
        if owners:
            new = {**new, "metadata": {**new["metadata"], "managedFields": owners}}
        key = resource.key(metadata["namespace"], metadata["name"])
        try:
            await self._store.put(key, encode(new), expected=int(metadata["resourceVersion"]))
        except (Conflict, NotFound):
            return False
        return True

    def _load(self) -> None:
        from steersman.cluster.admission.policies import MutatingAdmissionPolicy, ValidatingAdmissionPolicy
        from steersman.cluster.admission.services import EndpointResolver
        from steersman.cluster.admission.webhooks import (
            AdmissionContext,
            AdmissionExpressions,
            AdmissionWebhookMetrics,
            CatalogTypes,
            MutatingAdmissionWebhook,
            ValidatingAdmissionWebhook,
            WebhookClients,
        )

        types = CatalogTypes(self._catalog, self._convert)
        context = AdmissionContext(self._reader, types, AdmissionExpressions(), self._authorizer)
        self._clients, metrics = WebhookClients(EndpointResolver(self._reader)), AdmissionWebhookMetrics()
        mutating_policy, validating_policy = (
            MutatingAdmissionPolicy(context),
            ValidatingAdmissionPolicy(context),
        )
        mutating_webhook = MutatingAdmissionWebhook(context, self._clients, metrics)
        validating_webhook = ValidatingAdmissionWebhook(context, self._clients, metrics)
        for configured in (
            mutating_policy.policies,
            validating_policy.policies,
            mutating_webhook.webhooks,
            validating_webhook.webhooks,
        ):
            configured.follow(self._store)
        plugins: list[AdmissionPlugin] = [
            mutating_policy,
            mutating_webhook,
            validating_policy,
            validating_webhook,
        ]
        self.chain.add([plugin for plugin in plugins if plugin.name not in self._disabled])

    def _convert(self, obj: Object, kind: GVK) -> Object | Awaitable[Object]:
        """A custom object in another version of its resource."""
        for resource in self._catalog:
            if resource.type.gvk == kind and resource.conversion is not None:
                return _only(resource.conversion.convert([obj], kind.version))
        return obj | {"apiVersion": kind.api_version}

    async def close(self) -> None:
        self._stop_waiting()
        if self._clients is not None:
            await self._clients.close()


async def _only(converting: Awaitable[list[Object]]) -> Object:
    [obj] = await converting
    return obj
