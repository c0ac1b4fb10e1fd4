"""`steer highlander`: files checked, schema and manifests written; what is wrong is said in words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from ssl import SSLContext
from threading import Thread

import jsonschema_rs
import pytest
import yaml
from typer.testing import CliRunner

from steersman.cli.failure import CommandFailed
from steersman.cli.highlander import highlander
from steersman.highlander.api import Access, Api
from steersman.http import server_tls
from steersman.http.certificates import Authority
from tests.support.highlander import PretendedTenant, lively

FILE = """
tenant: shop
storageType: lease
workloads:
  processes:
  - {name: worker, image: busybox}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "highlander.yaml"
    made.write_text(FILE)
    return made


def run(*arguments: str) -> str:
    result = CliRunner().invoke(highlander, arguments, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_a_file_that_is_right(file: Path) -> None:
    assert "tenant shop: 1 workloads, lock in lease" in run("validate", "--config", str(file))


def test_a_file_that_is_wrong_is_told_by_line_and_field(file: Path) -> None:
    file.write_text(FILE.replace("image:", "imaeg:"))
    with pytest.raises(CommandFailed) as caught:
        run("validate", "--config", str(file))
    assert f"{file}:6: workloads.processes[0].imaeg: there is no such key" in str(caught.value)
    assert caught.value.code == 2


def test_nothing_is_run_with_a_file_that_is_wrong(file: Path) -> None:
    with pytest.raises(CommandFailed, match="the flag --storage-type"):
        run("run", "--config", str(file), "--storage-type", "etcd")


def test_a_secret_in_the_file_is_warned_about_and_not_shown(file: Path) -> None:
    file.write_text("redis: {password: swordfish}")
    output = run("validate", "--config", str(file))
    assert "warning" in output
    assert "swordfish" not in output


def test_the_schema_accepts_the_file(file: Path) -> None:
    schema = json.loads(run("schema"))
    assert jsonschema_rs.validator_for(schema).is_valid(yaml.safe_load(FILE))


def test_manifests_are_objects(file: Path) -> None:
    kinds = {each["kind"] for each in yaml.safe_load_all(run("manifests", "--config", str(file)))}
    assert {"Deployment", "ServiceAccount", "Role", "RoleBinding"} <= kinds


def test_an_order_needs_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIGHLANDER_API_TOKEN", raising=False)
    with pytest.raises(CommandFailed, match="a token is needed"):
        run("step-down")


def test_an_order_to_nobody_is_told(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t")
    with pytest.raises(CommandFailed, match=r"http://127\.0\.0\.1:1:"):
        run("drain", "--address", "http://127.0.0.1:1", "--token-file", str(token))


def test_the_version() -> None:
    assert run("--version").startswith("steersman ")


def test_options_without_a_command_are_those_of_run(file: Path) -> None:
    with pytest.raises(CommandFailed, match="the flag --storage-type"):
        run("--config", str(file), "--storage-type", "etcd")
    assert "Commands:" in run()


@contextmanager
def served(tenant: PretendedTenant, access: Access, tls: SSLContext | None = None) -> Iterator[int]:
    """A tenant in a thread of its own, as a controller is a process of its own; its port."""
    ports: Queue[int] = Queue()
    over: list[Callable[[], None]] = []

    async def serve() -> None:
        api = Api(access=access)
        api.add(tenant)
        await api.start("127.0.0.1", 0, tls)
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        over.append(lambda: loop.call_soon_threadsafe(ended.set))
        ports.put(api.port)
        await ended.wait()
        await api.close()

    thread = Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    yield ports.get(timeout=30)
    over[0]()
    thread.join(30)


@pytest.fixture
def controller() -> Iterator[tuple[str, PretendedTenant]]:
    tenant = lively()
    with served(tenant, Access(environment={"HIGHLANDER_API_TOKEN": "opensesame"})) as port:
        yield f"http://127.0.0.1:{port}", tenant


def test_a_certificate_is_as_good_as_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIGHLANDER_API_TOKEN", raising=False)
    authority, tenant = Authority.make("clients"), lively()
    own = authority.issue("highlander", names=("127.0.0.1",), server=True)
    me = authority.issue("operator")
    (tmp_path / "ca.crt").write_bytes(authority.pem)
    (tmp_path / "me.pem").write_bytes(me.certificate + me.key)
    tls = server_tls(own.certificate, own.key, authority.pem)
    files = ["--ca-file", str(tmp_path / "ca.crt"), "--cert-file", str(tmp_path / "me.pem")]
    with served(tenant, Access(client_cas=authority.pem, environment={}), tls) as port:
        assert run("drain", "--address", f"https://127.0.0.1:{port}", *files) == "drain: done\n"
    assert tenant.asked == ["drain"]
    with pytest.raises(CommandFailed, match="--ca-file or --cert-file"):
        run("drain", "--address", f"https://127.0.0.1:{port}", "--cert-file", str(tmp_path / "none"))


def test_orders_are_carried_out_with_the_token(
    controller: tuple[str, PretendedTenant], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, tenant = controller
    token = tmp_path / "token"
    token.write_text("opensesame\n")
    assert run("step-down", "--address", address, "--token-file", str(token)) == "step-down: done\n"
    monkeypatch.setenv("HIGHLANDER_API_TOKEN", "opensesame")
    assert run("drain", "--address", address, "--tenant", "default") == "drain: done\n"
    assert run("drain", "--undo", "--address", address) == "undrain: done\n"
    assert tenant.asked == ["step-down", "drain", "undrain"]
    assert tenant.board.history[-1].reason == "asked to step down"


REFUSALS = [
    ("not the leader", ["step-down"], "opensesame", "this controller is not the leader"),
    ("another token", ["drain"], "wrong", "the token is wrong"),
    ("another tenant", ["drain", "--tenant", "a&b"], "opensesame", "there is no tenant a&b"),
]


@pytest.mark.parametrize(
    "arguments, token, said", [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS]
)
def test_what_a_controller_refuses_is_told(
    controller: tuple[str, PretendedTenant],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    token: str,
    said: str,
) -> None:
    address, tenant = controller
    tenant.board.change(is_leader=False)
    monkeypatch.setenv("HIGHLANDER_API_TOKEN", token)
    with pytest.raises(CommandFailed, match=said):
        run(*arguments, "--address", address)
    assert [one for one in tenant.asked if one != "step-down"] == []


def test_workloads_that_do_not_go_are_told(
    controller: tuple[str, PretendedTenant], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, tenant = controller
    monkeypatch.setenv("HIGHLANDER_API_TOKEN", "opensesame")
    monkeypatch.setattr(tenant, "drain", tenant.reload)
    with pytest.raises(CommandFailed, match=r"workloads still run after 0\.1 s"):
        run("drain", "--address", address, "--timeout", "0.1")


def test_a_token_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="token") as caught:
        run("drain", "--token-file", str(tmp_path / "token"))
    assert caught.value.code == 2
