"""NetworkPolicy: which connections the selected pods accept and may open.

A policy restricts the directions it speaks of: `allow_ingress` forbids all other incoming connections,
`deny_all_egress` all outgoing. Without `pod_selector` it holds for every pod of the namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Self

from steersman.objects import resources
from steersman.objects.addresses import is_cidr
from steersman.objects.builders.labels import Selector, label_selector
from steersman.objects.builders.part import Part
from steersman.objects.builders.protocols import PROTOCOLS, Protocol
from steersman.objects.builders.resource import Resource

__all__ = ["NetworkPolicy", "NetworkPolicyEgress", "NetworkPolicyIngress"]

_SelectorLike = Selector | Mapping[str, str]
_DIRECTIONS: Final = {"Ingress": "ingress", "Egress": "egress"}


class _Rule(Part):
    """Peers and ports of one rule: a connection must be with one of the peers and to one of the ports."""

    __slots__ = ()

    _peers: ClassVar[str]

    def tcp_port(self, port: int | str, end_port: int | None = None) -> Self:
        """A port of the pods, by number or name, or all from `port` to `end_port`."""
        return self.port(port, end_port, protocol="TCP")

    def udp_port(self, port: int | str, end_port: int | None = None) -> Self:
        return self.port(port, end_port, protocol="UDP")

    def sctp_port(self, port: int | str, end_port: int | None = None) -> Self:
        return self.port(port, end_port, protocol="SCTP")

    def port(self, port: int | str, end_port: int | None = None, *, protocol: Protocol = "TCP") -> Self:
        entry: dict[str, Any] = {
            "protocol": self._choice("ports.protocol", protocol, PROTOCOLS),
            "port": self._port_or_name("ports.port", port),
        }
        if end_port is not None:
            entry["endPort"] = self._port("ports.endPort", end_port)
            if isinstance(port, str) or end_port < port:
                raise self._error("ports.endPort", f"{port} to {end_port} is not a range of numbers")
        self._object.setdefault("ports", []).append(entry)
        return self

    def _peer(self, pods: _SelectorLike | None, namespaces: _SelectorLike | None) -> Self:
        peer: dict[str, Any] = {}
        if pods is not None:
            peer["podSelector"] = label_selector(self._error, "podSelector", pods, {})
        if namespaces is not None:
            peer["namespaceSelector"] = label_selector(self._error, "namespaceSelector", namespaces, {})
        if not peer:
            raise self._error(self._peers, "must select pods or namespaces")
        return self._add_peer(peer)

    def _addresses(self, cidr: str, excluded: Iterable[str]) -> Self:
        block: dict[str, Any] = {"cidr": self._name("ipBlock.cidr", cidr, is_cidr)}
        if holes := self._texts("ipBlock.except", [excluded]):
            block["except"] = [self._name("ipBlock.except", hole, is_cidr) for hole in holes]
        return self._add_peer({"ipBlock": block})

    def _add_peer(self, peer: dict[str, Any]) -> Self:
        self._object.setdefault(self._peers, []).append(peer)
        return self


class NetworkPolicyIngress(_Rule):
    """Who may connect, and to which ports; without a peer anyone may, without a port to all of them."""

    __slots__ = ()

    _peers: ClassVar[str] = "from"

    def from_pod_selector(self, pods: _SelectorLike) -> Self:
        """Pods of the policy's own namespace."""
        return self._peer(pods, None)

    def from_namespace_selector(self, namespaces: _SelectorLike) -> Self:
        """All pods of these namespaces."""
        return self._peer(None, namespaces)

    def from_pods_in(self, namespaces: _SelectorLike, pods: _SelectorLike) -> Self:
        """These pods of these namespaces."""
        return self._peer(pods, namespaces)

    def from_ip_block(self, cidr: str, *, excluded: Iterable[str] = ()) -> Self:
        return self._addresses(cidr, excluded)


class NetworkPolicyEgress(_Rule):
    """Where connections may go, and to which ports; without a peer anywhere, without a port to all."""

    __slots__ = ()

    _peers: ClassVar[str] = "to"

    def to_pod_selector(self, pods: _SelectorLike) -> Self:
        """Pods of the policy's own namespace."""
        return self._peer(pods, None)

    def to_namespace_selector(self, namespaces: _SelectorLike) -> Self:
        """All pods of these namespaces."""
        return self._peer(None, namespaces)

    def to_pods_in(self, namespaces: _SelectorLike, pods: _SelectorLike) -> Self:
        """These pods of these namespaces."""
        return self._peer(pods, namespaces)

    def to_ip_block(self, cidr: str, *, excluded: Iterable[str] = ()) -> Self:
        return self._addresses(cidr, excluded)


class NetworkPolicy(Resource):
    """`NetworkPolicy("web").pod_selector(app="web").allow_ingress(…).deny_all_egress()`."""

    __slots__ = ()

    resource_type: ClassVar = resources.NETWORK_POLICIES

    def pod_selector(self, selector: Selector | Mapping[str, str] | None = None, /, **labels: str) -> Self:
        """The pods this policy is about."""
        field = "spec.podSelector"
        return self._put_spec("podSelector", label_selector(self._error, field, selector, labels))

    def allow_ingress(self, rule: NetworkPolicyIngress) -> Self:
        return self._allow("Ingress", rule, NetworkPolicyIngress)

    def allow_egress(self, rule: NetworkPolicyEgress) -> Self:
        return self._allow("Egress", rule, NetworkPolicyEgress)

    def deny_all_ingress(self) -> Self:
        return self._deny("Ingress")

    def deny_all_egress(self) -> Self:
        return self._deny("Egress")

    def _allow(self, direction: str, rule: Part, kind: type[Part]) -> Self:
        field = _DIRECTIONS[direction]
        if not isinstance(rule, kind):
            raise self._error(f"spec.{field}", f"must be a {kind.__name__}, not {rule!r}")
        if self._speaks_of(direction) and field not in self.spec:
            raise self._error(f"spec.{field}", f"all {field} was denied already")
        self._edit_spec().setdefault(field, []).append(rule.to_object())
        return self._speak_of(direction)

    def _deny(self, direction: str) -> Self:
        field = _DIRECTIONS[direction]
        if field in self.spec:
            raise self._error(f"spec.{field}", f"some {field} was allowed already")
        return self._speak_of(direction)

    def _speaks_of(self, direction: str) -> bool:
        return direction in (self.spec.get("policyTypes") or ())

    def _speak_of(self, direction: str) -> Self:
        if not self._speaks_of(direction):
            types = self._edit_spec().setdefault("policyTypes", [])
            types.append(direction)
            types.sort(reverse=True)  # Ingress first, as everyone writes it
        return self

    def _complete(self, obj: dict[str, Any]) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("podSelector", {})
        if not spec.get("policyTypes"):
            raise self._error("spec.policyTypes", "allows and denies nothing")
