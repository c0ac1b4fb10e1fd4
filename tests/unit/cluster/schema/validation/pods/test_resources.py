"""Resources and other fields of pods that containers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Object = dict[str, Any]
Errors = Callable[[Object], list[str]]

CONTAINER = {
    "name": "c",
    "image": "nginx",
    "resources": {},
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}


def using(claims: list[Object]) -> Object:
    known = [{"name": "r", "resourceClaimName": "x"}, {"name": "s", "resourceClaimName": "y"}]
    return {"resourceClaims": known, "containers": [{**CONTAINER, "resources": {"claims": claims}}]}


def restarting(rules: list[Object]) -> Object:
    fields = {"restartPolicy": "Never", "restartPolicyRules": rules}
    return {"containers": [{**CONTAINER, **fields}]}


CASES: dict[str, tuple[Object, list[str]]] = {
    "claims of resources": (
        using([{"name": "r"}, {"name": "s", "request": "q"}, {"name": "s", "request": "p"}]),
        [],
    ),
    "claims twice": (
        using([{"name": "r"}, {"name": "r"}]),
        [
            'containers[0].resources.claims[1]: Duplicate value: "r"',
        ],
    ),
    "claim after a part of it": (
        using([{"name": "s", "request": "q"}, {"name": "s"}]),
        [
            'containers[0].resources.claims[1]: Duplicate value: "s"',
        ],
    ),
    "part after a claim": (
        using([{"name": "s"}, {"name": "s", "request": "q"}]),
        [
            'containers[0].resources.claims[1]: Duplicate value: "s"',
        ],
    ),
    "part twice": (
        using([{"name": "s", "request": "q"}, {"name": "s", "request": "q"}]),
        [
            'containers[0].resources.claims[1]: Duplicate value: "s/q"',
        ],
    ),
    "unknown claim": (
        using([{"name": "x"}, {}]),
        [
            'containers[0].resources.claims[0]: Not found: "x": must be one of the names in '
            "pod.spec.resourceClaims: r, s",
            "containers[0].resources.claims[1]: Required value",
        ],
    ),
    "resources of the pod": (
        {"resources": {"requests": {"cpu": "1", "hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}}},
        [],
    ),
    "other resources of the pod": (
        {"resources": {"requests": {"ephemeral-storage": "1Gi"}}},
        [
            'resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": '
            'supported values: "cpu", "hugepages-", "memory"',
        ],
    ),
    "huge pages of containers": (
        {
            "containers": [
                {
                    **CONTAINER,
                    "resources": {
                        "requests": {"hugepages-2Mi": "4Mi", "cpu": "1"},
                        "limits": {"hugepages-2Mi": "4Mi"},
                    },
                }
            ],
            "resources": {"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}},
        },
        [
            "resources: Forbidden: HugePages require cpu or memory",
            'resources.requests[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or '
            "equal to aggregate container requests of 4Mi",
            'resources.limits[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or '
            "equal to aggregate container limits of 4Mi",
            'resources.containers[0][hugepages-2Mi].limits: Invalid value: "4Mi": must be '
            "less than or equal to pod limits of 2Mi",
        ],
    ),
    "containers that fit": (
        {
            "containers": [
                {
                    **CONTAINER,
                    "resources": {
                        "requests": {"cpu": "1", "memory": "1Gi"},
                        "limits": {"cpu": "2", "memory": "1Gi"},
                    },
                }
            ],
            "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
        },
        [],
    ),
    "overhead": ({"overhead": {"cpu": "1"}, "runtimeClassName": "r"}, []),
    "wrong overhead": (
        {"overhead": {"odd": "1"}, "runtimeClassName": "r"},
        [
            'overhead.limits[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
            'overhead.limits[odd]: Invalid value: "odd": must be a standard resource for containers',
        ],
    ),
    "host aliases": (
        {"hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a", "B_"]}, {"ip": "x"}]},
        [
            'hostAliases[0].hostnames[1]: Invalid value: "B_": a lowercase RFC 1123 subdomain '
            "must consist of lower case alphanumeric characters, '-' or '.', and must start "
            "and end with an alphanumeric character (e.g. 'example.com', regex used for "
            "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            'hostAliases[1].ip: Invalid value: "x": must be a valid IP address, (e.g. '
            "10.9.8.7 or 2001:db8::ffff)",
        ],
    ),
    "other hostname": ({"hostnameOverride": "a.b"}, []),
    "other hostname too long": (
        {"hostnameOverride": "a" * 65},
        [
            "hostnameOverride: Too long: may not be more than 64 bytes",
        ],
    ),
    "other hostname with the network of the host": (
        {"hostnameOverride": "a", "hostNetwork": True},
        [
            "hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
        ],
    ),
    "restart rules": (
        restarting([{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]),
        [],
    ),
    "restart rules of nothing": (
        restarting(
            [
                {"action": "Odd"},
                {"action": "Restart", "exitCodes": {"operator": "Like", "values": [*range(256)]}},
            ]
        ),
        [
            'containers[0].restartPolicyRules[0].action: Unsupported value: "Odd": supported '
            'values: "Restart", "RestartAllContainers"',
            "containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified",
            "containers[0].restartPolicyRules[1].exitCodes.operator: Unsupported value: "
            '"Like": supported values: "In", "NotIn"',
            "containers[0].restartPolicyRules[1].exitCodes.values: Too many: 256: must have "
            "at most 255 items",
        ],
    ),
    "nameless init containers": (
        {"initContainers": [{**CONTAINER, "name": ""}, {**CONTAINER, "name": ""}]},
        [
            "initContainers[0].name: Required value",
            "initContainers[1].name: Required value",
        ],
    ),
    "ephemeral container with a path": (
        {
            "ephemeralContainers": [
                {
                    **CONTAINER,
                    "name": "d",
                    "volumeMounts": [
                        {"name": "v", "mountPath": "/a"},
                        {"name": "v", "mountPath": "/b", "subPath": "x"},
                    ],
                }
            ],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
        [
            "ephemeralContainers[0].volumeMounts[1].subPath: Forbidden: cannot be set for an "
            "Ephemeral Container",
            "ephemeralContainers: Forbidden: cannot be set on create",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES)
def test_shared_fields_are_judged(spec_errors: Errors, spec: Object, expected: list[str]) -> None:
    assert spec_errors(spec) == expected
