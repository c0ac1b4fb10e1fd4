from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from steersman.highlander.api import Access, Api
from steersman.http import Client, client_tls, server_tls
from steersman.http.certificates import Authority
from tests.support.highlander import lively
from tests.unit.highlander.api.serving import TOKEN, error_of, serving

REFUSED = [
    ("nothing", {}, 401),
    ("wrong token", {"Authorization": "Bearer wrong"}, 401),
    ("token with more", {"Authorization": f"Bearer {TOKEN}x"}, 401),
    ("another scheme", {"Authorization": f"Basic {TOKEN}"}, 401),
    ("empty token", {"Authorization": "Bearer "}, 401),
    ("page of another site", {"Authorization": f"Bearer {TOKEN}", "Origin": "http://evil.example"}, 403),
]


@pytest.mark.parametrize("headers, code", [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_who_is_refused(headers: dict[str, str], code: int) -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant) as (_, client):
            raw = [(name.encode(), value.encode()) for name, value in headers.items()]
            assert (await error_of(client, "POST", "/api/drain", raw))[0] == code
            assert tenant.asked == []

    asyncio.run(check())


def test_without_a_token_nobody_may_act() -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant, access=Access(environment={})) as (_, client):
            headers = ((b"Authorization", b"Bearer "),)
            code, error = await error_of(client, "POST", "/api/drain", headers)
            assert code == 403
            assert "HIGHLANDER_API_TOKEN" in error

    asyncio.run(check())


def test_a_replaced_token_file_counts_at_once(tmp_path: Path) -> None:
    async def check() -> None:
        file = tmp_path / "token"
        file.write_text("first\n")
        tenant = lively()
        async with serving(tenant, access=Access(token_file=file)) as (_, client):

            async def code_of(token: bytes) -> int:
                headers = ((b"Authorization", b"Bearer " + token),)
                return (await client.request("POST", "/api/reload", headers=headers)).status

            assert [await code_of(b"first"), await code_of(b"second")] == [200, 401]
            file.write_text("second\n")
            assert [await code_of(b"first"), await code_of(b"second")] == [401, 200]
            file.unlink()
            assert await code_of(b"second") == 403

    asyncio.run(check())


def test_a_certificate_of_the_client_ca_is_enough_and_no_other() -> None:
    async def check() -> None:
        authority, stranger = Authority.make("clients"), Authority.make("strangers")
        long_ago = datetime.now(UTC) - timedelta(days=30)
        cases = (
            (authority.issue("operator"), 200),
            (stranger.issue("operator"), 403),
            (authority.issue("operator", life=timedelta(days=1), now=long_ago), 403),
            (authority.issue("some-server", names=("a.example",), server=True), 403),
        )
        served = authority.issue("highlander", names=("127.0.0.1",), server=True)
        tenant = lively()
        api = Api(access=Access(client_cas=authority.pem, environment={}))
        api.add(tenant)
        await api.start("127.0.0.1", 0, server_tls(served.certificate, served.key, authority.pem))
        try:
            for pair, code in cases:
                tls = client_tls(ca=authority.pem, cert=pair.certificate, key=pair.key)
                async with Client(f"https://127.0.0.1:{api.port}", ssl=tls) as client:
                    assert (await client.request("POST", "/api/reload")).status == code
                    foreign = ((b"Origin", b"https://evil.example"),)
                    assert (await client.request("POST", "/api/reload", headers=foreign)).status == 403
        finally:
            await api.close()
        assert tenant.asked == ["reload"]

    asyncio.run(check())
