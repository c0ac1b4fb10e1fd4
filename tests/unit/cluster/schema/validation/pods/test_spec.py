"""The spec of a pod beside its containers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Errors = Callable[[dict[str, Any]], list[str]]

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
SPEC = {
    "no containers": ({"containers": []}, ["containers: Required value"]),
    "restart policy": (
        {"restartPolicy": "Sometimes"},
        ['restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
    ),
    "dns policy": (
        {"dnsPolicy": "Never"},
        [
            'dnsPolicy: Unsupported value: "Never": supported values: '
            '"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"'
        ],
    ),
    "no dns at all": (
        {"dnsPolicy": "None"},
        ["dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
    ),
    "dns config": (
        {"dnsConfig": {"nameservers": ["1.2.3.4", "x"], "searches": ["a_b.example.", "-"], "options": [{}]}},
        [
            'dnsConfig.nameservers[1]: Invalid value: "x": must be a valid IP address, '
            "(e.g. 10.9.8.7 or 2001:db8::ffff)",
            'dnsConfig.searches[1]: Invalid value: "-": a lowercase RFC 1123 subdomain must consist of '
            "lower case "
            "alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'example.com', regex used for validation is "
            "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
            "dnsConfig.options[0]: Required value: must not be empty",
        ],
    ),
    "grace period": (
        {"terminationGracePeriodSeconds": -1},
        ["terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "no grace period": (
        {"terminationGracePeriodSeconds": None},
        ["terminationGracePeriodSeconds: Required value"],
    ),
    "deadline": (
        {"activeDeadlineSeconds": 0},
        ["activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
    ),
    "hostname": ({"hostname": "A"}, [f'hostname: Invalid value: "A": {LABEL}']),
    "deprecated account differs": (
        {"serviceAccountName": "a", "serviceAccount": "b"},
        ['deprecatedServiceAccount: Invalid value: "b": must be the same as serviceAccountName: "a"'],
    ),
    "host process namespace": (
        {"hostPID": True, "shareProcessNamespace": True},
        [
            "shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be "
            "enabled"
        ],
    ),
    "own users on the host": (
        {"hostUsers": False, "hostPID": True},
        ["HostPID: Forbidden: when `hostUsers` is false"],
    ),
    "preemption": (
        {"preemptionPolicy": "Later"},
        ['preemptionPolicy: Unsupported value: "Later": supported values: "PreemptLowerPriority", "Never"'],
    ),
    "host alias": (
        {"hostAliases": [{"ip": "999", "hostnames": ["a"]}]},
        [
            'hostAliases[0].ip: Invalid value: "999": must be a valid IP address, '
            "(e.g. 10.9.8.7 or 2001:db8::ffff)"
        ],
    ),
    "system": (
        {"os": {"name": "plan9"}},
        ['os: Unsupported value: "plan9": supported values: "linux", "windows"'],
    ),
    "linux fields on windows": (
        {"os": {"name": "windows"}, "hostIPC": True, "securityContext": {"fsGroup": 1}},
        [
            "securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
            "hostIPC: Forbidden: cannot be set for a windows pod",
        ],
    ),
    "gates": (
        {"schedulingGates": [{"name": "a"}, {"name": "a"}], "nodeName": "n"},
        [
            'schedulingGates[1]: Duplicate value: "a"',
            "nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ],
    ),
    "sysctl on the host": (
        {"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}},
        [
            'securityContext.sysctls[0].name: Invalid value: "net.core.somaxconn": '
            "may not be specified when 'hostNetwork' is true"
        ],
    ),
    "sysctl name": (
        {"securityContext": {"sysctls": [{"name": "A"}]}},
        [
            'securityContext.sysctls[0].name: Invalid value: "A": must have at most 253 characters and '
            "match regex "
            r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
        ],
    ),
    "toleration without key": (
        {"tolerations": [{"operator": "Equal", "effect": "NoSchedule"}]},
        [
            'tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, '
            'which means "match all values and all keys"'
        ],
    ),
    "toleration": (
        {
            "tolerations": [
                {"key": "a", "operator": "Exists", "value": "b", "effect": "Eject", "tolerationSeconds": 1}
            ]
        },
        [
            "tolerations[0].effect: Invalid value: \"Eject\": effect must be 'NoExecute' when "
            "`tolerationSeconds` is set",
            "tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
            'tolerations[0].effect: Unsupported value: "Eject": supported values: '
            '"NoSchedule", "PreferNoSchedule", "NoExecute"',
        ],
    ),
    "node affinity without terms": (
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
        [
            "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "
            "Required value: must have at least one node selector term"
        ],
    ),
    "node preference weight": (
        {
            "affinity": {
                "nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "preference": TERM}]
                }
            }
        },
        [
            "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
            "Invalid value: 101: must be in the range 1-100"
        ],
    ),
    "pod affinity without topology": (
        {
            "affinity": {
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""}]}
            }
        },
        [
            "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: "
            "Required value: can not be empty",
            "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: "
            'Invalid value: "": name part must be non-empty',
            "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: "
            "Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and "
            "must start "
            "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
            "used for "
            "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ],
    ),
    "spread": (
        {"topologySpreadConstraints": [{**SPREAD, "maxSkew": 0}, {**SPREAD, "minDomains": 0}]},
        [
            "topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
            "topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: "
            'Duplicate value: "{zone, DoNotSchedule}"',
            "topologySpreadConstraints[1].minDomains: Invalid value: 0: must be greater than zero",
        ],
    ),
    "claim without source": (
        {"resourceClaims": [{"name": "gpu"}]},
        [
            'resourceClaims[0]: Invalid value: {"Name":"gpu","ResourceClaimName":null,'
            '"ResourceClaimTemplateName":null}: '
            "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        ],
    ),
    "pod-level resources": (
        {"resources": {"limits": {"disk": "1"}}},
        [
            'resources.limits[disk]: Invalid value: "disk": '
            "must be a standard resource type or fully qualified"
        ],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), SPEC.values(), ids=SPEC)
def test_a_spec_is_judged(spec_errors: Errors, fields: dict[str, Any], expected: list[str]) -> None:
    assert spec_errors(fields) == expected


def test_on_the_host_network_ports_are_the_host_s(spec_errors: Errors, container: dict[str, Any]) -> None:
    container["ports"] = [{"containerPort": 80, "hostPort": 81, "protocol": "TCP"}]
    assert spec_errors({"hostNetwork": True, "containers": [container]}) == [
        "containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when "
        "`hostNetwork` is true"
    ]


def test_containers_fit_in_the_resources_of_the_pod(spec_errors: Errors, container: dict[str, Any]) -> None:
    container["resources"] = {"requests": {"cpu": "600m"}, "limits": {"cpu": "3"}}
    twice = [container, {**container, "name": "d"}]
    assert spec_errors(
        {"containers": twice, "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    ) == [
        'resources.requests[cpu]: Invalid value: "1": '
        "must be greater than or equal to aggregate container requests of 1200m",
        'resources.containers[0][cpu].limits: Invalid value: "3": must be less than or equal to pod '
        "limits of 2",
        'resources.containers[1][cpu].limits: Invalid value: "3": must be less than or equal to pod '
        "limits of 2",
    ]


ANNOTATIONS = {
    "kubernetes.io/config.mirror": ("x", "must set spec.nodeName if mirror pod annotation is set"),
    "controller.kubernetes.io/pod-deletion-cost": ("+1", "must be a 32bit integer"),
}


@pytest.mark.parametrize("key", ANNOTATIONS)
def test_annotations_with_a_meaning_are_judged(created: Any, pod: dict[str, Any], key: str) -> None:
    value, text = ANNOTATIONS[key]
    assert created("", "Pod", pod, {"metadata": {"annotations": {key: value}}}) == [
        f'metadata.annotations[{key}]: Invalid value: "{value}": {text}'
    ]


def test_finalizers_without_a_domain_are_kubernetes_own(created: Any, pod: dict[str, Any]) -> None:
    assert created("", "Pod", pod, {"metadata": {"finalizers": ["kubernetes", "mine"]}}) == [
        'metadata.finalizers[1]: Invalid value: "mine": '
        "name is neither a standard finalizer name nor is it fully qualified"
    ]
