"""/healthz, /readyz and /metrics."""

from __future__ import annotations

import asyncio

import pytest

from steersman.http import Client
from steersman.runtime.errors import AddressInUse
from steersman.runtime.metrics import Metrics
from steersman.runtime.probes import Probes, parse_address


def ask(probes: Probes, *targets: str, method: str = "GET") -> list[tuple[int, str]]:
    async def main() -> list[tuple[int, str]]:
        await probes.start("127.0.0.1:0")
        try:
            async with Client(f"http://127.0.0.1:{probes.port}") as client:
                answers = [await client.request(method, target) for target in targets]
        finally:
            await probes.close()
        return [(answer.status, answer.content.decode()) for answer in answers]

    return asyncio.run(main())


@pytest.fixture
def probes() -> Probes:
    probes = Probes(Metrics())
    probes.add_live("loop", lambda: "")
    probes.add_ready("sync", lambda: "webapps not synced")
    return probes


def test_live_checks_count_for_both_and_ready_checks_only_for_readiness(probes: Probes) -> None:
    healthy, live, ready = ask(probes, "/healthz", "/livez", "/readyz")
    assert healthy == live == (200, "ok")
    assert ready == (
        500,
        "[+]ping ok\n[+]loop ok\n[-]sync failed: webapps not synced\nreadyz check failed\n",
    )
    assert probes.problems() == {"sync": "webapps not synced"}
    assert probes.problems("healthz") == {}


def test_checks_can_be_listed_excluded_and_asked_one_by_one(probes: Probes) -> None:
    assert ask(probes, "/healthz?verbose", "/readyz?exclude=sync", "/readyz/sync", "/readyz/loop") == [
        (200, "[+]ping ok\n[+]loop ok\nhealthz check passed\n"),
        (200, "ok"),
        (500, "webapps not synced\n"),
        (200, "ok"),
    ]


def test_metrics_are_served_and_nothing_else(probes: Probes) -> None:
    metrics, root, unknown = ask(probes, "/metrics", "/", "/readyz/nothing")
    assert metrics[0] == 200
    assert "controller_runtime_reconcile_total" in metrics[1]
    assert root[0] == unknown[0] == 404
    assert ask(probes, "/healthz", method="DELETE")[0][0] == 405


def test_an_address_that_is_taken_is_named(probes: Probes) -> None:
    async def main() -> None:
        await probes.start("127.0.0.1:0")
        other = Probes(Metrics())
        try:
            with pytest.raises(AddressInUse, match=f"cannot listen on 127.0.0.1:{probes.port}"):
                await other.start(f"127.0.0.1:{probes.port}")
        finally:
            await probes.close()

    asyncio.run(main())


def test_without_a_host_only_pods_listen_to_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert parse_address(":8080") == ("127.0.0.1", 8080)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert parse_address(":8080") == ("", 8080)
    assert parse_address("[::1]:9") == ("::1", 9)


@pytest.mark.parametrize("bad", ["8080", ":http", ":70000", ""])
def test_addresses_that_are_none_are_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="not an address"):
        parse_address(bad)
