"""Validation of certificates.k8s.io: what rules.txt cannot say about requests and trust bundles."""

from __future__ import annotations

import difflib
import json
from base64 import b64decode
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from steersman.cluster.schema.pem import blocks, certificate_request
from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.cluster.schema.validation.rules import ValuelessError, invalids
from steersman.cluster.schema.validation.signers import (
    is_kubernetes_signer,
    trust_bundle_name_errors,
    validate_signer_name,
)
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    quote,
    required,
    too_long,
)
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_conditions

__all__ = [
    "any_name",
    "validate_approval",
    "validate_bundle_names",
    "validate_expiration",
    "validate_one_decision",
    "validate_pod_request_status",
    "validate_proof",
    "validate_request",
    "validate_request_status",
    "validate_request_update",
    "validate_signer_name",
    "validate_trust_anchors",
]

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_CONDITIONS: Final = _STATUS.child("conditions")
_DECISIONS: Final = ("Approved", "Denied")
_ALWAYS_TRUE: Final = (*_DECISIONS, "Failed")
_LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
_SHORTEST_S: Final = 600
_LARGEST_BUNDLE: Final = 1024 * 1024
_OMITTED: Final = "<value omitted>"
_USAGES: Final = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_CONDITION_SHAPE: Final[Shape] = (
    ("type", "Type", ""),
    ("status", "Status", ""),
    ("reason", "Reason", ""),
    ("message", "Message", ""),
    ("lastUpdateTime", "LastUpdateTime", None),
    ("lastTransitionTime", "LastTransitionTime", None),
)


def any_name(name: str, prefix: bool) -> list[str]:
    return []


# --- Signing requests


def validate_request(obj: Object, path: Path, old: Object | None = None) -> list[FieldError]:
    """All checks of a request; what an update leaves as it was, right or wrong, is let through."""
    spec, before = obj.get("spec") or {}, (old or {}).get("spec") or {}
    errors = _certificate_request(spec.get("request"), _SPEC.child("request"))
    errors += _usages(spec.get("usages") or [], before.get("usages") or [], _SPEC.child("usages"))
    signer, here = spec.get("signerName", ""), _SPEC.child("signerName")
    if signer == _LEGACY_SIGNER and before.get("signerName") != _LEGACY_SIGNER:
        errors.append(invalid(here, signer, "the legacy signerName is not allowed via this API version"))
    else:
        errors += validate_signer_name(signer, here)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST_S:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(invalid(_SPEC.child("expirationSeconds"), seconds, text))
    errors += _request_conditions(obj, old)
    certificate = (obj.get("status") or {}).get("certificate") or ""
    unchanged = old is not None and not _certificates_differ(obj, old)
    if certificate and not unchanged and (reason := _certificate_error(certificate)):
        errors.append(invalid(_STATUS.child("certificate"), "<certificate data>", reason))
    return errors


def _text(encoded: str) -> str:
    return b64decode(encoded).decode("latin-1")


def _certificate_request(encoded: str | None, path: Path) -> list[FieldError]:
    try:
        valid = certificate_request(encoded or "").is_signature_valid
    except (ValueError, UnsupportedAlgorithm) as error:
        return [invalid(path, encoded, str(error))]
    return [] if valid else [invalid(path, encoded, "x509: signature verification failed")]


def _usages(usages: list[str], before: list[str], path: Path) -> list[FieldError]:
    errors = [] if usages else [required(path)]
    if set(before) <= set(_USAGES):
        errors += [
            not_supported(path.index(number), usage, _USAGES)
            for number, usage in enumerate(usages)
            if usage not in _USAGES
        ]
    if len(set(before)) == len(before):
        errors += [
            duplicate(path.index(number), usage)
            for number, usage in enumerate(usages)
            if usage in usages[:number]
        ]
    return errors


def _conditions_of(obj: Object | None) -> list[Object]:
    return ((obj or {}).get("status") or {}).get("conditions") or []


def _request_conditions(obj: Object, old: Object | None) -> list[FieldError]:
    before = [condition.get("type", "") for condition in _conditions_of(old)]
    seen: set[str] = set()
    errors: list[FieldError] = []
    for number, condition in enumerate(_conditions_of(obj)):
        kind, status, at = condition.get("type", ""), condition.get("status", ""), _CONDITIONS.index(number)
        if not kind and "" not in before:
            errors.append(required(at.child("type")))
        allowed = ("True",) if kind in _ALWAYS_TRUE else ("False", "True", "Unknown")
        if not status:
            errors.append(required(at.child("status")))
        elif status not in allowed:
            errors.append(not_supported(at.child("status"), status, allowed))
        if kind in seen and len(set(before)) == len(before):
            errors.append(duplicate(at.child("type"), kind))
        seen.add(kind)
    return errors


def validate_one_decision(obj: Object, path: Path, old: Object | None) -> list[FieldError]:
    """A request is approved or denied, never both."""
    decided, before = (
        [kind for kind in _DECISIONS if any(c.get("type") == kind for c in _conditions_of(each))]
        for each in (obj, old)
    )
    if len(decided) < 2 or decided == before:
        return []
    members = [f'conditions[{{"type": "{kind}"}}]' for kind in _DECISIONS]
    text = "must specify at most one of: " + ", ".join(f"`{member}`" for member in members)
    return [invalid(_CONDITIONS, f"{{{', '.join(members)}}}", text)]


def _certificate_error(encoded: str) -> str:
    count = 0
    for block in blocks(_text(encoded)):
        if block.type != "CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {quote(block.type)}"
        if block.has_headers:
            return "no PEM block headers are permitted"
        count += 1
        try:
            x509.load_der_x509_certificate(block.data)
        except ValueError:
            return "x509: malformed certificate"
    return "" if count else "must contain at least one CERTIFICATE PEM block"


def validate_request_update(obj: Object, path: Path, old: Object) -> list[FieldError]:
    errors = validate_request(obj, path, old) + _removed_conditions(obj, old) + _decided_elsewhere(obj, old)
    if _certificates_differ(obj, old):
        errors.append(forbidden(_STATUS.child("certificate"), "updates may not set certificate content"))
    return errors


def validate_request_status(obj: Object, path: Path, old: Object) -> list[FieldError]:
    errors = validate_request(obj, path, old) + _removed_conditions(obj, old) + _decided_elsewhere(obj, old)
    if _certificates_differ(obj, old) and (old.get("status") or {}).get("certificate"):
        text = "updates may not modify existing certificate content"
        errors.append(forbidden(_STATUS.child("certificate"), text))
    return errors


def validate_approval(obj: Object, path: Path, old: Object) -> list[FieldError]:
    """What is wrong with an update through the approval subresource, metadata aside."""
    errors = validate_request(obj, path, old) + _removed_conditions(obj, old)
    if _certificates_differ(obj, old):
        errors.append(forbidden(_STATUS.child("certificate"), "updates may not set certificate content"))
    return errors


def _certificates_differ(obj: Object, old: Object) -> bool:
    new, before = ((each.get("status") or {}).get("certificate") or "" for each in (obj, old))
    return bool(new != before)


def _of_type(obj: Object, kind: str) -> list[Object]:
    return [condition for condition in _conditions_of(obj) if condition.get("type") == kind]


def _removed_conditions(obj: Object, old: Object) -> list[FieldError]:
    return [
        forbidden(_CONDITIONS, f"updates may not remove a condition of type {quote(kind)}")
        for kind in _ALWAYS_TRUE
        if len(_of_type(obj, kind)) < len(_of_type(old, kind))
    ]


def _decided_elsewhere(obj: Object, old: Object) -> list[FieldError]:
    """Decisions are taken through the approval subresource only."""
    errors = []
    for kind in _DECISIONS:
        new, before = _of_type(obj, kind), _of_type(old, kind)
        if len(new) > len(before):
            errors.append(forbidden(_CONDITIONS, f"updates may not add a condition of type {quote(kind)}"))
        elif len(new) == len(before) and new != before:
            text = f"updates may not modify a condition of type {quote(kind)}\n{_difference(before, new)}"
            errors.append(forbidden(_CONDITIONS, text))
    return errors


def _difference(old: list[Object], new: list[Object]) -> str:
    """The unified diff of both, as Kubernetes shows what was changed."""
    before, after = (
        json.dumps([as_internal(each, _CONDITION_SHAPE) for each in conditions], indent=1).splitlines(True)
        for conditions in (old, new)
    )
    return "".join(list(difflib.unified_diff(before, after, n=3))[2:])


# --- Trust bundles


def validate_bundle_names(obj: Object, path: Path) -> list[FieldError]:
    name, signer = obj["metadata"].get("name", ""), (obj.get("spec") or {}).get("signerName", "")
    here = path.child("metadata", "name")
    errors = invalids(here, name, trust_bundle_name_errors(name, signer, False)) if name else []
    return errors + (validate_signer_name(signer, _SPEC.child("signerName")) if signer else [])


def validate_trust_anchors(bundle: str, path: Path) -> list[FieldError]:
    if len(bundle) > _LARGEST_BUNDLE:
        return [too_long(path, _LARGEST_BUNDLE)]
    errors = []
    places: dict[bytes, list[int]] = {}
    for number, block in enumerate(blocks(bundle)):
        if block.type != "CERTIFICATE":
            reason = f"has bad block type: {block.type}"
        elif block.has_headers:
            reason = "has PEM block headers"
        elif not (reason := _anchor_error(block.data)):
            places.setdefault(block.data, []).append(number)
            continue
        errors.append(invalid(path, _OMITTED, f"entry {number} {reason}"))
    if errors:
        return errors
    if not places:
        return [invalid(path, _OMITTED, "at least one trust anchor must be provided")]
    return [
        invalid(path, _OMITTED, f"duplicate trust anchor (indices [{' '.join(map(str, numbers))}])")
        for numbers in places.values()
        if len(numbers) > 1
    ]


def _anchor_error(data: bytes) -> str:
    try:
        extensions = x509.load_der_x509_certificate(data).extensions
    except ValueError:
        return "does not parse as X.509"
    try:
        is_ca = extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        is_ca = False
    return "" if is_ca else "does not have the CA bit set"


# --- Pods' certificate requests

_SHORTEST_POD_S: Final = 60 * 60
_LONGEST_POD_S: Final = 91 * 24 * 60 * 60
_LONGEST_KUBERNETES_S: Final = 24 * 60 * 60
_OUTCOMES: Final = ("Issued", "Denied", "Failed")


def validate_expiration(spec: Object, path: Path) -> list[FieldError]:
    """How long depends on who signs."""
    seconds, kubernetes = spec["maxExpirationSeconds"], is_kubernetes_signer(spec.get("signerName", ""))
    longest = _LONGEST_KUBERNETES_S if kubernetes else _LONGEST_POD_S
    if _SHORTEST_POD_S <= seconds <= longest:
        return []
    text = f"must be in the range [{_SHORTEST_POD_S}, {longest}]"
    return [invalid(path.child("maxExpirationSeconds"), seconds, text)]


def validate_proof(spec: Object, path: Path) -> list[FieldError]:
    proofs = [bool(spec.get(field)) for field in ("stubPKCS10Request", "pkixPublicKey", "proofOfPossession")]
    if proofs in ([True, False, False], [False, True, True]):
        return []
    text = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
    return [ValuelessError(path, text)]


def validate_pod_request_status(obj: Object, path: Path, old: Object) -> list[FieldError]:
    conditions = _conditions_of(obj)
    errors: list[FieldError] = []
    known = 0
    for number, condition in enumerate(conditions):
        # Kubernetes puts the index behind a dot here.
        at = _CONDITIONS.child(f"[{number}]")
        kind, status = condition.get("type", ""), condition.get("status", "")
        if kind not in _OUTCOMES:
            errors.append(not_supported(at.child("type"), kind, _OUTCOMES))
            continue
        known += 1
        if known > 1:
            text = 'There may be at most one condition with type "Issued", "Denied", or "Failed"'
            errors.append(invalid(at.child("type"), kind, text))
        if status != "True":
            errors.append(not_supported(at.child("status"), status, ("True",)))
    errors += validate_conditions(conditions, _CONDITIONS)
    return errors or _outcome(obj, old)


def _outcome(obj: Object, old: Object) -> list[FieldError]:
    """A request ends once, and with its end says only what belongs to it."""
    status, before = obj.get("status") or {}, old.get("status") or {}
    outcome, earlier = (next((c.get("type") for c in _conditions_of(each)), None) for each in (obj, old))
    if earlier in _OUTCOMES:
        text = "immutable after PodCertificateRequest is issued, denied, or failed"
        return [] if status == before else [ValuelessError(_STATUS, text)]
    if outcome in ("Denied", "Failed"):
        text = "non-condition status fields must be empty when denying or failing the PodCertificateRequest"
        return [] if set(status) <= {"conditions"} else [ValuelessError(_STATUS, text)]
    if outcome == "Issued":
        return _issued(status)
    text = 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"'
    return [] if status == before else [ValuelessError(_STATUS, text)]


def _issued(status: Object) -> list[FieldError]:
    chain, path = status.get("certificateChain", ""), _STATUS.child("certificateChain")
    leaf = next(blocks(chain), None)
    if leaf is None:
        return [invalid(path, chain, "issued certificate chain must contain at least one certificate")]
    if leaf.type != "CERTIFICATE":
        text = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"
        return [invalid(path, chain, text)]
    needed = {
        "notBefore": "must be present and consistent with the issued certificate",
        "notAfter": "must be present and consistent with the issued certificate",
        "beginRefreshAt": "must be present and in the range [notbefore+10min, notafter-10min]",
    }
    return [required(_STATUS.child(field), text) for field, text in needed.items() if not status.get(field)]
