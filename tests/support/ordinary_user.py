"""A user of this machine who is nobody special: with a home, and without any of root's rights.

Whoever was root a moment ago (`normal_user`) still reads root's files and runs root's interpreter; this one has what
a newcomer has. A guardian, a process beside the test, waits for the test's end, however it comes, and then ends all
processes of the user and removes the user and its home.

As a program it is the guardian: `ordinary_user.py NAME`.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["OrdinaryUser", "none_can_be_made", "ordinary_user"]

#: What `ending` lets do its work.
_GUARDIAN: Final = "test-guardian"
#: By which packages are found, and what is started is ended (`ending`).
_KEPT: Final = ("PIP_", "SSL_CERT_", "REQUESTS_CA_BUNDLE", "STEERSMAN_TEST_RUN")
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_LOOK_S: Final = 0.05


@dataclass(frozen=True)
class OrdinaryUser:
    name: str
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(_KEPT) or name.lower().endswith("_proxy")
        }
        # What is left there is gone with the home.
        return {**kept, "HOME": str(self.home), "TMPDIR": str(self.home / "tmp"), "PATH": _PATH}

    def run(self, folder: Path, *command: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
        """What a command prints, both its streams together."""
        return subprocess.run(
            command,
            user=self.name,
            group=self.name,
            extra_groups=(),
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def give(self, folder: Path) -> None:
        """Have a folder belong to the user, with all there is in it."""
        entry = pwd.getpwnam(self.name)
        for place, _, files in os.walk(folder):
            for path in (place, *(os.path.join(place, file) for file in files)):
                os.chown(path, entry.pw_uid, entry.pw_gid, follow_symlinks=False)


def none_can_be_made() -> str:
    """Why not; empty if one can."""
    if os.geteuid() != 0:
        return "this is an ordinary user already"
    return "" if shutil.which("useradd") else "there is no useradd"


@contextmanager
def ordinary_user() -> Iterator[OrdinaryUser]:
    """Somebody new; nothing is left of them after the block."""
    name = f"newcomer-{secrets.token_hex(3)}"
    command = [sys.executable, "-I", "-S", __file__, name]
    # Whoever reads what the tests print must not wait for it.
    guardian = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        subprocess.run(["useradd", "--create-home", "--user-group", name], check=True)
        user = OrdinaryUser(name, Path(pwd.getpwnam(name).pw_dir))
        (user.home / "tmp").mkdir()
        user.give(user.home)
        yield user
    finally:
        assert guardian.stdin is not None
        guardian.stdin.close()
        assert guardian.wait() == 0


# --- the guardian


def _main(name: str) -> None:
    os.setsid()
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(_GUARDIAN)
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)
    # Ends when nobody is left who could write.
    sys.stdin.read()
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        return
    while left := list(_processes(user.pw_uid)):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_S)
    shutil.rmtree(user.pw_dir)
    # Last: its number is given to the next user at once.
    subprocess.run(["userdel", name], check=True)


def _processes(user: int) -> Iterator[int]:
    """Those of a user, but for what has ended already."""
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit():
                lines = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
                if str(user) in lines["Uid"].split() and lines["State"].split()[0] != "Z":
                    yield int(folder.name)


if __name__ == "__main__":
    _main(sys.argv[1])
