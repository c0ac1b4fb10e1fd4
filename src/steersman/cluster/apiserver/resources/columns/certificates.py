"""The tables of certificates.k8s.io: requests, trust bundles and pods' certificate requests."""

from __future__ import annotations

from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    NAME,
    NONE,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    label_text,
    name_of,
)
from steersman.objects.kinds import Object
from steersman.objects.times import human_duration

__all__ = ["TABLES"]

_GROUP = "certificates.k8s.io"


def _signing_request(obj: Object, now: float) -> Cells:
    duration = at(obj, "spec", "expirationSeconds")
    return [
        name_of(obj),
        age(obj, now),
        at(obj, "spec", "signerName") or NONE,
        at(obj, "spec", "username", default=""),
        NONE if duration is None else human_duration(duration),
        _condition(obj),
    ]


def _condition(obj: Object) -> str:
    types = {found.get("type") for found in at(obj, "status", "conditions", default=())}
    words = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    if "Failed" in types:
        words.append("Failed")
    if at(obj, "status", "certificate"):
        words.append("Issued")
    return ",".join(words)


def _trust_bundle(obj: Object, now: float) -> Cells:
    return [name_of(obj), at(obj, "spec", "signerName") or NONE]


def _pod_request(obj: Object, now: float) -> Cells:
    spec = at(obj, "spec", default={})
    # The three are exclusive; were they not, the last one listed would count.
    decided = [
        found["type"]
        for found in at(obj, "status", "conditions", default=())
        if found.get("type") in ("Issued", "Denied", "Failed")
    ]
    return [
        name_of(obj),
        spec.get("podName", ""),
        spec.get("serviceAccountName", ""),
        spec.get("nodeName", ""),
        spec.get("signerName", ""),
        decided[-1] if decided else "Pending",
        label_text(spec.get("unverifiedUserAnnotations") or {}),
    ]


_SIGNER = ColumnDefinition("SignerName", "Who signs.")

TABLES = {
    (_GROUP, "certificatesigningrequests"): Table(
        (
            NAME,
            AGE,
            _SIGNER,
            ColumnDefinition("Requestor", "Who asked."),
            ColumnDefinition("RequestedDuration", "How long the certificate should be valid."),
            ColumnDefinition("Condition", "What has become of the request."),
        ),
        _signing_request,
    ),
    (_GROUP, "clustertrustbundles"): Table((NAME, _SIGNER), _trust_bundle),
    (_GROUP, "podcertificaterequests"): Table(
        (
            NAME,
            ColumnDefinition("PodName", "The pod that asked."),
            ColumnDefinition("ServiceAccountName", "The service account of the pod."),
            ColumnDefinition("NodeName", "The node of the pod."),
            _SIGNER,
            ColumnDefinition("State", "What has become of the request."),
            ColumnDefinition("UnverifiedUserAnnotations", "What the pod says to the signer."),
        ),
        _pod_request,
    ),
}
