"""What a type checker refuses, line by line: checked by test_builders.py, never run."""

from __future__ import annotations

from steersman.objects.builders import (
    ClusterRole,
    ConfigMap,
    Container,
    Deployment,
    Labels,
    NetworkPolicy,
    NetworkPolicyEgress,
    PersistentVolumeClaim,
    Pod,
    PodSecurityContext,
    Probe,
    Resources,
    RoleBinding,
    Secret,
    SecurityContext,
    Service,
    Volume,
)

Deployment()  # error: call-arg
Deployment(1)  # error: arg-type
Deployment("web").replica(3)  # error: attr-defined
Deployment("web").replicas("3")  # error: arg-type
Deployment("web").container("nginx")  # error: arg-type
Deployment("web").container(Volume("data"))  # error: arg-type
Deployment("web").schedule("@daily")  # error: attr-defined
Deployment("web").labels({"a": 1})  # error: dict-item
Deployment("web").label("a")  # error: call-arg
Deployment("web").security_context(SecurityContext())  # error: arg-type
Container("app").security_context(PodSecurityContext())  # error: arg-type
Container("app").port("80")  # error: arg-type
Container("app").port(80, protocol="tcp")  # error: arg-type
Container("app").env("A", None)  # error: arg-type
Container("app").image_pull_policy("Sometimes")  # error: arg-type
Container("app").liveness_probe("/health")  # error: arg-type
Container("app").resources({"cpu": 1})  # error: arg-type
Container("app").image("a").replicas(1)  # error: attr-defined
Labels().insert("a", 1)  # error: arg-type
Resources().cpu_request(None)  # error: arg-type
Probe.http("/health")  # error: call-arg
Probe.https("/health", 80)  # error: attr-defined
Pod("once").restart_policy("Sometimes")  # error: arg-type
Service("web").port()  # error: call-arg
Service("web").named_port(80, 80, 80)  # error: arg-type
Service("web").selector(app=1)  # error: arg-type
ConfigMap("c").data("a", b"bytes")  # error: call-overload
ConfigMap("c").data("a")  # error: call-overload
Secret("s").data("a", 1)  # error: call-overload
PersistentVolumeClaim("c").access_mode("ReadWrite")  # error: arg-type
NetworkPolicy("p").allow_ingress(NetworkPolicyEgress())  # error: arg-type
RoleBinding("b").rule("r")  # error: attr-defined
ClusterRole("r", namespace="default")  # error: call-arg
