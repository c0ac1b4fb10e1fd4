"""Ingresses, IngressClasses, IPAddresses and ServiceCIDRs."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "networking.k8s.io"
METADATA = {"name": "web", "namespace": "default", "resourceVersion": "1"}
SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}


def path(**fields: Any) -> dict[str, Any]:
    return {"path": "/", "pathType": "Prefix", "backend": BACKEND} | fields


def rule(*paths: Any, **fields: Any) -> dict[str, Any]:
    return {"spec": {"rules": [{"http": {"paths": list(paths)}, **fields}]}}


INGRESS: dict[str, Any] = {
    "metadata": METADATA,
    **rule(path(), host="a.example"),
    "status": {"loadBalancer": {}},
}
AT = "spec.rules[0].http.paths[0]"
INGRESSES = {
    "valid": ({}, []),
    "nothing to do": (
        {"spec": {"rules": None}},
        ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
    ),
    "host is an address": (
        rule(path(), host="10.0.0.1"),
        ['spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address'],
    ),
    "wildcard in the middle": (
        rule(path(), host="a.*.example"),
        [
            'spec.rules[0].host: Invalid value: "a.*.example": a wildcard DNS-1123 subdomain must start with '
            "'*.', followed by a valid DNS subdomain, which must consist of lower case "
            "alphanumeric characters, "
            "'-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used "
            "for validation "
            r"is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        ],
    ),
    "no paths": (rule(), ["spec.rules[0].http.paths: Required value"]),
    "no path type": (
        rule(path(pathType=None)),
        [f"{AT}.pathType: Required value: pathType must be specified"],
    ),
    "unknown path type": (
        rule(path(pathType="Regex")),
        [
            f'{AT}.pathType: Unsupported value: "Regex": supported values: '
            '"Exact", "ImplementationSpecific", "Prefix"'
        ],
    ),
    "odd paths": (
        rule(path(path="a//b/.")),
        [
            f'{AT}.path: Invalid value: "a//b/.": must be an absolute path',
            f"{AT}.path: Invalid value: \"a//b/.\": must not contain '//'",
            f"{AT}.path: Invalid value: \"a//b/.\": cannot end with '/.'",
        ],
    ),
    "free path types ask less": (
        rule(
            path(path="//", pathType="ImplementationSpecific"),
            path(path="", pathType="ImplementationSpecific"),
        ),
        [],
    ),
    "no backend": (
        rule(path(backend={})),
        [f'{AT}.backend: Invalid value: "": resource or service backend is required'],
    ),
    "two backends": (
        {"spec": {"defaultBackend": {**BACKEND, "resource": {"kind": "K", "name": "n"}}}},
        ['spec.defaultBackend: Invalid value: "": cannot set both resource and service backends'],
    ),
    "backend without name and port": (
        rule(path(backend={"service": {"name": "", "port": {}}})),
        [
            f"{AT}.backend.service.name: Required value",
            f"{AT}.backend: Required value: port name or number is required",
        ],
    ),
    "backend port both ways": (
        rule(path(backend={"service": {"name": "web", "port": {"name": "http", "number": 80}}})),
        [f'{AT}.backend: Invalid value: "": cannot set both port name & port number'],
    ),
    "incomplete resource": (
        {"spec": {"defaultBackend": {"resource": {"kind": "", "name": "a/b"}}}},
        [
            "spec.defaultBackend.resource.kind: Required value",
            "spec.defaultBackend.resource.name: Invalid value: \"a/b\": may not contain '/'",
        ],
    ),
    "odd TLS": (
        {"spec": {"tls": [{"hosts": ["A"], "secretName": "a_b"}]}},
        [
            f'spec.tls[0].hosts[0]: Invalid value: "A": {SUBDOMAIN_RULE}',
            f'spec.tls[0].secretName: Invalid value: "a_b": {SUBDOMAIN_RULE}',
        ],
    ),
    "class named twice": (
        {
            "metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}},
            "spec": {"ingressClassName": "b"},
        },
        [
            'annotations.kubernetes.io/ingress.class: Invalid value: "a": '
            "must match `ingressClassName` when both are specified"
        ],
    ),
    "class by both": (
        {
            "metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}},
            "spec": {"ingressClassName": "a"},
        },
        [],
    ),
    "class by annotation": ({"metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}}}, []),
    "classes that differ": (
        {
            "metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}},
            "spec": {"ingressClassName": "b"},
        },
        [
            'annotations.kubernetes.io/ingress.class: Invalid value: "a": must match '
            "`ingressClassName` when both are specified",
        ],
    ),
}


@pytest.mark.parametrize("patch, expected", INGRESSES.values(), ids=INGRESSES)
def test_ingress_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created(GROUP, "Ingress", INGRESS, patch) == expected


def test_odd_secret_names_of_old_may_stay(updated: Any) -> None:
    old = {**INGRESS, "spec": {**INGRESS["spec"], "tls": [{"secretName": "a_b"}]}}
    assert updated(GROUP, "Ingress", old, {"spec": {"tls": [{"secretName": "c_d"}]}}) == []
    assert len(updated(GROUP, "Ingress", INGRESS, {"spec": {"tls": [{"secretName": "c_d"}]}})) == 1


def test_ingress_status_names_real_places(reported: Any) -> None:
    points = [{"ip": "x"}, {"hostname": "10.0.0.1"}]
    assert reported(GROUP, "Ingress", INGRESS, {"status": {"loadBalancer": {"ingress": points}}}) == [
        'status.loadBalancer.ingress[0].ip: Invalid value: "x": '
        "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        'status.loadBalancer.ingress[1].hostname: Invalid value: "10.0.0.1": '
        "must be a DNS name, not an IP address",
    ]


CLASS: dict[str, Any] = {
    "metadata": {"name": "fast", "resourceVersion": "1"},
    "spec": {"controller": "example.com/ingress"},
}
PARAMETERS = {"kind": "Config", "name": "fast", "scope": "Cluster"}
CLASSES = {
    "valid": ({"spec": {"parameters": PARAMETERS}}, []),
    "no controller": ({"spec": {"controller": None}}, ["spec.controller: Required value"]),
    "controller without domain": (
        {"spec": {"controller": "ingress"}},
        ['spec.controller: Invalid value: "ingress": must be a domain-prefixed path (such as "acme.io/foo")'],
    ),
    "controller with odd parts": (
        {"spec": {"controller": "A/b?"}},
        [
            f'spec.controller: Invalid value: "A": {SUBDOMAIN_RULE}',
            'spec.controller: Invalid value: "b?": Invalid path (regex used for validation is '
            r"""'[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')""",
        ],
    ),
    "long controller": (
        {"spec": {"controller": "a.b/" + "c" * 250}},
        ["spec.controller: Too long: may not be more than 250 bytes"],
    ),
    "parameters: what is declared comes last": (
        {"spec": {"parameters": {"kind": "", "name": ""}}},
        [
            "spec.parameters.scope: Required value",
            "spec.parameters.kind: Required value",
            "spec.parameters.name: Required value",
        ],
    ),
    "namespace missing": (
        {"spec": {"parameters": PARAMETERS | {"scope": "Namespace"}}},
        ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
    ),
    "namespace for all": (
        {"spec": {"parameters": PARAMETERS | {"namespace": "a"}}},
        ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
    ),
    "unknown scope": (
        {"spec": {"parameters": PARAMETERS | {"scope": "World"}}},
        ['spec.parameters.scope: Unsupported value: "World": supported values: "Cluster", "Namespace"'],
    ),
}


@pytest.mark.parametrize("patch, expected", CLASSES.values(), ids=CLASSES)
def test_ingress_class_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created(GROUP, "IngressClass", CLASS, patch) == expected


def test_controller_stays(updated: Any) -> None:
    assert updated(GROUP, "IngressClass", CLASS, {"spec": {"controller": "a.b/c"}}) == [
        'spec.controller: Invalid value: "a.b/c": field is immutable'
    ]


ADDRESS: dict[str, Any] = {
    "metadata": {"name": "10.0.0.1", "resourceVersion": "1"},
    "spec": {"parentRef": {"resource": "services", "namespace": "default", "name": "web"}},
}
ADDRESSES = {
    "valid": ({}, []),
    "name in another spelling": (
        {"metadata": {"name": "FD00::1"}},
        ['metadata.name: Invalid value: "FD00::1": must be in canonical form ("fd00::1")'],
    ),
    "no parent": ({"spec": {"parentRef": None}}, ["spec.parentRef: Required value"]),
    "incomplete parent": (
        {"spec": {"parentRef": {"resource": "", "name": "", "namespace": "a/b"}}},
        [
            "spec.parentRef.namespace: Invalid value: \"a/b\": may not contain '/'",
            "spec.parentRef.resource: Required value",
            "spec.parentRef.name: Required value",
        ],
    ),
}


@pytest.mark.parametrize("patch, expected", ADDRESSES.values(), ids=ADDRESSES)
def test_ip_address_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created(GROUP, "IPAddress", ADDRESS, patch) == expected


def test_parent_stays(updated: Any) -> None:
    assert updated(GROUP, "IPAddress", ADDRESS, {"metadata": {"labels": {"a": "b"}}}) == []
    assert updated(GROUP, "IPAddress", ADDRESS, {"spec": {"parentRef": {"name": "other"}}}) == [
        "spec.parentRef: Invalid value: null: field is immutable"
    ]


RANGE: dict[str, Any] = {
    "metadata": {"name": "more", "resourceVersion": "1"},
    "spec": {"cidrs": ["10.1.0.0/16"]},
}
RANGES = {
    "valid": (["10.1.0.0/16", "fd00::/108"], []),
    "none": ([], ["spec.cidrs: Required value: at least one CIDR required"]),
    "three": (
        ["10.1.0.0/16", "fd00::/108", "x"],
        [
            'spec.cidrs: Invalid value: {"CIDRs":["10.1.0.0/16","fd00::/108","x"]}: may only hold '
            "up to 2 values"
        ],
    ),
    "two of one family": (
        ["10.1.0.0/16", "10.2.0.0/16"],
        [
            'spec.cidrs: Invalid value: ["10.1.0.0/16","10.2.0.0/16"]: may specify no more than one IP for '
            "each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        ],
    ),
    "not canonical": (
        ["FD00::/108"],
        ['spec.cidrs[0]: Invalid value: "FD00::/108": must be in canonical form ("fd00::/108")'],
    ),
}


@pytest.mark.parametrize("blocks, expected", RANGES.values(), ids=RANGES)
def test_service_cidr_is_created_or_refused(created: Any, blocks: Any, expected: list[str]) -> None:
    assert created(GROUP, "ServiceCIDR", RANGE, {"spec": {"cidrs": blocks}}) == expected


RANGE_CHANGES = {
    "second family": (["10.1.0.0/16", "fd00::/108"], []),
    "other block": (["10.2.0.0/16"], ['spec.cidrs[0]: Invalid value: "10.2.0.0/16": field is immutable']),
    "none left": ([], ["spec.cidrs: Invalid value: []: field is immutable"]),
}


@pytest.mark.parametrize("blocks, expected", RANGE_CHANGES.values(), ids=RANGE_CHANGES)
def test_service_cidr_only_grows(updated: Any, blocks: Any, expected: list[str]) -> None:
    assert updated(GROUP, "ServiceCIDR", RANGE, {"spec": {"cidrs": blocks}}) == expected


def test_odd_rules_for_wildcards_of_old_may_stay(updated: Any) -> None:
    def ingresses(host: str) -> dict[str, Any]:
        return {**INGRESS, "spec": {**INGRESS["spec"], "rules": [{"host": host, "http": {"paths": []}}]}}

    label = {"metadata": {"labels": {"a": "b"}}}
    assert updated(GROUP, "Ingress", ingresses("*.example.com"), label) == []
    assert updated(GROUP, "Ingress", ingresses("example.com"), label) == [
        "spec.rules[0].http.paths: Required value"
    ]
    # Only wildcards of old excuse those of now.
    assert updated(GROUP, "Ingress", INGRESS, {"spec": ingresses("*.example.com")["spec"]}) == [
        "spec.rules[0].http.paths: Required value"
    ]
