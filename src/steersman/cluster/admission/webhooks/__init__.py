"""Admission webhooks: ValidatingWebhookConfiguration and MutatingWebhookConfiguration.

mutating, validating   the two plugins                     start here
configurations         the webhooks of the configurations
matching, conditions   the writes they match               (policies use these too)
versions               objects in the version they request
invoking, review       the AdmissionReview and its response
calling                the HTTPS connections
"""

from __future__ import annotations

from steersman.cluster.admission.webhooks.calling import WebhookClients
from steersman.cluster.admission.webhooks.context import AdmissionContext
from steersman.cluster.admission.webhooks.expressions import AdmissionExpressions
from steersman.cluster.admission.webhooks.metrics import AdmissionWebhookMetrics
from steersman.cluster.admission.webhooks.mutating import MutatingAdmissionWebhook
from steersman.cluster.admission.webhooks.validating import ValidatingAdmissionWebhook
from steersman.cluster.admission.webhooks.versions import CatalogTypes, ResourceVersions

__all__ = [
    "AdmissionContext",
    "AdmissionExpressions",
    "AdmissionWebhookMetrics",
    "CatalogTypes",
    "MutatingAdmissionWebhook",
    "ResourceVersions",
    "ValidatingAdmissionWebhook",
    "WebhookClients",
]
