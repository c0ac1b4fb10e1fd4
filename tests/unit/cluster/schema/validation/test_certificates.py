"""Signing requests, trust bundles and pods' certificate requests."""

from __future__ import annotations

from base64 import b64encode
from copy import deepcopy
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from steersman.cluster.schema.validation import validate_subresource_update

GROUP = "certificates.k8s.io"
NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "me")])
KEY = ec.generate_private_key(ec.SECP256R1())
TIME = "2026-01-01T00:00:00Z"


@cache
def signing_request() -> str:
    request = x509.CertificateSigningRequestBuilder().subject_name(NAME).sign(KEY, hashes.SHA256())
    return b64encode(request.public_bytes(Encoding.PEM)).decode()


@cache
def certificate(is_ca: bool) -> str:
    builder = (
        x509.CertificateBuilder()
        .subject_name(NAME)
        .issuer_name(NAME)
        .public_key(KEY.public_key())
        .serial_number(7)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2027, 1, 1, tzinfo=UTC))
        .add_extension(x509.BasicConstraints(is_ca, None), critical=True)
    )
    return builder.sign(KEY, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def request(**status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "Any Name", "resourceVersion": "1"},
        "spec": {"request": signing_request(), "signerName": "example.com/s", "usages": ["client auth"]},
        "status": status,
    }


def condition(kind: str, status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": "R", "lastTransitionTime": TIME}


def decided(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    """What is wrong with an update through /approval."""
    kind = "CertificateSigningRequest"
    return [str(error) for error in validate_subresource_update(GROUP, kind, "approval", False, new, old)]


REQUESTS: dict[str, tuple[Any, list[str]]] = {
    "valid": ({}, []),
    "no request": (
        {"spec": {"request": None}},
        ["spec.request: Invalid value: null: PEM block type must be CERTIFICATE REQUEST"],
    ),
    "an empty request": (
        {"spec": {"request": ""}},
        ['spec.request: Invalid value: "": PEM block type must be CERTIFICATE REQUEST'],
    ),
    "a name of two": (
        {"metadata": {"name": "a/b"}},
        ["metadata.name: Invalid value: \"a/b\": may not contain '/'"],
    ),
    "no usages": ({"spec": {"usages": None}}, ["spec.usages: Required value"]),
    "usages twice": (
        {"spec": {"usages": ["any", "any"]}},
        ['spec.usages[1]: Duplicate value: "any"'],
    ),
    "legacy signer": (
        {"spec": {"signerName": "kubernetes.io/legacy-unknown"}},
        [
            'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": '
            "the legacy signerName is not allowed via this API version"
        ],
    ),
    "signer without a path": (
        {"spec": {"signerName": "example.com"}},
        [
            'spec.signerName: Invalid value: "example.com": '
            "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        ],
    ),
    "signer with dots": ({"spec": {"signerName": "example.com/a.b"}}, []),
    "signer of a wrong path": (
        {"spec": {"signerName": "example.com/A_"}},
        [
            'spec.signerName: Invalid value: "A_": validating label "A_": a lowercase RFC '
            "1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character (e.g. 'example.com', regex "
            "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\."
            "[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ],
    ),
    "too short": (
        {"spec": {"expirationSeconds": 599}},
        [
            "spec.expirationSeconds: Invalid value: 599: "
            "may not specify a duration less than 600 seconds (10 minutes)"
        ],
    ),
}


@pytest.mark.parametrize(("patch", "expected"), REQUESTS.values(), ids=REQUESTS)
def test_a_signing_request_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created(GROUP, "CertificateSigningRequest", request(), patch) == expected


def test_an_unknown_usage_is_told_all_that_are_known(created: Any) -> None:
    [error] = created(GROUP, "CertificateSigningRequest", request(), {"spec": {"usages": ["fun"]}})
    assert error.startswith(
        'spec.usages[0]: Unsupported value: "fun": supported values: "any", "cert sign", '
    )


def test_a_decision_is_taken_through_approval_only(updated: Any, reported: Any) -> None:
    patch = {"status": {"conditions": [condition("Approved")]}}
    refusal = ['status.conditions: Forbidden: updates may not add a condition of type "Approved"']
    assert updated(GROUP, "CertificateSigningRequest", request(), patch) == refusal
    assert reported(GROUP, "CertificateSigningRequest", request(), patch) == refusal
    assert decided(request(conditions=[condition("Approved")]), request()) == []


def test_a_decision_is_neither_taken_back_nor_doubled() -> None:
    approved = request(conditions=[condition("Approved")])
    assert decided(request(), approved) == [
        'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
    ]
    both = request(conditions=[condition("Approved"), condition("Denied")])
    assert decided(both, approved) == [
        r'status.conditions: Invalid value: "{conditions[{\"type\": \"Approved\"}], '
        r'conditions[{\"type\": \"Denied\"}]}": must specify at most one of: '
        '`conditions[{"type": "Approved"}]`, `conditions[{"type": "Denied"}]`'
    ]


def test_a_changed_decision_is_shown_as_a_difference(reported: Any) -> None:
    old = request(conditions=[condition("Approved")])
    changed = {**condition("Approved"), "reason": "Other"}
    [error] = reported(GROUP, "CertificateSigningRequest", old, {"status": {"conditions": [changed]}})
    head, *difference = error.split("\n")
    assert head == 'status.conditions: Forbidden: updates may not modify a condition of type "Approved"'
    assert '-  "Reason": "R",' in difference
    assert '+  "Reason": "Other",' in difference


def test_conditions_must_be_true(reported: Any) -> None:
    conditions = [condition("Failed", "False"), condition("Mine", "False"), {"type": "Odd"}]
    assert reported(
        GROUP, "CertificateSigningRequest", request(), {"status": {"conditions": conditions}}
    ) == [
        'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
        "status.conditions[2].status: Required value",
    ]


def test_a_certificate_is_issued_once(updated: Any, reported: Any) -> None:
    issued = {"status": {"certificate": b64encode(certificate(False).encode()).decode()}}
    assert reported(GROUP, "CertificateSigningRequest", request(), issued) == []
    assert updated(GROUP, "CertificateSigningRequest", request(), issued) == [
        "status.certificate: Forbidden: updates may not set certificate content"
    ]
    other = {"status": {"certificate": b64encode(certificate(True).encode()).decode()}}
    assert reported(GROUP, "CertificateSigningRequest", {**request(), **issued}, other) == [
        "status.certificate: Forbidden: updates may not modify existing certificate content"
    ]
    junk = {"status": {"certificate": b64encode(b"junk").decode()}}
    assert reported(GROUP, "CertificateSigningRequest", request(), junk) == [
        'status.certificate: Invalid value: "<certificate data>": must contain at least one '
        "CERTIFICATE PEM block"
    ]


def bundle(trust: str, name: str = "b", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": "1"}, "spec": {"trustBundle": trust, **spec}}


OMITTED = 'spec.trustBundle: Invalid value: "<value omitted>": '


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(lambda: bundle(certificate(True)), [], id="valid"),
        pytest.param(
            lambda: bundle(""), [f"{OMITTED}at least one trust anchor must be provided"], id="empty"
        ),
        pytest.param(
            lambda: bundle(certificate(False)), [f"{OMITTED}entry 0 does not have the CA bit set"], id="leaf"
        ),
        pytest.param(
            lambda: bundle(certificate(True) * 2),
            [f"{OMITTED}duplicate trust anchor (indices [0 1])"],
            id="twice",
        ),
        pytest.param(
            lambda: bundle(certificate(True).replace("CERTIFICATE", "KEY")),
            [f"{OMITTED}entry 0 has bad block type: KEY"],
            id="other-block",
        ),
        pytest.param(
            lambda: bundle(certificate(True), "example.com:s:b", signerName="example.com/s"),
            [],
            id="of-a-signer",
        ),
    ],
)
def test_a_trust_bundle_is_created_or_refused(created: Any, make: Any, expected: list[str]) -> None:
    assert created(GROUP, "ClusterTrustBundle", make(), {}) == expected


POD_REQUEST = {
    "metadata": {"name": "p", "namespace": "n", "resourceVersion": "1"},
    "spec": {
        "signerName": "example.com/s",
        "podName": "p",
        "podUID": "1",
        "serviceAccountName": "s",
        "serviceAccountUID": "2",
        "nodeName": "n",
        "nodeUID": "3",
        "maxExpirationSeconds": 3600,
        "stubPKCS10Request": "eA==",
    },
    "status": {},
}


def test_a_pods_request_says_who_asks_and_for_how_long(created: Any) -> None:
    assert created(GROUP, "PodCertificateRequest", POD_REQUEST, {}) == []
    patch = {"spec": {"podUID": None, "maxExpirationSeconds": 60, "stubPKCS10Request": None}}
    assert created(GROUP, "PodCertificateRequest", POD_REQUEST, patch) == [
        'spec.podUID: Invalid value: "": must not be empty',
        "spec.maxExpirationSeconds: Invalid value: 60: must be in the range [3600, 7862400]",
        "spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, "
        "proofOfPossession) must be set",
    ]


def test_a_pods_request_ends_once(reported: Any) -> None:
    denied = {"status": {"conditions": [condition("Denied")]}}
    assert reported(GROUP, "PodCertificateRequest", POD_REQUEST, denied) == []
    assert reported(GROUP, "PodCertificateRequest", POD_REQUEST, {"status": {"notBefore": TIME}}) == [
        'status: Invalid value: status is immutable unless transitioning to "Issued", "Denied", or "Failed"'
    ]
    over = {**deepcopy(POD_REQUEST), **denied}
    assert reported(GROUP, "PodCertificateRequest", over, {"status": {"conditions": None}}) == [
        "status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed"
    ]


def test_a_condition_twice_may_stay(reported: Any) -> None:
    mine = condition("Mine")
    twice = {"status": {"conditions": [mine, mine]}}
    assert reported(GROUP, "CertificateSigningRequest", request(), twice) == [
        'status.conditions[1].type: Duplicate value: "Mine"'
    ]
    assert reported(GROUP, "CertificateSigningRequest", request(conditions=[mine, mine]), twice) == []


def test_a_bundle_changes_its_anchors_but_not_its_signer(updated: Any) -> None:
    old = bundle(certificate(True))
    assert updated(GROUP, "ClusterTrustBundle", old, {"metadata": {"labels": {"a": "b"}}}) == []
    assert updated(GROUP, "ClusterTrustBundle", old, {"spec": {"trustBundle": certificate(False)}}) == [
        f"{OMITTED}entry 0 does not have the CA bit set"
    ]
    # What is stored is not judged again.
    assert updated(GROUP, "ClusterTrustBundle", bundle("x"), {"metadata": {"labels": {"a": "b"}}}) == []
    mine = bundle(certificate(True), "example.com:s:b", signerName="example.com/s")
    (_, error) = updated(GROUP, "ClusterTrustBundle", mine, {"spec": {"signerName": "example.com/t"}})
    assert error == 'spec.signerName: Invalid value: "example.com/t": field is immutable'


def test_an_issued_certificate_says_until_when(reported: Any) -> None:
    def issue(chain: str, **times: str) -> list[str]:
        status = {"conditions": [condition("Issued")], "certificateChain": chain, **times}
        errors: list[str] = reported(GROUP, "PodCertificateRequest", POD_REQUEST, {"status": status})
        return errors

    times = dict.fromkeys(("notBefore", "notAfter", "beginRefreshAt"), TIME)
    assert issue(certificate(False), **times) == []
    assert issue(certificate(False)) == [
        "status.notBefore: Required value: must be present and consistent with the issued certificate",
        "status.notAfter: Required value: must be present and consistent with the issued certificate",
        "status.beginRefreshAt: Required value: must be present and in the range "
        "[notbefore+10min, notafter-10min]",
    ]
    assert issue("", **times) == [
        'status.certificateChain: Invalid value: "": issued certificate chain must contain at least one '
        "certificate"
    ]
    (error,) = issue(certificate(False).replace("CERTIFICATE", "KEY"), **times)
    assert error.endswith("issued certificate chain must consist entirely of CERTIFICATE PEM blocks")


@pytest.mark.parametrize(
    ("signer", "longest"),
    [("kubernetes.io/s", 86400), ("node.kubernetes.io/s", 86400), ("example.com/s", 7862400)],
)
def test_certificates_of_kubernetes_own_signers_live_a_day(created: Any, signer: str, longest: int) -> None:
    def errors(seconds: int) -> list[str]:
        spec = {"signerName": signer, "maxExpirationSeconds": seconds}
        found: list[str] = created(GROUP, "PodCertificateRequest", POD_REQUEST, {"spec": spec})
        return found

    assert errors(longest) == []
    assert errors(longest + 1) == [
        f"spec.maxExpirationSeconds: Invalid value: {longest + 1}: must be in the range [3600, {longest}]"
    ]
