"""The users that tests make are gone afterwards, also when the tests are killed."""

from __future__ import annotations

import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from steersman.testing import eventually
from tests.support.ordinary_user import none_can_be_made, ordinary_user
from tests.support.processes import has_ended

pytestmark = pytest.mark.skipif(bool(none_can_be_made()), reason=none_can_be_made())

PATIENCE_S = 60.0
#: Its first line: the user, the home and a process of the user's.
KILLED = """
import subprocess, time
from tests.support.ordinary_user import ordinary_user
with ordinary_user() as user:
    left = subprocess.Popen(["sleep", "986"], user=user.name, start_new_session=True)
    print(user.name, user.home, left.pid, flush=True)
    time.sleep(987)
"""


def is_known(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def test_a_user_has_a_home_and_no_rights_and_is_gone_after_the_block() -> None:
    with ordinary_user() as user:
        made = user.run(
            user.home, "sh", "-c", "id -u; echo x > file; ls -a tmp; cat /etc/shadow", timeout_s=PATIENCE_S
        )
        assert int(made.stdout.splitlines()[0]) > 0
        assert "Permission denied" in made.stdout
        assert (user.home / "file").owner() == user.name
    assert not user.home.exists()
    assert not is_known(user.name)


async def test_nothing_is_left_of_a_user_whose_test_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True) as test:
        assert test.stdout is not None
        name, home, pid = test.stdout.readline().split()
        assert not has_ended(int(pid))
        test.kill()
    await eventually(lambda: not is_known(name), PATIENCE_S)
    assert has_ended(int(pid))
    assert not Path(home).exists()
