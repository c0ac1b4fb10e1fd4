"""HTTP clients to the backends of APIServices, with the front proxy's certificate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from steersman.cluster.admission.services import ServiceResolver, ServiceUnreachable
from steersman.cluster.apiserver.aggregation.registrations import Backend
from steersman.cluster.auth.pki import KeyPair
from steersman.http import Client, client_tls, is_served_here
from steersman.http.client.cache import ClientCache
from steersman.http.transport import UpgradableTransport

__all__ = ["BackendClients"]

_CACHED_CLIENTS: Final = 64
_POOL_SIZE: Final = 128
#: Answers that are collected (discovery, refusals of upgrades); the others are passed on as they come.
_MAX_COLLECTED_BYTES: Final = 32 << 20


class _Place(NamedTuple):
    host: str
    port: int
    ca: bytes
    insecure: bool
    server_name: str


class BackendClients:
    def __init__(self, resolver: ServiceResolver, pair: KeyPair) -> None:
        self._resolver = resolver
        self._pair = pair
        self._clients: ClientCache[_Place] = ClientCache(self._connect, _CACHED_CLIENTS)

    def to(self, backend: Backend) -> UpgradableTransport:
        """A transport to one of the backend's endpoints. Raises ServiceUnreachable; ValueError or
        ssl.SSLError for certificates that are none."""
        host, port = self._place(backend)
        return self._clients.to(_Place(host, port, backend.ca, backend.insecure, backend.server_name))

    def are_here(self, backends: Iterable[Backend]) -> bool:
        """Whether all of them are servers of this process."""
        try:
            return all(is_served_here(*self._place(each)) for each in backends)
        except ServiceUnreachable:
            return False

    def _place(self, backend: Backend) -> tuple[str, int]:
        return self._resolver.resolve(backend.namespace, backend.service, backend.port)

    def _connect(self, place: _Place) -> Client:
        tls = client_tls(
            ca=place.ca or None,
            cert=self._pair.certificate,
            key=self._pair.key,
            insecure=place.insecure,
            server_name=place.server_name,
        )
        host = f"[{place.host}]" if ":" in place.host else place.host
        return Client(
            f"https://{host}:{place.port}",
            ssl=tls,
            headers=((b"Accept-Encoding", b"identity"),),
            pool_size=_POOL_SIZE,
            max_response_bytes=_MAX_COLLECTED_BYTES,
        )

    async def close(self) -> None:
        await self._clients.close()
