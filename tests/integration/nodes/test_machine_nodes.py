"""Nodes of this machine as they are put together: their certificates are renewed while people talk to them."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from steersman.aio import Scope
from steersman.cluster.auth.pki import StoredAuthority, key_pem, key_usage, names_of_server, write_private
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.machine import open_machine
from steersman.cluster.machine_nodes import MachineNodes, machine_nodes
from steersman.cluster.node.nodes import Nodes
from steersman.http import Client, client_tls
from steersman.objects.resources import NODES
from steersman.runtime import Manager
from steersman.testing import eventually

PATIENCE_S = 60.0
#: Certificates live so long, and are renewed after seven to nine tenths of that.
LIFE_S = 10.0
AGE_S = 4.0


class ShortLived:
    """Certificates that have to be renewed in a moment."""

    def __init__(self, authority: StoredAuthority, folder: Path) -> None:
        self._authority = authority
        self._folder = folder
        self.made = 0

    async def certify(self, user: str, names: Sequence[str]) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        request = (
            x509.CertificateSigningRequestBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, user)]))
            .add_extension(names_of_server(names), critical=False)
            .sign(key, hashes.SHA256())
        )
        begin = datetime.now(UTC) - timedelta(seconds=AGE_S)
        pem = self._authority.sign_request(
            request,
            usages=key_usage("digital_signature"),
            extended=[ExtendedKeyUsageOID.SERVER_AUTH],
            not_before=begin,
            not_after=begin + timedelta(seconds=LIFE_S),
        )
        files = self._folder / "node.crt", self._folder / "node.key"
        write_private(files[1], key_pem(key))
        write_private(files[0], pem)
        self.made += 1
        return files


async def shown(address: str, port: int) -> bytes:
    """The certificate that a new connection is shown."""
    pem = await asyncio.to_thread(ssl.get_server_certificate, (address, port), timeout=PATIENCE_S)
    return pem.encode()


def test_certificates_are_renewed_without_a_failed_request(tmp_path: Path) -> None:
    async def test() -> None:
        config = ClusterConfig(
            controllers=(), disabled_admission=("ServiceAccount",), loopback_endpoints=True
        )
        async with LocalCluster(config) as cluster, Scope() as scope:
            machine = await open_machine()
            authority = cluster.authority
            os.mkdir(tmp_path / "nodes")
            short = ShortLived(authority, tmp_path)
            manager = Manager(cluster.client(user_agent="kubelet"), address=None)
            nodes = Nodes(manager)
            manager.add_service("nodes", nodes.run)
            wanted = MachineNodes(1, machine, tmp_path / "nodes", authority.pem, short.certify)
            try:
                async with machine_nodes(nodes, wanted):
                    running = scope.start(manager.run())
                    try:
                        await rotate(cluster, short)
                    finally:
                        manager.stop()
                        await running
            finally:
                await machine.close()

    asyncio.run(test())


async def rotate(cluster: LocalCluster, short: ShortLived) -> None:
    """Ask a node all the time, by old and new connections, while it gets new certificates."""
    client = cluster.client()
    found = await eventually(lambda: client.find(NODES, "node-1"), PATIENCE_S)
    address = next(one["address"] for one in found["status"]["addresses"] if one["type"] == "InternalIP")
    port = found["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    admin = cluster.authority.issue("admin", organizations=["system:masters"])

    def talk() -> Client:
        # How long they are good for is not what is looked at: a slow machine may see them late.
        tls = client_tls(insecure=True, cert=admin.certificate, key=admin.key)
        return Client(f"https://{address}:{port}", ssl=tls)

    seen = {await shown(address, port)}

    async def has_been_renewed_twice() -> bool:
        async with talk() as fresh:
            for http in (kept, fresh):
                assert (await http.request("GET", "/healthz")).status == 200
        seen.add(await shown(address, port))
        return len(seen) > 2

    async with talk() as kept:
        await eventually(has_been_renewed_twice, PATIENCE_S)
    assert short.made >= len(seen)
