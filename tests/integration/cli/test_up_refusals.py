"""`steer up` that cannot start says why in one line and ends with a code."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.support.steer import refused, running

pytestmark = pytest.mark.slow


def one_line(said: str) -> str:
    """What is said, which must be one line of steer's own."""
    assert "Traceback" not in said
    assert said.count("\n") == 1, said
    assert said.startswith("steer: ")
    return said.removeprefix("steer: ").rstrip("\n")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--bind", "nowhere"], "--bind: 'nowhere' is not an IP address"),
        (["--bind", "203.0.113.7"], "--bind: 203.0.113.7 is not an address of this machine"),
        (["--port", "65536"], "--port: 65536 is not between 0 and 65535"),
        (["--port", "-1"], "--port: -1 is not between 0 and 65535"),
        (["--service-cidr", "10.0.0.0"], "--service-cidr: 10.0.0.0 must be between /8 and /29"),
        (["--service-cidr", "10.0.0.1/24"], "--service-cidr: 10.0.0.1/24 has host bits set"),
        (["--service-cidr", "lots"], "--service-cidr: 'lots' does not appear to be an IPv4 or IPv6 network"),
        (["--service-cidr", "10.0.0.0/30"], "--service-cidr: 10.0.0.0/30 must be between /8 and /29"),
        (["--service-cidr", "fd00::/64"], "--service-cidr: fd00::/64 must be /108 or smaller"),
        (["--disable-admission", "NoSuch"], "--disable-admission: there is no plugin 'NoSuch'; there are "),
        (["--controllers", "a,,b"], "--controllers: 'a,,b' is not none, all or names separated by commas"),
        (["--admin-token", ""], "--admin-token: must not be empty or contain spaces"),
        (["--admin-token", "a b"], "--admin-token: must not be empty or contain spaces"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_values(options: list[str], expected: str) -> None:
    code, said = refused("--data", ":memory:", "--port", "0", *options)
    assert code != 0
    assert one_line(said).startswith(expected)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--log-level", "loud"],
            ["'--log-level'", "'loud' is not one of 'debug', 'info', 'warning', 'error'"],
        ),
        (["--output", "xml"], ["'--output'", "'xml' is not one of 'text', 'json'"]),
        (["--port", "many"], ["'--port'", "valid integer"]),
        (["--no-such-option"], ["No such option", "--no-such-option"]),
        (["surplus"], ["unexpected extra argument", "surplus"]),
    ],
    ids=["log level", "output", "port", "unknown option", "surplus argument"],
)
def test_bad_usage(options: list[str], expected: list[str]) -> None:
    code, said = refused(*options)
    assert code == 2
    line = one_line(said)
    for text in expected:
        assert text in line


def test_taken_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = refused("--data", ":memory:", "--port", str(port))
    assert code == 1
    assert one_line(said) == f"--port: 127.0.0.1:{port} is taken; choose another, or 0 for a free one"


def test_folder_in_use(tmp_path: Path) -> None:
    with running(data=tmp_path) as server:
        code, said = refused("--data", str(tmp_path), "--port", "0")
        assert code == 1
        assert one_line(said) == f"{tmp_path / 'store'} is in use by process {server.process.pid}"
        assert server.api.get("/readyz").status == 200, "the first one is none the worse"
        assert server.api.get("/api/v1/namespaces").status == 200


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("something else")
    code, said = refused("--data", str(file), "--port", "0")
    assert code == 1
    assert str(file) in one_line(said)
    assert file.read_text() == "something else"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_entered(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o000)
    code, said = refused("--data", str(folder), "--port", "0")
    assert code == 1
    assert str(folder) in one_line(said)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        pytest.param("store/store.db", b"this is no database" * 1000, id="database"),
        pytest.param("ca.key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", id="key"),
        pytest.param("ca.key", b"", id="empty key"),
        pytest.param("ca.crt", b"nonsense", id="certificate"),
    ],
)
def test_damaged_files_are_named_and_left_alone(tmp_path: Path, file: str, content: bytes) -> None:
    with running(data=tmp_path):
        pass
    damaged = tmp_path / file
    assert damaged.exists()
    damaged.write_bytes(content)
    code, said = refused("--data", str(tmp_path), "--port", "0")
    assert code == 1
    assert str(damaged) in one_line(said)
    assert damaged.read_bytes() == content


def test_a_missing_half_of_the_authority(tmp_path: Path) -> None:
    with running(data=tmp_path):
        pass
    (tmp_path / "ca.key").unlink()
    code, said = refused("--data", str(tmp_path), "--port", "0")
    assert code == 1
    assert "ca.key" in one_line(said)


def test_a_key_of_another_authority(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with running(data=tmp_path / name):
            pass
    key = tmp_path / "one" / "ca.key"
    key.write_bytes((tmp_path / "two" / "ca.key").read_bytes())
    code, said = refused("--data", str(tmp_path / "one"), "--port", "0")
    assert code == 1
    assert f"{key} does not belong to {key.with_name('ca.crt')}" in one_line(said)


def test_a_kubeconfig_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, said = refused(
        "--data", ":memory:", "--port", "0", "--kubeconfig", str(tmp_path / "file" / "config")
    )
    assert code == 1
    assert str(tmp_path / "file") in one_line(said)
