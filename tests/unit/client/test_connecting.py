"""Which settings are used, and what becomes of them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import yaml

from steersman.client import ConfigError
from steersman.client.connecting import _impersonating, _proxy, connect, find_settings
from steersman.client.credentials import Anonymous, FixedFields, TokenFile
from steersman.client.exec_plugin import ExecPlugin
from steersman.client.settings import ExecSettings, Impersonation, Settings, UserSettings
from steersman.http import Proxy
from tests.unit.client.conftest import StoppedClock

HTTPS = Settings("https://api.example.com:6443", source="config")


def kubeconfig(path: Path, server: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        yaml.safe_dump(
            {
                "current-context": "x",
                "clusters": [{"name": "x", "cluster": {"server": server}}],
                "contexts": [{"name": "x", "context": {"cluster": "x"}}],
            }
        )
    )
    return path


def test_the_file_asked_for_comes_first_then_the_environment_then_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = kubeconfig(tmp_path / "asked", "https://asked")
    named = kubeconfig(tmp_path / "named", "https://named")
    kubeconfig(tmp_path / ".kube" / "config", "https://home")
    monkeypatch.setenv("HOME", str(tmp_path))
    environ = {"KUBECONFIG": f"{tmp_path / 'missing'}:{named}"}
    assert find_settings(asked, environ=environ).server == "https://asked"
    assert find_settings(environ=environ).server == "https://named"
    assert find_settings(environ={}).server == "https://home"
    assert find_settings(environ={"KUBECONFIG": ""}).server == "https://home"
    assert find_settings("~/asked", environ={}).server == "https://asked"


def test_a_pod_is_preferred_to_home_but_not_to_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig(tmp_path / ".kube" / "config", "https://home")
    monkeypatch.setenv("HOME", str(tmp_path))
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(ConfigError, match="service account token"):
        find_settings(environ=pod)
    named = kubeconfig(tmp_path / "named", "https://named")
    assert find_settings(environ={**pod, "KUBECONFIG": str(named)}).server == "https://named"


PLUGIN = ExecSettings("x", "client.authentication.k8s.io/v1")


@pytest.mark.parametrize(
    ("user", "kind"),
    [
        (UserSettings(), Anonymous),
        (UserSettings(token="t"), FixedFields),
        (UserSettings(token="t", token_file=Path("f")), TokenFile),
        (UserSettings(username="u", password="p"), FixedFields),
        (UserSettings(exec=PLUGIN), ExecPlugin),
    ],
    ids=["nobody", "token", "token file", "password", "plugin"],
)
def test_each_kind_of_user_has_its_credentials(
    user: UserSettings, kind: type[object], clock: StoppedClock
) -> None:
    made = connect(Settings("https://x:1", user), None, clock)
    assert type(made.credentials) is kind
    assert made.host == "x:1"


def test_an_unverified_server_is_warned_about(clock: StoppedClock, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        connect(Settings("https://x", insecure=True), None, clock)
    assert caplog.messages == ["the certificate of https://x is not verified (insecure-skip-tls-verify)"]


def test_impersonation_becomes_header_fields() -> None:
    whom = Impersonation("jane", "7", ["a", "b"], {"example.com/scope": ["x"]})
    assert _impersonating(whom) == [
        (b"Impersonate-User", b"jane"),
        (b"Impersonate-Uid", b"7"),
        (b"Impersonate-Group", b"a"),
        (b"Impersonate-Group", b"b"),
        (b"Impersonate-Extra-example.com%2Fscope", b"x"),
    ]


@pytest.mark.parametrize(
    ("environ", "host"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "proxy"),
        ({"https_proxy": "proxy:3128"}, "proxy"),
        ({"HTTP_PROXY": "http://proxy:3128"}, None),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "*"}, None),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "a, example.com"}, None),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": ".example.com"}, None),
        ({"HTTPS_PROXY": "http://proxy", "no_proxy": "api.example.com"}, None),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "ample.com"}, "proxy"),
    ],
)
def test_the_environments_proxy_is_used_unless_exempt(environ: dict[str, str], host: str | None) -> None:
    proxy = _proxy(HTTPS, environ)
    assert (proxy.host if proxy else None) == host


@pytest.mark.parametrize(
    ("server", "exempt", "proxied"),
    [
        ("https://10.1.2.3:6443", "10.0.0.0/8", False),
        ("https://10.1.2.3:6443", "11.0.0.0/8, x/y", True),
        ("https://[fd00::1]:6443", "fd00::/16", False),
        ("https://127.0.0.1:6443", "", False),
        ("https://localhost:6443", "", False),
    ],
)
def test_addresses_can_be_exempt(server: str, exempt: str, proxied: bool) -> None:
    environ = {"HTTPS_PROXY": "http://proxy", "NO_PROXY": exempt}
    assert (_proxy(Settings(server), environ) is not None) is proxied


def test_the_settings_proxy_beats_the_environment() -> None:
    settings = Settings("https://localhost", proxy_url="https://user:pass@mine")
    proxy = _proxy(settings, {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "*"})
    assert proxy == Proxy("mine", 443, "https", "user", "pass")
    assert "pass" not in repr(proxy).replace("password", "")


def test_a_proxy_of_another_kind_is_refused_without_its_password() -> None:
    with pytest.raises(ConfigError, match="config: proxy-url: a proxy is given as http") as caught:
        _proxy(Settings("https://x", proxy_url="socks4://u:secret@p", source="config"), {})
    assert "secret" not in str(caught.value)
