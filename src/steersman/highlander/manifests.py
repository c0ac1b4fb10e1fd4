"""What it takes to run Highlander in a cluster: identity, permissions, controllers, how to reach them.

Made from the configuration, so that permissions are no wider than what it needs: in the namespaces of its
workloads, and nowhere else unless custom resources are followed. The Helm chart (`chart`)
makes the same objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steersman.highlander.config import TenantConfig
from steersman.highlander.config.models import RaftSection
from steersman.highlander.permissions import rules_by_namespace
from steersman.highlander.raft_manifests import PORT as RAFT_PORT
from steersman.highlander.raft_manifests import headless_service, raft_of, raft_rule, stateful_set
from steersman.highlander.resources import definitions
from steersman.objects.kinds import Object
from steersman.objects.resources import CRON_JOBS, DEPLOYMENTS, SERVICES, STATEFUL_SETS
from steersman.operator.fencing import term_policy

__all__ = ["Deployed", "manifests"]


_PORT = 8080
#: There in every cluster, and not ours to describe.
_GIVEN_NAMESPACES = ("default", "kube-system")
#: Keys of the Secret, and what the controllers find of them in their environment.
_SECRETS = (
    ("HIGHLANDER_API_TOKEN", "api-token"),
    ("HIGHLANDER_REDIS_ADDR", "redis-addr"),
    ("HIGHLANDER_REDIS_PASSWORD", "redis-password"),
    ("HIGHLANDER_DATABASE_URL", "database-url"),
)
#: What is written more than once, each time with the epoch.
_FENCED = (CRON_JOBS, DEPLOYMENTS, SERVICES, STATEFUL_SETS)


@dataclass(frozen=True, slots=True)
class Deployed:
    """How it is deployed."""

    image: str = "steersman:latest"
    name: str = "highlander"
    namespace: str = "highlander"
    replicas: int = 2
    tenant: str = ""
    """The one of the configuration's tenants that these controllers serve; all of them if empty."""
    secret: str = ""
    """The Secret with what is not to be in a file; of the deployment's name if empty."""
    grace_period_s: int = 120
    """Long enough for the workloads to be stopped and gone."""
    fencing: bool = False
    """Have the API server reject late writes of former leaders."""
    network_policy: bool = True
    service_monitor: bool = False
    """Add a ServiceMonitor for the Prometheus Operator."""
    monitoring_namespace: str = "monitoring"
    """The namespace that Prometheus scrapes from."""

    @property
    def labels(self) -> dict[str, str]:
        return {"app.kubernetes.io/name": "highlander", "app.kubernetes.io/instance": self.name}


def manifests(file: str, tenants: Sequence[TenantConfig], deployed: Deployed | None = None) -> list[Object]:
    """Objects to apply, in that order. `file` is the text of the configuration, `tenants` what it says."""
    deployed = deployed or Deployed()
    raft = raft_of(deployed.name, tenants)
    objects = [
        *_namespace(deployed),
        *(definitions(public=True) if any(tenant.follows_custom_resources for tenant in tenants) else ()),
        _object(deployed, "v1", "ServiceAccount", automountServiceAccountToken=False),
        *_permissions(deployed, tenants, raft),
        _object(deployed, "v1", "ConfigMap", data={"config.yaml": file}),
        *_controllers(deployed, raft),
        _object(deployed, "v1", "Service", spec=_service(deployed)),
        _object(
            deployed,
            "policy/v1",
            "PodDisruptionBudget",
            spec={"maxUnavailable": 1, "selector": {"matchLabels": deployed.labels}},
        ),
    ]
    if deployed.network_policy:
        objects.append(
            _object(deployed, "networking.k8s.io/v1", "NetworkPolicy", spec=_network_policy(deployed, raft))
        )
    if deployed.service_monitor:
        objects.append(
            _object(deployed, "monitoring.coreos.com/v1", "ServiceMonitor", spec=_monitor(deployed))
        )
    if deployed.fencing:
        objects += term_policy(f"fencing.{deployed.name}", _FENCED, labels={"managed-by": "highlander"})
    return objects


def _controllers(deployed: Deployed, raft: RaftSection | None) -> list[Object]:
    spec = _deployment(deployed)
    if raft is None:
        return [_object(deployed, "apps/v1", "Deployment", spec=spec)]
    service = _object(deployed, "v1", "Service", spec=headless_service(deployed.labels))
    service["metadata"]["name"] = raft.service
    return [
        service,
        _object(deployed, "apps/v1", "StatefulSet", spec=stateful_set(raft, deployed.name, spec)),
    ]


def _namespace(deployed: Deployed) -> list[Object]:
    if deployed.namespace in _GIVEN_NAMESPACES:
        return []
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": deployed.namespace, "labels": labels}}
    ]


def _object(
    deployed: Deployed, api_version: str, kind: str, namespace: str | None = None, **fields: Any
) -> Object:
    metadata: Object = {"name": deployed.name, "labels": deployed.labels}
    where = deployed.namespace if namespace is None else namespace
    if where:
        metadata["namespace"] = where
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _permissions(
    deployed: Deployed, tenants: Sequence[TenantConfig], raft: RaftSection | None
) -> list[Object]:
    """A role and its binding in every namespace concerned."""
    rules = rules_by_namespace(tenants)
    if raft is not None:
        rules.setdefault(deployed.namespace, []).append(raft_rule(deployed.name))
    return [one for namespace, wanted in rules.items() for one in _role(deployed, namespace, wanted)]


def _role(deployed: Deployed, namespace: str, rules: list[Object]) -> list[Object]:
    """Everywhere if `namespace` is empty."""
    kind = "Role" if namespace else "ClusterRole"
    version = "rbac.authorization.k8s.io/v1"
    account = {"kind": "ServiceAccount", "name": deployed.name, "namespace": deployed.namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": deployed.name}
    return [
        _object(deployed, version, kind, namespace, rules=rules),
        _object(deployed, version, f"{kind}Binding", namespace, roleRef=reference, subjects=[account]),
    ]


def _deployment(deployed: Deployed) -> Object:
    return {
        "replicas": deployed.replicas,
        "selector": {"matchLabels": deployed.labels},
        "template": {"metadata": {"labels": deployed.labels}, "spec": _pod(deployed)},
    }


def _pod(deployed: Deployed) -> Object:
    return {
        "serviceAccountName": deployed.name,
        "automountServiceAccountToken": True,
        "terminationGracePeriodSeconds": deployed.grace_period_s,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": deployed.labels},
            }
        ],
        "containers": [_container(deployed)],
        "volumes": [{"name": "config", "configMap": {"name": deployed.name}}],
    }


def _container(deployed: Deployed) -> Object:
    secret = deployed.secret or deployed.name
    secrets = [
        {
            "name": variable,
            "valueFrom": {"secretKeyRef": {"name": secret, "key": key, "optional": True}},
        }
        for variable, key in _SECRETS
    ]
    tenant = [{"name": "HIGHLANDER_TENANT", "value": deployed.tenant}] if deployed.tenant else []
    return {
        "name": "highlander",
        "image": deployed.image,
        "command": ["steer", "highlander", "run", "--config", "/etc/highlander/config.yaml"],
        "env": [
            {"name": "HIGHLANDER_ID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "HIGHLANDER_PORT", "value": str(_PORT)},
            *tenant,
            *secrets,
        ],
        "ports": [{"name": "http", "containerPort": _PORT}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}, "periodSeconds": 5},
        "resources": {
            "requests": {"cpu": "50m", "memory": "96Mi"},
            "limits": {"memory": "256Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        # The folder, not the file: a mounted file would never change.
        "volumeMounts": [{"name": "config", "mountPath": "/etc/highlander", "readOnly": True}],
    }


def _service(deployed: Deployed) -> Object:
    return {
        "selector": deployed.labels,
        "ports": [{"name": "http", "port": _PORT, "targetPort": "http"}],
    }


def _network_policy(deployed: Deployed, raft: RaftSection | None) -> Object:
    """The dashboard shows what runs: only this namespace and the one that scrapes may look. Only controllers
    talk Raft with controllers."""
    places = [deployed.namespace, deployed.monitoring_namespace]
    peers = [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place}}} for place in places
    ]
    ingress = [{"from": peers, "ports": [{"protocol": "TCP", "port": "http"}]}]
    if raft is not None:
        among = [{"podSelector": {"matchLabels": deployed.labels}}]
        ingress.append({"from": among, "ports": [{"protocol": "TCP", "port": RAFT_PORT}]})
    return {
        "podSelector": {"matchLabels": deployed.labels},
        "policyTypes": ["Ingress"],
        "ingress": ingress,
    }


def _monitor(deployed: Deployed) -> Object:
    return {
        "selector": {"matchLabels": deployed.labels},
        "endpoints": [{"port": "http", "path": "/metrics", "interval": "15s"}],
    }
