"""What containers may do to the machine."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.process.capabilities import capabilities_of, sysctls_of

CHOWN, NET_BIND_SERVICE, NET_ADMIN, SYS_ADMIN, LAST = 0, 10, 12, 21, 40
EVERYTHING = list(range(LAST + 1))
DEFAULT = [0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31]

CASES: dict[str, tuple[dict[str, Any], list[int] | None]] = {
    "those that everybody has": ({}, DEFAULT),
    "all for who is privileged": ({"privileged": True, "capabilities": {"drop": ["ALL"]}}, None),
    "one more": ({"capabilities": {"add": ["NET_ADMIN"]}}, sorted([*DEFAULT, NET_ADMIN])),
    "by its long name": ({"capabilities": {"add": ["CAP_SYS_ADMIN"]}}, sorted([*DEFAULT, SYS_ADMIN])),
    "one less": ({"capabilities": {"drop": ["chown"]}}, DEFAULT[1:]),
    "none": ({"capabilities": {"drop": ["ALL"]}}, []),
    "none but one": (
        {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}},
        [NET_BIND_SERVICE],
    ),
    "all there are": ({"capabilities": {"add": ["ALL"]}}, EVERYTHING),
    "all but one": ({"capabilities": {"add": ["ALL"], "drop": ["CHOWN"]}}, EVERYTHING[1:]),
}


@pytest.mark.parametrize(("context", "expected"), CASES.values(), ids=CASES.keys())
def test_containers_keep_some_capabilities(context: dict[str, Any], expected: list[int] | None) -> None:
    assert capabilities_of(context) == expected


def test_a_capability_that_nobody_knows_is_refused() -> None:
    with pytest.raises(RuntimeFailed, match='unknown capability "CAP_FLY"'):
        capabilities_of({"capabilities": {"add": ["FLY"]}})


def test_settings_of_its_own_can_be_had_by_a_pod() -> None:
    wanted = [{"name": "kernel.shm_rmid_forced", "value": "1"}, {"name": "kernel/msgmax", "value": "9"}]
    assert sysctls_of({"sysctls": wanted}) == {"kernel.shm_rmid_forced": "1", "kernel.msgmax": "9"}


def test_settings_of_the_network_are_the_machines() -> None:
    with pytest.raises(RuntimeFailed, match=r"net\.ipv4\.tcp_syncookies.*share the machine's network"):
        sysctls_of({"sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]})
