from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from steersman.raft.discovery import (
    HeadlessService,
    new_member,
    node_id_from_hostname,
    node_of,
    split_hostname,
)
from steersman.raft.errors import SettingsError
from steersman.raft.state_machine import Located

SUFFIX = "web-headless.default.svc.cluster.local"


@pytest.mark.parametrize(
    "hostname, expected",
    [
        pytest.param("web-0", ("web", 0), id="plain"),
        pytest.param("my-operator-12", ("my-operator", 12), id="dashes"),
        pytest.param(f"web-3.{SUFFIX}", ("web", 3), id="qualified"),
    ],
)
def test_a_pods_name_has_its_set_and_ordinal(hostname, expected):
    assert split_hostname(hostname) == expected
    assert node_id_from_hostname(hostname) == expected[1]


@pytest.mark.parametrize("hostname", ["web", "web-", "-", "web-x"])
def test_a_name_without_an_ordinal_is_refused(hostname):
    with pytest.raises(SettingsError, match="does not end in an ordinal"):
        split_hostname(hostname)


def test_the_ordinal_comes_from_the_pods_name(monkeypatch):
    monkeypatch.setenv("POD_NAME", "web-4")
    assert node_id_from_hostname() == 4


def test_a_later_life_of_a_node_has_a_greater_number():
    lives = [new_member(2, wall_s) for wall_s in (1000.0, 1000.001, 2_000_000_000.0)]
    assert lives == sorted(set(lives))
    assert {node_of(life) for life in lives} == {2}
    assert max(lives) < 1 << 63


def pods(*ordinals: int) -> dict[str, Sequence[str]]:
    addresses = {f"web-{ordinal}.{SUFFIX}": [f"10.0.0.{ordinal}"] for ordinal in ordinals}
    return {SUFFIX: [f"10.0.0.{ordinal}" for ordinal in ordinals], **addresses}


@pytest.mark.parametrize(
    "ordinals",
    [
        pytest.param((), id="none"),
        pytest.param((0,), id="the first"),
        pytest.param((0, 1, 2), id="all"),
        pytest.param((1, 2), id="the first restarts"),
        pytest.param((0, 4), id="several restart"),
    ],
)
def test_dns_tells_which_pods_exist(ordinals):
    names = pods(*ordinals)

    async def resolve(host: str) -> Sequence[str]:
        return names.get(host, ())

    service = HeadlessService("web", "web-headless", "default", 7100, resolve=resolve)
    found = asyncio.run(service.peers())
    assert sorted(found) == list(ordinals)
    assert service.locate(7) == Located(f"web-7.{SUFFIX}", f"web-7.{SUFFIX}:7100")
