"""Builders: Kubernetes objects without their boilerplate, checked while they are built.

    Deployment("web").replicas(3).container(Container("app").image("nginx:1.27").port(80))

Start reading with `part` (what a builder is), then `resource` and `workloads`. Every method returns its
builder; `to_object()` gives the object as a plain dict, `from_object()` holds one the API answered, and
`raw(path, value)` sets what has no method. What cannot work raises BuildError at once.
"""

from __future__ import annotations

from steersman.objects.builders.affinity import Affinity
from steersman.objects.builders.autoscaling import HorizontalPodAutoscaler
from steersman.objects.builders.compute import Resources
from steersman.objects.builders.config import ConfigMap, Secret
from steersman.objects.builders.container import Container
from steersman.objects.builders.errors import BuildError
from steersman.objects.builders.ingress import Ingress, IngressRule
from steersman.objects.builders.jobs import CronJob, Job
from steersman.objects.builders.labels import Annotations, Labels, Selector
from steersman.objects.builders.namespace import Namespace
from steersman.objects.builders.network_policy import (
    NetworkPolicy,
    NetworkPolicyEgress,
    NetworkPolicyIngress,
)
from steersman.objects.builders.policy import PodDisruptionBudget, PriorityClass
from steersman.objects.builders.probe import Hook, Probe
from steersman.objects.builders.rbac import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    ServiceAccount,
)
from steersman.objects.builders.resource import ClusterResource, Resource
from steersman.objects.builders.security import PodSecurityContext, SecurityContext
from steersman.objects.builders.service import Service
from steersman.objects.builders.storage import PersistentVolumeClaim
from steersman.objects.builders.volume import ProjectedVolume, Volume
from steersman.objects.builders.workloads import DaemonSet, Deployment, Pod, StatefulSet

__all__ = [
    "Affinity",
    "Annotations",
    "BuildError",
    "ClusterResource",
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "Container",
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Hook",
    "HorizontalPodAutoscaler",
    "Ingress",
    "IngressRule",
    "Job",
    "Labels",
    "Namespace",
    "NetworkPolicy",
    "NetworkPolicyEgress",
    "NetworkPolicyIngress",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PodSecurityContext",
    "PolicyRule",
    "PriorityClass",
    "Probe",
    "ProjectedVolume",
    "Resource",
    "Resources",
    "Role",
    "RoleBinding",
    "Secret",
    "SecurityContext",
    "Selector",
    "Service",
    "ServiceAccount",
    "StatefulSet",
    "Volume",
]
