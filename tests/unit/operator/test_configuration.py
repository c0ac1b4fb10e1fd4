"""Where an option's value comes from, and what is said when it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steersman.election import Lease
from steersman.objects.builders import ConfigMap
from steersman.operator import Operator, Settings, Sharding
from steersman.operator.configuration import OPTIONS, Configuration, ConfigurationError, table

FLAG, ENV, FILE = "2", "3", "4"


def load(
    text: str = "", name: str = "config.yaml", *, folder: Path, flags: Any = None, **environ: str
) -> Configuration:
    path = folder / name
    path.write_text(text)
    return Configuration.load(path, flags, environ)


@pytest.mark.parametrize(
    ("flag", "env", "file", "workers"),
    [
        (FLAG, ENV, FILE, 2),
        (None, ENV, FILE, 3),
        (None, "", FILE, 4),
        (None, "", None, 7),
    ],
    ids=["flag", "environment", "file", "code"],
)
def test_a_flag_over_the_environment_over_the_file_over_the_code(
    flag: str | None, env: str, file: str | None, workers: int, tmp_path: Path
) -> None:
    text = f"workers: {file}" if file else ""
    configuration = load(text, folder=tmp_path, flags={"workers": flag}, STEERSMAN_WORKERS=env)
    op = Operator(ConfigMap).with_concurrency(7)
    configuration.apply([op])
    assert op.definition.concurrency == workers


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "all.yaml",
            "metrics-bind: 127.0.0.1:0\nwebhook-bind: off\nresync: 1h30m\ngrace: 5\nnamespaces: [shop, office]\n"
            "retry-first: 250ms\nretry-ceiling: 10s\ntimeout: 1m\nmin-interval: 2s\nselector: tier=web\n"
            "log-level: DEBUG\nlog-format: json\nleader-election: shop-operator\n",
        ),
        (
            "all.toml",
            'metrics-bind = "127.0.0.1:0"\nwebhook-bind = "off"\nresync = "1h30m"\ngrace = 5\n'
            'namespaces = ["shop", "office"]\nretry-first = "250ms"\nretry-ceiling = "10s"\ntimeout = "1m"\n'
            'min-interval = "2s"\nselector = "tier=web"\nlog-level = "debug"\nlog-format = "json"\n'
            'leader-election = "shop-operator"\n',
        ),
    ],
    ids=["yaml", "toml"],
)
def test_a_file_sets_everything(name: str, text: str, tmp_path: Path) -> None:
    configuration = load(text, name, folder=tmp_path)
    settings = configuration.settings(Settings())
    assert (settings.address, settings.webhooks.address) == ("127.0.0.1:0", None)
    assert (settings.resync_s, settings.grace_s) == (5400, 5)
    assert (configuration.log_level, configuration.log_format) == ("DEBUG", "json")
    op = Operator(ConfigMap)
    configuration.apply([op])
    declared = op.definition
    assert declared.namespaces == ("shop", "office")
    assert (declared.retry.first_s, declared.retry.ceiling_s) == (0.25, 10)
    assert (declared.timeout_s, declared.min_interval_s, declared.selector) == (60, 2, "tier=web")
    assert declared.election == Lease("shop-operator")


def test_what_is_not_said_stays_as_the_code_says() -> None:
    op = Operator(ConfigMap).with_sharding("a").in_namespaces("shop").with_timeout(3)
    configuration = Configuration.load(environ={})
    configuration.apply([op])
    assert (op.definition.namespaces, op.definition.timeout_s) == (("shop",), 3)
    assert op.definition.sharding == Sharding("a")
    assert configuration.settings(Settings(grace_s=1)) == Settings(grace_s=1)


@pytest.mark.parametrize(
    ("name", "value", "election", "sharding"),
    [
        ("leader-election", "off", None, Sharding("a")),
        ("leader-election", "b", Lease("b"), None),
        ("sharding", "off", None, None),
        ("sharding", "b", None, Sharding("b")),
    ],
)
def test_replicas_lead_or_share(name: str, value: str, election: Any, sharding: Any) -> None:
    op = Operator(ConfigMap).with_sharding("a")
    Configuration.load(flags={name: value}, environ={}).apply([op])
    assert (op.definition.election, op.definition.sharding) == (election, sharding)


def test_a_variable_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("workers: 5")
    configuration = Configuration.load(environ={"STEERSMAN_CONFIG": str(tmp_path / "a.yaml")})
    assert configuration.values == {"workers": 5}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yaml", "grace: 5\nworkers: none\n", "a.yaml:2: workers: 'none' is not a positive integer"),
        ("a.toml", "grace = 5\nworkers = 0\n", "a.toml:2: workers: '0' is not a positive integer"),
        ("a.yaml", "\nworker: 1", "a.yaml:2: worker: there is no such option; is workers meant?"),
        (
            "a.yaml",
            "resync: soon",
            'a.yaml:1: resync: not a duration: "soon" (as in "1h30m", "10s", "250ms")',
        ),
        ("a.yaml", "log-level: loud", "a.yaml:1: log-level: 'loud' is none of debug, info, warning, error"),
        ("a.yaml", "workers: {a: 1}", "a.yaml:1: workers: a text, a number or a list is needed"),
        ("a.yaml", "workers: 1\nworkers: 2", "a.yaml:2: workers: given twice"),
        ("a.yaml", "- workers", "a.yaml:1: options are written as `name: value`"),
        ("a.yaml", "a: b: c", "a.yaml:1: mapping values are not allowed here"),
        ("a.toml", "grace = 5\nworkers =\n", "a.toml:2: Invalid value"),
        ("a.yaml", "sharding: a\nleader-election: b", "it cannot be used together with leader-election"),
        ("a.yaml", "retry-first: 1h", "a.yaml:1: retry-first: the first wait (3600 s) is longer"),
    ],
)
def test_what_is_wrong_is_one_line_with_file_line_and_option(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(text, name, folder=tmp_path).apply([Operator(ConfigMap)])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_variable_and_a_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^STEERSMAN_METRICS_BIND: "):
        Configuration.load(environ={"STEERSMAN_METRICS_BIND": "nowhere"})
    with pytest.raises(ConfigurationError, match=r"no\.yaml: No such file"):
        Configuration.load(tmp_path / "no.yaml", environ={})


def test_the_table_has_a_row_for_every_option() -> None:
    lines = table().splitlines()
    assert len(lines) == 2 + len(OPTIONS)
    assert "| `log-level` | `--log-level` | `STEERSMAN_LOG_LEVEL` |" in lines[2]
