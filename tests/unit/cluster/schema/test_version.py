"""The version of Kubernetes is written in version.txt; what has to repeat it says the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from steersman.cluster.schema import table_building
from steersman.cluster.schema.version import KUBERNETES_MINOR, KUBERNETES_VERSION

ROOT = Path(__file__).parents[4]


def test_the_minor_version_has_no_patch() -> None:
    assert KUBERNETES_VERSION.startswith(f"{KUBERNETES_MINOR}.")
    assert KUBERNETES_MINOR.count(".") == 1


def test_the_build_takes_the_types_of_this_version() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]
    assert f"kubernetes-validate=={KUBERNETES_VERSION}" in build["requires"]
    assert table_building.published_file(KUBERNETES_VERSION).startswith(
        "kubernetes-json-schema/v" + KUBERNETES_VERSION
    )


@pytest.mark.parametrize("page", ["README.md", "docs/compatibility.md", "docs/guide/cluster.md"])
def test_what_users_read_names_this_version(page: str) -> None:
    named = re.findall(r"of Kubernetes (1\.\d+)", (ROOT / page).read_text("utf-8"))
    assert set(named) == {KUBERNETES_MINOR}


def test_the_judge_is_of_this_minor_version() -> None:
    module = (ROOT / "tests/originals/kubernetes/go.mod").read_text("utf-8")
    assert f"k8s.io/kubernetes v{KUBERNETES_MINOR}." in module


def test_no_module_repeats_the_version() -> None:
    source = ROOT / "src"
    repeated = [
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        if re.search(rf"\b{re.escape(KUBERNETES_MINOR)}(\.\d+)?\"", file.read_text("utf-8"))
    ]
    assert repeated == ["steersman/cluster/schema/version.py"]
