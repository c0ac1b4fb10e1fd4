"""Validation of admissionregistration.k8s.io: which kind is checked by what."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.admission_policies import (
    declared_of_binding,
    validate_mutating_binding,
    validate_mutating_policy,
    validate_policy_status,
    validate_validating_binding,
    validate_validating_policy,
)
from steersman.cluster.schema.validation.admission_webhooks import validate_webhooks, validate_webhooks_update
from steersman.cluster.schema.validation.rules import Revalidation, Rules

__all__ = ["RULES"]

_GROUP: Final = "admissionregistration.k8s.io"
_WEBHOOKS: Final = Rules(create=validate_webhooks, update=validate_webhooks_update, standard_finalizers=False)

RULES: Final = {
    (_GROUP, "MutatingWebhookConfiguration"): _WEBHOOKS,
    (_GROUP, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_GROUP, "ValidatingAdmissionPolicy"): Rules(
        create=validate_validating_policy,
        update=validate_validating_policy,
        status=validate_policy_status,
        standard_finalizers=False,
    ),
    (_GROUP, "ValidatingAdmissionPolicyBinding"): Rules(
        create=validate_validating_binding,
        late=declared_of_binding,
        revalidation=Revalidation.AFTER,
        standard_finalizers=False,
    ),
    (_GROUP, "MutatingAdmissionPolicy"): Rules(
        create=validate_mutating_policy, update=validate_mutating_policy, standard_finalizers=False
    ),
    (_GROUP, "MutatingAdmissionPolicyBinding"): Rules(
        create=validate_mutating_binding, revalidation=Revalidation.AFTER, standard_finalizers=False
    ),
}
