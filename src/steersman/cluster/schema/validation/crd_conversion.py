"""How a custom resource definition converts between versions: nothing to do, or a webhook."""

from __future__ import annotations

from base64 import b64decode
from typing import Final

from steersman.cluster.schema.pem import blocks
from steersman.cluster.schema.validation.admission_webhooks import validate_client_config
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1035_label

__all__ = ["ca_bundle_is_valid", "conversion_errors", "knows_review_version"]

_STRATEGIES: Final = ("None", "Webhook")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")


def conversion_errors(
    conversion: Object | None, path: Path, *, known_version: bool, allow_invalid_bundle: bool
) -> list[FieldError]:
    if conversion is None:
        return []
    errors: list[FieldError] = []
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook") or {}
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if not strategy:
        errors.append(required(path.child("strategy")))
    elif strategy not in _STRATEGIES:
        errors.append(not_supported(path.child("strategy"), strategy, _STRATEGIES))
    config_path, versions_path = path.child("webhookClientConfig"), path.child("conversionReviewVersions")
    if strategy != "Webhook":
        text = "should not be set when strategy is not set to Webhook"
        if config is not None:
            errors.append(forbidden(config_path, text))
        if versions:
            errors.append(forbidden(versions_path, text))
        return errors
    if config is None:
        errors.append(required(config_path, "required when strategy is set to Webhook"))
    else:
        errors += validate_client_config(config, config_path)
        bundle = config.get("caBundle")
        if bundle and not allow_invalid_bundle and not ca_bundle_is_valid(bundle):
            text = "unable to load root certificates: unable to parse bytes as PEM block"
            errors.append(invalid(config_path.child("caBundle"), bundle, text))
    return errors + _review_version_errors(versions, versions_path, known_version)


def _review_version_errors(versions: list[str], path: Path, known_version: bool) -> list[FieldError]:
    if not versions:
        return [required(path)]
    errors: list[FieldError] = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errors.append(invalid(path.index(index), version, "duplicate version"))
        else:
            errors += invalids(path.index(index), version, is_dns1035_label(version))
    if known_version and not knows_review_version(versions):
        errors.append(invalid(path, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"))
    return errors


def knows_review_version(versions: list[str]) -> bool:
    return not set(versions).isdisjoint(_REVIEW_VERSIONS)


def ca_bundle_is_valid(bundle: str) -> bool:
    """Whether base64 text holds certificates in PEM."""
    text = b64decode(bundle).decode("latin-1")
    return any(block.type == "CERTIFICATE" for block in blocks(text))
