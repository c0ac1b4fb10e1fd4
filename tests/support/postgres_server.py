"""A real PostgreSQL, with its data and its socket in a folder of its own; and standbys of it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.servers import Server, needed, private_folder, unprivileged

__all__ = ["PostgresServer", "postgres_server", "standby_of"]

#: Where Debian puts what is not in the PATH.
_DEBIAN = [f"/usr/lib/postgresql/{version}/bin" for version in range(20, 11, -1)]

_OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",
    "max_connections": "50",
    "max_prepared_transactions": "0",
    "log_statement": "none",
}


class PostgresServer(Server):
    def __init__(self, folder: Path, **options: str) -> None:
        self.data = folder / "data"
        self.socket = folder / ".s.PGSQL.5432"
        settings = {**_OPTIONS, "unix_socket_directories": str(folder), **options}
        command = [needed("postgres", *_DEBIAN), "-D", str(self.data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        super().__init__(command, folder, self._answers)

    @property
    def url(self) -> str:
        return f"postgresql:///postgres?host={self.folder}&user=postgres"

    def sql(self, statement: str) -> str:
        """What psql says to a statement, without decoration."""
        done = self._psql(statement)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def promote(self) -> None:
        """Make a standby a primary, and wait until it is."""
        self.sql("SELECT pg_promote(true, 30)")

    def _psql(self, statement: str) -> subprocess.CompletedProcess[str]:
        command = [needed("psql", *_DEBIAN), "-X", "-q", "-A", "-t", self.url, "-c", statement]
        return subprocess.run(command, capture_output=True, text=True, timeout=20)

    def _answers(self) -> bool:
        return self.socket.exists() and self._psql("SELECT 1").returncode == 0


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/", user=unprivileged())
    assert done.returncode == 0, done.stderr


@contextmanager
def postgres_server(**options: str) -> Iterator[PostgresServer]:
    initdb = needed("initdb", *_DEBIAN)
    with private_folder() as folder:
        server = PostgresServer(folder, **options)
        _run(initdb, "-D", str(server.data), "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8")
        with server.running():
            yield server


@contextmanager
def standby_of(primary: PostgresServer) -> Iterator[PostgresServer]:
    """A hot standby that has everything the primary has answered."""
    with private_folder() as folder:
        server = PostgresServer(folder)
        _run(
            needed("pg_basebackup", *_DEBIAN),
            f"--dbname=host={primary.folder} user=postgres",
            f"--pgdata={server.data}",
            "--write-recovery-conf",
            "--checkpoint=fast",
            "--no-sync",
        )
        with server.running():
            yield server
