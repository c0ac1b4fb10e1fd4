"""Names of certificate signers and of the trust bundles they own, which pods and certificates share."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, invalid, quote, required, too_long
from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain, name_is_dns_subdomain

__all__ = [
    "is_kubernetes_signer",
    "trust_bundle_name_errors",
    "validate_signer_name",
    "validate_trust_bundle_name",
]

_DOMAIN_LENGTH: Final = 253
_PATH_LENGTH: Final = 253 + 63 + 1


def is_kubernetes_signer(name: str) -> bool:
    host = name.partition("/")[0]
    return host == "kubernetes.io" or host.endswith(".kubernetes.io")


def validate_signer_name(name: str, path: Path) -> list[FieldError]:
    """`example.com/signer-name`."""
    if not name:
        return [required(path)]
    segments = name.split("/")
    if len(segments) != 2:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(path, name, text)]
    domain, signer = segments
    errors = [too_long(path, _DOMAIN_LENGTH)] if len(domain) > _DOMAIN_LENGTH else []
    # Only the first wrong label is reported: the others would read the same.
    for label in domain.split("."):
        if wrong := is_dns1123_label(label):
            errors += invalids(path, domain, (f"validating label {quote(label)}: {text}" for text in wrong))
            break
    if "." not in domain:
        errors.append(
            invalid(path, domain, "should be a domain with at least two segments separated by dots")
        )
    for label in signer.split("."):
        if wrong := is_dns1123_subdomain(label):
            errors += invalids(path, signer, (f"validating label {quote(label)}: {text}" for text in wrong))
            break
    longest = _DOMAIN_LENGTH + _PATH_LENGTH + 1
    if len(name) > longest:
        errors.append(too_long(path, longest))
    return errors


def validate_trust_bundle_name(name: str) -> list[str]:
    """The name of a bundle whose signer, if any, is in the name itself."""
    signer, colon, _ = name.rpartition(":")
    return trust_bundle_name_errors(name, signer.replace(":", "/") if colon else "", False)


def trust_bundle_name_errors(name: str, signer: str, prefix: bool) -> list[str]:
    """A bundle of a signer is named after it."""
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return name_is_dns_subdomain(name, prefix)
    wanted = signer.replace("/", ":") + ":"
    if not name.startswith(wanted):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {wanted}"]
    return name_is_dns_subdomain(name.removeprefix(wanted), prefix)
