"""Replicas that share a Secret, for years of virtual time: what they serve is always trusted and never over."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from steersman.client import Client
from steersman.http.certificates import Authority, KeyPair
from steersman.testing import Cluster, VirtualClock, virtual_time
from steersman.webhooks.certificates import Certificates, Lives
from steersman.webhooks.errors import WebhookError
from steersman.webhooks.keeping import RENEW_ANNOTATION, FileCertificates, SecretCertificates
from steersman.webhooks.registration import SECRETS

DAY_S = 86_400.0
LIVES = Lives(timedelta(days=90), timedelta(days=365))


def replica(client: Client, clock: VirtualClock, name: str = "127.0.0.1") -> SecretCertificates:
    return SecretCertificates(client, "default", "certs", [name], LIVES, clock)


async def shared(client: Client) -> Certificates:
    found = Certificates.from_data((await client.get(SECRETS, "certs"))["data"])
    assert found is not None
    return found


def trusted(pair: KeyPair, bundle: bytes, now: datetime) -> bool:
    """As a client decides that knows the bundle."""
    holder = Certificates(bundle, b"", pair)
    leaf = holder.leaf
    issued = False
    for authority in holder.authorities:
        if authority.not_valid_before_utc <= now < authority.not_valid_after_utc:
            issued = issued or Certificates(authority.public_bytes(Encoding.PEM), b"", pair).is_of_newest
    return issued and leaf.not_valid_before_utc <= now < leaf.not_valid_after_utc


@virtual_time
async def test_three_years_of_two_replicas() -> None:
    async with Cluster() as cluster:
        clock, client = cluster.clock, cluster.client()
        replicas = [replica(client, clock), replica(client, clock)]
        served = [await each.look() for each in replicas]
        assert served[0] == served[1]
        registered = replicas[0].bundle
        assert registered is not None
        leaves, authorities = set(), set()
        for day in range(0, 3 * 365, 3):
            # Both look at different times, and one is asleep for a week now and then.
            for index, each in enumerate(replicas):
                clock.wall_shift_s += 3 * DAY_S / 2
                now = datetime.fromtimestamp(clock.wall(), UTC)
                if index and day % 30 < 7:
                    continue
                served[index] = await each.look()
                # One leads, and the registration follows what it saw.
                announced = registered == each.bundle
                if index == 0:
                    registered = each.bundle or b""
                await each.renew(announced=announced)
                assert all(trusted(pair, registered, now) for pair in served), f"on day {day}"
            current = await shared(client)
            leaves.add(current.serving.certificate)
            authorities.add(current.newest)
            assert len(current.authorities) <= 2
        # Every 60 days, and every 243: two thirds of the lives.
        assert len(authorities) == 5
        assert 18 <= len(leaves) <= 24


@virtual_time
async def test_a_converged_secret_is_only_read() -> None:
    async with Cluster() as cluster:
        each = replica(cluster.client(), cluster.clock)
        await each.look()
        with cluster.assert_no_writes():
            for _ in range(5):
                await each.look()
                assert not await each.renew(announced=True)


@virtual_time
async def test_of_several_that_come_first_one_wins() -> None:
    async with Cluster() as cluster:
        replicas = [replica(cluster.client(), cluster.clock) for _ in range(8)]
        pairs = await asyncio.gather(*(each.look() for each in replicas))
        assert len({pair.certificate for pair in pairs}) == 1
        cluster.clock.wall_shift_s += 70 * DAY_S
        await asyncio.gather(*(each.renew(announced=True) for each in replicas))
        renewed = {(await each.look()).certificate for each in replicas}
        assert len(renewed) == 1
        assert renewed != {pairs[0].certificate}


@virtual_time
async def test_a_secret_that_is_deleted_or_spoilt_is_made_again() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        each = replica(client, cluster.clock)
        first = await each.look()
        await client.delete(SECRETS, "certs")
        second = await each.look()
        await client.patch(SECRETS, "certs", {"data": {"ca.key": "AAAA"}})
        third = await each.look()
        assert len({first.certificate, second.certificate, third.certificate}) == 3
        assert (await shared(client)).serving == third


@virtual_time
async def test_a_wish_is_granted_once() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        each = replica(client, cluster.clock)
        first = await each.look()
        await client.patch(SECRETS, "certs", {"metadata": {"annotations": {RENEW_ANNOTATION: "authority"}}})
        await each.look()
        assert await each.renew(announced=True)
        assert await each.look() == first
        assert not await each.renew(announced=False)
        assert await each.renew(announced=True)
        assert await each.look() != first
        assert not await each.renew(announced=True)
        annotations = (await client.get(SECRETS, "certs"))["metadata"].get("annotations") or {}
        assert RENEW_ANNOTATION not in annotations


@virtual_time
async def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    source = FileCertificates(tmp_path)
    with pytest.raises(WebhookError, match=r"tls\.crt: No such file or directory"):
        await source.look()
    authority = Authority.make()
    for name in ("a", "b"):
        pair = authority.issue(name, names=[name], server=True)
        (tmp_path / "tls.crt").write_bytes(pair.certificate)
        (tmp_path / "tls.key").write_bytes(pair.key)
        assert await source.look() == pair
    assert source.bundle is None
    assert source.ends["serving"] > 0
    os.truncate(tmp_path / "tls.crt", 10)
    with pytest.raises(WebhookError, match="holds no certificate"):
        await source.look()
