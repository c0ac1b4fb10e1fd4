"""The builder examples of seed 004 in Python, each with the exact object it makes.

The unit tests compare them; the integration tests give every one to the API server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steersman.objects.builders import (
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    Container,
    CronJob,
    DaemonSet,
    Deployment,
    Ingress,
    IngressRule,
    Job,
    Labels,
    NetworkPolicy,
    NetworkPolicyIngress,
    PersistentVolumeClaim,
    PolicyRule,
    Probe,
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

__all__ = ["EXAMPLES"]

RBAC = "rbac.authorization.k8s.io"


def quick_start_deployment() -> Resource:
    return Deployment("shop").replicas(2).container(Container("app").image("nginx:1.27").port(80))


def quick_start_service() -> Resource:
    return Service("shop").port(80, 80).selector(Selector().insert("app", "shop"))


def deployment() -> Resource:
    return (
        Deployment("my-app")
        .replicas(3)
        .labels(Labels().insert("app", "my-app"))
        .container(
            Container("main")
            .image("nginx:1.25")
            .port(80)
            .env("LOG_LEVEL", "info")
            .env_from_secret("DB_PASSWORD", "my-secret", "password")
            .env_from_configmap("CONFIG", "my-config", "key")
            .resources(
                Resources()
                .cpu_request("100m")
                .cpu_limit("500m")
                .memory_request("128Mi")
                .memory_limit("512Mi")
            )
            .liveness_probe(Probe.http("/health", 8080).period(10))
            .readiness_probe(Probe.http("/ready", 8080).initial_delay(5))
            .volume_mount("data", "/data")
            .security_context(SecurityContext().read_only_root_filesystem(True).run_as_non_root(True))
        )
        .volume(Volume.pvc("data", "my-pvc"))
        .service_account("my-sa")
    )


def service() -> Resource:
    """The seed shows every kind in one chain; the last one counts."""
    return (
        Service("my-service")
        .port(80, 8080)
        .named_port("metrics", 9090, 9090)
        .selector(Selector().insert("app", "my-app"))
        .cluster_ip()
        .node_port(80, 8080, 30080)
        .load_balancer()
        .headless()
    )


def config_map() -> Resource:
    return ConfigMap("my-config").data("config.yaml", "key: value").data("settings.json", "{}")


def secret() -> Resource:
    return Secret("my-secret").data("password", "secret123").data("api-key", "abc123")


def ingress() -> Resource:
    return (
        Ingress("my-ingress")
        .ingress_class("nginx")
        .annotation("nginx.ingress.kubernetes.io/rewrite-target", "/")
        .rule(IngressRule().host("example.com").path("/api", "api-service", 80).path("/", "web-service", 80))
        .tls(["example.com"], "tls-secret")
    )


def stateful_set() -> Resource:
    return (
        StatefulSet("my-stateful")
        .replicas(3)
        .service_name("my-headless")
        .container(Container("app").image("redis:7"))
        .volume_claim_template(PersistentVolumeClaim("data").storage("10Gi").access_mode("ReadWriteOnce"))
    )


def service_account() -> Resource:
    return ServiceAccount("my-sa")


def role() -> Resource:
    rule = PolicyRule().api_groups([""]).resources(["pods", "services"]).verbs(["get", "list", "watch"])
    return Role("my-role").rule(rule)


def role_binding() -> Resource:
    return RoleBinding("my-binding").role("my-role").service_account("my-sa", "default")


def cluster_role() -> Resource:
    rule = PolicyRule().api_groups(["example.com"]).resources(["myresources"]).verbs(["*"])
    return ClusterRole("my-cluster-role").rule(rule)


def cluster_role_binding() -> Resource:
    binding = ClusterRoleBinding("my-cluster-binding").cluster_role("my-cluster-role")
    return binding.service_account("my-sa", "default")


def job() -> Resource:
    container = Container("job").image("busybox").command(["echo", "hello"])
    return Job("my-job").backoff_limit(3).container(container)


def cron_job() -> Resource:
    return CronJob("my-cronjob").schedule("0 * * * *").container(Container("cron").image("busybox"))


def daemon_set() -> Resource:
    return DaemonSet("my-daemon").container(Container("agent").image("datadog/agent"))


def network_policy() -> Resource:
    return (
        NetworkPolicy("my-policy")
        .pod_selector(Selector().insert("app", "my-app"))
        .allow_ingress(
            NetworkPolicyIngress().from_namespace_selector(Selector().insert("env", "prod")).tcp_port(80)
        )
        .deny_all_egress()
    )


EXAMPLES: dict[Callable[[], Resource], dict[str, Any]] = {
    quick_start_deployment: {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "shop"}},
            "template": {
                "metadata": {"labels": {"app": "shop"}},
                "spec": {
                    "containers": [{"name": "app", "image": "nginx:1.27", "ports": [{"containerPort": 80}]}]
                },
            },
        },
    },
    quick_start_service: {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shop"},
        "spec": {"ports": [{"port": 80, "targetPort": 80}], "selector": {"app": "shop"}},
    },
    deployment: {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "my-app", "labels": {"app": "my-app"}},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "my-app"}},
            "template": {
                "metadata": {"labels": {"app": "my-app"}},
                "spec": {
                    "containers": [
                        {
                            "name": "main",
                            "image": "nginx:1.25",
                            "ports": [{"containerPort": 80}],
                            "env": [
                                {"name": "LOG_LEVEL", "value": "info"},
                                {
                                    "name": "DB_PASSWORD",
                                    "valueFrom": {"secretKeyRef": {"name": "my-secret", "key": "password"}},
                                },
                                {
                                    "name": "CONFIG",
                                    "valueFrom": {"configMapKeyRef": {"name": "my-config", "key": "key"}},
                                },
                            ],
                            "resources": {
                                "requests": {"cpu": "100m", "memory": "128Mi"},
                                "limits": {"cpu": "500m", "memory": "512Mi"},
                            },
                            "livenessProbe": {
                                "httpGet": {"path": "/health", "port": 8080},
                                "periodSeconds": 10,
                            },
                            "readinessProbe": {
                                "httpGet": {"path": "/ready", "port": 8080},
                                "initialDelaySeconds": 5,
                            },
                            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                            "securityContext": {"readOnlyRootFilesystem": True, "runAsNonRoot": True},
                        }
                    ],
                    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "my-pvc"}}],
                    "serviceAccountName": "my-sa",
                },
            },
        },
    },
    service: {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "my-service"},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            "ports": [
                {"name": "tcp-80", "port": 80, "targetPort": 8080},
                {"name": "metrics", "port": 9090, "targetPort": 9090},
            ],
            "selector": {"app": "my-app"},
        },
    },
    config_map: {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "my-config"},
        "data": {"config.yaml": "key: value", "settings.json": "{}"},
    },
    secret: {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "my-secret"},
        "data": {"password": "c2VjcmV0MTIz", "api-key": "YWJjMTIz"},
    },
    ingress: {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": "my-ingress",
            "annotations": {"nginx.ingress.kubernetes.io/rewrite-target": "/"},
        },
        "spec": {
            "ingressClassName": "nginx",
            "rules": [
                {
                    "host": "example.com",
                    "http": {
                        "paths": [
                            {
                                "path": "/api",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "api-service", "port": {"number": 80}}},
                            },
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "web-service", "port": {"number": 80}}},
                            },
                        ]
                    },
                }
            ],
            "tls": [{"hosts": ["example.com"], "secretName": "tls-secret"}],
        },
    },
    stateful_set: {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "my-stateful"},
        "spec": {
            "replicas": 3,
            "serviceName": "my-headless",
            "selector": {"matchLabels": {"app": "my-stateful"}},
            "template": {
                "metadata": {"labels": {"app": "my-stateful"}},
                "spec": {"containers": [{"name": "app", "image": "redis:7"}]},
            },
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": "data"},
                    "spec": {
                        "resources": {"requests": {"storage": "10Gi"}},
                        "accessModes": ["ReadWriteOnce"],
                    },
                }
            ],
        },
    },
    service_account: {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "my-sa"}},
    role: {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": "my-role"},
        "rules": [{"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list", "watch"]}],
    },
    role_binding: {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "my-binding"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "my-role"},
        "subjects": [{"kind": "ServiceAccount", "name": "my-sa", "namespace": "default"}],
    },
    cluster_role: {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "my-cluster-role"},
        "rules": [{"apiGroups": ["example.com"], "resources": ["myresources"], "verbs": ["*"]}],
    },
    cluster_role_binding: {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "my-cluster-binding"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "my-cluster-role"},
        "subjects": [{"kind": "ServiceAccount", "name": "my-sa", "namespace": "default"}],
    },
    job: {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "my-job"},
        "spec": {
            "backoffLimit": 3,
            "template": {
                "spec": {
                    "containers": [{"name": "job", "image": "busybox", "command": ["echo", "hello"]}],
                    "restartPolicy": "Never",
                }
            },
        },
    },
    cron_job: {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "my-cronjob"},
        "spec": {
            "schedule": "0 * * * *",
            "jobTemplate": {
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [{"name": "cron", "image": "busybox"}],
                            "restartPolicy": "Never",
                        }
                    }
                }
            },
        },
    },
    daemon_set: {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "my-daemon"},
        "spec": {
            "selector": {"matchLabels": {"app": "my-daemon"}},
            "template": {
                "metadata": {"labels": {"app": "my-daemon"}},
                "spec": {"containers": [{"name": "agent", "image": "datadog/agent"}]},
            },
        },
    },
    network_policy: {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "my-policy"},
        "spec": {
            "podSelector": {"matchLabels": {"app": "my-app"}},
            "ingress": [
                {
                    "from": [{"namespaceSelector": {"matchLabels": {"env": "prod"}}}],
                    "ports": [{"protocol": "TCP", "port": 80}],
                }
            ],
            "policyTypes": ["Ingress", "Egress"],
        },
    },
}
