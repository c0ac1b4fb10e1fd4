"""Validation of resource.k8s.io: which kind is checked by what."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.device_claims import (
    declared_of_claim,
    declared_of_class,
    declared_of_template,
    validate_claim,
    validate_claim_status,
    validate_class,
    validate_template,
    validate_template_update,
)
from steersman.cluster.schema.validation.device_slices import (
    declared_of_slice,
    declared_of_taint_rule,
    validate_slice,
    validate_taint_rule,
    validate_taint_rule_status,
)
from steersman.cluster.schema.validation.rules import Revalidation, Rules

__all__ = ["RULES"]

_GROUP: Final = "resource.k8s.io"

RULES: Final = {
    (_GROUP, "ResourceClaim"): Rules(
        create=validate_claim, status=validate_claim_status, late=declared_of_claim
    ),
    (_GROUP, "ResourceClaimTemplate"): Rules(
        create=validate_template,
        update=validate_template_update,
        late=declared_of_template,
        revalidation=Revalidation.BEFORE,
    ),
    (_GROUP, "DeviceClass"): Rules(
        create=validate_class, late=declared_of_class, revalidation=Revalidation.AFTER
    ),
    (_GROUP, "ResourceSlice"): Rules(create=validate_slice, update=validate_slice, late=declared_of_slice),
    (_GROUP, "DeviceTaintRule"): Rules(
        create=validate_taint_rule,
        update=validate_taint_rule,
        status=validate_taint_rule_status,
        late=declared_of_taint_rule,
    ),
}
