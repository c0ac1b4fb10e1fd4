"""Services: each case spoils a valid one and names all errors that kube-apiserver would report."""

from __future__ import annotations

from typing import Any

import pytest

SERVICE: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default", "resourceVersion": "1"},
    "spec": {
        "type": "ClusterIP",
        "clusterIP": "10.0.0.10",
        "clusterIPs": ["10.0.0.10"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}],
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
    },
    "status": {"loadBalancer": {}},
}

BALANCED: dict[str, Any] = {
    **SERVICE,
    "spec": {
        **SERVICE["spec"],
        "type": "LoadBalancer",
        "externalTrafficPolicy": "Local",
        "healthCheckNodePort": 30100,
        "allocateLoadBalancerNodePorts": True,
        "loadBalancerClass": "example.com/fast",
    },
}


def port(**fields: Any) -> dict[str, Any]:
    return {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 80} | fields


CREATE = {
    "valid": ({}, []),
    "name may start with a digit": ({"metadata": {"name": "1web"}}, []),
    "no ports": ({"spec": {"ports": None}}, ["spec.ports: Required value"]),
    "headless needs no ports": ({"spec": {"ports": None, "clusterIP": "None", "clusterIPs": ["None"]}}, []),
    "several ports need names": (
        {"spec": {"ports": [port(), port(name="", port=81)]}},
        ["spec.ports[1].name: Required value"],
    ),
    "repeated port name": (
        {"spec": {"ports": [port(), port(port=81)]}},
        ['spec.ports[1].name: Duplicate value: "http"'],
    ),
    "repeated port": (
        {"spec": {"ports": [port(), port(name="b")]}},
        [
            'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,'
            '"Port":80,"TargetPort":0,"NodePort":0}'
        ],
    ),
    "port out of range": (
        {"spec": {"ports": [port(port=0, targetPort=70000)]}},
        [
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ],
    ),
    "odd target port name": (
        {"spec": {"ports": [port(targetPort="-")]}},
        [
            'spec.ports[0].targetPort: Invalid value: "-": must contain at least one letter (a-z)',
            'spec.ports[0].targetPort: Invalid value: "-": must not begin or end with a hyphen',
        ],
    ),
    "unknown protocol": (
        {"spec": {"ports": [port(protocol="HTTP")]}},
        ['spec.ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"'],
    ),
    "unknown type": (
        {"spec": {"type": "Magic"}},
        [
            'spec.type: Unsupported value: "Magic": supported values: '
            '"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'
        ],
    ),
    "node port without node ports": (
        {"spec": {"ports": [port(nodePort=30080)]}},
        ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ),
    "repeated node port": (
        {
            "spec": {
                "type": "NodePort",
                "externalTrafficPolicy": "Cluster",
                "ports": [port(nodePort=30080), port(name="b", port=81, nodePort=30080)],
            }
        },
        ["spec.ports[1].nodePort: Duplicate value: 30080"],
    ),
    "headless node port": (
        {
            "spec": {
                "type": "NodePort",
                "externalTrafficPolicy": "Cluster",
                "clusterIP": "None",
                "clusterIPs": ["None"],
            }
        },
        ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
    ),
    "external name with addresses": (
        {"spec": {"type": "ExternalName", "externalName": "example.com."}},
        [
            "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
            "spec.ipFamilies: Forbidden: may not be set for ExternalName services",
            "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services",
        ],
    ),
    "external name is missing": (
        {"spec": {"type": "ExternalName", "clusterIPs": None, "ipFamilies": None, "ipFamilyPolicy": None}},
        ["spec.externalName: Required value"],
    ),
    "unknown affinity": (
        {"spec": {"sessionAffinity": "Sticky"}},
        ['spec.sessionAffinity: Unsupported value: "Sticky": supported values: "ClientIP", "None"'],
    ),
    "affinity without its configuration": (
        {"spec": {"sessionAffinity": "ClientIP"}},
        ["spec.sessionAffinityConfig: Required value: when session affinity type is ClientIP"],
    ),
    "affinity of a second too long": (
        {
            "spec": {
                "sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}},
            }
        },
        [
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: "
            "must be greater than 0 and less than 86400"
        ],
    ),
    "configuration without affinity": (
        {"spec": {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}}},
        ["spec.sessionAffinityConfig: Forbidden: must not be set when session affinity is None"],
    ),
    "wrong address": (
        {"spec": {"clusterIP": "10.0.0", "clusterIPs": ["10.0.0"]}},
        [
            'spec.clusterIPs[0]: Invalid value: "10.0.0": '
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        ],
    ),
    "address and addresses differ": (
        {"spec": {"clusterIP": "10.0.0.11"}},
        ['spec.clusterIPs: Invalid value: ["10.0.0.10"]: first value must match `clusterIP`'],
    ),
    "two addresses of one family": (
        {"spec": {"clusterIPs": ["10.0.0.10", "10.0.0.11"]}},
        [
            'spec.clusterIPs: Invalid value: ["10.0.0.10","10.0.0.11"]: '
            "may specify no more than one IP for each IP family"
        ],
    ),
    "address of another family": (
        {"spec": {"ipFamilies": ["IPv6"]}},
        [
            'spec.clusterIPs[0]: Invalid value: "10.0.0.10": '
            "expected an IPv6 value as indicated by `ipFamilies[0]`"
        ],
    ),
    "repeated and unknown families": (
        {"spec": {"ipFamilies": ["IPv4", "IPv4", "IPv5"]}},
        [
            'spec.ipFamilies[1]: Duplicate value: "IPv4"',
            'spec.ipFamilies[2]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
        ],
    ),
    "unknown family policy": (
        {"spec": {"ipFamilyPolicy": "Both"}},
        [
            'spec.ipFamilyPolicy: Unsupported value: "Both": supported values: '
            '"PreferDualStack", "RequireDualStack", "SingleStack"'
        ],
    ),
    "external address of the node itself": (
        {"spec": {"externalIPs": ["127.0.0.1", "nowhere"], "externalTrafficPolicy": "Cluster"}},
        [
            'spec.externalIPs[0]: Invalid value: "127.0.0.1": '
            "may not be in the loopback range (127.0.0.0/8, ::1/128)",
            'spec.externalIPs[1]: Invalid value: "nowhere": '
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ],
    ),
    "external policy inside": (
        {"spec": {"externalTrafficPolicy": "Local"}},
        [
            'spec.externalTrafficPolicy: Invalid value: "Local": '
            "may only be set for externally-accessible services"
        ],
    ),
    "fields of load balancers elsewhere": (
        {
            "spec": {
                "loadBalancerSourceRanges": ["10.0.0.1/24"],
                "allocateLoadBalancerNodePorts": False,
                "loadBalancerClass": "x",
                "healthCheckNodePort": 30000,
            }
        },
        [
            "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
            'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1/24": '
            "must not have bits set beyond the prefix length",
            "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
            "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
            "spec.healthCheckNodePort: Invalid value: 30000: may only be set when "
            "`type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        ],
    ),
    "unknown policies": (
        {"spec": {"internalTrafficPolicy": "Near", "trafficDistribution": "PreferFar"}},
        [
            'spec.internalTrafficPolicy: Unsupported value: "Near": supported values: "Cluster", "Local"',
            'spec.trafficDistribution: Unsupported value: "PreferFar": supported values: '
            '"PreferClose", "PreferSameZone", "PreferSameNode"',
        ],
    ),
    "topology annotations disagree": (
        {
            "metadata": {
                "annotations": {
                    "service.kubernetes.io/topology-mode": "Auto",
                    "service.kubernetes.io/topology-aware-hints": "Disabled",
                }
            }
        },
        [
            'metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "Auto": must match '
            "annotations[service.kubernetes.io/topology-aware-hints] when both are specified"
        ],
    ),
    "matching topology": (
        {
            "metadata": {
                "annotations": {
                    "service.kubernetes.io/topology-mode": "Auto",
                    "service.kubernetes.io/topology-aware-hints": "Auto",
                }
            }
        },
        [],
    ),
    "one kind of topology": (
        {"metadata": {"annotations": {"service.kubernetes.io/topology-mode": "Auto"}}},
        [],
    ),
    "two kinds of topology": (
        {
            "metadata": {
                "annotations": {
                    "service.kubernetes.io/topology-mode": "Auto",
                    "service.kubernetes.io/topology-aware-hints": "auto",
                }
            }
        },
        [
            "metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "
            '"Auto": must match annotations[service.kubernetes.io/topology-aware-hints] when '
            "both are specified",
        ],
    ),
    "no traffic policy inside": (
        {"spec": {"internalTrafficPolicy": None}},
        [
            "spec.internalTrafficPolicy: Required value",
        ],
    ),
    "external without traffic policy": (
        {
            "spec": {
                "type": "ExternalName",
                "externalName": "a.b",
                "clusterIP": None,
                "clusterIPs": None,
                "internalTrafficPolicy": None,
                "ipFamilies": None,
                "ipFamilyPolicy": None,
            }
        },
        [],
    ),
    "other traffic policy inside": (
        {"spec": {"internalTrafficPolicy": "Near"}},
        [
            'spec.internalTrafficPolicy: Unsupported value: "Near": supported values: "Cluster", "Local"',
        ],
    ),
}


@pytest.mark.parametrize("patch, expected", CREATE.values(), ids=CREATE)
def test_service_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created("", "Service", SERVICE, patch) == expected


BALANCED_CREATE = {
    "valid": ({}, []),
    "no policy and no health port": (
        {"spec": {"externalTrafficPolicy": None}},
        [
            "spec.externalTrafficPolicy: Required value",
            "spec.healthCheckNodePort: Invalid value: 30100: may only be set when "
            "`type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        ],
    ),
    "no health port": ({"spec": {"healthCheckNodePort": None}}, ["spec.healthCheckNodePort: Required value"]),
    "node ports undecided": (
        {"spec": {"allocateLoadBalancerNodePorts": None}},
        ["allocateLoadBalancerNodePorts: Required value"],
    ),
    "source ranges in the annotation": (
        {
            "metadata": {
                "annotations": {"service.beta.kubernetes.io/load-balancer-source-ranges": " 1.0.0.0/8, x "}
            }
        },
        [
            "metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: Invalid value: "
            '"x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'
        ],
    ),
}


@pytest.mark.parametrize("patch, expected", BALANCED_CREATE.values(), ids=BALANCED_CREATE)
def test_load_balancer_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created("", "Service", BALANCED, patch) == expected


UPDATE = {
    "nothing": (SERVICE, {}, []),
    "other address": (
        SERVICE,
        {"spec": {"clusterIP": "10.0.0.11", "clusterIPs": ["10.0.0.11"]}},
        ['spec.clusterIPs[0]: Invalid value: ["10.0.0.11"]: may not change once set'],
    ),
    "address is given up": (
        SERVICE,
        {"spec": {"clusterIP": None, "clusterIPs": None}},
        ["spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset"],
    ),
    "second address is added": (
        SERVICE,
        {
            "spec": {
                "clusterIPs": ["10.0.0.10", "fd00::10"],
                "ipFamilies": ["IPv4", "IPv6"],
                "ipFamilyPolicy": "PreferDualStack",
            }
        },
        [],
    ),
    "other family": (
        SERVICE,
        {"spec": {"ipFamilies": ["IPv6"]}},
        [
            'spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set',
            'spec.clusterIPs[0]: Invalid value: "10.0.0.10": '
            "expected an IPv6 value as indicated by `ipFamilies[0]`",
        ],
    ),
    "other class": (
        BALANCED,
        {"spec": {"loadBalancerClass": "example.com/slow"}},
        ['spec.loadBalancerClass: Invalid value: "example.com/slow": may not change once set'],
    ),
    "other health port": (
        BALANCED,
        {"spec": {"healthCheckNodePort": 30101}},
        ["spec.healthCheckNodePort: Forbidden: field is immutable"],
    ),
    "families without addresses": (
        SERVICE,
        {
            "spec": {
                "clusterIP": None,
                "clusterIPs": None,
                "ipFamilies": ["IPv4", "IPv6"],
                "ipFamilyPolicy": "PreferDualStack",
            }
        },
        [
            "spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset",
        ],
    ),
    "to external name": (
        SERVICE,
        {
            "spec": {
                "type": "ExternalName",
                "externalName": "example.com",
                "clusterIP": None,
                "clusterIPs": None,
                "ipFamilies": None,
                "ipFamilyPolicy": None,
            }
        },
        [],
    ),
}


@pytest.mark.parametrize("old, patch, expected", UPDATE.values(), ids=UPDATE)
def test_service_is_updated_or_refused(updated: Any, old: Any, patch: Any, expected: list[str]) -> None:
    assert updated("", "Service", old, patch) == expected


def test_releasing_the_second_address_needs_single_stack(updated: Any) -> None:
    dual = {
        **SERVICE,
        "spec": {
            **SERVICE["spec"],
            "clusterIPs": ["10.0.0.10", "fd00::10"],
            "ipFamilies": ["IPv4", "IPv6"],
            "ipFamilyPolicy": "PreferDualStack",
        },
    }
    released = {"spec": {"clusterIPs": ["10.0.0.10"], "ipFamilies": ["IPv4"]}}
    assert updated("", "Service", dual, released) == [
        'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": '
        "must be set to 'SingleStack' when releasing the secondary clusterIP",
        'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": '
        "must be set to 'SingleStack' when releasing the secondary ipFamily",
    ]
    released["spec"]["ipFamilyPolicy"] = "SingleStack"
    assert updated("", "Service", dual, released) == []


def test_odd_addresses_of_old_stay_accepted(updated: Any) -> None:
    old = {
        **SERVICE,
        "spec": {**SERVICE["spec"], "externalIPs": ["010.0.0.1"], "externalTrafficPolicy": "Local"},
    }
    assert updated("", "Service", old, {"metadata": {"labels": {"a": "b"}}}) == []
    assert updated("", "Service", old, {"spec": {"externalIPs": ["010.0.0.2"]}}) == [
        'spec.externalIPs[0]: Invalid value: "010.0.0.2": must not have leading 0s'
    ]


STATUS = {
    "address": (BALANCED, [{"ip": "192.0.2.1", "ipMode": "VIP"}], []),
    "address without mode": (
        BALANCED,
        [{"ip": "192.0.2.1"}],
        ["status.loadBalancer.ingress[0].ipMode: Required value: must be specified when `ip` is set"],
    ),
    "mode without address": (
        BALANCED,
        [{"hostname": "192.0.2.1", "ipMode": "VIP"}],
        [
            "status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set",
            'status.loadBalancer.ingress[0].hostname: Invalid value: "192.0.2.1": '
            "must be a DNS name, not an IP address",
        ],
    ),
    "unknown mode": (
        BALANCED,
        [{"ip": "192.0.2.1", "ipMode": "NAT"}],
        ['status.loadBalancer.ingress[0].ipMode: Unsupported value: "NAT": supported values: "Proxy", "VIP"'],
    ),
    "not a load balancer": (
        SERVICE,
        [{"hostname": "a.example"}],
        ["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"],
    ),
}


@pytest.mark.parametrize("service, ingress, expected", STATUS.values(), ids=STATUS)
def test_load_balancer_status(reported: Any, service: Any, ingress: Any, expected: list[str]) -> None:
    patch = {"status": {"loadBalancer": {"ingress": ingress}}}
    assert reported("", "Service", service, patch) == expected


def test_a_headless_service_stays_headless(updated: Any) -> None:
    headless = {"clusterIP": "None", "clusterIPs": ["None"]}
    old = {**SERVICE, "spec": {**SERVICE["spec"], **headless}}
    assert updated("", "Service", SERVICE, {"spec": headless}) == [
        'spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set'
    ]
    (error,) = updated("", "Service", old, {"spec": {"clusterIP": "10.0.0.10", "clusterIPs": ["10.0.0.10"]}})
    assert error.endswith("may not change once set")
    assert updated("", "Service", old, {"metadata": {"labels": {"a": "b"}}}) == []


def test_ranges_in_an_annotation_that_are_left_alone_are_not_judged_again(updated: Any) -> None:
    annotated = {"annotations": {"service.beta.kubernetes.io/load-balancer-source-ranges": "x"}}
    old = {**BALANCED, "metadata": {**BALANCED["metadata"], **annotated}}
    assert updated("", "Service", old, {"metadata": {"labels": {"a": "b"}}}) == []
    assert updated("", "Service", BALANCED, {"metadata": annotated}) != []
