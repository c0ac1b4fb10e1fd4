"""As whom containers run."""

from __future__ import annotations

import os
import pwd
from typing import Any

import pytest

from steersman.cluster.node.errors import RuntimeFailed, StartFailed
from steersman.cluster.node.process.accounts import MachineAccounts
from steersman.cluster.node.process.identities import ProcessIdentity, identity_of


def identity(container: dict[str, Any], pod: dict[str, Any] | None = None, user: str = "") -> ProcessIdentity:
    return identity_of(container, pod or {}, user, MachineAccounts(), about='pod: "p", container: c')


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.fixture
def as_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    monkeypatch.setattr(os, "getegid", lambda: 4322)


def test_nothing_asked_for_is_the_nodes_own() -> None:
    assert identity({}) == ProcessIdentity()


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize(
    ("container", "pod", "user", "expected"),
    [
        ({"runAsUser": 54321}, {}, "", ProcessIdentity(54321, 0, (0,), "/")),
        ({"runAsUser": 54321}, {"runAsUser": 1, "runAsGroup": 7}, "", ProcessIdentity(54321, 7, (7,), "/")),
        ({}, {}, "54321:9", ProcessIdentity(54321, 9, (9,), "/")),
        ({"runAsUser": 54322}, {}, "54321:9", ProcessIdentity(54322, 0, (0,), "/")),
        ({"runAsUser": 54321}, {"fsGroup": 5, "supplementalGroups": [6]}, "", ProcessIdentity(54321, 0, (0, 6, 5), "/")),
    ],
    ids=["container's", "container over pod", "image's", "container over image", "groups"],
)  # fmt: skip
def test_root_becomes_anybody(
    container: dict[str, Any], pod: dict[str, Any], user: str, expected: ProcessIdentity
) -> None:
    assert identity(container, pod, user) == expected


@pytest.mark.usefixtures("as_root")
def test_users_of_the_machine_have_names_groups_and_homes() -> None:
    entry = pwd.getpwnam("nobody")
    found = identity({}, {}, "nobody")
    assert (found.uid, found.gid, found.home) == (entry.pw_uid, entry.pw_gid, entry.pw_dir)
    with pytest.raises(RuntimeFailed, match="no matching entries in passwd file"):
        identity({}, {}, "no-such-user")
    with pytest.raises(RuntimeFailed, match="no matching entries in group file"):
        identity({}, {}, "nobody:no-such-group")


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"runAsNonRoot": True}, "container has runAsNonRoot and image will run as root"),
        ({"runAsNonRoot": True, "runAsUser": 0}, "container's runAsUser breaks non-root policy"),
    ],
    ids=["image's", "told to"],
)
def test_root_is_refused_where_it_must_not_be(container: dict[str, Any], message: str) -> None:
    with pytest.raises(StartFailed) as refused:
        identity(container)
    assert refused.value.reason == "CreateContainerConfigError"
    assert refused.value.message == f'{message} (pod: "p", container: c)'


@pytest.mark.usefixtures("as_somebody")
def test_others_become_nobody_else() -> None:
    assert identity({"runAsUser": 4321, "runAsGroup": 4322, "runAsNonRoot": True}) == ProcessIdentity()
    assert identity({}, {"fsGroup": 5}) == ProcessIdentity()
    with pytest.raises(RuntimeFailed, match="cannot run as user 1: this node runs as user 4321"):
        identity({"runAsUser": 1})
    with pytest.raises(RuntimeFailed, match="cannot run as group 1"):
        identity({"runAsGroup": 1})
