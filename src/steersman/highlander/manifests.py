"""What it takes to run Highlander in a cluster: identity, permissions, controllers, how to reach them.

Made from the configuration, so that permissions are no wider than what it needs: in the namespaces of its
workloads, and nowhere else unless custom resources are followed. The Helm chart in deploy/highlander/chart
makes the same objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from steersman.highlander.config import TenantConfig
from steersman.highlander.resources import RESOURCES, definitions
from steersman.highlander.workloads.ownership import label_value

__all__ = ["Deployed", "manifests", "to_yaml"]

Object = dict[str, Any]

_PORT = 8080
_OWN = ["get", "list", "watch", "create", "patch", "delete"]
#: What workloads are made of: API group, resources, verbs.
_RULES: tuple[tuple[str, list[str], list[str]], ...] = (
    ("", ["pods", "services"], _OWN),
    ("apps", ["deployments", "statefulsets"], _OWN),
    ("batch", ["cronjobs"], _OWN),
    ("batch", ["jobs"], ["get", "list", "watch", "delete"]),
    ("", ["pods/log"], ["get"]),
)
#: Secrets people make, and what the controllers find of them in their environment.
_SECRETS = (
    ("HIGHLANDER_API_TOKEN", "api-token"),
    ("HIGHLANDER_REDIS_PASSWORD", "redis-password"),
    ("HIGHLANDER_DATABASE_URL", "database-url"),
)


@dataclass(frozen=True, slots=True)
class Deployed:
    """How it is deployed."""

    image: str = "steersman:latest"
    name: str = "highlander"
    namespace: str = "highlander"
    replicas: int = 2
    grace_period_s: int = 120
    """Long enough for the workloads to be stopped and gone."""
    service_monitor: bool = False
    """For Prometheus' operator, if the cluster has it."""
    monitoring_namespace: str = "monitoring"
    """Where scrapes come from."""

    @property
    def labels(self) -> dict[str, str]:
        return {"app.kubernetes.io/name": "highlander", "app.kubernetes.io/instance": self.name}


def manifests(file: str, tenants: Sequence[TenantConfig], deployed: Deployed | None = None) -> list[Object]:
    """Objects to apply, in that order. `file` is the text of the configuration, `tenants` what it says."""
    deployed = deployed or Deployed()
    objects = [
        *(definitions(public=True) if any(tenant.custom_resources for tenant in tenants) else ()),
        _object(deployed, "v1", "ServiceAccount", automountServiceAccountToken=False),
        *_permissions(deployed, tenants),
        _object(deployed, "v1", "ConfigMap", data={"config.yaml": file}),
        _object(deployed, "apps/v1", "Deployment", spec=_deployment(deployed)),
        _object(deployed, "v1", "Service", spec=_service(deployed)),
        _object(
            deployed,
            "policy/v1",
            "PodDisruptionBudget",
            spec={"maxUnavailable": 1, "selector": {"matchLabels": deployed.labels}},
        ),
        _object(deployed, "networking.k8s.io/v1", "NetworkPolicy", spec=_network_policy(deployed)),
    ]
    if deployed.service_monitor:
        objects.append(
            _object(deployed, "monitoring.coreos.com/v1", "ServiceMonitor", spec=_monitor(deployed))
        )
    return objects


class _Readable(yaml.SafeDumper):
    """Texts of several lines stay so; nothing is said by reference."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)


def to_yaml(objects: Iterable[Object]) -> str:
    return yaml.dump_all(objects, Dumper=_Readable, sort_keys=False, explicit_start=True)


def _object(
    deployed: Deployed, api_version: str, kind: str, namespace: str | None = None, **fields: Any
) -> Object:
    metadata: Object = {"name": deployed.name, "labels": deployed.labels}
    where = deployed.namespace if namespace is None else namespace
    if where:
        metadata["namespace"] = where
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _permissions(deployed: Deployed, tenants: Sequence[TenantConfig]) -> list[Object]:
    """A role in every namespace concerned; those of workloads everywhere if custom resources say where."""
    rules: dict[str, list[Object]] = {}
    if any(tenant.custom_resources for tenant in tenants):
        rules[""] = [*_workload_rules(), *_custom_rules()]
    else:
        for namespace in sorted({place for tenant in tenants for place in _namespaces(tenant)}):
            rules[namespace] = _workload_rules()
    for tenant in tenants:
        paused = [f"highlander-{label_value(tenant.tenant).lower()}"]
        rule = _rule("", ["configmaps"], ["get", "create", "patch"], resourceNames=paused)
        rules.setdefault(tenant.namespace, []).append(rule)
        if tenant.storage_type == "lease":
            where = rules.setdefault(tenant.lease.namespace or tenant.namespace, [])
            lease = _rule("coordination.k8s.io", ["leases"], ["get", "create", "update"])
            if lease not in where:
                where.append(lease)
    return [one for namespace, wanted in rules.items() for one in _role(deployed, namespace, wanted)]


def _namespaces(tenant: TenantConfig) -> set[str]:
    return {tenant.namespace, *(spec.namespace or tenant.namespace for spec in tenant.workloads)}


def _workload_rules() -> list[Object]:
    return [_rule(group, resources, verbs) for group, resources, verbs in _RULES]


def _custom_rules() -> list[Object]:
    plurals: dict[str, list[str]] = {}
    for kind in RESOURCES:
        plurals.setdefault(kind.resource_type.group, []).append(kind.resource_type.plural)
    return [
        _rule(group, [f"{name}{part}" for name in names], verbs)
        for group, names in plurals.items()
        for part, verbs in (
            ("", ["get", "list", "watch", "patch"]),
            ("/status", ["patch", "update"]),
            ("/finalizers", ["update"]),
        )
    ]


def _rule(group: str, resources: list[str], verbs: list[str], **more: Any) -> Object:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs), **more}


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
    secrets = [
        {
            "name": variable,
            "valueFrom": {"secretKeyRef": {"name": deployed.name, "key": key, "optional": True}},
        }
        for variable, key in _SECRETS
    ]
    return {
        "name": "highlander",
        "image": deployed.image,
        "command": ["steer", "highlander", "run", "--config", "/etc/highlander/config.yaml"],
        "env": [
            {"name": "HIGHLANDER_ID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "HIGHLANDER_PORT", "value": str(_PORT)},
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


def _network_policy(deployed: Deployed) -> Object:
    """The dashboard shows what runs: only this namespace and the one that scrapes may look."""
    places = [deployed.namespace, deployed.monitoring_namespace]
    peers = [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place}}} for place in places
    ]
    return {
        "podSelector": {"matchLabels": deployed.labels},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": peers, "ports": [{"protocol": "TCP", "port": "http"}]}],
    }


def _monitor(deployed: Deployed) -> Object:
    return {
        "selector": {"matchLabels": deployed.labels},
        "endpoints": [{"port": "http", "path": "/metrics", "interval": "15s"}],
    }
