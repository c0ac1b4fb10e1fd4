"""The built-in resources that controllers and tools name, as `ResourceType`s.

Only names: what their objects look like is in `builders` (for those that people write) and in the API
server's own schema.
"""

from __future__ import annotations

from typing import Final

from steersman.objects.resource_type import ResourceType

__all__ = [
    "CERTIFICATE_SIGNING_REQUESTS",
    "CLUSTER_ROLES",
    "CLUSTER_ROLE_BINDINGS",
    "CONFIG_MAPS",
    "CONTROLLER_REVISIONS",
    "CORE_EVENTS",
    "CRON_JOBS",
    "CSI_NODES",
    "CUSTOM_RESOURCE_DEFINITIONS",
    "DAEMON_SETS",
    "DEPLOYMENTS",
    "ENDPOINTS",
    "ENDPOINT_SLICES",
    "EVENTS",
    "HORIZONTAL_POD_AUTOSCALERS",
    "INGRESSES",
    "JOBS",
    "LEASES",
    "LIMIT_RANGES",
    "NAMESPACES",
    "NETWORK_POLICIES",
    "NODES",
    "PERSISTENT_VOLUMES",
    "PERSISTENT_VOLUME_CLAIMS",
    "PODS",
    "POD_CERTIFICATE_REQUESTS",
    "POD_DISRUPTION_BUDGETS",
    "POD_TEMPLATES",
    "PRIORITY_CLASSES",
    "REPLICATION_CONTROLLERS",
    "REPLICA_SETS",
    "RESOURCE_QUOTAS",
    "ROLES",
    "ROLE_BINDINGS",
    "RUNTIME_CLASSES",
    "SECRETS",
    "SERVICES",
    "SERVICE_ACCOUNTS",
    "STATEFUL_SETS",
    "STORAGE_CLASSES",
    "SUBJECT_ACCESS_REVIEWS",
    "VOLUME_ATTACHMENTS",
    "VOLUME_ATTRIBUTES_CLASSES",
]

_R = ResourceType

CONFIG_MAPS: Final = _R("", "v1", "ConfigMap", "configmaps")
CORE_EVENTS: Final = _R("", "v1", "Event", "events")
ENDPOINTS: Final = _R("", "v1", "Endpoints", "endpoints")
LIMIT_RANGES: Final = _R("", "v1", "LimitRange", "limitranges")
NAMESPACES: Final = _R("", "v1", "Namespace", "namespaces", namespaced=False)
NODES: Final = _R("", "v1", "Node", "nodes", namespaced=False)
PERSISTENT_VOLUMES: Final = _R("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
PERSISTENT_VOLUME_CLAIMS: Final = _R("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
PODS: Final = _R("", "v1", "Pod", "pods")
POD_TEMPLATES: Final = _R("", "v1", "PodTemplate", "podtemplates")
REPLICATION_CONTROLLERS: Final = _R("", "v1", "ReplicationController", "replicationcontrollers")
RESOURCE_QUOTAS: Final = _R("", "v1", "ResourceQuota", "resourcequotas")
SECRETS: Final = _R("", "v1", "Secret", "secrets")
SERVICES: Final = _R("", "v1", "Service", "services")
SERVICE_ACCOUNTS: Final = _R("", "v1", "ServiceAccount", "serviceaccounts")

CONTROLLER_REVISIONS: Final = _R("apps", "v1", "ControllerRevision", "controllerrevisions")
DAEMON_SETS: Final = _R("apps", "v1", "DaemonSet", "daemonsets")
DEPLOYMENTS: Final = _R("apps", "v1", "Deployment", "deployments")
REPLICA_SETS: Final = _R("apps", "v1", "ReplicaSet", "replicasets")
STATEFUL_SETS: Final = _R("apps", "v1", "StatefulSet", "statefulsets")

HORIZONTAL_POD_AUTOSCALERS: Final = _R(
    "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"
)
SUBJECT_ACCESS_REVIEWS: Final = _R(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)
CRON_JOBS: Final = _R("batch", "v1", "CronJob", "cronjobs")
JOBS: Final = _R("batch", "v1", "Job", "jobs")
CERTIFICATE_SIGNING_REQUESTS: Final = _R(
    "certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", namespaced=False
)
POD_CERTIFICATE_REQUESTS: Final = _R(
    "certificates.k8s.io", "v1", "PodCertificateRequest", "podcertificaterequests"
)
LEASES: Final = _R("coordination.k8s.io", "v1", "Lease", "leases")
ENDPOINT_SLICES: Final = _R("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
EVENTS: Final = _R("events.k8s.io", "v1", "Event", "events")
INGRESSES: Final = _R("networking.k8s.io", "v1", "Ingress", "ingresses")
NETWORK_POLICIES: Final = _R("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
RUNTIME_CLASSES: Final = _R("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False)
POD_DISRUPTION_BUDGETS: Final = _R("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
CLUSTER_ROLES: Final = _R("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS: Final = _R(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
ROLES: Final = _R("rbac.authorization.k8s.io", "v1", "Role", "roles")
ROLE_BINDINGS: Final = _R("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
PRIORITY_CLASSES: Final = _R("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)
CSI_NODES: Final = _R("storage.k8s.io", "v1", "CSINode", "csinodes", namespaced=False)
STORAGE_CLASSES: Final = _R("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
VOLUME_ATTACHMENTS: Final = _R(
    "storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", namespaced=False
)
VOLUME_ATTRIBUTES_CLASSES: Final = _R(
    "storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses", namespaced=False
)
CUSTOM_RESOURCE_DEFINITIONS: Final = _R(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
