"""`steer run` as a child process, for tests that stop, kill and restart it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from tests.support.steer import DEADLINE_S, STEER
from tests.support.waiting import soon

__all__ = ["EXAMPLES", "OperatorProcess", "refused", "running", "until"]

EXAMPLES = Path(__file__).parents[3] / "examples"

T = TypeVar("T")

_POLL_S = 0.02


def until(question: Callable[[], T | Literal[False] | None], what: str = "") -> T:
    """The first true answer; asked again and again."""
    answer = soon(question, DEADLINE_S, what, every_s=_POLL_S)
    assert answer
    return answer


class OperatorProcess:
    """A started `steer run` whose log is JSON lines in a file."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What it has logged so far; a line that is being written is left out."""
        whole, _, _ = self._log.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def said(self, pattern: str) -> re.Match[str] | None:
        found = (re.search(pattern, line["message"]) for line in self.lines)
        return next((match for match in found if match), None)

    @property
    def address(self) -> str:
        """Where probes and metrics are."""
        match = until(lambda: self.alive and self.said(r"listen on (\S+)"), "the listener")
        return f"http://{match[1]}"

    @property
    def alive(self) -> bool:
        assert self.process.poll() is None, (
            f"it ended with {self.process.returncode}:\n{self._log.read_text()}"
        )
        return True

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"{self.address}{path}", timeout=DEADLINE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def wait_ready(self) -> None:
        until(lambda: self.alive and self.get("/readyz")[0] == 200, "readiness")

    def kill(self) -> None:
        """As the kernel does when memory is short: no word of farewell."""
        self.process.kill()
        self.process.wait(DEADLINE_S)

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(DEADLINE_S)


@contextmanager
def running(
    program: Path | str, kubeconfig: Path, log: Path, *options: str, **environment: str
) -> Iterator[OperatorProcess]:
    """`steer run` for the time of the block. Its log is shown when something in the block fails."""
    command = [str(STEER), "run", str(program), "--kubeconfig", str(kubeconfig)]
    command += ["--metrics-bind", "127.0.0.1:0", "--log-format", "json", *options]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=errors, env={**os.environ, **environment}
        )
    try:
        yield OperatorProcess(process, log)
    except BaseException as error:
        error.add_note(log.read_text()[-10_000:])
        raise
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def refused(*arguments: str, **environment: str) -> str:
    """`steer` that must fail: the one line it says."""
    done = subprocess.run(
        [str(STEER), *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        env={**os.environ, **environment},
    )
    assert done.returncode != 0
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("steer: ")
    return lines[0].removeprefix("steer: ")
