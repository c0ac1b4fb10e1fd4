"""kubeconfig files: merged, picked from, and refused with a sentence."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from steersman.client import ConfigError, NoKubeconfig
from steersman.client.kubeconfig import Kubeconfig
from steersman.client.settings import ExecSettings, Impersonation, Settings

SECRET = "s3cr3t-value"


def config(
    cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **context: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": {"server": "https://one:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", **context}}],
    }


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def load(folder: Path, content: Any, context: str | None = None) -> Settings:
    return Kubeconfig.read([write(folder / "config", content)]).select(context)


def test_a_context_is_its_cluster_and_user(tmp_path: Path) -> None:
    cluster = {
        "server": "https://one:6443/",
        "certificate-authority-data": base64.b64encode(b"PEM").decode(),
        "tls-server-name": "kubernetes",
        "proxy-url": "http://proxy:3128",
        "disable-compression": True,
    }
    settings = load(tmp_path, config(cluster, {"token": SECRET}, namespace="here"))
    assert settings.server == "https://one:6443"
    assert settings.ca == b"PEM"
    assert (settings.server_name, settings.proxy_url) == ("kubernetes", "http://proxy:3128")
    assert (settings.namespace, settings.user.token, settings.compressed) == ("here", SECRET, False)


def test_files_are_named_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    user = {"client-certificate": "my.crt", "client-key": "/keys/my.key", "tokenFile": "../token"}
    settings = load(tmp_path / "deep", config({"certificate-authority": "ca.crt"}, user))
    assert settings.ca == tmp_path / "deep" / "ca.crt"
    assert settings.user.certificate == tmp_path / "deep" / "my.crt"
    assert settings.user.key == Path("/keys/my.key")
    assert settings.user.token_file == tmp_path / "deep" / "../token"


def test_data_is_preferred_to_a_file(tmp_path: Path) -> None:
    data = base64.b64encode(b"PEM").decode()
    user = {
        "client-certificate": "x", "client-certificate-data": data, "client-key": "y", "client-key-data": data,
    }  # fmt: skip
    settings = load(tmp_path, config(user=user))
    assert (settings.user.certificate, settings.user.key) == (b"PEM", b"PEM")


def test_of_several_files_the_first_wins(tmp_path: Path) -> None:
    first = {
        "clusters": [{"name": "c", "cluster": {"server": "https://first:1"}}],
        "current-context": "other",
    }
    second = config(user={"token": "two"})
    second["contexts"].append({"name": "other", "context": {"cluster": "c", "user": "u", "namespace": "o"}})
    files = [
        write(tmp_path / "a" / "one", first),
        tmp_path / "missing",
        write(tmp_path / "empty", ""),
        write(tmp_path / "b" / "two", second),
    ]
    settings = Kubeconfig.read(files).select()
    assert (settings.server, settings.namespace, settings.user.token) == ("https://first:1", "o", "two")
    assert settings.source == str(files[0])


def test_another_context_can_be_asked_for(tmp_path: Path) -> None:
    content = config(namespace="one")
    content["contexts"].append({"name": "second", "context": {"cluster": "c", "namespace": "two"}})
    assert load(tmp_path, content).namespace == "one"
    assert load(tmp_path, content, "second").namespace == "two"


def test_a_plugin_is_read_with_what_its_cluster_has_for_it(tmp_path: Path) -> None:
    cluster = {"extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}]}
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./get-token",
        "args": ["--now"],
        "env": [{"name": "A", "value": "b"}],
        "installHint": "install it",
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    settings = load(tmp_path, config(cluster, {"exec": plugin}))
    assert settings.user.exec == ExecSettings(
        command=str(tmp_path / "get-token"),
        api_version="client.authentication.k8s.io/v1",
        args=["--now"],
        env={"A": "b"},
        install_hint="install it",
        interactive_mode="Never",
        provides_cluster_info=True,
        config={"audience": "x"},
    )


def test_a_plugin_found_by_name_stays_a_name(tmp_path: Path) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws"}
    found = load(tmp_path, config(user={"exec": plugin})).user.exec
    assert found is not None
    assert (found.command, found.interactive_mode) == ("aws", "IfAvailable")


def test_a_written_token_beats_a_plugin(tmp_path: Path) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws"}
    assert load(tmp_path, config(user={"exec": plugin, "token": "t"})).user.exec is None


def test_impersonation_is_read(tmp_path: Path) -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"scope": ["x", "y"]}}
    assert load(tmp_path, config(user=user)).user.impersonate == Impersonation(
        "jane", "7", ["a", "b"], {"scope": ["x", "y"]}
    )


def pointing(**context: str) -> dict[str, Any]:
    content = config()
    content["contexts"][0]["context"].update(context)
    return content


def without(content: dict[str, Any], *path: str) -> dict[str, Any]:
    inner = content
    for name in path[:-1]:
        inner = inner[name]
    inner.pop(path[-1])
    return content


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{:", "is not valid YAML (line 1)"),
        ("[1, 2]", "must be a mapping"),
        ("clusters: 3", "clusters: must be a list"),
        (without(config(), "current-context"), "current-context is not set, and no context was given"),
        ({**config(), "current-context": "x"}, "there is no context 'x' (there are: main)"),
        (config(cluster={"server": ""}), "clusters[0].cluster.server: must be an http(s) URL"),
        (config(cluster={"server": 3}), "clusters[0].cluster.server: must be a string"),
        (
            config(cluster={"certificate-authority-data": f"%{SECRET}"}),
            "clusters[0].cluster.certificate-authority-data: must be base64",
        ),
        (
            config(cluster={"insecure-skip-tls-verify": True, "certificate-authority": "x"}),
            "clusters[0].cluster.insecure-skip-tls-verify: cannot be used together with a certificate authority",
        ),
        (
            config(cluster={"insecure-skip-tls-verify": "yes"}),
            "clusters[0].cluster.insecure-skip-tls-verify: must be true or false",
        ),
        (pointing(cluster="y"), "contexts[0].context.cluster: there is no cluster 'y'"),
        (pointing(user="y"), "contexts[0].context.user: there is no user 'y'"),
        (config(user={"token": [SECRET]}), "users[0].user.token: must be a string"),
        (config(user={"token": f"{SECRET}\n"}), "users[0].user.token: has characters that cannot be sent"),
        (
            config(user={"client-certificate": "x"}),
            "users[0].user.client-key: a client certificate and its key go together",
        ),
        (
            config(user={"token": SECRET, "username": "u", "password": SECRET}),
            "users[0].user.username: a token and a username cannot be used together",
        ),
        (
            config(user={"auth-provider": {"name": "gcp", "config": {"access-token": SECRET}}}),
            "users[0].user.auth-provider: 'gcp' was removed from Kubernetes; use a credential plugin (exec) in "
            "its place",
        ),
        (
            config(user={"as-groups": ["a"]}),
            "users[0].user.as: is needed to impersonate a uid, groups or extra values",
        ),
        (
            config(user={"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}),
            "users[0].user.exec.apiVersion: must be one of client.authentication.k8s.io/v1, "
            "client.authentication.k8s.io/v1beta1",
        ),
        (
            config(user={"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}),
            "users[0].user.exec.command: is required",
        ),
        (
            config(user={"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1"}}),
            "users[0].user.exec.interactiveMode: is required; one of Never, IfAvailable, Always",
        ),
        (
            {**config(), "users": [{"name": "u"}, {"name": "u"}]},
            "users[1].name: there are two users named 'u'",
        ),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_file_and_field(content: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, content)
    assert str(caught.value) == f"{tmp_path / 'config'}: {problem}"
    assert SECRET not in str(caught.value)


def test_files_that_are_all_missing_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoKubeconfig, match="there is no such kubeconfig"):
        Kubeconfig.read([tmp_path / "a", tmp_path / "b"])


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        Kubeconfig.read([tmp_path])


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    data = base64.b64encode(SECRET.encode()).decode()
    user = {
        "client-certificate-data": data, "client-key-data": data, "token": SECRET,
        "exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "x",
                 "env": [{"name": "A", "value": SECRET}]},
    }  # fmt: skip
    settings = load(tmp_path, config({"proxy-url": f"http://u:{SECRET}@p"}, user))
    assert SECRET not in repr(settings)
