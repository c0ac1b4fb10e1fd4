"""The ValidatingAdmissionWebhook plugin: webhooks that may reject the final object, all called
concurrently.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from steersman.cluster.admission.cached import CachedObjects
from steersman.cluster.admission.chain import Attributes
from steersman.cluster.admission.webhooks.calling import WebhookClients
from steersman.cluster.admission.webhooks.configurations import GROUP, Webhook, read_webhooks
from steersman.cluster.admission.webhooks.context import AdmissionContext
from steersman.cluster.admission.webhooks.invoking import Invoker
from steersman.cluster.admission.webhooks.matching import is_exempt
from steersman.cluster.admission.webhooks.metrics import AdmissionWebhookMetrics

__all__ = ["ValidatingAdmissionWebhook"]

_PLURAL = "validatingwebhookconfigurations"


class ValidatingAdmissionWebhook:
    name = "ValidatingAdmissionWebhook"

    def __init__(
        self, context: AdmissionContext, clients: WebhookClients, metrics: AdmissionWebhookMetrics
    ) -> None:
        self._context = context
        failed_open = "failed-open.validating.webhook.admission.k8s.io/"
        self._invoker = Invoker(clients, metrics, "validating", failed_open)
        self.webhooks = CachedObjects(
            lambda: read_webhooks(context.reader, _PLURAL, context.compiler), (GROUP, _PLURAL)
        )

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return not is_exempt(group, plural)

    def admit(self, attributes: Attributes) -> None:
        return None

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        hooks = self.webhooks.get()
        return self._validate(attributes, hooks) if hooks else None

    async def _validate(self, attributes: Attributes, hooks: tuple[Webhook, ...]) -> None:
        relevant = []
        for hook in hooks:
            versioned = await self._context.seen_by(hook, attributes)
            if versioned is not None:
                relevant.append((hook, versioned))
        calls = [
            self._invoker.invoke(hook, attributes, versioned, index)
            for index, (hook, versioned) in enumerate(relevant)
        ]
        # All are waited for, so that each is counted and heard; of several refusals the first is the answer.
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
