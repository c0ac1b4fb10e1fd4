"""kubectl in conversation: bytes in and out, a terminal, a forwarded port; over WebSockets or over SPDY."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from tests.support.kubectl import Kubectl
from tests.support.steer import DEADLINE_S

__all__ = ["Said", "Talking"]


class Said(NamedTuple):
    code: int
    out: bytes
    err: bytes


class Talking(Kubectl):
    def __init__(self, kubectl: Kubectl, *, websockets: bool) -> None:
        super().__init__(kubectl.kubeconfig, kubectl.home, kubectl.namespace)
        self._websockets = websockets

    @property
    def environment(self) -> Mapping[str, str]:
        choice = "true" if self._websockets else "false"
        names = ("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "KUBECTL_PORT_FORWARD_WEBSOCKETS")
        return {**super().environment, **dict.fromkeys(names, choice)}

    def pipe(self, *arguments: str, stdin: bytes = b"") -> Said:
        done = subprocess.run(
            self.command(*arguments),
            input=stdin,
            env=self.environment,
            capture_output=True,
            timeout=DEADLINE_S,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def terminal(
        self, *arguments: str, typed: Sequence[tuple[bytes, bytes]], until: bytes | None = None
    ) -> Said:
        """Run it in a terminal of 111 columns and 33 rows; `typed` is what to wait for and what to type then.
        It is hung up on when `until` is seen, else runs to its end."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
        process = subprocess.Popen(
            self.command(*arguments),
            env={**self.environment, "TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        seen = b""
        try:
            for awaited, text in typed:
                while awaited not in seen:
                    seen += os.read(ours, 4096)
                os.write(ours, text)
            while until is None or until not in seen:
                seen += os.read(ours, 4096)
        except OSError:
            # A terminal that nobody has open any more.
            pass
        else:
            process.kill()
        try:
            return Said(process.wait(DEADLINE_S), seen, b"")
        finally:
            process.kill()
            process.wait()
            os.close(ours)

    @contextmanager
    def forwarding(self, target: str, port: str) -> Iterator[int]:
        """A local port that leads to one of a pod."""
        process = self.start("port-forward", target, f":{port}")
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+)", line)
            assert found is not None, line or process.communicate(timeout=DEADLINE_S)
            yield int(found[1])
        finally:
            process.terminate()
            process.communicate(timeout=DEADLINE_S)
