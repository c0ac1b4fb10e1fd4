"""Connections from the API server to nodes, and to the pods that `proxy` paths lead to.

Nodes are known by certificates of the cluster's CA, and know the API server by one. What a proxy path leads
to is not verified: there is no CA to verify it by.
"""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address
from typing import Any, Final, NamedTuple

from steersman.cluster.auth.pki import StoredAuthority
from steersman.cluster.auth.users import MASTERS_GROUP
from steersman.http import Client, ClientContext, client_tls
from steersman.http.client.cache import ClientCache
from steersman.http.transport import UpgradableTransport
from steersman.objects.status import StatusError, bad_request

__all__ = ["ForwardTarget", "NodeConnections", "unreachable"]

#: The name in the API server's certificate.
_OWN_NAME: Final = "kube-apiserver-kubelet-client"
#: Which of a node's addresses is called, the best first.
_ADDRESS_TYPES: Final = ("InternalIP", "Hostname", "InternalDNS", "ExternalIP", "ExternalDNS")
_BROADCAST: Final = IPv4Address("255.255.255.255")
_SILENT: Final = "it serves no API (its kubeletEndpoint has no port)"
_SIMULATED: Final = (
    "it is simulated, and nothing really runs there (steer up --runtime process has nodes that do)"
)
#: Logs that are followed end when their client is given up, so it is not for few places.
_CACHED_CLIENTS: Final = 4096
_POOL_SIZE: Final = 128
#: Refusals of upgrades; all else is passed on as it comes.
_MAX_COLLECTED_BYTES: Final = 1 << 20


def unreachable(why: str) -> StatusError:
    """503 without a time to try again, which clients would take as an order."""
    return StatusError(503, "ServiceUnavailable", why)


class ForwardTarget(NamedTuple):
    scheme: str
    host: str
    port: int
    #: Whether it is a node's own API: it must show a certificate, and is shown ours.
    node: bool = False
    insecure: bool = False

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}"


class NodeConnections:
    def __init__(self, authority: StoredAuthority, *, allows_loopback: bool = False) -> None:
        """`allows_loopback`: pods and nodes may be at addresses of this machine only, which Kubernetes never
        connects a proxy's client to."""
        self._authority = authority
        self._allows_loopback = allows_loopback
        self._contexts: dict[tuple[bool, bool], ClientContext] = {}
        self._clients: ClientCache[ForwardTarget] = ClientCache(self._connect, _CACHED_CLIENTS)

    def node(self, node: dict[str, Any], *, insecure: bool = False) -> ForwardTarget:
        """Where a node serves its API. Raises 503 if nowhere."""
        name, status = node["metadata"]["name"], node.get("status") or {}
        endpoint = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
        port = endpoint.get("Port") or 0
        if not port:
            runtime: str = (status.get("nodeInfo") or {}).get("containerRuntimeVersion") or ""
            why = _SIMULATED if runtime.startswith("simulated:") else _SILENT
            raise unreachable(f"node {name} cannot be reached: {why}")
        known = {entry["type"]: entry["address"] for entry in reversed(status.get("addresses") or ())}
        for kind in _ADDRESS_TYPES:
            if kind in known:
                return ForwardTarget("https", known[kind], port, node=True, insecure=insecure)
        raise StatusError(500, "", f"no preferred addresses found; known addresses: [{' '.join(known)}]")

    def check(self, host: str) -> None:
        """Refuse to lead clients to addresses that are not the cluster's."""
        try:
            address = ip_address(host)
        except ValueError:
            raise bad_request("address not allowed") from None
        if address.version == 6 and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        if address.is_loopback and self._allows_loopback:
            return
        unfit = (address.is_loopback, address.is_multicast, address.is_link_local, address.is_unspecified)
        if any(unfit) or address == _BROADCAST:
            raise bad_request("address not allowed")

    def to(self, place: ForwardTarget) -> UpgradableTransport:
        return self._clients.to(place)

    def _connect(self, place: ForwardTarget) -> Client:
        return Client(
            place.url,
            ssl=self._context(place) if place.scheme == "https" else None,
            headers=((b"Accept-Encoding", b"identity"),),
            pool_size=_POOL_SIZE,
            max_response_bytes=_MAX_COLLECTED_BYTES,
        )

    def _context(self, place: ForwardTarget) -> ClientContext:
        """How to speak TLS there: the same for all nodes, and for all pods."""
        key = (place.node, place.insecure)
        context = self._contexts.get(key)
        if context is None:
            context = self._contexts[key] = self._make_context(*key)
        return context

    def _make_context(self, is_node: bool, is_insecure: bool) -> ClientContext:
        if not is_node:
            return client_tls(insecure=True)
        pair = self._authority.issue(_OWN_NAME, organizations=(MASTERS_GROUP,))
        return client_tls(ca=self._authority.pem, cert=pair.certificate, key=pair.key, insecure=is_insecure)

    async def close(self) -> None:
        await self._clients.close()
