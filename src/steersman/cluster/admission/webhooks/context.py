"""The dependencies of webhooks and policies, and the variables of expressions about a write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.cluster.admission.webhooks.authorizer_variable import asked_authorizer
from steersman.cluster.admission.webhooks.conditions import Compiler
from steersman.cluster.admission.webhooks.configurations import Webhook
from steersman.cluster.admission.webhooks.errors import ExpressionError
from steersman.cluster.admission.webhooks.review import admission_request
from steersman.cluster.admission.webhooks.versions import ResourceVersions, VersionedAttributes, in_version
from steersman.cluster.auth.authorization import Authorizer
from steersman.cluster.cel import evaluated
from steersman.objects.status import forbidden

__all__ = ["AdmissionContext"]


@dataclass(frozen=True, slots=True)
class AdmissionContext:
    """The dependencies of webhooks and policies."""

    reader: Reader
    types: ResourceVersions
    compiler: Compiler
    #: What `authorizer` asks in expressions.
    authorizer: Authorizer

    async def seen_by(self, hook: Webhook, attributes: Attributes) -> VersionedAttributes | None:
        """The write as this webhook is to see it; None when it is none of its business."""
        served = hook.match.find(attributes, self.types, self.reader)
        if served is None:
            return None
        versioned = await in_version(self.types, attributes, served)
        try:
            bindings = self.bindings(attributes, versioned)
            holds = not hook.conditions.programs or await evaluated(
                lambda: hook.conditions.hold(lambda _: bindings)
            )
        except ExpressionError as error:
            raise forbidden(attributes.group, attributes.plural, attributes.name, str(error)) from error
        return versioned if holds else None

    def bindings(self, attributes: Attributes, versioned: VersionedAttributes) -> dict[str, Any]:
        """What every expression about a write can look at."""
        authorizer = asked_authorizer(self.authorizer, attributes.user)
        return {
            "object": versioned.object,
            "oldObject": versioned.old,
            "request": admission_request(attributes, versioned),
            "authorizer": authorizer,
            "authorizer.requestResource": authorizer.resource_check(
                group=attributes.group,
                resource=attributes.plural,
                subresource=attributes.subresource,
                namespace=attributes.namespace,
                name=attributes.name,
            ),
        }
