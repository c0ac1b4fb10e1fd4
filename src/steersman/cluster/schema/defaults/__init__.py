"""What the server fills in where a client left things out, for every built-in kind.

`apply_defaults` is called on each object decoded from a request, after it is in normal form and before
admission. It is a pure function of the object: defaults that depend on other objects (priority, storage
class, tolerations) belong to admission; what depends on the operation belongs to the strategies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.cluster.schema.defaults import (
    admission,
    apps,
    autoscaling,
    batch,
    core,
    devices,
    extensions,
    flowcontrol,
    networking,
    pods,
    rbac,
    services,
    storage,
)
from steersman.cluster.schema.defaults.filling import unset
from steersman.objects.kinds import Object

__all__ = ["apply_defaults"]


def _spec_field(key: str, value: object) -> Callable[[Object], None]:
    """Defaults of kinds that have a single one, in their spec."""
    return lambda obj: unset(obj["spec"], key, value)


_DEFAULTS: Final[dict[tuple[str, str, str], Callable[[Object], None]]] = {
    ("", "v1", "Endpoints"): services.default_endpoints,
    ("", "v1", "LimitRange"): core.default_limit_range,
    ("", "v1", "Namespace"): core.default_namespace,
    ("", "v1", "Node"): core.default_node,
    ("", "v1", "PersistentVolume"): storage.default_persistent_volume,
    ("", "v1", "PersistentVolumeClaim"): storage.default_claim,
    ("", "v1", "Pod"): pods.default_pod,
    ("", "v1", "PodTemplate"): core.default_pod_template,
    ("", "v1", "ReplicationController"): core.default_replication_controller,
    ("", "v1", "ResourceQuota"): core.default_resource_quota,
    ("", "v1", "Secret"): core.default_secret,
    ("", "v1", "Service"): services.default_service,
    ("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy"): admission.default_policy,
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingAdmissionPolicyBinding",
    ): admission.default_policy_binding,
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
    ): admission.default_mutating_webhooks,
    ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"): admission.default_policy,
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicyBinding",
    ): admission.default_policy_binding,
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
    ): admission.default_validating_webhooks,
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"): extensions.default_custom_resource_definition,
    ("apiregistration.k8s.io", "v1", "APIService"): extensions.default_api_service,
    ("apps", "v1", "DaemonSet"): apps.default_daemon_set,
    ("apps", "v1", "Deployment"): apps.default_deployment,
    ("apps", "v1", "ReplicaSet"): apps.default_replica_set,
    ("apps", "v1", "StatefulSet"): apps.default_stateful_set,
    ("authentication.k8s.io", "v1", "TokenRequest"): _spec_field("expirationSeconds", 3600),
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): autoscaling.default_autoscaler_v1,
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): autoscaling.default_autoscaler_v2,
    ("batch", "v1", "CronJob"): batch.default_cron_job,
    ("batch", "v1", "Job"): batch.default_job,
    ("certificates.k8s.io", "v1", "PodCertificateRequest"): _spec_field("maxExpirationSeconds", 86400),
    ("discovery.k8s.io", "v1", "EndpointSlice"): services.default_endpoint_slice,
    ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"): flowcontrol.default_flow_schema,
    ("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration"): flowcontrol.default_priority_level,
    ("networking.k8s.io", "v1", "IngressClass"): networking.default_ingress_class,
    ("networking.k8s.io", "v1", "NetworkPolicy"): networking.default_network_policy,
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"): rbac.default_role_binding,
    ("rbac.authorization.k8s.io", "v1", "RoleBinding"): rbac.default_role_binding,
    ("resource.k8s.io", "v1", "DeviceTaintRule"): devices.default_device_taint_rule,
    ("resource.k8s.io", "v1", "ResourceClaim"): devices.default_resource_claim,
    ("resource.k8s.io", "v1", "ResourceClaimTemplate"): devices.default_resource_claim_template,
    ("resource.k8s.io", "v1", "ResourceSlice"): devices.default_resource_slice,
    ("scheduling.k8s.io", "v1", "PriorityClass"): lambda obj: unset(
        obj, "preemptionPolicy", "PreemptLowerPriority"
    ),
    ("storage.k8s.io", "v1", "CSIDriver"): storage.default_csi_driver,
    ("storage.k8s.io", "v1", "StorageClass"): storage.default_storage_class,
    ("storage.k8s.io", "v1", "VolumeAttachment"): storage.default_volume_attachment,
}


def apply_defaults(group: str, version: str, kind: str, obj: Object) -> None:
    """Fill in the defaults of one object, in place. Kinds without defaults are left as they are."""
    defaults = _DEFAULTS.get((group, version, kind))
    if defaults is not None:
        defaults(obj)
