"""The tables of networking.k8s.io and of discovery.k8s.io."""

from __future__ import annotations

from steersman.cluster.apiserver.resources.columns.core import load_balancer_addresses
from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    NAME,
    NONE,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    joined_with_more,
    name_of,
)
from steersman.objects.kinds import Object
from steersman.objects.selectors import format_label_selector

__all__ = ["TABLES"]

_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _ingress(obj: Object, now: float) -> Cells:
    return [
        name_of(obj),
        at(obj, "spec", "ingressClassName", default=NONE),
        _hosts(at(obj, "spec", "rules", default=[])),
        load_balancer_addresses(obj),
        "80, 443" if at(obj, "spec", "tls") else "80",
        age(obj, now),
    ]


def _hosts(rules: list[Object]) -> str:
    """The first three hosts; what is left off is counted in rules, those without a host too."""
    named = [number for number, rule in enumerate(rules) if rule.get("host")][:3]
    if not named:
        return "*"
    text = ",".join(rules[number]["host"] for number in named)
    if len(named) == 3 and len(rules) > named[-1] + 1:
        return f"{text} + {len(rules) - 3} more..."
    return text


def _ingress_class(obj: Object, now: float) -> Cells:
    name = name_of(obj)
    if at(obj, "metadata", "annotations", default={}).get(_DEFAULT_CLASS) == "true":
        name += " (default)"
    parameters = NONE
    if (reference := at(obj, "spec", "parameters")) is not None:
        parameters = reference.get("kind", "")
        if reference.get("apiGroup") is not None:
            parameters += "." + reference["apiGroup"]
        parameters += "/" + reference.get("name", "")
    return [name, at(obj, "spec", "controller", default=""), parameters, age(obj, now)]


def _ip_address(obj: Object, now: float) -> Cells:
    parent = NONE
    if (reference := at(obj, "spec", "parentRef")) is not None:
        resource = ".".join(filter(None, (reference.get("resource", ""), reference.get("group", "")))).lower()
        parent = "/".join(filter(None, (resource, reference.get("namespace", ""), reference.get("name", ""))))
    # Kubernetes sends an age here too, though it declares no column for it.
    return [name_of(obj), parent, age(obj, now)]


def _network_policy(obj: Object, now: float) -> Cells:
    return [name_of(obj), format_label_selector(at(obj, "spec", "podSelector", default={})), age(obj, now)]


def _service_cidr(obj: Object, now: float) -> Cells:
    return [name_of(obj), ",".join(at(obj, "spec", "cidrs", default=())), age(obj, now)]


def _endpoint_slice(obj: Object, now: float) -> Cells:
    endpoints = at(obj, "endpoints", default=())
    return [
        name_of(obj),
        at(obj, "addressType", default=""),
        joined_with_more([_slice_port(port) for port in at(obj, "ports", default=())]),
        joined_with_more(
            [address for endpoint in endpoints for address in at(endpoint, "addresses", default=())]
        ),
        age(obj, now),
    ]


def _slice_port(port: Object) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return str(port["name"]) if port.get("name") is not None else "*"


TABLES = {
    ("networking.k8s.io", "ingressclasses"): Table(
        (
            NAME,
            ColumnDefinition("Controller", "The controller that serves this class."),
            ColumnDefinition("Parameters", "The object that configures it."),
            AGE,
        ),
        _ingress_class,
    ),
    ("networking.k8s.io", "ingresses"): Table(
        (
            NAME,
            ColumnDefinition("Class", "The class that serves it."),
            ColumnDefinition("Hosts", "The host names it answers to."),
            ColumnDefinition("Address", "Where the load balancer listens."),
            ColumnDefinition("Ports", "The ports it listens on."),
            AGE,
        ),
        _ingress,
    ),
    ("networking.k8s.io", "ipaddresses"): Table(
        (NAME, ColumnDefinition("ParentRef", "The object the address belongs to.")), _ip_address
    ),
    ("networking.k8s.io", "networkpolicies"): Table(
        (NAME, ColumnDefinition("Pod-Selector", "Which pods it applies to."), AGE), _network_policy
    ),
    ("networking.k8s.io", "servicecidrs"): Table(
        (NAME, ColumnDefinition("CIDRs", "The ranges of service addresses."), AGE), _service_cidr
    ),
    ("discovery.k8s.io", "endpointslices"): Table(
        (
            NAME,
            ColumnDefinition("AddressType", "IPv4, IPv6 or FQDN."),
            ColumnDefinition("Ports", "The ports of every endpoint."),
            ColumnDefinition("Endpoints", "The addresses of the endpoints."),
            AGE,
        ),
        _endpoint_slice,
    ),
}
