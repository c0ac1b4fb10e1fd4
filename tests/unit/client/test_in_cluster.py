"""A pod's own settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.client import ConfigError
from steersman.client.in_cluster import in_cluster

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in {"token": "t", "ca.crt": "PEM", "namespace": "here\n"}.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def test_a_pod_has_what_it_needs(folder: Path) -> None:
    settings = in_cluster(POD, folder)
    assert settings is not None
    assert (settings.server, settings.namespace) == ("https://10.0.0.1:443", "here")
    assert (settings.user.token_file, settings.ca) == (folder / "token", folder / "ca.crt")


def test_an_ipv6_address_is_bracketed(folder: Path) -> None:
    settings = in_cluster({**POD, "KUBERNETES_SERVICE_HOST": "fd00::1"}, folder)
    assert settings is not None
    assert settings.server == "https://[fd00::1]:443"


@pytest.mark.parametrize("missing", ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"])
def test_elsewhere_there_is_nothing(missing: str, folder: Path) -> None:
    assert in_cluster({**POD, missing: ""}, folder) is None


def test_a_pod_without_namespace_is_in_the_default_one(folder: Path) -> None:
    (folder / "namespace").unlink()
    settings = in_cluster(POD, folder)
    assert settings is not None
    assert settings.namespace == "default"


def test_a_pod_without_token_is_told_so(folder: Path) -> None:
    (folder / "token").unlink()
    with pytest.raises(ConfigError, match="token: there is no service account token"):
        in_cluster(POD, folder)
