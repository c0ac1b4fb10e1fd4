"""Steersman: Kubernetes operators in Python, and an embedded cluster to run them on.

    from steersman import Action, Container, Context, CustomResource, Deployment, Operator, Service

What an operator is written with can be imported from here: all of `operator`, `objects.builders` and
`objects.custom`, and what is needed most of the other packages. `steersman.testing` has what tests need.

Importing the package loads nothing; a name loads the package that it comes from when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.lazy import lazy_names

if TYPE_CHECKING:
    from steersman.client import (
        AlreadyExists,
        ApiError,
        Client,
        ClientError,
        Conflict,
        Forbidden,
        Invalid,
        NotFound,
        Unreachable,
    )
    from steersman.cluster.local import ClusterConfig, LocalCluster
    from steersman.election import (
        Leadership,
        LeadershipLost,
        Lease,
        LeaseSettings,
        PostgresLock,
        RaftConfig,
        RedisLock,
    )
    from steersman.objects.builders import (
        Affinity,
        Annotations,
        BuildError,
        ClusterResource,
        ClusterRole,
        ClusterRoleBinding,
        ConfigMap,
        Container,
        CronJob,
        DaemonSet,
        Deployment,
        Hook,
        HorizontalPodAutoscaler,
        Ingress,
        IngressRule,
        Job,
        Labels,
        Namespace,
        NetworkPolicy,
        NetworkPolicyEgress,
        NetworkPolicyIngress,
        PersistentVolumeClaim,
        Pod,
        PodDisruptionBudget,
        PodSecurityContext,
        PolicyRule,
        PriorityClass,
        Probe,
        ProjectedVolume,
        Resource,
        Resources,
        Role,
        RoleBinding,
        Secret,
        SecurityContext,
        Selector,
        Service,
        ServiceAccount,
        StatefulSet,
        Volume,
    )
    from steersman.objects.custom import (
        AGE,
        Condition,
        ConversionError,
        CustomResource,
        DefinitionError,
        Duration,
        Field,
        IntOrString,
        InvalidObjectError,
        Model,
        ObjectMeta,
        OwnerReference,
        PrinterColumn,
        Quantity,
        Scale,
        Time,
        Versions,
        atomic,
        crd,
        dump,
        embedded_resource,
        list_map,
        list_set,
        nullable,
        preserve_unknown,
        rule,
    )
    from steersman.operator import (
        Action,
        AdmissionRequest,
        Context,
        Denied,
        NewCondition,
        Operator,
        OperatorError,
        Requeue,
        Settings,
        Sharding,
        TerminalError,
        WebhookSettings,
        assemble,
        fencing_policy,
        run,
        serve,
        uninstall_webhooks,
    )
    from steersman.raft.client import RaftClient
    from steersman.raft.config import NodeConfig
    from steersman.raft.manager import RaftNodeManager
    from steersman.raft.membership import ClusterManager
    from steersman.raft.transport.grpc import RaftNetwork
    from steersman.runtime import (
        Predicate,
        RetryPolicy,
        annotations_changed,
        generation_changed,
        labels_changed,
        resource_version_changed,
    )

__all__ = [
    "AGE",
    "Action",
    "AdmissionRequest",
    "Affinity",
    "AlreadyExists",
    "Annotations",
    "ApiError",
    "BuildError",
    "Client",
    "ClientError",
    "ClusterConfig",
    "ClusterManager",
    "ClusterResource",
    "ClusterRole",
    "ClusterRoleBinding",
    "Condition",
    "ConfigMap",
    "Conflict",
    "Container",
    "Context",
    "ConversionError",
    "CronJob",
    "CustomResource",
    "DaemonSet",
    "DefinitionError",
    "Denied",
    "Deployment",
    "Duration",
    "Field",
    "Forbidden",
    "Hook",
    "HorizontalPodAutoscaler",
    "Ingress",
    "IngressRule",
    "IntOrString",
    "Invalid",
    "InvalidObjectError",
    "Job",
    "Labels",
    "Leadership",
    "LeadershipLost",
    "Lease",
    "LeaseSettings",
    "LocalCluster",
    "Model",
    "Namespace",
    "NetworkPolicy",
    "NetworkPolicyEgress",
    "NetworkPolicyIngress",
    "NewCondition",
    "NodeConfig",
    "NotFound",
    "ObjectMeta",
    "Operator",
    "OperatorError",
    "OwnerReference",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PodSecurityContext",
    "PolicyRule",
    "PostgresLock",
    "Predicate",
    "PrinterColumn",
    "PriorityClass",
    "Probe",
    "ProjectedVolume",
    "Quantity",
    "RaftClient",
    "RaftConfig",
    "RaftNetwork",
    "RaftNodeManager",
    "RedisLock",
    "Requeue",
    "Resource",
    "Resources",
    "RetryPolicy",
    "Role",
    "RoleBinding",
    "Scale",
    "Secret",
    "SecurityContext",
    "Selector",
    "Service",
    "ServiceAccount",
    "Settings",
    "Sharding",
    "StatefulSet",
    "TerminalError",
    "Time",
    "Unreachable",
    "Versions",
    "Volume",
    "WebhookSettings",
    "annotations_changed",
    "assemble",
    "atomic",
    "crd",
    "dump",
    "embedded_resource",
    "fencing_policy",
    "generation_changed",
    "labels_changed",
    "list_map",
    "list_set",
    "nullable",
    "preserve_unknown",
    "resource_version_changed",
    "rule",
    "run",
    "serve",
    "uninstall_webhooks",
]

#: Where names are defined.
_MODULES = {
    "operator": (
        "Action AdmissionRequest Context Denied NewCondition Operator OperatorError Requeue Settings "
        "Sharding TerminalError WebhookSettings assemble fencing_policy run serve uninstall_webhooks"
    ),
    "objects.builders": (
        "Affinity Annotations BuildError ClusterResource ClusterRole ClusterRoleBinding ConfigMap "
        "Container CronJob DaemonSet Deployment Hook HorizontalPodAutoscaler Ingress IngressRule Job "
        "Labels Namespace NetworkPolicy NetworkPolicyEgress NetworkPolicyIngress "
        "PersistentVolumeClaim Pod PodDisruptionBudget PodSecurityContext PolicyRule PriorityClass "
        "Probe ProjectedVolume Resource Resources Role RoleBinding Secret SecurityContext Selector "
        "Service ServiceAccount StatefulSet Volume"
    ),
    "objects.custom": (
        "AGE Condition ConversionError CustomResource DefinitionError Duration Field IntOrString "
        "InvalidObjectError Model ObjectMeta OwnerReference PrinterColumn Quantity Scale Time "
        "Versions atomic crd dump embedded_resource list_map list_set nullable preserve_unknown rule"
    ),
    "client": "AlreadyExists ApiError Client ClientError Conflict Forbidden Invalid NotFound Unreachable",
    "runtime": (
        "Predicate RetryPolicy annotations_changed generation_changed labels_changed resource_version_changed"
    ),
    "election": "Lease LeaseSettings Leadership LeadershipLost PostgresLock RaftConfig RedisLock",
    "raft.client": "RaftClient",
    "raft.config": "NodeConfig",
    "raft.manager": "RaftNodeManager",
    "raft.membership": "ClusterManager",
    "raft.transport.grpc": "RaftNetwork",
    "cluster.local": "ClusterConfig LocalCluster",
}

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
