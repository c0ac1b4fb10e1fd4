"""What strangers may send: nothing they say is acted on, answered with a crash, or becomes part of a page."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import orjson
import pytest

from steersman.client import Unreachable
from steersman.highlander.api.routes import ROUTES
from tests.support.highlander import PretendedTenant, lively
from tests.unit.highlander.api.serving import AUTHORIZED, data_of, error_of, serving

RESTART = "/api/workloads/process/singletons/fx-importer/restart"

#: A target, and what it may be answered with.
TARGETS: list[tuple[str, str, int]] = [
    ("GET", "/../../etc/passwd", 404),
    ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404),
    ("GET", "/dashboard.css/../index.html", 404),
    ("GET", "/dashboard.js%00", 404),
    ("GET", "//evil.example/", 404),
    ("GET", "/index.html", 404),
    ("GET", "/api/workloads/%3Cscript%3E", 404),
    ("GET", "/api/workloads/process/singletons/..%2f..%2fsecrets", 404),
    ("GET", "/api/pods/singletons/%ff%fe", 404),
    ("GET", "/status?tenant=%3Cscript%3E", 404),
    ("GET", "/api/events?tenant=none", 404),
    ("POST", "/", 405),
    ("PUT", "/api/drain", 405),
    ("DELETE", "/api/workloads/fx-importer", 405),
    ("PATCH", RESTART, 405),
    ("OPTIONS", "/api/drain", 405),
    ("TRACE", "/status", 405),
    ("GET", RESTART, 405),
    ("POST", "/api/workloads/process/singletons/none/restart", 404),
    ("POST", "/api/workloads/PROCESS/singletons/fx-importer/restart", 404),
    ("POST", "/api/workloads/process/singletons/fx-importer/delete", 404),
    ("POST", f"{RESTART}/", 404),
    ("GET", "/api/pods/singletons/mail-poller-pod/logs?tail=" + "9" * 5000, 400),
    ("GET", "/api/pods/singletons/mail-poller-pod/logs?tail=%D9%A3", 400),
    ("GET", "/api/pods/singletons/mail-poller-pod/logs?tail=-1", 400),
    ("GET", "/api/pods/singletons/mail-poller-pod/logs?container=../../secrets", 404),
    ("GET", "/api/pods/kube-system/etcd/logs", 404),
    ("GET", "/status?" + "a" * 70_000, 431),
]


@pytest.mark.parametrize("method, target, code", TARGETS, ids=[f"{one[0]} {one[1][:60]}" for one in TARGETS])
def test_targets(method: str, target: str, code: int) -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant) as (_, client):
            answer = await client.request(method, target, headers=AUTHORIZED)
            assert answer.status == code, answer.content
            assert (answer.headers.get("content-type") or "").startswith("application/json")
            assert orjson.loads(answer.content)["status"] == "error"
            assert answer.headers.get("x-content-type-options") == "nosniff"
            assert tenant.asked == []

    asyncio.run(check())


BODIES: list[tuple[str, bytes, int]] = [
    ("nothing", b"", 200),
    ("a reason", b'{"reason": "maintenance"}', 200),
    ("no JSON", b"reason=x", 400),
    ("a list", b"[1]", 400),
    ("a text", b'"x"', 400),
    ("no text as reason", b'{"reason": {"a": 1}}', 400),
    ("null as reason", b'{"reason": null}', 400),
    ("no UTF-8", b'{"reason": "\xff"}', 400),
    ("deeply nested", b"[" * 5000, 400),
    ("too much", b'{"reason": "' + b"x" * 100_000 + b'"}', 413),
]


@pytest.mark.parametrize("body, code", [case[1:] for case in BODIES], ids=[case[0] for case in BODIES])
def test_bodies(body: bytes, code: int) -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant) as (_, client):
            answer = await client.request("POST", "/api/step-down", headers=AUTHORIZED, content=body)
            assert answer.status == code, answer.content
            assert tenant.asked == (["step-down"] if code == 200 else [])

    asyncio.run(check())


def test_a_reason_is_one_short_line() -> None:
    async def check() -> None:
        async with serving(lively()) as (_, client):
            body = orjson.dumps({"reason": "first\nsecond\r\n\x1b[31m" + "x" * 500})
            await client.request("POST", "/api/step-down", headers=AUTHORIZED, content=body)
            reason = (await data_of(client, "/api/history"))[-1]["reason"]
            assert reason.startswith("first second ")
            assert len(reason) == 200
            assert "\n" not in reason

    asyncio.run(check())


#: What a page of another site could have a browser send.
PAGES: list[tuple[str, Sequence[tuple[bytes, bytes]], int]] = [
    ("another site", [(b"Origin", b"http://evil.example")], 403),
    ("another port", [(b"Origin", b"http://127.0.0.1:1")], 403),
    ("a file or a sandbox", [(b"Origin", b"null")], 403),
    ("a name that begins as ours", [(b"Origin", b"http://127.0.0.1.evil.example")], 403),
    (
        "a form",
        [(b"Content-Type", b"application/x-www-form-urlencoded"), (b"Origin", b"https://a.example")],
        403,
    ),
]


@pytest.mark.parametrize("headers, code", [case[1:] for case in PAGES], ids=[case[0] for case in PAGES])
@pytest.mark.parametrize("path", ["/api/drain", RESTART, "/api/reload"])
def test_pages_of_other_sites_cannot_act(
    path: str, headers: Sequence[tuple[bytes, bytes]], code: int
) -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant) as (_, client):
            status, _ = await error_of(client, "POST", path, (*AUTHORIZED, *headers))
            assert (status, tenant.asked) == (code, [])

    asyncio.run(check())


def test_our_own_page_can() -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant) as (api, client):
            own = (b"Origin", f"http://127.0.0.1:{api.port}".encode())
            answer = await client.request("POST", "/api/reload", headers=(*AUTHORIZED, own))
            assert (answer.status, tenant.asked) == (200, ["reload"])
            assert answer.headers.get("access-control-allow-origin") is None

    asyncio.run(check())


def test_every_answer_says_how_it_is_to_be_taken() -> None:
    """No kind guessed, nothing kept, in nobody's frame."""

    async def check() -> None:
        async with serving(lively()) as (_, client):
            known = {"kind": "process", "namespace": "singletons", "name": "fx-importer"}
            for route in ROUTES:
                if route.method != "GET" or route.name in ("events", "pod", "logs"):
                    continue
                answer = await client.request("GET", route.path.format(**known))
                assert answer.status == 200, route.path
                assert answer.headers.get("x-content-type-options") == "nosniff", route.path
                assert answer.headers.get("cache-control") == "no-store", route.path
                assert "frame-ancestors 'none'" in (answer.headers.get("content-security-policy") or "")
            events = await client.request("HEAD", "/api/events")
            assert (events.status, events.headers.get("cache-control")) == (200, "no-store")
            page = await client.request("GET", "/")
            policy = page.headers.get("content-security-policy") or ""
            assert "unsafe" not in policy
            for part in (
                "default-src 'none'",
                "script-src 'self'",
                "frame-ancestors 'none'",
                "base-uri 'none'",
            ):
                assert part in policy

    asyncio.run(check())


def test_who_only_asks_for_the_head_of_the_events_is_no_viewer() -> None:
    async def check() -> None:
        async with serving(lively()) as (_, client):
            assert (await client.request("HEAD", "/api/events")).status == 200
            assert (await data_of(client, "/debug/status"))["serverInfo"]["viewers"] == "0"

    asyncio.run(check())


class Unlucky(PretendedTenant):
    """Its cluster does not answer."""

    async def reload(self) -> None:
        raise Unreachable("no answer within 10 s")


def test_an_action_that_fails_says_why() -> None:
    async def check() -> None:
        async with serving(Unlucky()) as (_, client):
            code, error = await error_of(client, "POST", "/api/reload", AUTHORIZED)
            assert code == 502
            assert "no answer within 10 s" in error

    asyncio.run(check())
