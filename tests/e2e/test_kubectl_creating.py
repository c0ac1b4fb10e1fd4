"""kubectl create, run, expose and autoscale. kubectl sends what it makes itself as protobuf."""

from __future__ import annotations

import base64
import json
import shlex
from typing import Any

import pytest

from steersman.cluster.auth.pki import StoredAuthority
from tests.support.kubectl import Kubectl
from tests.support.manifests import config_map, deployment, pod

pytestmark = pytest.mark.slow


def contains(whole: Any, part: Any) -> bool:
    """Everything in `part` is in `whole`; maps may have more, lists may not."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and contains(whole[key], value) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(whole) == len(part) and all(map(contains, whole, part))
    return bool(whole == part)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


WEB_CONTAINER = {"image": "nginx", "name": "nginx", "imagePullPolicy": "Always", "resources": {}}

#: `kubectl create …`: the arguments, the object made (kind/name) and what is in it.
NAMESPACED = [
    (
        "deployment web --image=nginx --image=redis:7 --replicas=2 --port=80",
        "deployment.apps/web",
        {
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "web"}},
                "progressDeadlineSeconds": 600,
                "revisionHistoryLimit": 10,
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
                },
                "template": {
                    "spec": {
                        "containers": [
                            {**WEB_CONTAINER, "ports": [{"containerPort": 80, "protocol": "TCP"}]},
                            {"image": "redis:7", "name": "redis", "imagePullPolicy": "IfNotPresent"},
                        ]
                    }
                },
            },
            "status": {},
        },
    ),
    ("configmap cm --from-literal=a=1 --from-literal=b=2", "configmap/cm", {"data": {"a": "1", "b": "2"}}),
    (
        "secret generic keys --from-literal=user=ann --type=example.com/keys",
        "secret/keys",
        {"data": {"user": encoded("ann")}, "type": "example.com/keys"},
    ),
    (
        "secret docker-registry pull --docker-server=r.example --docker-username=u --docker-password=p",
        "secret/pull",
        {
            "type": "kubernetes.io/dockerconfigjson",
            "data": {
                ".dockerconfigjson": encoded(
                    json.dumps(
                        {"auths": {"r.example": {"username": "u", "password": "p", "auth": encoded("u:p")}}},
                        separators=(",", ":"),
                    )
                )
            },
        },
    ),
    (
        "service clusterip plain --tcp=80:8080 --tcp=53",
        "service/plain",
        {
            "spec": {
                "type": "ClusterIP",
                "selector": {"app": "plain"},
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
                "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster",
                "ports": [
                    {"name": "80-8080", "port": 80, "targetPort": 8080, "protocol": "TCP"},
                    {"name": "53", "port": 53, "targetPort": 53, "protocol": "TCP"},
                ],
            },
            "status": {"loadBalancer": {}},
        },
    ),
    (
        "service clusterip headless --clusterip=None --tcp=80",
        "service/headless",
        {"spec": {"clusterIP": "None", "clusterIPs": ["None"], "type": "ClusterIP"}},
    ),
    (
        "service nodeport outside --tcp=80 --node-port=30123",
        "service/outside",
        {
            "spec": {
                "type": "NodePort",
                "externalTrafficPolicy": "Cluster",
                "ports": [{"name": "80", "port": 80, "targetPort": 80, "nodePort": 30123, "protocol": "TCP"}],
            }
        },
    ),
    (
        "service loadbalancer wide --tcp=443",
        "service/wide",
        {"spec": {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": True}},
    ),
    (
        "service externalname there --external-name=db.example.com",
        "service/there",
        {"spec": {"type": "ExternalName", "externalName": "db.example.com"}},
    ),
    (
        "job once --image=busybox -- echo hello",
        "job.batch/once",
        {
            "spec": {
                "backoffLimit": 6,
                "completions": 1,
                "parallelism": 1,
                "completionMode": "NonIndexed",
                "suspend": False,
                "podReplacementPolicy": "TerminatingOrFailed",
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "once", "command": ["echo", "hello"]}],
                    }
                },
            }
        },
    ),
    (
        "cronjob nightly --image=busybox --schedule='0 3 * * *' -- true",
        "cronjob.batch/nightly",
        {
            "spec": {
                "schedule": "0 3 * * *",
                "concurrencyPolicy": "Allow",
                "failedJobsHistoryLimit": 1,
                "successfulJobsHistoryLimit": 3,
                "suspend": False,
                "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}},
            }
        },
    ),
    (
        "quota limits --hard=pods=3,requests.cpu=1500m",
        "resourcequota/limits",
        {"spec": {"hard": {"pods": "3", "requests.cpu": "1500m"}}},
    ),
    (
        "poddisruptionbudget most --selector=app=web --min-available=50%",
        "poddisruptionbudget.policy/most",
        {"spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}}},
    ),
    (
        "role reader --verb=get,list --resource=pods,deployments.apps --resource-name=web",
        "role.rbac.authorization.k8s.io/reader",
        {
            "rules": [
                {
                    "apiGroups": [""],
                    "resourceNames": ["web"],
                    "resources": ["pods"],
                    "verbs": ["get", "list"],
                },
                {
                    "apiGroups": ["apps"],
                    "resourceNames": ["web"],
                    "resources": ["deployments"],
                    "verbs": ["get", "list"],
                },
            ]
        },
    ),
    (
        "rolebinding readers --role=reader --user=ann --group=devs --serviceaccount=default:robot",
        "rolebinding.rbac.authorization.k8s.io/readers",
        {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"},
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "devs"},
                {"kind": "ServiceAccount", "name": "robot", "namespace": "default"},
            ],
        },
    ),
    ("serviceaccount robot", "serviceaccount/robot", {"metadata": {"name": "robot"}}),
    (
        "ingress front --class=nginx --rule='shop.example.com/cart*=cart:8080,tls=shop-cert'",
        "ingress.networking.k8s.io/front",
        {
            "spec": {
                "ingressClassName": "nginx",
                "rules": [
                    {
                        "host": "shop.example.com",
                        "http": {
                            "paths": [
                                {
                                    "path": "/cart",
                                    "pathType": "Prefix",
                                    "backend": {"service": {"name": "cart", "port": {"number": 8080}}},
                                }
                            ]
                        },
                    }
                ],
                "tls": [{"hosts": ["shop.example.com"], "secretName": "shop-cert"}],
            },
            "status": {"loadBalancer": {}},
        },
    ),
]

CLUSTER_WIDE = [
    (
        "namespace e2e-made",
        "namespace/e2e-made",
        {
            "metadata": {"labels": {"kubernetes.io/metadata.name": "e2e-made"}},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        },
    ),
    (
        "priorityclass e2e-high --value=1000 --description=first --preemption-policy=Never",
        "priorityclass.scheduling.k8s.io/e2e-high",
        {"value": 1000, "description": "first", "preemptionPolicy": "Never"},
    ),
    (
        "clusterrole e2e-logs --verb=get --non-resource-url=/logs/*",
        "clusterrole.rbac.authorization.k8s.io/e2e-logs",
        {"rules": [{"nonResourceURLs": ["/logs/*"], "verbs": ["get"]}]},
    ),
    (
        "clusterrole e2e-all --aggregation-rule=area=all",
        "clusterrole.rbac.authorization.k8s.io/e2e-all",
        {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"area": "all"}}]}, "rules": None},
    ),
    (
        "clusterrolebinding e2e-admins --clusterrole=cluster-admin --group=admins",
        "clusterrolebinding.rbac.authorization.k8s.io/e2e-admins",
        {
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            }
        },
    ),
]


def check_create(kubectl: Kubectl, command: str, made: str, expected: Any) -> None:
    assert kubectl("create", *shlex.split(command)).out == f"{made} created\n"
    whole = kubectl.get(made)
    assert contains(whole, expected), json.dumps(whole, indent=1)


@pytest.mark.parametrize(
    ("command", "made", "expected"), NAMESPACED, ids=[" ".join(case[0].split()[:3]) for case in NAMESPACED]
)
def test_create(kubectl: Kubectl, command: str, made: str, expected: Any) -> None:
    check_create(kubectl, command, made, expected)


@pytest.mark.parametrize(
    ("command", "made", "expected"),
    CLUSTER_WIDE,
    ids=[" ".join(case[0].split()[:2]) for case in CLUSTER_WIDE],
)
def test_create_without_namespace(cluster_kubectl: Kubectl, command: str, made: str, expected: Any) -> None:
    check_create(cluster_kubectl, command, made, expected)


def test_create_secret_tls(kubectl: Kubectl, tmp_path: Any) -> None:
    pair = StoredAuthority.make("test").issue("shop.example.com", names=["shop.example.com"], server=True)
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    kubectl("create", "secret", "tls", "cert", f"--cert={tmp_path}/tls.crt", f"--key={tmp_path}/tls.key")
    secret = kubectl.get("secret cert")
    assert secret["type"] == "kubernetes.io/tls"
    assert {name: base64.b64decode(value) for name, value in secret["data"].items()} == {
        "tls.crt": pair.certificate,
        "tls.key": pair.key,
    }


def test_create_configmap_from_files_keeps_binary_apart(kubectl: Kubectl, tmp_path: Any) -> None:
    (tmp_path / "text.txt").write_text("grüße\n")
    (tmp_path / "bytes.bin").write_bytes(b"\xff\x00\xfe")
    kubectl("create", "configmap", "files", f"--from-file={tmp_path}")
    made = kubectl.get("configmap files")
    assert made["data"] == {"text.txt": "grüße\n"}
    assert made["binaryData"] == {"bytes.bin": base64.b64encode(b"\xff\x00\xfe").decode()}


def test_create_job_from_cronjob_belongs_to_it(kubectl: Kubectl) -> None:
    kubectl("create", "cronjob", "nightly", "--image=busybox", "--schedule=@daily", "--", "true")
    kubectl("create", "job", "now", "--from=cronjob/nightly")
    [owner] = kubectl.get("job now")["metadata"]["ownerReferences"]
    uid = kubectl.get("cronjob nightly")["metadata"]["uid"]
    assert owner == {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "nightly",
        "uid": uid,
        "controller": True,
    }


def test_create_with_generated_name(kubectl: Kubectl) -> None:
    manifest = config_map("x")
    manifest["metadata"] = {"generateName": "made-"}
    first, second = (kubectl("create", "-f", "-", "-o", "name", stdin=manifest).out.strip() for _ in range(2))
    assert first != second
    assert first.startswith("configmap/made-")
    assert len(first) == len("configmap/made-") + 5


def test_run_makes_a_pod(kubectl: Kubectl) -> None:
    out = kubectl(
        "run", "tmp", "--image=busybox", "--env=A=1", "--labels=x=y", "--restart=Never", "--", "sleep", "1"
    )
    assert out.out == "pod/tmp created\n"
    made = kubectl.get("pod tmp")
    assert made["metadata"]["labels"] == {"x": "y"}
    assert made["spec"]["restartPolicy"] == "Never"
    [container] = made["spec"]["containers"]
    assert (container["args"], container["env"]) == (["sleep", "1"], [{"name": "A", "value": "1"}])
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_run_and_expose(kubectl: Kubectl) -> None:
    out = kubectl("run", "web", "--image=nginx", "--port=80", "--expose").out
    assert out == "service/web created\npod/web created\n"
    assert kubectl.get("svc web")["spec"]["selector"] == {"run": "web"}


def test_expose_deployment(kubectl: Kubectl) -> None:
    kubectl.create(deployment("web"))
    out = kubectl(
        "expose", "deployment/web", "--port=80", "--target-port=http", "--name=front", "--type=NodePort"
    )
    assert out.out == "service/front exposed\n"
    spec = kubectl.get("svc front")["spec"]
    assert spec["selector"] == {"app": "web"}
    [port] = spec["ports"]
    assert port["targetPort"] == "http"
    assert 30000 <= port["nodePort"] <= 32767


def test_expose_pod(kubectl: Kubectl) -> None:
    kubectl.create(pod("single", {"app": "single"}))
    kubectl("expose", "pod", "single", "--port=8080", "--protocol=UDP")
    assert kubectl.get("svc single")["spec"]["ports"] == [
        {"port": 8080, "protocol": "UDP", "targetPort": 8080}
    ]


def test_autoscale_is_the_same_in_both_versions(kubectl: Kubectl) -> None:
    kubectl.create(deployment("web"))
    kubectl("autoscale", "deployment/web", "--min=2", "--max=5", "--cpu-percent=80")
    newer = kubectl.get("horizontalpodautoscalers.v2.autoscaling web")["spec"]
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    assert newer == {
        "minReplicas": 2,
        "maxReplicas": 5,
        "scaleTargetRef": target,
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
            }
        ],
    }
    older = kubectl.get("horizontalpodautoscalers.v1.autoscaling web")["spec"]
    assert older == {
        "minReplicas": 2,
        "maxReplicas": 5,
        "scaleTargetRef": target,
        "targetCPUUtilizationPercentage": 80,
    }
