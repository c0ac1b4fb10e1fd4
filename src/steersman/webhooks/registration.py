"""What the API is told about webhooks: two webhook configurations, and the conversion of definitions.

Nothing is written that is right already. With cert-manager the CA is left to it; who else changed something
here is overruled.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steersman.client import AlreadyExists, Client, Conflict, NotFound
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.webhooks.conversion import conversion_path
from steersman.webhooks.errors import WebhookError
from steersman.webhooks.hook import Hook

__all__ = ["CRDS", "MUTATING", "SECRETS", "VALIDATING", "Reach", "Registration", "uninstall"]


_GROUP: Final = "admissionregistration.k8s.io"
VALIDATING: Final = ResourceType(
    _GROUP, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", namespaced=False
)
MUTATING: Final = ResourceType(
    _GROUP, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
)
CRDS: Final = ResourceType(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
SECRETS: Final = ResourceType("", "v1", "Secret", "secrets")
_INJECT: Final = "cert-manager.io/inject-ca-from"
_LABELS: Final = {"app.kubernetes.io/managed-by": "steersman"}


@dataclass(frozen=True, slots=True)
class Reach:
    """How the API gets to the webhooks: `service` as (namespace, name, port), or `origin` as a URL."""

    service: tuple[str, str, int] | None = None
    origin: str = ""

    def client_config(self, path: str, bundle: bytes | None) -> Object:
        """`bundle` None: somebody else writes it."""
        if self.service is not None:
            namespace, name, port = self.service
            config: Object = {"service": {"namespace": namespace, "name": name, "path": path, "port": port}}
        else:
            config = {"url": f"{self.origin}{path}"}
        if bundle is not None:
            config["caBundle"] = base64.b64encode(bundle).decode()
        return config


class Registration:
    """The registration of all webhooks of a process, under one name."""

    def __init__(
        self, name: str, hooks: Sequence[Hook], converted: Iterable[ResourceType], *, inject_ca_from: str = ""
    ) -> None:
        self._name = name
        self._hooks = hooks
        self._converted = tuple(converted)
        self._inject_ca_from = inject_ca_from

    def objects(self, reach: Reach, bundle: bytes | None) -> list[tuple[ResourceType, Object]]:
        """The webhook configurations as they should be, for those who write manifests too."""
        made = []
        for kind, mutating in ((VALIDATING, False), (MUTATING, True)):
            hooks = [hook for hook in self._hooks if hook.mutating is mutating]
            if hooks:
                entries = [hook.entry(reach.client_config(hook.path, bundle)) for hook in hooks]
                made.append((kind, {**self._head(kind), "webhooks": entries}))
        return made

    def conversions(self, reach: Reach, bundle: bytes | None) -> list[tuple[str, Object]]:
        """`spec.conversion` of each definition, by its name."""
        return [
            (
                f"{resource.plural}.{resource.group}",
                {
                    "strategy": "Webhook",
                    "webhook": {
                        "clientConfig": reach.client_config(conversion_path(resource), bundle),
                        "conversionReviewVersions": ["v1"],
                    },
                },
            )
            for resource in self._converted
        ]

    def _head(self, kind: ResourceType) -> Object:
        metadata: Object = {"name": self._name, "labels": dict(_LABELS)}
        if self._inject_ca_from:
            metadata["annotations"] = {_INJECT: self._inject_ca_from}
        return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}

    async def ensure(self, client: Client, reach: Reach, bundle: bytes | None, *, write: bool) -> bool:
        """Whether the API has been told all of this; with `write`, it is told what it has not.

        Raises ClientError; WebhookError if a definition is missing.
        """
        right = True
        for kind, wanted in self.objects(reach, bundle):
            live = await client.find(kind, self._name)
            desired = wanted if live is None else _laid_over(live, wanted)
            if desired != live:
                right = write and await self._write(client, kind, desired, exists=live is not None) and right
        for name, conversion in self.conversions(reach, bundle):
            definition = await client.find(CRDS, name)
            if definition is None:
                raise WebhookError(f"the definition {name} for the conversion webhook was not found")
            live = definition["spec"].get("conversion") or {}
            if _with_ca_of(live.get("webhook") or {}, conversion["webhook"]) != live.get("webhook"):
                right = right and write
                if write:
                    patch = self._definition_patch(conversion)
                    await client.patch(CRDS, name, patch, field_manager=self._manager)
        return right

    async def _write(self, client: Client, kind: ResourceType, desired: Object, *, exists: bool) -> bool:
        """False if somebody else was faster: what is there is to be looked at again."""
        write = client.replace if exists else client.create
        try:
            await write(desired, kind=kind, field_manager=self._manager)
        except (AlreadyExists, Conflict, NotFound):
            return False
        return True

    def _definition_patch(self, conversion: Object) -> Object:
        patch: Object = {"spec": {"conversion": conversion}}
        if self._inject_ca_from:
            patch["metadata"] = {"annotations": {_INJECT: self._inject_ca_from}}
        return patch

    @property
    def _manager(self) -> str:
        return f"{self._name}-webhooks"


async def uninstall(
    client: Client,
    name: str,
    *,
    secret: str = "",
    namespace: str | None = None,
    converted: Iterable[ResourceType] = (),
) -> list[str]:
    """Remove what the operator `name` told the API, and the Secret if one is named; what was removed."""
    removed = []
    targets: list[tuple[ResourceType, str, str | None]] = [(VALIDATING, name, None), (MUTATING, name, None)]
    if secret:
        targets.append((SECRETS, secret, namespace))
    for kind, each, where in targets:
        try:
            await client.delete(kind, each, where)
        except NotFound:
            continue
        removed.append(f"{kind.kind} {each}")
    for resource in converted:
        definition = f"{resource.plural}.{resource.group}"
        patch = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        try:
            await client.patch(CRDS, definition, patch)
        except NotFound:
            continue
        removed.append(f"conversion of {definition}")
    return removed


def _laid_over(live: Object, wanted: Object) -> Object:
    """The live configuration with our webhooks in place of its own, and whatever metadata others added."""
    metadata = {**live["metadata"], "name": wanted["metadata"]["name"]}
    for table in ("labels", "annotations"):
        if table in wanted["metadata"]:
            metadata[table] = {**(metadata.get(table) or {}), **wanted["metadata"][table]}
    known = {entry["name"]: entry for entry in live.get("webhooks") or ()}
    webhooks = [_with_ca_of(known.get(entry["name"], {}), entry) for entry in wanted["webhooks"]]
    return {**live, "metadata": metadata, "webhooks": webhooks}


def _with_ca_of(live: Mapping[str, Any], wanted: Object) -> Object:
    """What is wanted, with the CA that somebody else wrote where none is wanted."""
    config, written = wanted["clientConfig"], (live.get("clientConfig") or {}).get("caBundle")
    if "caBundle" in config or written is None:
        return wanted
    return {**wanted, "clientConfig": {**config, "caBundle": written}}
