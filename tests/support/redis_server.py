"""A real Redis, with its data and its socket in a folder of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.servers import Server, needed, private_folder

__all__ = ["RedisServer", "redis_server"]


class RedisServer(Server):
    """It forgets nothing that it has answered, unless told to."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.socket = folder / "redis.sock"
        command = [needed("redis-server"), "--port", "0", "--unixsocket", str(self.socket)]
        durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
        super().__init__([*command, "--dir", str(folder), *durable, *options], folder, self._answers)

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def cli(self, *command: str) -> str:
        """What redis-cli says to a command."""
        done = subprocess.run(
            [needed("redis-cli"), "-s", str(self.socket), *command],
            capture_output=True,
            text=True,
            timeout=20,
        )
        return done.stdout.strip()

    def _answers(self) -> bool:
        return self.cli("PING") != ""


@contextmanager
def redis_server(*options: str) -> Iterator[RedisServer]:
    with private_folder() as folder:
        server = RedisServer(folder, *options)
        with server.running():
            yield server
