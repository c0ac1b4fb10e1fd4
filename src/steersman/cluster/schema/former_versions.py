"""Versions of built-in kinds that Kubernetes knows and does not serve: older ones, and betas that are off.

A body of such a version is told that it is of another version, not that nobody knows it.
"""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.resources import GVK

__all__ = ["current_kind"]

_POLICIES: Final = (
    "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
    "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
)
_ROLES: Final = "ClusterRole ClusterRoleBinding Role RoleBinding"
_FLOWS: Final = "FlowSchema PriorityLevelConfiguration"
_DEVICES: Final = "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"
_VOLUMES: Final = "CSIStorageCapacity VolumeAttachment VolumeAttributesClass"

_KINDS: Final = {
    "admissionregistration.k8s.io/v1alpha1": _POLICIES,
    "admissionregistration.k8s.io/v1beta1": (
        f"{_POLICIES} MutatingWebhookConfiguration ValidatingWebhookConfiguration"
    ),
    "apiextensions.k8s.io/v1beta1": "CustomResourceDefinition",
    "apiregistration.k8s.io/v1beta1": "APIService",
    "apps/v1beta1": "ControllerRevision Deployment StatefulSet",
    "apps/v1beta2": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "authentication.k8s.io/v1alpha1": "SelfSubjectReview",
    "authentication.k8s.io/v1beta1": "SelfSubjectReview TokenReview",
    "authorization.k8s.io/v1beta1": (
        "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"
    ),
    "batch/v1beta1": "CronJob",
    "certificates.k8s.io/v1alpha1": "ClusterTrustBundle",
    "certificates.k8s.io/v1beta1": "CertificateSigningRequest ClusterTrustBundle PodCertificateRequest",
    "coordination.k8s.io/v1beta1": "Lease",
    "discovery.k8s.io/v1beta1": "EndpointSlice",
    "events.k8s.io/v1beta1": "Event",
    "extensions/v1beta1": "DaemonSet Deployment Ingress NetworkPolicy ReplicaSet",
    "flowcontrol.apiserver.k8s.io/v1beta1": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta2": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta3": _FLOWS,
    "networking.k8s.io/v1beta1": "IPAddress Ingress IngressClass ServiceCIDR",
    "node.k8s.io/v1alpha1": "RuntimeClass",
    "node.k8s.io/v1beta1": "RuntimeClass",
    "policy/v1beta1": "Eviction PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1alpha1": _ROLES,
    "rbac.authorization.k8s.io/v1beta1": _ROLES,
    "resource.k8s.io/v1alpha3": "DeviceTaintRule",
    "resource.k8s.io/v1beta1": _DEVICES,
    "resource.k8s.io/v1beta2": f"{_DEVICES} DeviceTaintRule",
    "scheduling.k8s.io/v1beta1": "PriorityClass",
    "storage.k8s.io/v1alpha1": _VOLUMES,
    "storage.k8s.io/v1beta1": f"{_VOLUMES} CSIDriver CSINode StorageClass",
    "storagemigration.k8s.io/v1beta1": "StorageVersionMigration",
}
#: Where the kinds went that left their group.
_MOVED: Final = {
    "DaemonSet": "apps",
    "Deployment": "apps",
    "Ingress": "networking.k8s.io",
    "NetworkPolicy": "networking.k8s.io",
    "ReplicaSet": "apps",
}


def current_kind(gvk: GVK) -> GVK:
    """What is served of a kind in another version; the kind itself if it is none of these."""
    if gvk.kind not in _KINDS.get(gvk.api_version, "").split():
        return gvk
    group = _MOVED[gvk.kind] if gvk.group == "extensions" else gvk.group
    return GVK(group, "v1", gvk.kind)
