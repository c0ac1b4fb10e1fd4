"""Credential plugins, run as real programs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from steersman.client import CredentialsError
from steersman.client.exec_plugin import ExecPlugin
from steersman.client.settings import ExecSettings, Settings, UserSettings
from tests.unit.client.conftest import StoppedClock

VERSION = "client.authentication.k8s.io/v1"


class Plugin:
    """A program that answers with `status`, and counts its runs."""

    def __init__(self, folder: Path, clock: StoppedClock) -> None:
        self.folder = folder
        self.clock = clock
        self.certificates: list[tuple[bytes, bytes]] = []

    def made(self, answer: Any, *, code: int = 0, **options: Any) -> ExecPlugin:
        (self.folder / "answer").write_text(answer if isinstance(answer, str) else json.dumps(answer))
        program = (
            "import os, pathlib, sys\n"
            "folder = pathlib.Path(sys.argv[1])\n"
            "with (folder / 'runs').open('a') as runs: runs.write('x')\n"
            "(folder / 'info').write_text(os.environ['KUBERNETES_EXEC_INFO'])\n"
            "(folder / 'env').write_text(os.environ.get('GIVEN', ''))\n"
            "sys.stdout.write((folder / 'answer').read_text())\n"
            f"sys.exit({code})\n"
        )
        options = {"interactive_mode": "Never", "env": {"GIVEN": "value"}, **options}
        plugin = ExecSettings(sys.executable, VERSION, ["-c", program, str(self.folder)], **options)
        settings = Settings("https://x", UserSettings(exec=plugin), ca=b"PEM", server_name="name")
        return ExecPlugin(settings, self.clock, lambda *pair: self.certificates.append(pair))

    @property
    def runs(self) -> int:
        return len((self.folder / "runs").read_text())

    @property
    def info(self) -> Any:
        return json.loads((self.folder / "info").read_text())


@pytest.fixture
def plugin(tmp_path: Path, clock: StoppedClock) -> Plugin:
    return Plugin(tmp_path, clock)


def answer(version: str = VERSION, **status: Any) -> Any:
    return {"kind": "ExecCredential", "apiVersion": version, "status": status}


def test_a_token_is_fetched_once_and_kept(plugin: Plugin) -> None:
    made = plugin.made(answer(token="secret"))

    async def main() -> None:
        assert made.current() is None
        await asyncio.gather(made.renew(), made.renew(), made.renew())

    asyncio.run(main())
    assert made.current() == ((b"Authorization", b"Bearer secret"),)
    assert plugin.runs == 1
    assert (plugin.folder / "env").read_text() == "value"


def test_a_token_is_fetched_again_when_it_has_expired(plugin: Plugin) -> None:
    made = plugin.made(answer(token="a", expirationTimestamp="1970-01-01T00:20:00Z"))
    asyncio.run(made.renew())
    plugin.clock.now = 1199.0
    assert made.current() is not None
    plugin.clock.now = 1200.0
    assert made.current() is None
    asyncio.run(made.renew())
    assert plugin.runs == 2


def test_a_refused_token_is_fetched_again_once_for_all_who_were_refused(plugin: Plugin) -> None:
    made = plugin.made(answer(token="a"))

    async def main() -> None:
        await made.renew()
        await asyncio.gather(*[made.renew(rejected=True) for _ in range(3)])

    asyncio.run(main())
    assert plugin.runs == 2


def test_a_certificate_is_handed_on(plugin: Plugin) -> None:
    made = plugin.made(answer(clientCertificateData="CERT", clientKeyData="KEY"))
    asyncio.run(made.renew())
    assert plugin.certificates == [(b"CERT", b"KEY")]
    assert made.current() == ()


def test_the_plugin_is_told_about_the_cluster_if_it_wants_to_know(plugin: Plugin) -> None:
    asyncio.run(plugin.made(answer(token="a")).renew())
    assert plugin.info == {"kind": "ExecCredential", "apiVersion": VERSION, "spec": {"interactive": False}}
    asyncio.run(plugin.made(answer(token="a"), provides_cluster_info=True, config={"a": 1}).renew())
    assert plugin.info["spec"]["cluster"] == {
        "server": "https://x",
        "tls-server-name": "name",
        "certificate-authority-data": "UEVN",
        "config": {"a": 1},
    }


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("not JSON: s3cr3t", "printed no JSON"),
        ({"kind": "ExecCredential", "apiVersion": VERSION}, "gave no ExecCredential with a status"),
        (answer(), "gave neither a token nor a certificate"),
        (answer(clientCertificateData="s3cr3t"), "gave only a certificate or a key, not both"),
        (answer("client.authentication.k8s.io/v1beta1", token="s3cr3t"), "returned version .*v1beta1"),
        (answer(token="s3cr3t", expirationTimestamp="soon"), "gave an invalid expirationTimestamp"),
        (answer(token="s3cr3t\r\n"), "has characters that cannot be sent"),
    ],
)
def test_a_bad_answer_is_an_error_without_secrets(given: Any, problem: str, plugin: Plugin) -> None:
    with pytest.raises(CredentialsError, match=problem) as caught:
        asyncio.run(plugin.made(given).renew())
    assert "s3cr3t" not in str(caught.value)


def test_a_plugin_that_fails_is_an_error(plugin: Plugin) -> None:
    with pytest.raises(CredentialsError, match="failed with exit code 3"):
        asyncio.run(plugin.made(answer(token="a"), code=3).renew())


def test_a_plugin_that_is_not_there_is_an_error_with_its_hint(clock: StoppedClock) -> None:
    plugin = ExecSettings("no-such-program", VERSION, install_hint="get it from example.com")
    settings = Settings("https://x", UserSettings(exec=plugin))
    with pytest.raises(CredentialsError, match=r"no-such-program cannot be run.*get it from example\.com"):
        asyncio.run(ExecPlugin(settings, clock, lambda *_: None).renew())


def test_a_plugin_that_needs_a_terminal_is_not_run_without(
    plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(CredentialsError, match="needs a terminal"):
        asyncio.run(plugin.made(answer(token="a"), interactive_mode="Always").renew())


def test_a_plugin_whose_caller_has_gone_is_ended(plugin: Plugin) -> None:
    fifo = plugin.folder / "fifo"
    os.mkfifo(fifo)
    # It says where it is, then waits for ever.
    program = f"import os; open({str(fifo)!r}, 'w').write(str(os.getpid())); import time; time.sleep(600)"
    settings = Settings(
        "https://x", UserSettings(exec=ExecSettings(sys.executable, VERSION, ["-c", program]))
    )
    made = ExecPlugin(settings, plugin.clock, lambda *_: None)

    async def main() -> int:
        async with asyncio.timeout(20):
            task = asyncio.create_task(made.renew())
            started = int(await asyncio.to_thread(fifo.read_text))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return started

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(main()), 0)
