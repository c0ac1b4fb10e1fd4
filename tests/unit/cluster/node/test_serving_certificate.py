"""When a node's certificate is renewed, and what if that cannot be."""

from __future__ import annotations

import os
import ssl
from base64 import b64decode, b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from steersman.aio import Scope
from steersman.client import Client, Forbidden, NotFound, Unreachable
from steersman.cluster.node.serving_certificate import CertificateFiles, keep_renewed, serving_certificate
from steersman.http import server_tls
from steersman.testing import VirtualClock, virtual_time

Object = dict[str, Any]

DAY_S = 86_400.0
NAMES = ("node-1", "10.0.0.1")
USER = "system:node:node-1"
KEY = ec.generate_private_key(ec.SECP256R1())
AUTHORITY = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])


class Api:
    """Signs requests that are approved, for a day each."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.requests: list[Object] = []
        self.there = True
        self.may_approve = True

    async def create(self, obj: Object, *, kind: Any) -> Object:
        if not self.there:
            raise Unreachable("nobody is there", maybe_done=False)
        made = {**obj, "metadata": {"name": f"csr-{len(self.requests)}"}}
        self.requests.append(made)
        return made

    async def patch(self, kind: Any, name: str, patch: Object, *, subresource: str) -> Object:
        if not self.may_approve:
            raise Forbidden(403, "Forbidden", "only administrators may", {})
        return self.approve()

    async def get(self, kind: Any, name: str) -> Object:
        for request in self.requests:
            if request["metadata"]["name"] == name:
                return request
        raise NotFound(404, "NotFound", "no such request", {})

    def approve(self) -> Object:
        request = self.requests[-1]
        asked = x509.load_pem_x509_csr(b64decode(request["spec"]["request"]))
        begin = datetime.fromtimestamp(self.clock.wall(), UTC)
        names = asked.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        signed = (
            x509.CertificateBuilder(AUTHORITY, asked.subject, asked.public_key())
            # The number says when, within the 70 to 90 %: here after 70.
            .serial_number(1000 * len(self.requests))
            .not_valid_before(begin)
            .not_valid_after(begin + timedelta(days=1))
            .add_extension(names, critical=False)
            .sign(KEY, hashes.SHA256())
        )
        pem = signed.public_bytes(serialization.Encoding.PEM)
        request["status"] = {"certificate": b64encode(pem).decode()}
        return request


class Node:
    def __init__(self, folder: Path) -> None:
        self.clock = VirtualClock()
        self.api = Api(self.clock)
        self.folder = folder
        #: The certificates that were used, and since when.
        self.used: list[tuple[float, bytes]] = []
        self._began = self.clock.wall()

    async def certify(self) -> CertificateFiles:
        return await serving_certificate(cast(Client, self.api), self.clock, self.folder, USER, NAMES)

    def use(self, files: CertificateFiles) -> None:
        server_tls(*files)
        self.used.append((self.clock.wall() - self._began, files[0].read_bytes()))

    async def run(self, for_s: float) -> None:
        async with Scope() as scope:
            renewing = scope.start(keep_renewed(self.clock, self.certify, self.use))
            await self.clock.sleep(for_s)
            renewing.cancel()

    def days(self) -> list[float]:
        """When another certificate came into use."""
        return [round(at / DAY_S, 2) for at, _ in self.used]


@virtual_time
async def test_a_certificate_is_renewed_before_its_end(tmp_path: Path) -> None:
    node = Node(tmp_path)
    await node.run(3 * DAY_S)
    assert node.days() == [0.0, 0.7, 1.4, 2.1, 2.8]
    assert len({certificate for _, certificate in node.used}) == len(node.used) == len(node.api.requests)


@virtual_time
async def test_a_restart_asks_for_nothing_that_is_there(tmp_path: Path) -> None:
    node = Node(tmp_path)
    await node.run(0.5 * DAY_S)
    await node.run(0.1 * DAY_S)
    assert len(node.api.requests) == 1
    await node.run(0.2 * DAY_S)
    assert len(node.api.requests) == 2


@virtual_time
async def test_the_old_one_is_used_while_the_api_is_away(tmp_path: Path) -> None:
    node = Node(tmp_path)
    await node.run(0.6 * DAY_S)
    node.api.there = False
    await node.run(0.2 * DAY_S)
    assert {certificate for _, certificate in node.used} == {node.used[0][1]}
    node.api.there = True
    await node.run(0.1 * DAY_S)
    assert len(node.api.requests) == 2
    assert node.used[-1][1] != node.used[0][1]


@virtual_time
async def test_whoever_has_none_waits_for_approval_however_long(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.api.may_approve = False
    async with Scope() as scope:
        files = scope.start(node.certify())
        await node.clock.sleep(2 * DAY_S)
        assert not files.done()
        node.api.approve()
        assert (await files)[0].exists()
    assert len(node.api.requests) == 1


@virtual_time
async def test_whoever_has_one_goes_on_with_it_when_nobody_approves(tmp_path: Path) -> None:
    node = Node(tmp_path)
    await node.run(0.6 * DAY_S)
    node.api.may_approve = False
    await node.run(0.15 * DAY_S)
    assert len({certificate for _, certificate in node.used}) == 1
    assert 2 <= len(node.api.requests) <= 3


@virtual_time
async def test_without_any_the_api_must_be_there(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.api.there = False
    with pytest.raises(Unreachable):
        await node.certify()
    async with Scope() as scope:
        renewing = scope.start(keep_renewed(node.clock, node.certify, node.use))
        await node.clock.sleep(90)
        node.api.there = True
        await node.clock.sleep(60)
        renewing.cancel()
    assert len(node.used) == 1


def _spoiled(files: CertificateFiles) -> Iterator[str]:
    """Ways in which what was kept is of no use."""
    certificate, key = files[0].read_bytes(), files[1].read_bytes()
    other = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for name, file, data in (
        ("no certificate", files[0], b""),
        ("another key", files[1], other),
        ("no key", files[1], b"nothing"),
    ):
        files[0].write_bytes(certificate)
        files[1].write_bytes(key)
        file.write_bytes(data)
        yield name


@virtual_time
async def test_what_does_not_fit_is_replaced(tmp_path: Path) -> None:
    node = Node(tmp_path)
    files = await node.certify()
    for number, name in enumerate(_spoiled(files), 2):
        await node.certify()
        assert len(node.api.requests) == number, name
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        assert os.stat(files[1]).st_mode & 0o777 == 0o600
