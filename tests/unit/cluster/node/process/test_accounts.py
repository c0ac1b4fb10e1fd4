"""Users and groups: the machine's, and those that an image lists."""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path

import pytest

from steersman.cluster.node.process.accounts import ImageAccounts, MachineAccounts, UserAccount

_USERS = """\
root:x:0:0:root:/root:/bin/sh
# not a user
broken:x:one:1::/:/bin/sh
short:x:5
worker:x:51234:51235:,,,:/srv/worker:/bin/sh
"""
_GROUPS = (
    "root:x:0:\nworkers:x:51235:\nhelpers:x:51236:other,worker\nothers:x:51237:other\nbroken:x:y:worker\n"
)
WORKER = UserAccount("worker", 51234, 51235, "/srv/worker")


@pytest.fixture
def image(tmp_path: Path) -> ImageAccounts:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text(_USERS)
    (tmp_path / "etc/group").write_text(_GROUPS)
    return ImageAccounts(str(tmp_path))


@pytest.mark.parametrize(
    ("who", "found"),
    [
        ("worker", WORKER),
        (51234, WORKER),
        (0, UserAccount("root", 0, 0, "/root")),
        ("broken", None),
        (5, None),
    ],
)
def test_an_image_lists_its_users(image: ImageAccounts, who: str | int, found: UserAccount | None) -> None:
    assert image.exist
    assert image.user(who) == found


def test_an_image_lists_its_groups(image: ImageAccounts) -> None:
    assert (image.group("helpers"), image.group("broken"), image.group("none")) == (51236, None, None)
    assert image.groups(WORKER, 7) == [7, 51236]


def test_an_image_without_lists_knows_nobody(tmp_path: Path) -> None:
    nobody = ImageAccounts(str(tmp_path))
    assert not nobody.exist
    assert (nobody.user("root"), nobody.group("root"), nobody.groups(WORKER, 1)) == (None, None, [1])


def test_the_machine_knows_its_own() -> None:
    machine = MachineAccounts()
    known = pwd.getpwuid(0)
    root = machine.user(0)
    assert root == machine.user(known.pw_name) == UserAccount(known.pw_name, 0, known.pw_gid, known.pw_dir)
    assert root is not None
    assert machine.groups(root, 0) == os.getgrouplist(root.name, 0)
    assert machine.group(grp.getgrgid(0).gr_name) == 0
    assert (machine.user("no-such-user"), machine.group("no-such-group")) == (None, None)
