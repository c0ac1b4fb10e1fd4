"""Service: one stable address for the pods that a selector finds.

The type is what `cluster_ip`, `node_port`, `load_balancer`, `headless` or `external_name` said last. There
is no default selector: a service without one is a thing of its own, whose endpoints someone else writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Literal, Self, get_args

from steersman.objects import resources
from steersman.objects.addresses import is_cidr
from steersman.objects.builders.labels import Selector, label_selector
from steersman.objects.builders.protocols import PROTOCOLS, Protocol
from steersman.objects.builders.resource import Resource
from steersman.objects.kinds.enums import IPFamilyPolicy, ServiceExternalTrafficPolicy
from steersman.objects.names import NameCheck, is_dns1123_label, is_label_key, name_is_dns_label

__all__ = ["Service"]

IpFamily = Literal["IPv4", "IPv6"]
_TRAFFIC_POLICIES: Final = get_args(ServiceExternalTrafficPolicy)
_IP_FAMILIES: Final = get_args(IpFamily)
_IP_FAMILY_POLICIES: Final = get_args(IPFamilyPolicy)
_HEADLESS: Final = "None"
_AFFINITY_SECONDS_MAX: Final = 86400


class Service(Resource):
    """`Service("web").port(80, 8080).selector(app="web")`."""

    __slots__ = ()

    resource_type: ClassVar = resources.SERVICES
    _name_rule: ClassVar[NameCheck] = staticmethod(name_is_dns_label)

    # --- Ports. When there are several, those without a name get one such as "tcp-80".

    def port(
        self,
        port: int,
        target_port: int | str | None = None,
        *,
        protocol: Protocol = "TCP",
        app_protocol: str | None = None,
    ) -> Self:
        """A port of the service, and the port of the pods behind it (a number or a name; else the same)."""
        return self._add_port(self._made_port(None, port, target_port, protocol, app_protocol))

    def named_port(
        self,
        name: str,
        port: int,
        target_port: int | str | None = None,
        *,
        protocol: Protocol = "TCP",
        app_protocol: str | None = None,
    ) -> Self:
        return self._add_port(self._made_port(name, port, target_port, protocol, app_protocol))

    def node_port(
        self,
        port: int,
        target_port: int | str | None = None,
        node_port: int | None = None,
        *,
        protocol: Protocol = "TCP",
    ) -> Self:
        """A port that every node offers too (of its choice, unless given); the type becomes NodePort.

        A port that is there already gets its node port.
        """
        made = self._made_port(None, port, target_port, protocol, None)
        ports = self._edit_spec().setdefault("ports", [])
        present = next((one for one in ports if _same_port(one, made)), None)
        if present is None:
            ports.append(made)
            present = made
        elif target_port is not None and present.get("targetPort", port) != target_port:
            problem = f"{port}/{protocol} goes to {present.get('targetPort', port)} already"
            raise self._error("spec.ports", problem)
        if node_port is not None:
            present["nodePort"] = self._port("spec.ports.nodePort", node_port)
        return self if self.spec.get("type") == "LoadBalancer" else self._type("NodePort")

    def selector(self, selector: Selector | Mapping[str, str] | None = None, /, **labels: str) -> Self:
        """The pods behind the service: those with all these labels."""
        made = label_selector(self._error, "spec.selector", selector, labels)
        if "matchExpressions" in made:
            raise self._error("spec.selector", "a service selects by the values of labels only")
        if made:
            self._edit_spec().setdefault("selector", {}).update(made["matchLabels"])
        return self

    # --- Type

    def cluster_ip(self) -> Self:
        """An address inside the cluster: the default."""
        return self._type("ClusterIP")

    def headless(self) -> Self:
        """No address of its own: DNS answers with those of the pods."""
        self._type("ClusterIP")
        return self._put_spec("clusterIP", _HEADLESS)

    def load_balancer(self, load_balancer_class: str | None = None) -> Self:
        """An address outside the cluster, from the cloud or the class named."""
        self._type("LoadBalancer")
        if load_balancer_class is None:
            return self
        field = "loadBalancerClass"
        return self._put_spec(field, self._name(f"spec.{field}", load_balancer_class, is_label_key))

    def external_name(self, host: str) -> Self:
        """An alias in DNS for a host elsewhere; without ports and pods."""
        name = host.rstrip(".") if isinstance(host, str) else host
        self._name("spec.externalName", name)
        return self._type("ExternalName")._put_spec("externalName", host)

    # --- Traffic

    def session_affinity(self, timeout: int | None = None) -> Self:
        """Send a client to the same pod each time, until it was silent for `timeout` seconds."""
        self._put_spec("sessionAffinity", "ClientIP")
        if timeout is None:
            return self
        seconds = self._count("spec.sessionAffinityConfig", timeout, 1, _AFFINITY_SECONDS_MAX)
        return self._put_spec("sessionAffinityConfig", {"clientIP": {"timeoutSeconds": seconds}})

    def external_traffic_policy(self, policy: ServiceExternalTrafficPolicy) -> Self:
        """Local keeps the client's address and uses only pods of the node that was asked."""
        return self._put_choice("externalTrafficPolicy", policy, _TRAFFIC_POLICIES)

    def internal_traffic_policy(self, policy: ServiceExternalTrafficPolicy) -> Self:
        return self._put_choice("internalTrafficPolicy", policy, _TRAFFIC_POLICIES)

    def load_balancer_source_ranges(self, *ranges: str | Iterable[str]) -> Self:
        """The only clients let through, as CIDRs."""
        field = "loadBalancerSourceRanges"
        cidrs = [self._name(f"spec.{field}", one, is_cidr) for one in self._texts(f"spec.{field}", ranges)]
        return self._put_spec_or_drop(field, cidrs)

    def ip_families(self, *families: IpFamily, policy: IPFamilyPolicy | None = None) -> Self:
        for family in families:
            self._choice("spec.ipFamilies", family, _IP_FAMILIES)
        if families:
            self._put_spec("ipFamilies", list(families))
        if policy is None:
            return self
        return self._put_choice("ipFamilyPolicy", policy, _IP_FAMILY_POLICIES)

    def publish_not_ready_addresses(self, value: bool = True) -> Self:
        """DNS knows the pods before they are ready: how the members of a cluster find each other."""
        field = "publishNotReadyAddresses"
        return self._put_spec_or_drop(field, self._flag(f"spec.{field}", value))

    # --- How it is put together

    def _made_port(
        self, name: str | None, port: int, target: int | str | None, protocol: str, app: str | None
    ) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if name is not None:
            made["name"] = self._name("spec.ports.name", name, is_dns1123_label)
        made["port"] = self._port("spec.ports.port", port)
        if target is not None:
            made["targetPort"] = self._port_or_name("spec.ports.targetPort", target)
        if self._choice("spec.ports.protocol", protocol, PROTOCOLS) != "TCP":
            made["protocol"] = protocol
        if app is not None:
            made["appProtocol"] = self._name("spec.ports.appProtocol", app, is_label_key)
        return made

    def _add_port(self, made: dict[str, Any]) -> Self:
        ports = self._edit_spec().setdefault("ports", [])
        for other in ports:
            if _same_port(other, made):
                problem = f"{made['port']}/{made.get('protocol', 'TCP')} is there twice"
                raise self._error("spec.ports", problem)
            if "name" in made and other.get("name") == made["name"]:
                raise self._error("spec.ports", f"two ports are called {made['name']!r}")
        ports.append(made)
        return self

    def _put_choice(self, field: str, value: str, choices: tuple[str, ...]) -> Self:
        return self._put_spec(field, self._choice(f"spec.{field}", value, choices))

    def _type(self, name: str) -> Self:
        spec = self._edit_spec()
        spec["type"] = name
        spec.pop("externalName", None)
        if spec.get("clusterIP") == _HEADLESS:
            del spec["clusterIP"]
        if name == "ClusterIP":
            for port in spec.get("ports") or ():
                port.pop("nodePort", None)
        return self

    def _complete(self, obj: dict[str, Any]) -> None:
        spec = obj.setdefault("spec", {})
        ports = spec.get("ports") or ()
        external = spec.get("type") == "ExternalName"
        if not ports and not external and spec.get("clusterIP") != _HEADLESS:
            raise self._error("spec.ports", "has no port; add one with port(80, 8080)")
        if external and spec.get("selector"):
            raise self._error("spec.selector", "an external name has no pods behind it")
        if len(ports) < 2:
            return
        for port in ports:
            port.setdefault("name", f"{port.get('protocol', 'TCP').lower()}-{port['port']}")


def _same_port(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return _identity(one) == _identity(other)


def _identity(port: dict[str, Any]) -> tuple[int, str]:
    return port["port"], port.get("protocol", "TCP")
