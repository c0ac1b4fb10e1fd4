"""`steer run` that cannot run says why in one line, and what to do about it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import yaml

from tests.support.steer import Steer

from .operators import EXAMPLES, refused

pytestmark = pytest.mark.slow

HELLO = str(EXAMPLES / "02-hello" / "hello.py")


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("no_such_module", "the module 'no_such_module' is neither in this folder nor installed"),
        ("no/such/file.py", "no/such/file.py: there is no such file"),
        ("json", "json: there is no operator in it; create one: op = Operator(MyResource)"),
    ],
)
def test_a_module_that_cannot_be_run(module: str, said: str) -> None:
    assert refused("run", module) == said


def test_a_wrong_option_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "operator.yaml"
    file.write_text("log-level: debug\nworkers: many\n")
    said = f"{file}:2: workers: 'many' is not a positive integer"
    assert refused("run", HELLO, "--config", str(file)) == said
    assert refused("run", HELLO, STEERSMAN_CONFIG=str(file)) == said
    file.write_text("")
    said = refused("run", HELLO, "--config", str(file), STEERSMAN_RESYNC="soon")
    assert said.startswith("STEERSMAN_RESYNC: not a duration")


def test_no_kubeconfig(tmp_path: Path) -> None:
    file = tmp_path / "nothing"
    said = refused("run", HELLO, "--kubeconfig", str(file))
    assert said.startswith(f"{file}: there is no such kubeconfig; `steer up` starts a cluster")


def test_nobody_listens(server: Steer, tmp_path: Path) -> None:
    config = yaml.safe_load(server.kubeconfig.read_text())
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{unused.getsockname()[1]}"
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        said = refused("run", HELLO, "--kubeconfig", str(tmp_path / "kubeconfig"))
        assert "Connection refused; is the cluster up?" in said


def test_nobody_known(server: Steer, tmp_path: Path) -> None:
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": "wrong"}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    assert refused("run", HELLO, "--kubeconfig", str(tmp_path / "kubeconfig")).startswith(
        "Unauthorized; the user of the kubeconfig is unknown"
    )


@pytest.mark.usefixtures("webapps")
def test_a_port_that_is_taken(server: Steer, webapp: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        said = refused("run", str(webapp), "--kubeconfig", str(server.kubeconfig), "--metrics-bind", address)
    assert said.startswith(f"--metrics-bind: probes and metrics cannot listen on {address}: ")
