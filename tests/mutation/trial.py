"""Runs guard tests against a package in which one file is another: in a copy, never in the tree."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Bench"]

_REPOSITORY = Path(__file__).parents[2]
_PACKAGE = _REPOSITORY / "src" / "steersman"

#: A mutant that loops for ever is caught, too: by a timeout of the test, or at last by ours.
_TEST_TIMEOUT_S = 20
_RUN_TIMEOUT_S = 60
#: All guards together, on a busy machine.
_ALL_TIMEOUT_S = 300

#: pytest's exit codes: a test failed, or a module could not even be imported.
_CAUGHT = (1, 2)


class Bench:
    """A compiled copy of the package; each run works on a copy of that, which shares its unchanged files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._original = folder / "original" / "steersman"
        shutil.copytree(_PACKAGE, self._original, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(str(self._original), quiet=2)

    def source(self, module: str) -> str:
        return (self._original / module).read_text(encoding="utf-8")

    def passes(self, tests: Sequence[str]) -> None:
        """The copy as it is satisfies the tests; otherwise to catch means nothing."""
        done = self._run(self._original.parent, tests, _ALL_TIMEOUT_S)
        assert done.returncode == 0, done.stdout

    def catches(self, module: str, source: str, tests: Sequence[str]) -> bool:
        """Whether one of the tests fails when `module` (a path in the package) has this source."""
        with tempfile.TemporaryDirectory(dir=self._folder) as copy:
            package = Path(copy) / "steersman"
            shutil.copytree(self._original, package, copy_function=os.link)
            changed = package / module
            # The file is shared with the original: it is replaced, not written to. Its bytecode goes, too,
            # because that is matched by size and whole seconds only.
            changed.unlink()
            for bytecode in (changed.parent / "__pycache__").glob(f"{changed.stem}.*.pyc"):
                bytecode.unlink()
            changed.write_text(source, encoding="utf-8")
            try:
                done = self._run(Path(copy), tests, _RUN_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                return True
        assert done.returncode in (0, *_CAUGHT), done.stdout
        return done.returncode in _CAUGHT

    def _run(self, path: Path, tests: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=short",
             # Hypothesis takes longer to import than a guard to run, and so do asserts that explain themselves.
             "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--assert=plain", "--confcutdir=tests",
             f"--timeout={_TEST_TIMEOUT_S}", *tests],
            cwd=_REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )  # fmt: skip
