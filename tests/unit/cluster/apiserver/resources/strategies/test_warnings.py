"""The texts of `Warning: 299` headers, word for word."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from steersman.cluster.apiserver.resources.strategies import strategy_for

Object = dict[str, Any]
Make = Callable[..., Object]


def warned(make: Make, api_version: str, kind: str, plural: str, **fields: Any) -> list[str]:
    obj = make(api_version, kind, **fields)
    return strategy_for(api_version.rpartition("/")[0], plural).warnings_on_create(obj)


def container(**fields: Any) -> Object:
    return {"containers": [{"name": "c", "image": "i"} | fields]}


PODS = [
    (
        "hidden variable",
        container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
        [
            'spec.containers[0].env[1]: hides previous definition of "A", '
            "which may be dropped when using apply"
        ],
    ),
    (
        "built-upon variable",
        container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}]),
        [],
    ),
    (
        "fractional bytes",
        container(resources={"limits": {"memory": "100m"}}),
        [
            f"spec.containers[0].resources.{kind}[memory]: "
            'fractional byte value "100m" is invalid, must be an integer'
            for kind in ("limits", "requests")
        ],
    ),
    (
        "renamed node label",
        container() | {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
        ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
    ),
    (
        "topology without selector",
        container()
        | {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "failure-domain.beta.kubernetes.io/zone",
                    "whenUnsatisfiable": "X",
                }
            ]
        },
        [
            "spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is "
            'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
            "spec.topologySpreadConstraints[0].labelSelector: "
            "a null labelSelector results in matching no pod",
        ],
    ),
    (
        "retired volume",
        container() | {"volumes": [{"name": "v", "gitRepo": {"repository": "r"}}]},
        ["spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"],
    ),
    (
        "overlapping paths",
        container()
        | {
            "volumes": [
                {
                    "name": "v",
                    "configMap": {
                        "name": "m",
                        "items": [{"key": "a", "path": "p"}, {"key": "b", "path": "p/q"}],
                    },
                },
                {
                    "name": "w",
                    "projected": {
                        "sources": [
                            {"serviceAccountToken": {"path": "t"}},
                            {"secret": {"name": "s", "items": [{"key": "a", "path": "t"}]}},
                        ]
                    },
                },
            ]
        },
        [
            'volume "v" (ConfigMap "m"): overlapping paths: "p/q" with "p"',
            'volume "w" (Projected): overlapping paths: "t" (Secret "s") with "t" (ServiceAccountToken)',
        ],
    ),
    (
        "pull secrets",
        container() | {"imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}]},
        [
            'spec.imagePullSecrets[1].name: duplicate name "a"',
            'spec.imagePullSecrets[2].name: invalid empty name ""',
        ],
    ),
    (
        "ports",
        container(
            ports=[
                {"containerPort": 80, "name": "a"},
                {"containerPort": 80, "name": "b"},
                {"containerPort": 81, "name": "a", "hostIP": "1.2.3.4"},
            ]
        ),
        [
            "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
            "spec.containers[0].ports[2]: hostIP set without hostPort: "
            "{Name:a HostPort:0 ContainerPort:81 Protocol:TCP HostIP:1.2.3.4}",
            'spec.containers[0].ports[2]: duplicate port name "a" with spec.containers[0].ports[0], '
            "services and probes that select ports by name will use spec.containers[0].ports[0]",
        ],
    ),
    (
        "affinity without selector",
        container()
        | {
            "affinity": {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "t"}]}
            }
        },
        [
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: "
            "a null labelSelector results in matching no pod"
        ],
    ),
]


@pytest.mark.parametrize(("spec", "texts"), [pytest.param(*case[1:], id=case[0]) for case in PODS])
def test_pods_are_warned_about(make: Make, spec: Object, texts: list[str]) -> None:
    assert warned(make, "v1", "Pod", "pods", spec=spec) == texts


def test_a_pod_name_that_is_no_host_name(make: Make) -> None:
    (text,) = warned(make, "v1", "Pod", "pods", spec=container(), metadata={"name": "a.b"})
    assert text.startswith(
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
        "a DNS label is recommended: [must not contain dots]"
    )


def test_templates_are_warned_about_under_their_path(make: Make) -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    template = {
        "metadata": {"annotations": {key: "unconfined", "security.alpha.kubernetes.io/sysctls": "x"}},
        "spec": container() | {"terminationGracePeriodSeconds": -1},
    }
    assert warned(make, "apps/v1", "Deployment", "deployments", spec={"template": template}) == [
        "spec.template.metadata.annotations[security.alpha.kubernetes.io/sysctls]: "
        'non-functional in v1.11+; use the "sysctls" field instead',
        f"spec.template.metadata.annotations[{key}]: deprecated since v1.30; "
        'use the "appArmorProfile" field instead',
        "spec.template.spec.terminationGracePeriodSeconds: "
        "must be >= 0; negative values are invalid and will be treated as 1",
    ]


def test_an_update_is_warned_about_only_if_it_changes_something(make: Make) -> None:
    strategy = strategy_for("apps", "deployments")
    template = {"spec": container(env=[{"name": "A"}, {"name": "A"}])}
    old = make("apps/v1", "Deployment", spec={"template": template})
    strategy.prepare_create(old)
    new = deepcopy(old)
    strategy.prepare_update(new, old)
    assert strategy.warnings_on_update(new, old) == []
    new["spec"]["replicas"] = 2
    strategy.prepare_update(new, old)
    assert len(strategy.warnings_on_update(new, old)) == 1


OTHERS = [
    (
        "v1",
        "Service",
        "services",
        {"spec": {"clusterIP": "None", "sessionAffinity": "ClientIP", "externalIPs": ["1.2.3.4"]}},
        [
            "spec.externalIPs is ignored for headless services",
            "spec.SessionAffinity is ignored for headless services",
        ],
    ),
    (
        "v1",
        "Service",
        "services",
        {"spec": {"externalName": "a.b", "trafficDistribution": "PreferClose"}},
        [
            'spec.externalName is ignored when spec.type is not "ExternalName"',
            'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
        ],
    ),
    (
        "v1",
        "Secret",
        "secrets",
        {"type": "kubernetes.io/tls", "stringData": {"tls.crt": "x", "tls.key": "y"}},
        ["tls: failed to find any PEM data in certificate input"],
    ),
    (
        "v1",
        "ResourceQuota",
        "resourcequotas",
        {"spec": {"hard": {"cpu": "2", "limits.cpu": "1"}}},
        ["ResourceQuota cpu (2) should be less than limits.cpu (1)"],
    ),
    (
        "v1",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        {
            "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "s"}},
            "spec": {"resources": {"requests": {"storage": "500m"}}},
        },
        [
            "metadata.annotations[volume.beta.kubernetes.io/storage-class]: "
            'deprecated since v1.8; use "storageClassName" attribute instead',
            'spec.resources.requests[storage]: fractional byte value "500m" is invalid, must be an integer',
        ],
    ),
    (
        "v1",
        "PersistentVolume",
        "persistentvolumes",
        {"spec": {"persistentVolumeReclaimPolicy": "Recycle", "storageos": {}}},
        [
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning.",
            "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
        ],
    ),
    ("v1", "PersistentVolume", "persistentvolumes", {"spec": {"flocker": {"datasetName": "d"}}}, []),
    (
        "networking.k8s.io/v1",
        "Ingress",
        "ingresses",
        {"metadata": {"annotations": {"kubernetes.io/ingress.class": "x"}}},
        [
            'annotation "kubernetes.io/ingress.class" is deprecated, '
            "please use 'spec.ingressClassName' instead"
        ],
    ),
    (
        "discovery.k8s.io/v1",
        "EndpointSlice",
        "endpointslices",
        {"addressType": "FQDN"},
        ["spec.addressType: FQDN endpoints are deprecated"],
    ),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        {
            "webhooks": [
                {
                    "name": "w",
                    "rules": [{"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"]}],
                }
            ]
        },
        [
            "webhooks[0].rules[0]: tokenreviews.authentication.k8s.io is excluded from admission webhooks; "
            "this rule will have no effect"
        ],
    ),
]


@pytest.mark.parametrize(
    ("api_version", "kind", "plural", "fields", "texts"), [pytest.param(*case, id=case[1]) for case in OTHERS]
)
def test_others_are_warned_about(
    make: Make, api_version: str, kind: str, plural: str, fields: Object, texts: list[str]
) -> None:
    assert warned(make, api_version, kind, plural, **fields) == texts


def _pem_pair(key: ec.EllipticCurvePrivateKey) -> tuple[str, str]:
    name = x509.Name([])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return b64encode(certificate).decode(), b64encode(private).decode()


def test_a_tls_secret_is_warned_about_unless_its_key_fits(make: Make) -> None:
    certificate, key = _pem_pair(ec.generate_private_key(ec.SECP256R1()))
    _, other = _pem_pair(ec.generate_private_key(ec.SECP256R1()))

    def warnings(certificate: str, key: str) -> list[str]:
        data = {"tls.crt": certificate, "tls.key": key}
        return warned(make, "v1", "Secret", "secrets", type="kubernetes.io/tls", data=data)

    assert warnings(certificate, key) == []
    assert warnings(certificate, other) == ["tls: private key does not match public key"]
    assert warnings(certificate, certificate) == [
        "tls: found a certificate rather than a key in the PEM for the private key"
    ]
    assert warnings(key, key) == [
        "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
        "PEM inputs may have been switched"
    ]
