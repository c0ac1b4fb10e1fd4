"""The MutatingAdmissionWebhook plugin: webhooks that may change an object, one after the other.

A webhook with reinvocationPolicy IfNeeded is called once more when the object was changed after it: the chain
runs a second round, in which only these are called again.
"""

from __future__ import annotations

from collections.abc import Awaitable
from copy import deepcopy
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any

import orjson

from steersman.cluster.admission.cached import CachedObjects
from steersman.cluster.admission.chain import Attributes
from steersman.cluster.admission.webhooks.calling import WebhookClients
from steersman.cluster.admission.webhooks.configurations import GROUP, Webhook, read_webhooks
from steersman.cluster.admission.webhooks.context import AdmissionContext
from steersman.cluster.admission.webhooks.invoking import Invoker, annotate
from steersman.cluster.admission.webhooks.matching import is_exempt
from steersman.cluster.admission.webhooks.metrics import AdmissionWebhookMetrics
from steersman.cluster.admission.webhooks.versions import VersionedAttributes, accepted
from steersman.objects.errors import FieldSetError
from steersman.objects.fields import quote
from steersman.objects.kinds import Object
from steersman.objects.managed import Managed
from steersman.objects.patches import json as json_patch
from steersman.objects.patches.errors import PatchError
from steersman.objects.status import internal_error

__all__ = ["MutatingAdmissionWebhook", "Reinvocations", "write_back"]


_PLURAL = "mutatingwebhookconfigurations"
_MUTATION = "mutation.webhook.admission.k8s.io/"
_PATCH = "patch.webhook.admission.k8s.io/"


@dataclass(slots=True)
class Reinvocations:
    """The webhooks to call again, and the object as it was after the first round."""

    #: Asked since the last change, and willing to be asked again.
    asked: set[str] = field(default_factory=set)
    #: To be asked in the second round.
    again: set[str] = field(default_factory=set)
    output: Object | None = None

    def object_changed(self) -> None:
        self.again |= self.asked
        self.asked.clear()

    def begin(self, attributes: Attributes) -> None:
        """A round begins. In the second, whatever others did since the first counts as a change."""
        if attributes.round and self.output != attributes.object:
            self.object_changed()

    def skips(self, attributes: Attributes, uid: str) -> bool:
        return attributes.round > 0 and uid not in self.again

    def end(self, attributes: Attributes) -> None:
        if self.asked and not attributes.round:
            self.output = deepcopy(attributes.object)


async def write_back(context: AdmissionContext, attributes: Attributes, new: Object) -> None:
    """Make the write's object what a webhook or policy made of it, whatever version it saw."""
    converted = context.types.convert(new, attributes.gvk)
    if isawaitable(converted):
        converted = await converted
    assert attributes.object is not None
    if "metadata" not in attributes.object:
        # Options of a connection are no object with owners and a name.
        attributes.object.clear()
        attributes.object.update((key, value) for key, value in converted.items() if key != "metadata")
        return
    _keep_owners(attributes, converted["metadata"])
    attributes.replace_object(converted)


def _keep_owners(attributes: Attributes, metadata: Object) -> None:
    """Owners of fields that make no sense any more are as they were."""
    assert attributes.object is not None
    before = attributes.object["metadata"].get("managedFields")
    after = metadata.get("managedFields")
    if after == before or after is None:
        return
    try:
        Managed.decode(after)
    except FieldSetError as error:
        attributes.warnings.append(
            ".metadata.managedFields was in an invalid state after admission; this could be caused by an "
            f"outdated mutating admission controller; please fix your requests: {error}"
        )
        metadata.pop("managedFields")
        if before is not None:
            metadata["managedFields"] = before


class MutatingAdmissionWebhook:
    name = "MutatingAdmissionWebhook"

    def __init__(
        self, context: AdmissionContext, clients: WebhookClients, metrics: AdmissionWebhookMetrics
    ) -> None:
        self._context = context
        self._invoker = Invoker(clients, metrics, "admit", f"failed-open.{_MUTATION}")
        self.webhooks = CachedObjects(
            lambda: read_webhooks(context.reader, _PLURAL, context.compiler), (GROUP, _PLURAL)
        )

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return not is_exempt(group, plural)

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        hooks = self.webhooks.get()
        return self._admit(attributes, hooks) if hooks else None

    def validate(self, attributes: Attributes) -> None:
        return None

    async def _admit(self, attributes: Attributes, hooks: tuple[Webhook, ...]) -> None:
        memory: Reinvocations = attributes.memory.setdefault(self.name, Reinvocations())
        memory.begin(attributes)
        for index, hook in enumerate(hooks):
            versioned = await self._context.seen_by(hook, attributes)
            if versioned is None or memory.skips(attributes, hook.uid):
                continue
            if await self._invoke(hook, attributes, versioned, index):
                memory.object_changed()
                attributes.wants_reinvocation = True
            if hook.reinvoked:
                memory.asked.add(hook.uid)
        memory.end(attributes)

    async def _invoke(
        self, hook: Webhook, attributes: Attributes, versioned: VersionedAttributes, index: int
    ) -> bool:
        """Whether the webhook changed the object."""
        changed = False
        place = f"round_{attributes.round}_index_{index}"
        note: Object = {"configuration": hook.configuration, "webhook": hook.name}
        try:
            patch = await self._invoker.invoke(hook, attributes, versioned, index)
            if patch is not None:
                changed = await self._apply(hook, attributes, versioned, patch)
                noted = note | {"patch": patch, "patchType": "JSONPatch"}
                annotate(attributes, _PATCH + place, orjson.dumps(noted).decode())
        finally:
            annotate(attributes, _MUTATION + place, orjson.dumps(note | {"mutated": changed}).decode())
        return changed

    async def _apply(
        self, hook: Webhook, attributes: Attributes, versioned: VersionedAttributes, patch: Any
    ) -> bool:
        if versioned.object is None:
            raise internal_error(
                f"admission webhook {quote(hook.name)} attempted to modify the object, which is not "
                "supported for this operation"
            )
        try:
            patched = json_patch.apply(versioned.object, patch)
            if not isinstance(patched, dict):
                raise internal_error("the patched object is no JSON object")
        except PatchError as error:
            raise internal_error(str(error)) from error
        new = accepted(self._context.types, versioned.kind, patched)
        if new == versioned.object:
            return False
        await write_back(self._context, attributes, new)
        return True
