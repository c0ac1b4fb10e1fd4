"""`steer up`: which options it takes, which it refuses, and how it says so."""

from __future__ import annotations

import gc
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from steersman.aio.signals import STOPPING
from steersman.cli import app as commands
from steersman.cli import entry
from steersman.cli import up as command
from steersman.cli.failure import CommandFailed
from steersman.cli.options import Output
from steersman.cluster.controllers.registry import chosen
from steersman.cluster.local import ClusterConfig, LocalCluster


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ClusterConfig, Output]]:
    """What would have been run."""
    runs: list[tuple[ClusterConfig, Output]] = []

    def run(cluster: LocalCluster, output: Output, _: float, __: bool) -> None:
        runs.append((cluster.config, output))

    monkeypatch.setattr(command, "_run", run)
    monkeypatch.delenv("STEER_ADMIN_TOKEN", raising=False)
    return runs


@pytest.fixture
def collecting() -> Iterator[None]:
    """The command switches the garbage collector off while it loads, and ends at once on signals; the tests
    want both back."""
    before = {number: signal.getsignal(number) for number in STOPPING}
    yield
    gc.enable()
    for number, handler in before.items():
        signal.signal(number, handler)


def invoke(*arguments: str, **environment: str) -> Any:
    return CliRunner().invoke(commands.app, ["up", *arguments], env=environment)


def config_of(
    started: list[tuple[ClusterConfig, Output]], *arguments: str, **environment: str
) -> ClusterConfig:
    result = invoke(*arguments, **environment)
    assert result.exit_code == 0, (result.output, result.exception)
    ((config, _),) = started
    return config


def test_what_up_does_without_options(
    started: list[tuple[ClusterConfig, Output]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert config_of(started) == ClusterConfig(
        data="/state/steersman/cluster",
        bind="127.0.0.1",
        port=6443,
        kubeconfig=None,
        admin_token=None,
        service_cidr=None,
        enabled_admission=[],
        disabled_admission=[],
        controllers=chosen(["all"]),
        process_nodes=1,
    )
    assert started[0][1] is Output.TEXT


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        (["--data", ":memory:"], "data", ":memory:"),
        (["--bind", "0.0.0.0"], "bind", "0.0.0.0"),
        (["--bind", "::1"], "bind", "::1"),
        (["--port", "0"], "port", 0),
        (["--port", "65535"], "port", 65535),
        (["--kubeconfig", "/a/b"], "kubeconfig", Path("/a/b")),
        (["--admin-token", "a.b-c_d=="], "admin_token", "a.b-c_d=="),
        (["--service-cidr", "10.0.0.0/8"], "service_cidr", "10.0.0.0/8"),
        (["--service-cidr", "10.0.0.0/29"], "service_cidr", "10.0.0.0/29"),
        (["--service-cidr", "fd00::/108", "--nodes=0"], "service_cidr", "fd00::/108"),
        (["--service-cidr", "fd00::/125", "--nodes=0"], "service_cidr", "fd00::/125"),
        (["--nodes", "3"], "process_nodes", 3),
        (["--nodes", "3", "--runtime", "simulated"], "nodes", 3),
        (["--runtime", "process=2,simulated=5"], "process_nodes", 2),
        (["--runtime", "process=2,simulated=5"], "nodes", 5),
        (["--controllers", "none"], "process_nodes", 0),
        (["--disable-admission", "Priority"], "disabled_admission", ["Priority"]),
        (
            ["--enable-admission", "OwnerReferencesPermissionEnforcement"],
            "enabled_admission",
            ["OwnerReferencesPermissionEnforcement"],
        ),
        (
            ["--disable-admission", "Priority,,LimitRanger,"],
            "disabled_admission",
            ["Priority", "LimitRanger"],
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_reach_the_cluster(
    started: list[tuple[ClusterConfig, Output]], options: list[str], field: str, value: Any
) -> None:
    assert getattr(config_of(started, *options), field) == value


@pytest.mark.parametrize(
    "controllers", ["none", "all", "deployment", "deployment,replicaset", "-deployment", "all,-scheduler"]
)
def test_controllers_are_named(started: list[tuple[ClusterConfig, Output]], controllers: str) -> None:
    config = config_of(started, "--controllers", controllers)
    assert config.controllers == chosen(controllers.split(","))


def test_the_token_may_come_from_the_environment(started: list[tuple[ClusterConfig, Output]]) -> None:
    assert config_of(started, STEER_ADMIN_TOKEN="from-there").admin_token == "from-there"


def test_json_output(started: list[tuple[ClusterConfig, Output]]) -> None:
    config_of(started, "--output", "json")
    assert started[0][1] is Output.JSON


REFUSALS = [
    (["--bind", "localhost"], "--bind: 'localhost' is not an IP address"),
    (["--port", "-1"], "--port: -1 is not between 0 and 65535"),
    (["--port", "65536"], "--port: 65536 is not between 0 and 65535"),
    (["--service-cidr", "x"], "--service-cidr: 'x' does not appear to be an IPv4 or IPv6 network"),
    (["--service-cidr", "10.96.0.1/16"], "--service-cidr: 10.96.0.1/16 has host bits set"),
    (["--service-cidr", "10.0.0.0/30"], "--service-cidr: 10.0.0.0/30 must be between /8 and /29"),
    (["--service-cidr", "0.0.0.0/7"], "--service-cidr: 0.0.0.0/7 must be between /8 and /29"),
    (["--service-cidr", "fd00::/107"], "--service-cidr: fd00::/107 must be /108 or smaller"),
    (["--service-cidr", "fd00::/126"], "--service-cidr: fd00::/126 must be between /108 and /125"),
    (["--service-cidr", "fd00::/108"], "--service-cidr: nodes that run processes have IPv4 addresses only"),
    (
        ["--runtime", "docker"],
        "--runtime: 'docker' is not process, simulated, or both: process=1,simulated=3",
    ),
    (
        ["--runtime", "process=x"],
        "--runtime: 'process=x' is not process, simulated, or both: process=1,simulated=3",
    ),
    (["--nodes", "251"], "--nodes: at most 250 if some of them run processes"),
    (["--controllers", ""], "--controllers: '' is not none, all or names separated by commas"),
    (["--controllers", "a,,b"], "--controllers: 'a,,b' is not none, all or names separated by commas"),
    (["--controllers", "deployment,a b"], "--controllers: there is no controller a b"),
    (["--controllers", "-x,-y"], "--controllers: there is no controller x, y"),
]
TOKEN_REFUSAL = "--admin-token: must not be empty or contain spaces, control or non-ASCII characters"


@pytest.mark.parametrize(
    ("options", "said"),
    [*REFUSALS, *((["--admin-token", token], TOKEN_REFUSAL) for token in ("", "a b", "a\tb", "a\nb", "é"))],
    ids=lambda value: repr(value[1]) if isinstance(value, list) else "",
)
def test_bad_values_are_refused_before_anything_starts(
    started: list[tuple[ClusterConfig, Output]], options: list[str], said: str
) -> None:
    result = invoke(*options)
    assert isinstance(result.exception, CommandFailed)
    assert (str(result.exception), result.exception.code) == (said, 2)
    assert started == []


def test_unknown_plugins_are_refused_with_the_known_ones(started: list[tuple[ClusterConfig, Output]]) -> None:
    result = invoke("--enable-admission", "nope")
    assert str(result.exception).startswith("--enable-admission: there is no plugin 'nope'; there are Name")
    result = invoke("--disable-admission", "Priority,nope")
    assert isinstance(result.exception, CommandFailed)
    assert str(result.exception).startswith("--disable-admission: there is no plugin 'nope'; there are Name")
    assert "PodSecurity" in str(result.exception)
    assert started == []


@pytest.mark.usefixtures("collecting")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["up", "--bind", "x"], "steer: --bind: 'x' is not an IP address\n"),
        (["up", "--nope"], "steer: No such option: --nope"),
        (["up", "--port", "many"], "steer: Invalid value for '--port'"),
        (["nope"], "steer: No such command 'nope'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_failure_is_one_line_and_an_exit_code(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["steer", *arguments])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert shown.out == ""
    assert shown.err.startswith(said)
    assert shown.err.count("\n") == 1


def test_help_has_examples_and_every_option() -> None:
    result = CliRunner().invoke(commands.app, ["up", "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    for text in ("Examples:", "steer up --data :memory: --port 0", "--kubeconfig", "--disable-admission"):
        assert text in result.output


@pytest.mark.parametrize("output", list(Output))
def test_the_announcement(output: Output, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = LocalCluster(ClusterConfig())
    cluster.url, cluster.kubeconfig, cluster.token = "https://127.0.0.1:1", Path("/k"), "hidden"
    command._announce(cluster, output, 0.25)
    shown = capsys.readouterr().out
    assert "hidden" not in shown
    if output is Output.JSON:
        assert shown.count("\n") == 1
        assert json.loads(shown).items() >= {"server": "https://127.0.0.1:1", "kubeconfig": "/k"}.items()
    else:
        assert shown == (
            "Steersman is up at https://127.0.0.1:1 (0.25 s). Ctrl-C stops it.\n"
            "  export KUBECONFIG=/k\n"
            "  kubectl get namespaces\n"
        )
